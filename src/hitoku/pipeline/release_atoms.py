"""Atoms of releases that were made separately from the same records.

The evidence of a release names the file of its records, with a hash. If the file is available and unchanged,
the atoms of all releases together can be computed from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.errors import HitokuError
from hitoku.files import sha256
from hitoku.io.recipe import TableKeys
from hitoku.linking import MAX_TABULATED, TOO_MANY, among_atoms, atoms_of, finest
from hitoku.model import Integers, Table, counts_units
from hitoku.pipeline.attacked_folder import AttackedFolder
from hitoku.tabulation import RecordAtoms, SharedRecords, TableSpec, finer_columns, share_records

NO_RECIPE = "a folder does not say how its tables were made"
NO_RECORDS = "the records are not at hand, so that only cells of the same names or records were compared"
OTHER_RECORDS = "they were made of different records, or sum different quantities"

# Keys that must be equal, so that atoms have the same values and contributors in all tables.
QUANTITY = ("value", "measure", "weight", "unit", "holding", "magnitude", "decimals")


@dataclass(frozen=True, eq=False, kw_only=True)
class FolderTable:
    """One table of a release folder."""

    table: Table
    """Table with its variables."""
    cells: Integers
    """Indices of its cells among the cells of all folders."""
    keys: TableKeys
    """Keys of its recipe."""


def tables_of(
    folder: AttackedFolder, parts: Mapping[str, tuple[Table, Integers]], cells: Integers
) -> list[FolderTable]:
    """Return the tables of a folder.

    Parameters
    ----------
    folder
        Release folder.
    parts
        Tables of the folder by name, each with the indices of its cells among those of the folder.
    cells
        Indices of the folder's cells among the cells of all folders.
    """
    listed = folder.recipe.tables
    single = len(listed) == 1
    return [
        FolderTable(table=table, cells=cells[own], keys=keys)
        for name, (table, own) in parts.items()
        for keys in [next(iter(listed.values())) if single else listed[name.rpartition("/")[2]]]
    ]


def records_of(folders: Sequence[AttackedFolder], data: Path | None) -> tuple[Path | None, str]:
    """Find the file of records from which all releases were made.

    Parameters
    ----------
    folders
        Release folders.
    data
        File of records. Default: the file named in the recipes, next to the folders or in the working
        directory.

    Returns
    -------
    tuple[Path | None, str]
        Path, and an empty text; or None, and the reason why no file is suitable.
    """
    try:
        keys = [one for folder in folders for one in folder.recipe.tables.values()]
        hashes = [
            str(folder.summary.get("recipe", {}).get("sha256", {}).get(one.data, ""))
            for folder in folders
            for one in folder.recipe.tables.values()
        ]
    except HitokuError:
        return None, NO_RECIPE
    first = keys[0]
    same = all(getattr(one, name) == getattr(first, name) for one in keys for name in QUANTITY)
    if not same or len(set(hashes)) > 1:
        return None, OTHER_RECORDS
    places = [data] if data is not None else _candidates(folders, str(first.data))
    path = next((place for place in places if place.is_file() and sha256(place) in hashes), None)
    return (path, "") if path is not None and first.engine == "duckdb" else (None, NO_RECORDS)


def with_atoms(whole: Table, tables: Sequence[FolderTable], path: Path) -> tuple[Table | None, str]:
    """Add the atoms of several releases to their cells, as hidden cells.

    Parameters
    ----------
    whole
        Cells of all releases, as one table.
    tables
        Tables of the releases.
    path
        File of their records.

    Returns
    -------
    tuple[Table | None, str]
        Table with atoms, and an empty text; or None, and the reason why atoms are unknown.
    """
    try:
        with share_records(path, tables[0].keys.file_format) as opened:
            return _from_records(opened, whole, tables)
    except HitokuError as error:
        return None, str(error).partition("\n")[0]


def _candidates(folders: Sequence[AttackedFolder], data: str) -> list[Path]:
    name = Path(data)
    return [
        base / each
        for each in dict.fromkeys([name, Path(name.name)])
        for base in dict.fromkeys([*(folder.path.resolve().parent for folder in folders), Path.cwd()])
    ]


def _from_records(
    opened: SharedRecords, whole: Table, tables: Sequence[FolderTable]
) -> tuple[Table | None, str]:
    columns = [name for one in tables for name in (*(one.keys.by or ()), *(one.keys.where or {}))]
    records = RecordAtoms.of(opened, columns)
    first = tables[0].keys
    amounts = [name for name in (first.value, first.weight, first.unit, first.holding) if name]
    further = finer_columns(opened, list(records.columns), amounts)
    finer = RecordAtoms.of(opened, [*columns, *further]) if further else None
    specs = [TableSpec(by=one.keys.by or (), where=one.keys.where) for one in tables]
    made = [one.table for one in tables]
    counts = whole.units is None and whole.holdings is None and counts_units(whole)
    names = finest(list(records.columns), records)
    size = np.prod([float(len(records.columns[name].codes) + 1) for name in names])
    atoms = atoms_of(records, made, specs, merged=counts, finer=finer)
    if atoms is None or (not counts and size > MAX_TABULATED):
        return None, TOO_MANY

    def cross() -> Table:
        keys = tables[0].keys
        options: dict[str, Any] = {name: getattr(keys, name) for name in QUANTITY}
        return TableSpec(by=names, options={**options, "missing": "code"}).make(opened)

    return among_atoms(whole, [one.cells for one in tables], made, atoms, cross), ""
