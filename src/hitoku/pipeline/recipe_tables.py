"""From a recipe to its tables: files read, tables linked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.errors import HitokuError
from hitoku.files import require_path, sha256, split_sheet
from hitoku.io import marked_cells, read_cell_file, read_code_tree, read_marked_cells
from hitoku.io.recipe import (
    COLUMN_KEYS,
    OF_CELLS,
    OF_RECORDS,
    Recipe,
    RecipeOrigin,
    TableKeys,
)
from hitoku.linking import LinkedTables
from hitoku.model import MEASURE, Finding, Hierarchy, Integers, Mask, Table
from hitoku.pipeline.recipe_links import MadeTable, link_made
from hitoku.tabulation import (
    Nested,
    RecordPrints,
    SharedRecords,
    TableSpec,
    given_to,
    nested_columns,
    read_column_tree,
    refuse_other_than_parquet,
    session_at,
    share_records,
)
from hitoku.toml import KeyPath

Parts = Mapping[str, tuple[Table, Integers]]
MARK = "status"  # default name of the column of marks


@dataclass(frozen=True, eq=False)
class Built:
    """Tables of a recipe that are protected together, with further contents of their files."""

    name: str
    """Name of its folder, if there are several groups."""
    table: Table
    """The table to be protected; linked if there are several."""
    parts: Parts
    """The linked tables by name, with the positions of their cells in ``table``; empty for a single one."""
    by_hand: Mask
    """Manually suppressed cells."""
    rest: tuple[tuple[Table, Integers], ...] = ()
    """Tables of the records that filters exclude, each with the positions of its cells in ``table``."""
    remarks: tuple[Finding, ...] = ()
    """Remarks on how the tables share their records."""
    atoms: Table | None = None
    """The table with its atoms as further hidden cells; None where these are not known."""
    undecided: str = ""
    """Why they are not known; empty for a single table."""
    fingerprints: Sequence[str] = ()
    """Fingerprints of the records of every cell; empty if not requested, or without local records."""
    nested: Nested = field(default_factory=dict)
    """Columns of the records that group codes of the variables."""

    def compared(self, made: Mapping[str, MadeTable]) -> Built:
        """Add data for comparing records with other releases; ``made`` are its tables."""
        columns: dict[SharedRecords, dict[str, None]] = {}
        for one in made.values():
            if isinstance(one.data, SharedRecords):
                columns.setdefault(one.data, {}).update(
                    dict.fromkeys((*one.spec.by, *(one.spec.where or {})))
                )
        nested: Nested = {}
        for data, used in columns.items():
            for name, groups in nested_columns(data, list(used)).items():
                nested.setdefault(name, {}).update(groups)
        prints = {data: RecordPrints.of(data, list(used)) for data, used in columns.items()}
        parts = self.parts or {name: (self.table, np.arange(self.table.n_cells)) for name in made}
        found = [""] * self.table.n_cells
        for name, one in made.items():
            if one.data in prints:
                table, cells = parts[name]
                for cell, each in zip(
                    cells.tolist(), prints[one.data].cells(table, one.spec.where), strict=True
                ):
                    found[cell] = each
        return replace(self, fingerprints=found if any(found) else [], nested=nested)


def build(recipe: Recipe, *, compare: bool = False) -> tuple[list[Built], dict[str, str]]:
    """Read the files that a recipe names, each once, and make its tables.

    Parameters
    ----------
    recipe
        Recipe to build from.
    compare
        Also compute fingerprints of the records of cells, for a release.

    Returns
    -------
    tuple
        Groups of tables that share nothing, and fingerprints of the files that were read, by name.
    """
    hashes: dict[str, str] = {}
    with ExitStack() as opened:
        records = OpenedRecords(opened)
        made = {
            name: _one(recipe, place, keys, hashes, records)
            for place, (name, keys) in enumerate(recipe.tables.items())
        }
        if not recipe.keys.tables:
            (only,) = made.values()
            alone = Built("table", only.table, {}, only.by_hand)
            return [alone.compared(made) if compare else alone], hashes
        with _blaming(recipe.origin, ("classifications" if recipe.keys.classifications else "tables",)):
            linked = link_made(made, recipe.keys.classifications)
        groups = []
        for group in linked:
            one = _build_group(group, made, alone=len(linked) > 1)
            groups.append(one.compared({name: made[name] for name in group.parts}) if compare else one)
    return groups, hashes


def _build_group(group: LinkedTables, made: Mapping[str, MadeTable], *, alone: bool) -> Built:
    """Convert a group of linked tables; a single table among others is an ordinary one."""
    first, *others = group.parts
    table, cells = group.parts[first]
    if alone and not others and len(cells) == group.table.n_cells:
        own = made[first].by_hand
        return Built(first, table, {}, own, remarks=group.remarks, undecided=group.undecided)
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
        group.atoms,
        group.undecided,
    )


@dataclass(frozen=True, eq=False)
class OpenedRecords:
    """Records of a recipe, opened on first use, and shared by all tables of the same records."""

    stack: ExitStack
    """Closes them."""
    _known: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    def of(self, keys: TableKeys, file: Callable[[str], Path]) -> Any:
        """Return the records of a table; ``file`` returns the path of a name."""
        name = str(keys.data)
        if keys.engine == "duckdb":
            path = file(name)
            if (path, keys.file_format) not in self._known:
                shared = self.stack.enter_context(share_records(path, keys.file_format))
                self._known[path, keys.file_format] = shared
            return self._known[path, keys.file_format]
        # A location that only the cluster knows is not a path of this machine.
        place = name if "://" in name else str(file(name).resolve())
        refuse_other_than_parquet(place)
        if (keys.spark, place) not in self._known:
            self._known[keys.spark, place] = given_to(session_at(keys.spark), place)
        return self._known[keys.spark, place]


def _one(
    recipe: Recipe,
    place: int,
    keys: TableKeys,
    hashes: dict[str, str],
    opened: OpenedRecords,
) -> MadeTable:
    by = keys.by or []

    def where(name: str) -> KeyPath:
        own = bool(recipe.keys.tables) and name in recipe.keys.tables[place].model_fields_set
        return ("tables", place, name) if own else (name,)

    def file(name: str, at: KeyPath) -> Path:
        with _blaming(recipe.origin, at):
            path = require_path(recipe.path(name))
        real, _ = split_sheet(path)
        if real.is_file() and name not in hashes:
            hashes[name] = sha256(real)
        return path

    def records() -> Any:
        with _blaming(recipe.origin, where("spark" if keys.spark else "data")):
            return opened.of(keys, lambda name: file(name, where("data")))

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
        marked = marked_cells(
            read_cell_file(path, by, mark=mark, total=keys.total), table.labels, mark, path.name
        )
        return MadeTable(table, marked, data, spec)


@contextmanager
def _blaming(
    origin: RecipeOrigin, at: KeyPath, keys: TableKeys | None = None, where: Any = None
) -> Iterator[None]:
    """Add to an error the key that names its column or that the error names, else the given key."""
    try:
        yield
    except HitokuError as error:
        if origin.names(error):
            raise
        if keys and error.column:
            at = next(_naming(keys, error.column, where), at)
        elif keys and getattr(keys, error.argument, None):
            at = where(error.argument)
        raise origin.blamed(error, at) from error


def _naming(keys: TableKeys, column: str, where: Callable[[str], KeyPath]) -> Iterator[KeyPath]:
    """Yield the keys that name a column."""
    for name in COLUMN_KEYS:
        given = getattr(keys, name)
        if given == column:
            yield where(name)
        elif isinstance(given, list) and column in given:
            yield (*where(name), given.index(column))
        elif isinstance(given, dict) and column in given:
            yield (*where(name), column)


def positions(part: Table, whole: Table) -> Integers:
    """Return the positions of the cells of one of the linked tables in the whole.

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
            # A variable that the part lacks is at its total, which comes last.
            code = part.measure if name == MEASURE and part.measure in rank else codes[-1]
            columns.append(np.full(part.n_cells, rank[code]))
    here = np.ravel_multi_index(columns, labels.shape)
    there = np.ravel_multi_index([labels.column(v) for v in range(len(labels.names))], labels.shape)
    order = np.argsort(there, kind="stable")
    return np.asarray(order[np.searchsorted(there[order], here)], dtype=np.int64)
