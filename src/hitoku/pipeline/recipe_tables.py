"""From a recipe to its tables: files read, tables linked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.errors import HitokuError
from hitoku.files import require_path, sha256
from hitoku.io.marked_cells import marked_cells, read_cell_file, read_marked_cells
from hitoku.io.recipe.code_tree import read_code_tree
from hitoku.io.recipe.keys import TableKeys
from hitoku.io.recipe.lines import Path as KeyPath
from hitoku.io.recipe.origin import Origin
from hitoku.io.recipe.recipe import OF_CELLS, OF_RECORDS, Recipe
from hitoku.model.arrays import Integers, Mask
from hitoku.model.finding import Finding
from hitoku.model.hierarchy import Hierarchy
from hitoku.model.link import MEASURE
from hitoku.model.table import Table
from hitoku.pipeline.recipe_links import MadeTable, link_made
from hitoku.tabulation.column_tree import read_column_tree
from hitoku.tabulation.file_format import FileFormat
from hitoku.tabulation.fingerprints import RecordPrints
from hitoku.tabulation.linked import LinkedTables, TableSpec
from hitoku.tabulation.nested_columns import Nested, nested_columns
from hitoku.tabulation.opening import given_to, refuse_other_than_parquet
from hitoku.tabulation.spark_session import session_at

Parts = Mapping[str, tuple[Table, Integers]]
MARK = "status"  # the column of marks, where a recipe names none


@dataclass(frozen=True, eq=False)
class Built:
    """Tables of a recipe that are protected together, and what else its files say of them.

    Parameters
    ----------
    name
        Names its folder, where there are several groups.
    table
        What is to be protected; linked where there are several.
    parts
        The linked tables by name, each with the positions of its cells in ``table``; empty for a single one.
    by_hand
        Cells that somebody withheld by hand.
    rest
        Tables of what filters leave out, each with the positions of its cells in ``table``.
    remarks
        What a person should know about how the tables share their records.
    records
        By name, tables that were made from records, with their file and how they were made.
    """

    name: str
    table: Table
    parts: Parts
    by_hand: Mask
    rest: tuple[tuple[Table, Integers], ...] = ()
    remarks: tuple[Finding, ...] = ()
    records: Mapping[str, tuple[Path, TableSpec]] = field(default_factory=dict)

    def fingerprints(self) -> list[str]:
        """Work out the fingerprint of the records behind every cell; nothing where no table has records."""
        found = [""] * self.table.n_cells
        parts = self.parts or {self.name: (self.table, np.arange(self.table.n_cells))}
        prints = {
            source: RecordPrints.of(source[0], used, source[1]) for source, used in self._columns().items()
        }
        for name, (path, spec) in self.records.items():
            table, cells = parts[name]
            own = prints[path, spec.options.get("file")].cells(table, spec.where)
            for cell, each in zip(cells.tolist(), own, strict=True):
                found[cell] = each
        return found if any(found) else []

    def nested(self) -> Nested:
        """Find the columns of the records that group codes of the variables."""
        found: Nested = {}
        for (path, file), used in self._columns().items():
            for name, columns in nested_columns(path, used, file).items():
                found.setdefault(name, {}).update(columns)
        return found

    def _columns(self) -> dict[tuple[Path, FileFormat | None], list[str]]:
        """Return the columns that tables and filters use, by file of records."""
        columns: dict[tuple[Path, FileFormat | None], list[str]] = {}
        for path, spec in self.records.values():
            used = columns.setdefault((path, spec.options.get("file")), [])
            used += [name for name in (*spec.by, *(spec.where or {})) if name not in used]
        return columns


def build(recipe: Recipe) -> tuple[list[Built], dict[str, str]]:
    """Read the files that a recipe names, and make its tables.

    Returns
    -------
    tuple
        Groups of tables that share nothing, and fingerprints of the files that were read, by name.
    """
    hashes: dict[str, str] = {}
    frames: dict[tuple[str | None, str], Any] = {}
    made = {
        name: _one(recipe, place, keys, hashes, frames)
        for place, (name, keys) in enumerate(recipe.tables.items())
    }
    if not recipe.keys.tables:
        (only,) = made.values()
        return [Built("table", only.table, {}, only.by_hand, records=_records({"table": only}))], hashes
    with _blaming(recipe.origin, ("classifications" if recipe.keys.classifications else "tables",)):
        linked = link_made(made, recipe.keys.classifications)
    return [_built(group, made, alone=len(linked) > 1) for group in linked], hashes


def _built(group: LinkedTables, made: Mapping[str, MadeTable], *, alone: bool) -> Built:
    """Take a group of linked tables over; one that stands alone among others is a table like any other."""
    records = _records({name: made[name] for name in group.parts})
    first, *others = group.parts
    table, cells = group.parts[first]
    if alone and not others and len(cells) == group.table.n_cells:
        return Built(first, table, {}, made[first].by_hand, remarks=group.remarks, records=records)
    by_hand = np.zeros(group.table.n_cells, dtype=bool)
    for name, (_, places) in group.parts.items():
        by_hand[places[made[name].by_hand]] = True
    return Built(
        f"{first}+{len(others)}" if alone and others else first if alone else "table",
        group.table,
        group.parts,
        by_hand,
        group.rest,
        group.remarks,
        records,
    )


def _records(made: Mapping[str, MadeTable]) -> dict[str, tuple[Path, TableSpec]]:
    """Return those whose records are in a file of this machine."""
    return {name: (one.data, one.spec) for name, one in made.items() if isinstance(one.data, Path)}


def _one(
    recipe: Recipe,
    place: int,
    keys: TableKeys,
    hashes: dict[str, str],
    frames: dict[tuple[str | None, str], Any],
) -> MadeTable:
    by = keys.by or []

    def where(name: str) -> KeyPath:
        own = bool(recipe.keys.tables) and name in recipe.keys.tables[place].model_fields_set
        return ("tables", place, name) if own else (name,)

    def file(name: str, at: KeyPath) -> Path:
        with _blaming(recipe.origin, at):
            path = require_path(recipe.path(name))
        if path.is_file() and name not in hashes:
            hashes[name] = sha256(path)
        return path

    def records() -> Any:
        with _blaming(recipe.origin, where("spark" if keys.spark else "data")):
            return _records_of(keys, lambda name: file(name, where("data")), frames)

    trees: dict[str, Hierarchy | Sequence[Hierarchy]] = {}
    for variable, files in keys.hierarchies.items():
        at = (*where("hierarchies"), variable)
        with _blaming(recipe.origin, at):
            if keys.data is not None and not any(Path(name).suffix for name in files):
                trees[variable] = read_column_tree(records(), variable, files, keys.total, keys.file_format)
                continue
            trees[variable] = [read_code_tree(file(name, at), keys.total) for name in files]
    if keys.cells is not None:
        path = file(keys.cells, where("cells"))
        columns = {name: getattr(keys, name) for name in (*OF_CELLS, "total", "measure")}
        with _blaming(recipe.origin, where("cells"), keys, where):
            table, marked = read_marked_cells(
                path, by, str(keys.value), keys.mark, file=keys.file_format, hierarchies=trees, **columns
            )
            return MadeTable(table, marked)
    options: dict[str, Any] = {
        name: getattr(keys, name) for name in (*OF_RECORDS, "value", "total", "measure") if name != "where"
    }
    options["file"] = keys.file_format
    spec = TableSpec(by=by, where=keys.where, hierarchies=trees, options=options)
    data = records()
    with _blaming(recipe.origin, where("data"), keys, where):
        table = spec.make(data)
        if keys.empty == "drop":
            spec = spec.without_empty(table)
            table = spec.make(data)
    if keys.start is None:
        return MadeTable(table, np.zeros(table.n_cells, dtype=bool), data, spec)
    mark = keys.mark or MARK
    path = file(keys.start, where("start"))
    with _blaming(recipe.origin, where("start"), keys, where):
        marked = marked_cells(read_cell_file(path, [*by, mark]), table.labels, mark, path.name)
        return MadeTable(table, marked, data, spec)


def _records_of(keys: TableKeys, file: Callable[[str], Path], frames: dict[Any, Any]) -> Any:
    """Return the path of records, or a frame of Spark, the same one for all tables of the same records."""
    name = str(keys.data)
    if keys.engine == "duckdb":
        return file(name)
    # A place that only the cluster knows is no path of this machine.
    path = name if "://" in name else str(file(name).resolve())
    refuse_other_than_parquet(path)
    if (keys.spark, path) not in frames:
        frames[keys.spark, path] = given_to(session_at(keys.spark), path)
    return frames[keys.spark, path]


@contextmanager
def _blaming(origin: Origin, at: KeyPath, keys: TableKeys | None = None, where: Any = None) -> Iterator[None]:
    """Add to an error the key whose word it quotes, else the key at hand."""
    try:
        yield
    except HitokuError as error:
        if origin.name and origin.name in error.where:
            raise
        for name in TableKeys.model_fields if keys else ():
            given = getattr(keys, name)
            if isinstance(given, str) and repr(given) in error.what and name != "total":
                at = where(name)
            elif isinstance(given, list):
                found = [i for i, word in enumerate(given) if repr(word) in error.what]
                at = (*where(name), found[0]) if found else at
            elif name == "where" and given:
                at = next(((*where(name), column) for column in given if repr(column) in error.what), at)
        # An error that names a key itself knows better than the words it quotes.
        named = error.where.rpartition(", ")[2]
        if keys and getattr(keys, named, None):
            at = where(named)
        raise origin.blamed(error, at) from error


def positions(part: Table, whole: Table) -> Integers:
    """Find the cells of one of the linked tables in the whole.

    Examples
    --------
    >>> codes = [["N", "S"], ["1", "2"]]
    >>> region = Table.from_array([3, 4], names=["region"], codes=codes[:1], measure="n")
    >>> both = Table.from_array([[1, 2], [3, 1]], names=["region", "size"], codes=codes, measure="n")
    >>> positions(region, Table.link([both, region])).tolist()
    [2, 5, 8]
    """
    labels, own = whole.labels, {name: place for place, name in enumerate(part.labels.names)}
    columns = []
    for name, codes in zip(labels.names, labels.codes, strict=True):
        rank = {code: place for place, code in enumerate(codes)}
        if name in own:
            translate = np.array([rank[code] for code in part.labels.codes[own[name]]])
            columns.append(translate[part.labels.column(own[name])])
        else:
            # A variable that the part lacks stands at its total, which comes last.
            code = part.measure if name == MEASURE and part.measure in rank else codes[-1]
            columns.append(np.full(part.n_cells, rank[code]))
    here = np.ravel_multi_index(columns, labels.shape)
    there = np.ravel_multi_index([labels.column(v) for v in range(len(labels.names))], labels.shape)
    order = np.argsort(there, kind="stable")
    return np.asarray(order[np.searchsorted(there[order], here)], dtype=np.int64)
