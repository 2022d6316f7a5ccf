"""Several tables of the same records, put together so that what they say together can be protected.

Tables link where the records behind their cells are the same, whatever the cells are called. Two kinds of
tables that nobody publishes are added where they are needed. A table under a filter divides every cell of the
unfiltered ones into what it keeps and **the rest**, and a reader who has both subtracts. And where tables
cross each other in a ring (A by B, B by C, C by A), what follows from all of them together is more than what
follows from the cells that they share: then the **cover**, the full cross of all their variables, says it. So
it does where two filters cut across each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from hitoku.errors import ParameterError
from hitoku.model.arrays import Integers
from hitoku.model.finding import Finding, Severity
from hitoku.model.from_frame import Hierarchies
from hitoku.model.hierarchy import Hierarchy
from hitoku.model.joint import Joint, join, whole
from hitoku.model.table import Table
from hitoku.tabulation.placement import RecordAtoms
from hitoku.tabulation.source import Where
from hitoku.tabulation.tabulate import tabulate

# A cover with more leaf cells than this is not made; that the tables form a ring is said instead.
MOST_COVERED = 100_000
# Nor one with more than this for filters that cut across each other: mostly the person can do without them.
MOST_CROSSED = 20_000
COVER = "cover"


@dataclass(frozen=True, eq=False, kw_only=True)
class TableSpec:
    """How one of several tables is made from the records.

    Parameters
    ----------
    by
        Columns with the codes.
    where
        Filter, as in :func:`hitoku.tabulate`.
    hierarchies
        Code trees by variable.
    options
        What else :func:`hitoku.tabulate` takes.
    """

    by: Sequence[str]
    where: Where | None = None
    hierarchies: Hierarchies = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    def make(self, data: Any) -> Table:
        """Add up the records."""
        return tabulate(data, self.by, where=self.where, hierarchies=self.hierarchies, **self.options)

    def without_empty(self, table: Table) -> TableSpec:
        """Leave out the codes that no record has; ``table`` is what this makes with them."""
        trees: dict[str, Hierarchy | Sequence[Hierarchy]] = dict(self.hierarchies)
        n_records = table.value if table.frequency is None else table.frequency
        counts = np.asarray(n_records).reshape(table.shape)
        for axis, dimension in enumerate(table.dimensions):
            if dimension.name in trees:
                given = trees[dimension.name]
                # Everything else at its total, which comes last.
                own = counts[tuple(slice(None) if a == axis else -1 for a in range(counts.ndim))]
                left = {code for code in dimension.leaves if own[dimension.position[code]] > 0}
                listed = [given] if isinstance(given, Hierarchy) else given
                trees[dimension.name] = [tree.only(left) for tree in listed]
        return replace(self, hierarchies=trees)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LinkedTables:
    """Several tables as one.

    Parameters
    ----------
    table
        Every distinct cell once, tied by all relations; cells that no table shows are marked hidden.
    parts
        The tables by name, each with the positions of its cells in ``table``.
    rest
        Tables of what filters leave out, each with the positions of its cells. Nobody publishes them; rules
        judge them all the same, for a reader can subtract.
    remarks
        What a person should know: cells that were found equal in these data only, records that are shared in
        a way that no sum expresses.
    """

    table: Table
    parts: Mapping[str, tuple[Table, Integers]]
    rest: tuple[tuple[Table, Integers], ...] = ()
    remarks: tuple[Finding, ...] = ()

    @property
    def complete(self) -> bool:
        """Whatever the tables say together follows from the relations of ``table``."""
        return not any(remark.severity is Severity.LOOK for remark in self.remarks)

    def __repr__(self) -> str:
        return f"LinkedTables({len(self.parts)} tables, {self.table.n_cells:_} distinct cells)"


def link(data: Any, tables: Mapping[str, Mapping[str, Any]], **options: Any) -> LinkedTables:
    """Tabulate several tables of the same records, and find out which cells they share.

    Parameters
    ----------
    data
        The records, as :func:`hitoku.tabulate` takes them.
    tables
        By name, what :func:`hitoku.tabulate` is told for each: ``by``, ``where``, ``hierarchies``, ...
    **options
        The same for all of them.

    Examples
    --------
    >>> import pandas as pd
    >>> firms = pd.DataFrame({
    ...     "town": ["a", "a", "b", "c"], "county": ["A", "A", "A", "B"], "size": ["1", "2", "1", "1"]
    ... })
    >>> linked = link(firms, {"towns": {"by": ["town"]}, "sizes": {"by": ["county", "size"]}})
    >>> linked, linked.table.describe(int(linked.parts["sizes"][1][5]))
    (LinkedTables(2 tables, 11 distinct cells), 'town=c, county=Total, size=Total')
    """
    if len(tables) < 2:
        raise ParameterError("one table has nothing to link with", where="tables", fix="use tabulate")
    specs = {name: _spec({**options, **given}) for name, given in tables.items()}
    return put_together(data, specs, {name: spec.make(data) for name, spec in specs.items()})


def _spec(given: Mapping[str, Any]) -> TableSpec:
    own = {name: given[name] for name in ("where", "hierarchies") if given.get(name) is not None}
    others = {name: value for name, value in given.items() if name not in {"by", "where", "hierarchies"}}
    if "by" not in given:
        raise ParameterError("a table without variables", where="tables", fix='give by=["region", ...]')
    return TableSpec(by=given["by"], options=others, **own)


def put_together(data: Any, specs: Mapping[str, TableSpec], tables: Mapping[str, Table]) -> LinkedTables:
    """Put tables together that were made as told; ``data`` are the records of all of them."""
    columns = [name for spec in specs.values() for name in (*spec.by, *(spec.where or {}))]
    atoms = RecordAtoms.of(data, columns, next(iter(specs.values())).options.get("file"))
    made, told = list(tables.values()), list(specs.values())
    families: list[list[int]] = []
    for place, spec in enumerate(list(told)):
        if spec.where:
            family = [place]
            for rest in _complements(spec, atoms):
                family.append(len(made))
                made.append(rest.make(data))
                told.append(rest)
            families.append(family)
    n_rest = len(made)
    for group in _margins(told, families, atoms):
        if len(group) > 1:
            families.append(list(range(len(made), len(made) + len(group))))
        made += [spec.make(data) for spec in group]
        told += group
    owners = _owners(list(tables), families, n_rest)
    measures = [table.measure for table in made]
    remarks: list[Finding] = []
    covered: dict[str, bool] = {}
    for measure in dict.fromkeys(measures):
        same = [spec for spec, its in zip(told, measures, strict=True) if its == measure]
        if not acyclic(_edges(same, atoms)):
            covered[measure] = _add_cover(data, same, atoms, MOST_COVERED, made, told)
            remarks += [] if covered[measure] else [_too_large()]
    found = _joined(made, told, families, atoms)
    crossed = {measures[one] for one, other in found.overlapping if max(one, other) < len(owners)}
    n_joined = len(made)
    for measure in sorted(crossed - set(covered)):
        same = [spec for spec, its in zip(told, measures, strict=True) if its == measure]
        covered[measure] = _add_cover(data, same, atoms, MOST_CROSSED, made, told)
    if len(made) > n_joined:
        found = _joined(made, told, families, atoms)
    open_cuts = {
        pair: n_cells for pair, n_cells in found.overlapping.items() if not covered.get(made[pair[0]].measure)
    }
    names = [*tables, *(f"rest {number}" for number in range(1, len(made) - len(tables) + 1))]
    shown = [place < len(tables) for place in range(len(made))]
    return LinkedTables(
        table=whole(made, found, names, shown),
        parts={name: (table, found.cell[place]) for place, (name, table) in enumerate(tables.items())},
        rest=tuple((made[place], found.cell[place]) for place in range(len(tables), n_rest)),
        remarks=(*remarks, *_remarks(found.in_these_data, open_cuts, owners)),
    )


def _joined(
    made: Sequence[Table], specs: Sequence[TableSpec], families: Sequence[Sequence[int]], atoms: RecordAtoms
) -> Joint:
    places = [atoms.place(table, spec.where) for table, spec in zip(made, specs, strict=True)]
    return join(made, places, families)


def _add_cover(
    data: Any,
    same: Sequence[TableSpec],
    atoms: RecordAtoms,
    most: int,
    made: list[Table],
    told: list[TableSpec],
) -> bool:
    """Add the full cross of all variables to what is made; False where it is too large."""
    cover = _cover(same, atoms, most)
    if cover is not None:
        made.append(cover.make(data))
        told.append(cover)
    return cover is not None


def _complements(spec: TableSpec, atoms: RecordAtoms) -> Iterator[TableSpec]:
    """Yield tables of what a filter leaves out: with the filtered one they divide all records."""
    kept: dict[str, Sequence[str]] = {}
    for name, codes in (spec.where or {}).items():
        others = atoms.others(name, codes)
        if others:
            yield TableSpec(
                by=spec.by, where={**kept, name: others}, hierarchies=spec.hierarchies, options=spec.options
            )
        kept[name] = codes


def _margins(
    specs: Sequence[TableSpec], families: Sequence[Sequence[int]], atoms: RecordAtoms
) -> list[list[TableSpec]]:
    """Return tables of what two others have in common, where neither has it among its own cells.

    A table by division and region, another by section and town: sections by regions are sums of both. Under
    a filter they come with their rest, which makes a list of more than one.
    """
    below = _determined(atoms)
    closed = [{other for name in spec.by for other in below[name]} for spec in specs]
    family_of = {place: family for family in families for place in family}
    there = {(frozenset(spec.by), _filter_key(spec.where)) for spec in specs}
    found: list[list[TableSpec]] = []
    for one, other in combinations(range(len(specs)), 2):
        common = _finest([name for name in atoms.columns if name in closed[one] & closed[other]], atoms)
        if not common:
            continue
        filters = [specs[place].where for place in (one, other)]
        wanted: list[list[Where | None]] = [[None]]
        if _filter_key(filters[0]) == _filter_key(filters[1]):
            wanted = [[filters[0]]]
        elif one in family_of or other in family_of:
            family = family_of[one if one in family_of else other]
            wanted = [[None], [specs[place].where for place in family]]
        for group in wanted:
            keys = {(frozenset(common), _filter_key(where)) for where in group}
            if not keys <= there:
                there |= keys
                options = specs[one].options
                found.append([TableSpec(by=common, where=where, options=options) for where in group])
    return found


def _filter_key(where: Where | None) -> frozenset[tuple[str, tuple[str, ...]]]:
    return frozenset((name, tuple(sorted(map(str, codes)))) for name, codes in (where or {}).items())


def _determined(atoms: RecordAtoms) -> dict[str, set[str]]:
    """Return for each column those that it determines, itself among them."""
    return {
        name: {other for other in atoms.columns if atoms.determines(name, other)} for name in atoms.columns
    }


def _finest(names: Sequence[str], atoms: RecordAtoms) -> list[str]:
    """Leave out columns that others of these determine; of columns that say the same the first stays."""
    return [
        name
        for place, name in enumerate(names)
        if not any(
            atoms.determines(other, name) and not (atoms.determines(name, other) and where > place)
            for where, other in enumerate(names)
            if other != name
        )
    ]


def _edges(specs: Sequence[TableSpec], atoms: RecordAtoms) -> list[set[str]]:
    """Return for each table the columns that it tells something about, those that its own determine too."""
    below = _determined(atoms)
    return [{other for name in (*spec.by, *(spec.where or {})) for other in below[name]} for spec in specs]


def acyclic(edges: Sequence[set[str]]) -> bool:
    """Tell whether tables form no ring (Graham's reduction of the hypergraph of their variables).

    Then what follows from all of them follows from the cells that pairs of them share (Vorob'ev's theorem).
    """
    left = [set(edge) for edge in edges]
    while True:
        before = [set(edge) for edge in left]
        for edge in left:
            edge -= {name for name in set(edge) if sum(name in other for other in left) == 1}
        left = [
            edge
            for place, edge in enumerate(left)
            if edge
            and not any(
                edge < other or (edge == other and place > where)
                for where, other in enumerate(left)
                if where != place
            )
        ]
        if len(left) <= 1:
            return True
        if left == before:
            return False


def _cover(specs: Sequence[TableSpec], atoms: RecordAtoms, most: int) -> TableSpec | None:
    """Return the full cross of the finest variables; None where it is too large."""
    finest = _finest(list(atoms.columns), atoms)
    size = float(np.prod([float(len(atoms.columns[name].codes)) for name in finest]))
    if size > most:
        return None
    return TableSpec(by=finest, options=dict(specs[0].options) | {"missing": "code"})


def _too_large() -> Finding:
    return Finding(
        severity=Severity.LOOK,
        place="linked tables",
        reason="they cross each other in a ring, and the table that would say what follows is too large",
        advice="publish fewer of them together, or coarser ones",
    )


def _owners(names: Sequence[str], families: Sequence[Sequence[int]], n_rest: int) -> list[str]:
    """Name every table, and what its filter leaves out, by the table."""
    owners = [*names, *("" for _ in range(len(names), n_rest))]
    for first, *rest in families:
        for place in rest:
            if place < n_rest:
                owners[place] = names[first]
    return owners


def _remarks(
    in_these_data: int, overlapping: Mapping[tuple[int, int], int], owners: Sequence[str]
) -> Iterator[Finding]:
    if in_these_data:
        yield Finding(
            severity=Severity.NOTE,
            place="linked tables",
            reason=f"{in_these_data} cell(s) were joined that have the same records in these data, "
            "for other categories are empty",
        )
    cells: dict[tuple[str, str], int] = {}
    for (one, other), n_cells in overlapping.items():
        if one < len(owners) and other < len(owners):
            pair = owners[min(one, other)], owners[max(one, other)]
            pair = (pair[1], pair[0]) if pair[::-1] in cells else pair
            cells[pair] = max(n_cells, cells.get(pair, 0))
    for pair, n_cells in cells.items():
        yield Finding(
            severity=Severity.LOOK,
            place=", ".join(pair),
            reason=f"these two tables share records in {n_cells} cell(s) in a way that no sum expresses",
            advice="filter both alike, or make the filter a variable of the table",
        )
