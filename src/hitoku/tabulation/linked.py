"""Several tables of the same records, put together so that what they say together can be protected.

Tables link where the records behind their cells are the same, whatever the cells are called. Two kinds of
tables that nobody publishes are added where they are needed. A table under a filter divides every cell of the
unfiltered ones into what it keeps and **the rest**, and a reader who has both subtracts. And where tables
cross each other in a ring (A by B, B by C, C by A), what follows from all of them together is more than what
follows from the cells that they share: then the **cover**, the full cross of all their variables, says it. So
it does where two filters cut across each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from hitoku.errors import ParameterError
from hitoku.messages import Text
from hitoku.model import Finding, Integers, Joint, Severity, Table, join, whole
from hitoku.tabulation.divisions import (
    TableSpec,
    common_filter,
    common_margins,
    determined,
    divide_records,
    finest,
    unjudged,
)
from hitoku.tabulation.engines import given_to, opened_once
from hitoku.tabulation.placement import RecordAtoms

# A cover with more leaf cells than this is not made; that the tables form a ring is said instead.
MAX_COVERED = 100_000
# Nor one with more than this for filters that cut across each other: mostly the person can do without them.
MAX_CROSSED = 20_000
COVER = "cover"


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

    def __post_init__(self) -> None:
        # Rules about groups judge each of the tables by itself, too.
        object.__setattr__(self, "table", replace(self.table, linked=tuple(self.parts.values())))

    @property
    def complete(self) -> bool:
        """Whatever the tables say together follows from the relations of ``table``."""
        return not any(remark.severity is Severity.REVIEW for remark in self.remarks)

    def __repr__(self) -> str:
        return f"LinkedTables({len(self.parts)} tables, {self.table.n_cells:_} distinct cells)"


def link(data: Any, tables: Mapping[str, Mapping[str, Any]], **options: Any) -> LinkedTables:
    """Tabulate several tables of the same records, and find out which cells they share.

    Parameters
    ----------
    data
        The records, as for :func:`hitoku.tabulate`.
    tables
        By name, the arguments of :func:`hitoku.tabulate` for each: ``by``, ``where``, ``hierarchies``, ...
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
        raise ParameterError(
            "single_table_to_link", "one table has nothing to link with", where="tables", fix="use tabulate"
        )
    specs = {name: _spec({**options, **given}) for name, given in tables.items()}
    common = {name: options.get(name) for name in ("file", "memory_limit", "threads")}
    with opened_once(given_to(options.get("engine", "duckdb"), data), **common) as opened:
        return put_together(opened, specs, {name: spec.make(opened) for name, spec in specs.items()})


def _spec(given: Mapping[str, Any]) -> TableSpec:
    own = {name: given[name] for name in ("where", "hierarchies") if given.get(name) is not None}
    others = {name: value for name, value in given.items() if name not in {"by", "where", "hierarchies"}}
    if "by" not in given:
        raise ParameterError(
            "table_without_variables",
            "a table without variables",
            where="tables",
            fix='give by=["region", ...]',
        )
    return TableSpec(by=given["by"], options=others, **own)


def put_together(data: Any, specs: Mapping[str, TableSpec], tables: Mapping[str, Table]) -> LinkedTables:
    """Link tables made from their specifications; ``data`` are the records of all of them."""
    columns = [name for spec in specs.values() for name in (*spec.by, *(spec.where or {}))]
    atoms = RecordAtoms.of(data, columns, next(iter(specs.values())).options.get("file"))
    # A filter of all tables defines the population, because records outside it cannot be derived.
    common = common_filter(list(specs.values()), atoms)
    atoms = atoms.only(atoms.kept(common)) if common else atoms
    made, told = list(tables.values()), [spec.without_filter(common) for spec in specs.values()]

    def make(spec: TableSpec) -> Table:
        return replace(spec, where={**common, **(spec.where or {})} or None).make(data)

    divisions = []
    for spec, parts in divide_records(list(told), [table.measure for table in made], atoms):
        divisions.append(parts if spec is None else (*parts, len(made)))
        made += [] if spec is None else [make(spec)]
        told += [] if spec is None else [spec]
    for group in common_margins(told, divisions, atoms):
        if len(group) > 1:
            divisions.append(tuple(range(len(made), len(made) + len(group))))
        made += [make(spec) for spec in group]
        told += group
    measures = [table.measure for table in made]
    remarks: list[Finding] = []
    covered: dict[str, bool] = {}
    for measure in dict.fromkeys(measures):
        same = [spec for spec, its in zip(told, measures, strict=True) if its == measure]
        if not acyclic(_edges(same, atoms)):
            covered[measure] = _add_cover(make, same, atoms, MAX_COVERED, made, told)
            remarks += [] if covered[measure] else [_too_large()]
    found = _joined(made, told, divisions, atoms)
    # What cuts a rest cuts one of the tables that it is the difference of.
    crossed = {measures[one] for one, other in found.overlapping if max(one, other) < len(tables)}
    n_joined = len(made)
    for measure in sorted(crossed - set(covered)):
        same = [spec for spec, its in zip(told, measures, strict=True) if its == measure]
        covered[measure] = _add_cover(make, same, atoms, MAX_CROSSED, made, told)
    if len(made) > n_joined:
        found = _joined(made, told, divisions, atoms)
    open_cuts = {
        pair: n_cells for pair, n_cells in found.overlapping.items() if not covered.get(made[pair[0]].measure)
    }
    n = len(tables)
    names = [*tables, *(f"rest {number}" for number in range(1, len(made) - len(tables) + 1))]
    shown = [place < len(tables) for place in range(len(made))]
    return LinkedTables(
        table=whole(made, found, names, shown),
        parts={name: (table, found.cell[place]) for place, (name, table) in enumerate(tables.items())},
        rest=tuple((made[place], found.cell[place]) for place, spec in enumerate(told) if spec.outside),
        remarks=(
            *remarks,
            *_unjudged(unjudged(told[:n], measures[:n], [s for s in told if s.outside], atoms), list(tables)),
            *_remarks(found.in_these_data, open_cuts, list(tables)),
        ),
    )


