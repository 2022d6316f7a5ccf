"""Linked tables: several tables of the same records as one table.

Cells of different tables are the same cell if their records are the same, whatever their codes are. What
follows from all tables by addition and subtraction is examined with their atoms (:mod:`hitoku.linking.atoms`)
as hidden cells. A table under a filter divides every cell of an unfiltered one into the records that pass and
the **remainder**. Remainders are hidden tables, which rules assess like published ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hitoku.errors import ParameterError
from hitoku.linking.atoms import MAX_TABULATED, TOO_MANY, among_atoms, atoms_of
from hitoku.linking.classifications import finest
from hitoku.linking.divisions import common_filter, divide_records
from hitoku.messages import Text
from hitoku.model import Finding, Integers, Joint, Severity, Table, counts_units, join, whole
from hitoku.tabulation import (
    RecordAtoms,
    SharedRecords,
    TableSpec,
    finer_columns,
    given_to,
    opened_once,
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LinkedTables:
    """Several tables of the same records, as one table.

    Parameters
    ----------
    table
        Every distinct cell once, with the relations of all tables; cells of no published table are hidden.
    parts
        Tables by name, each with the indices of its cells in ``table``.
    rest
        Remainders of filters, each with the indices of its cells. They are not published, but rules assess
        them because they follow by subtraction.
    remarks
        Findings for a person: cells that are equal in these data only, and shared records that no sum
        expresses.
    atoms
        The same table with its atoms as further hidden cells, so that its relations imply everything that
        follows from all tables. None if the atoms are unknown.
    undecided
        Reason why the atoms are unknown; empty if they are known.
    """

    table: Table
    parts: Mapping[str, tuple[Table, Integers]]
    rest: tuple[tuple[Table, Integers], ...] = ()
    remarks: tuple[Finding, ...] = ()
    atoms: Table | None = None
    undecided: str = ""

    def __post_init__(self) -> None:
        # Rules about groups also assess each table separately.
        linked = tuple(self.parts.values())
        object.__setattr__(self, "table", replace(self.table, linked=linked))
        if self.atoms is not None:
            object.__setattr__(self, "atoms", replace(self.atoms, linked=linked))

    @property
    def complete(self) -> bool:
        """Whether the relations of ``atoms`` imply everything that follows from all tables."""
        return self.atoms is not None

    def __repr__(self) -> str:
        return f"LinkedTables({len(self.parts)} tables, {self.table.n_cells:_} distinct cells)"


def link(data: Any, tables: Mapping[str, Mapping[str, Any]], **options: Any) -> LinkedTables:
    """Tabulate several tables of the same records, and link the cells that they share.

    Parameters
    ----------
    data
        Records, as for :func:`hitoku.tabulate`.
    tables
        Arguments of :func:`hitoku.tabulate` by name of the table: ``by``, ``where``, ``hierarchies``, ...
    **options
        Arguments common to all tables; those of a table take precedence.

    Returns
    -------
    LinkedTables
        All tables with their common cells, to be assessed and protected as one table.

    Raises
    ------
    ParameterError
        If there are fewer than two tables, or a table has no variables.

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
    """Link tables made from their specifications.

    Parameters
    ----------
    data
        Records of all tables.
    specs, tables
        Specifications and tables by name, in the same order.
    """
    columns = [name for spec in specs.values() for name in (*spec.by, *(spec.where or {}))]
    atoms = RecordAtoms.of(data, columns, next(iter(specs.values())).options.get("file"))
    # A filter common to all tables defines the population: records outside it cannot be derived.
    common = common_filter(list(specs.values()), atoms)
    atoms = atoms.only(atoms.kept(common)) if common else atoms
    made, every = list(tables.values()), [spec.without_filter(common) for spec in specs.values()]

    def make(spec: TableSpec) -> Table:
        return replace(spec, where={**common, **(spec.where or {})} or None).make(data)

    divisions = []
    for spec, parts in divide_records(list(every), [table.measure for table in made], atoms):
        divisions.append(parts if spec is None else (*parts, len(made)))
        made += [] if spec is None else [make(spec)]
        every += [] if spec is None else [spec]
    n = len(tables)
    found = _join_tables(made, every, divisions, atoms)
    names = [*tables, *(f"rest {number}" for number in range(1, len(made) - len(tables) + 1))]
    shown = [place < len(tables) for place in range(len(made))]
    table = whole(made, found, names, shown)
    finer = None
    if isinstance(data, SharedRecords):
        amounts = [
            spec.options.get(role) for spec in every for role in ("value", "weight", "unit", "holding")
        ]
        further = finer_columns(data, list(atoms.columns), [name for name in amounts if name])
        finer = RecordAtoms.of(data, [*columns, *further]) if further else None
        finer = finer.only(finer.kept(common)) if finer and common else finer
    with_atoms = _among_atoms(table, made, every, n, found.cell, atoms, finer, make)
    return LinkedTables(
        table=table,
        atoms=with_atoms,
        undecided="" if with_atoms is not None else TOO_MANY,
        parts={name: (table, found.cell[place]) for place, (name, table) in enumerate(tables.items())},
        rest=tuple((made[place], found.cell[place]) for place, spec in enumerate(every) if spec.outside),
        remarks=tuple(_remarks(found.in_these_data)),
    )


def _among_atoms(
    table: Table,
    tables: Sequence[Table],
    specs: Sequence[TableSpec],
    n: int,
    cells: Sequence[Integers],
    records: RecordAtoms,
    finer: RecordAtoms | None,
    make: Callable[[TableSpec], Table],
) -> Table | None:
    """Return the linked table with its atoms; None if there are too many, or several quantities.

    The first ``n`` tables are published, the others are remainders of filters.
    """
    counts = all(one.units is None and one.holdings is None and counts_units(one) for one in tables)
    names = finest(list(records.columns), records)
    if len({one.measure for one in tables}) > 1 or not table.additive:
        return None
    if not counts and np.prod([float(len(records.columns[n].codes) + 1) for n in names]) > MAX_TABULATED:
        return None
    atoms = atoms_of(records, tables[:n], specs[:n], merged=counts, finer=finer)
    if atoms is None:
        return None
    atoms = atoms.and_in(tables[n:], specs[n:])

    def cross() -> Table:
        return make(TableSpec(by=names, options=dict(specs[0].options) | {"missing": "code"}))

    return among_atoms(table, cells, tables, atoms, cross)


def _join_tables(
    made: Sequence[Table], specs: Sequence[TableSpec], divisions: Sequence[Sequence[int]], atoms: RecordAtoms
) -> Joint:
    places = [atoms.place(table, spec.where, spec.outside) for table, spec in zip(made, specs, strict=True)]
    return join(made, places, divisions)


def _remarks(in_these_data: int) -> Iterator[Finding]:
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