def _joined(
    made: Sequence[Table], specs: Sequence[TableSpec], divisions: Sequence[Sequence[int]], atoms: RecordAtoms
) -> Joint:
    places = [atoms.place(table, spec.where, spec.outside) for table, spec in zip(made, specs, strict=True)]
    return join(made, places, divisions)


def _add_cover(
    make: Callable[[TableSpec], Table],
    same: Sequence[TableSpec],
    atoms: RecordAtoms,
    most: int,
    made: list[Table],
    told: list[TableSpec],
) -> bool:
    """Add the full cross of all variables to what is made; False where it is too large."""
    cover = _cover(same, atoms, most)
    if cover is not None:
        made.append(make(cover))
        told.append(cover)
    return cover is not None


def _edges(specs: Sequence[TableSpec], atoms: RecordAtoms) -> list[set[str]]:
    """Return for each table its columns and those that they determine."""
    below = determined(atoms)
    return [{other for name in spec.columns for other in below[name]} for spec in specs]


def acyclic(edges: Sequence[set[str]]) -> bool:
    """Return whether tables form no ring (Graham's reduction of the hypergraph of their variables).

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
    names = finest(list(atoms.columns), atoms)
    size = float(np.prod([float(len(atoms.columns[name].codes)) for name in names]))
    if size > most:
        return None
    return TableSpec(by=names, options=dict(specs[0].options) | {"missing": "code"})


def _too_large() -> Finding:
    return Finding(
        severity=Severity.REVIEW,
        place="linked tables",
        reason="they cross each other in a ring, and the table that would say what follows is too large",
        advice="publish fewer of them together, or coarser ones",
    )


def _unjudged(found: Iterable[tuple[int, ...]], names: Sequence[str]) -> Iterator[Finding]:
    for places in islice(found, 3):
        named = tuple(names[place] for place in places)
        yield Finding(
            severity=Severity.REVIEW,
            place=", ".join(named),
            tables=named,
            reason="who adds and subtracts these tables has records that no rule has judged",
            advice="publish the table of what two of the filters keep together, or fewer of these tables",
        )


def _remarks(
    in_these_data: int, overlapping: Mapping[tuple[int, int], int], names: Sequence[str]
) -> Iterator[Finding]:
    if in_these_data:
        yield Finding(
            severity=Severity.NOTE,
            place="linked tables",
            reason=Text(
                "{n} cell(s) were joined that have the same records in these data, for other categories are "
                "empty",
                n=in_these_data,
            ),
        )
    cells: dict[tuple[str, str], int] = {}
    for (one, other), n_cells in overlapping.items():
        if max(one, other) < len(names):
            pair = names[min(one, other)], names[max(one, other)]
            cells[pair] = max(n_cells, cells.get(pair, 0))
    for pair, n_cells in cells.items():
        yield Finding(
            severity=Severity.REVIEW,
            place=", ".join(pair),
            tables=pair,
            reason=Text(
                "these two tables share records in {n} cell(s) in a way that no sum expresses", n=n_cells
            ),
            advice="filter both alike, or make the filter a variable of the table",
        )
