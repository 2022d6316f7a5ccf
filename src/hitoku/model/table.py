"""Table of cells with linear relations, and the table of units behind another table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from hitoku.errors import TableError, some
from hitoku.messages import Arguments, Text, join
from hitoku.model.arrays import Floats, Integers, Mask, frozen, frozen_relations
from hitoku.model.contributors import Contributors
from hitoku.model.dimension import Dimension, Labels
from hitoku.model.frames import small_table
from hitoku.model.hierarchy import TOTAL, Hierarchy
from hitoku.model.link import Levels, linked_parts
from hitoku.model.relations import broken, cross_relations
from hitoku.model.table_parts import array_parts, frame_parts
from hitoku.model.tolerance import LARGEST_WHOLE, WHOLE

UNIT = "give values in another unit, such as thousands or thousandths"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Table:
    """Cells with linear relations ``relations @ value == 0`` and their contributors.

    Tables are usually created by :meth:`from_array`, :meth:`from_frame`, ``hitoku.tabulate`` or
    ``hitoku.read_jj``. Arrays over cells are read-only and in the order of :attr:`cells`.

    Parameters
    ----------
    value
        Value of each cell before protection.
    relations
        One row per total: parts minus total. Default: derived from ``dimensions``.
    dimensions
        Variables if the table is a cross of them; otherwise empty.
    labels
        Codes of the cells. Default: derived from ``dimensions``, or numbers.
    frequency
        Number of contributors per cell: distinct units, or records if there is no unit.
    units, holdings
        Contributors per unit and per holding.
    measures
        Further numbers per cell, by name.
    integer
        Whether values are whole numbers and an outsider knows it.
    lower, upper
        Bounds that an outsider is assumed to know. Default: zero and infinity, or no lower bound if some
        value is negative.
    cost
        Cost of suppressing each cell.
    fixed
        Cells that may not be suppressed.
    hidden
        Cells that link published ones but are in no published table. They are suppressed in every release at
        no cost, and rules do not apply to them.
    measure
        Name of the quantity in ``value``. Linked tables share cells of the same measure only.
    additive
        False for a table that is known not to add up exactly, such as one printed with six digits.
    backend
        Kind of data frames returned: "pandas", "polars" or "pyarrow".
    linked
        Published tables that were linked into this one, each with the indices of its cells; empty for a
        single table. :meth:`linked_tables` returns them with the values of this table.

    Examples
    --------
    >>> table = Table.from_array(np.array([[20, 15], [72, 1]]))
    >>> table
    Table(9 cells, 6 relations, 2 dimensions, whole numbers)
    >>> table.describe(4)
    'row=2, column=2'
    """

    value: Floats
    relations: Any = None
    dimensions: tuple[Dimension, ...] = ()
    labels: Labels = None  # type: ignore[assignment]  # filled from the dimensions
    frequency: Integers | None = None
    units: Contributors | None = None
    holdings: Contributors | None = None
    measures: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    integer: bool = False
    lower: Floats = None  # type: ignore[assignment]  # filled from the values' signs
    upper: Floats = None  # type: ignore[assignment]  # filled with infinity
    cost: Floats | None = None
    fixed: Mask | None = None
    hidden: Mask | None = None
    measure: str = "value"
    additive: bool = True
    backend: str = "pandas"
    linked: tuple[tuple[Table, Integers], ...] = ()

    def __post_init__(self) -> None:
        n = len(np.atleast_1d(self.value))
        keep = self._keep
        value = keep("value", self.value, np.float64)
        if n == 0:
            raise TableError("no_cells", "a table without cells", fix="give at least one cell")
        keep("dimensions", tuple(self.dimensions))
        if self.relations is None:
            keep("relations", frozen_relations(cross_relations(self.dimensions), n))
        else:
            keep("relations", frozen_relations(self.relations, n))
        if self.labels is None:
            keep("labels", Labels.cross(self.dimensions) if self.dimensions else Labels.numbered(n))
        if len(self.labels) != n:
            raise TableError(
                "labels_size",
                "{n_labels} labels for {n_cells} cells",
                where="labels",
                n_labels=len(self.labels),
                n_cells=n,
            )
        default_lower = -np.inf if np.any(value < 0) else 0.0
        keep("lower", default_lower if self.lower is None else self.lower, np.float64)
        keep("upper", np.inf if self.upper is None else self.upper, np.float64)
        if self.frequency is not None:
            keep("frequency", self.frequency, np.int64)
        if self.cost is not None:
            keep("cost", self.cost, np.float64)
        if self.fixed is not None:
            keep("fixed", self.fixed, np.bool_)
        if self.hidden is not None:
            keep("hidden", self.hidden, np.bool_)
        measures = {name: frozen(a, None, shape=(n,), what=name) for name, a in self.measures.items()}
        keep("measures", MappingProxyType(measures))
        self._validate()

    def _keep(self, name: str, thing: Any, dtype: Any = None) -> Any:
        if dtype is not None:
            thing = frozen(thing, dtype, shape=(len(np.atleast_1d(self.value)),), what=name)
        object.__setattr__(self, name, thing)
        return thing

    def _validate(self) -> None:
        self._refuse(~np.isfinite(self.value), "is not a finite number", "fill or drop missing values first")
        if self.integer:
            parts = self.value != np.round(self.value)
            self._refuse(parts, "is not a whole number", "leave integer=False, or round the values first")
            large = np.abs(self.value) > LARGEST_WHOLE
            self._refuse(
                large,
                "is a whole number beyond 2**53, which floating-point numbers cannot represent exactly",
                UNIT,
            )
        if 0 < np.abs(self.value).max() < WHOLE:
            self._refuse(
                self.value != 0, "is below 1e-6 and cannot be distinguished from rounding errors", UNIT
            )
        below, above = np.isnan(self.lower) | (self.value < self.lower), self.value > self.upper
        self._refuse(
            below | np.isnan(self.upper) | above, "lies outside its own bounds", "widen lower or upper"
        )
        if self.frequency is not None:
            self._refuse(self.frequency < 0, "has a negative frequency", "frequencies start at zero")
        if self.cost is not None:
            bad = ~np.isfinite(self.cost) | (self.cost < 0)
            self._refuse(bad, "has a cost that is negative or not finite", "costs start at zero")
        for contributors in (self.units, self.holdings):
            if contributors is not None and len(contributors) != self.n_cells:
                raise TableError(
                    "contributors_size",
                    "contributors of {n_contributors} cells for {n_cells} cells",
                    n_contributors=len(contributors),
                    n_cells=self.n_cells,
                )
        if self.additive:
            refuse_broken(self.relations, self.value, self.labels)

    def _refuse(self, wrong: Mask, what: str, fix: str) -> None:
        places = np.flatnonzero(wrong)
        if len(places):
            cells = some((self.labels.describe(int(p)) for p in places[:3]), 3)
            raise TableError(
                "cell_values_invalid",
                "{n} cell value(s): {problem}",
                where="cells {cells}",
                fix=fix,
                n=len(places),
                problem=what,
                cells=cells,
            )

    @classmethod
    def from_array(
        cls,
        array: ArrayLike,
        *,
        names: Sequence[str] | None = None,
        codes: Sequence[Sequence[Any]] | None = None,
        frequency: ArrayLike | None = None,
        total: str = TOTAL,
        **parts: Any,
    ) -> Table:
        """Return a table from an array of inner cells, with all totals added.

        Cells are in row-major order, with totals last in each dimension. An array of non-negative whole
        numbers is treated as counts: ``frequency`` is the value itself unless given.

        Parameters
        ----------
        array
            Inner cells, in any number of dimensions.
        names, codes
            Names and codes of the variables. Default: numbers.
        frequency
            Number of contributors per inner cell, an array of the same shape.
        total
            Code of the totals.
        **parts
            Further arguments of :class:`Table`: ``lower``, ``upper``, ``cost``, ``fixed``, ``measure``,
            ``integer``.

        Examples
        --------
        >>> Table.from_array([[20, 15], [72, 1]]).value.reshape(3, 3)[:, 2]
        array([ 35.,  73., 108.])
        """
        return cls(**array_parts(array, names=names, codes=codes, frequency=frequency, total=total, **parts))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        by: Sequence[str],
        value: str,
        *,
        frequency: str | None = None,
        hierarchies: Mapping[str, Hierarchy | Sequence[Hierarchy]] | None = None,
        total: str | Mapping[str, str] = TOTAL,
        **columns: Any,
    ) -> Table:
        """Return a table from a data frame with one row per cell, with or without totals.

        Missing combinations of codes are zero. Given totals are checked.

        Parameters
        ----------
        frame
            Data frame of pandas, polars or pyarrow, or a DuckDB relation.
        by
            Columns with the codes.
        value
            Column with the cell values.
        frequency
            Column with the number of contributors.
        hierarchies
            Hierarchies by variable. A variable without one is flat.
        total
            Code of the totals, one for all variables or one for each.
        **columns
            Names of the columns ``largest`` (a list), ``cost``, ``lower``, ``upper`` and ``fixed``;
            ``integer``, ``measure``, ``magnitude``; see :func:`hitoku.model.table_parts.frame_parts`.

        Examples
        --------
        >>> import pandas as pd
        >>> cells = pd.DataFrame({"region": ["N", "S"], "persons": [12, 3]})
        >>> Table.from_frame(cells, by=["region"], value="persons").value
        array([12.,  3., 15.])
        """
        parts = frame_parts(
            frame, by, value, frequency=frequency, hierarchies=hierarchies, total=total, **columns
        )
        return cls(**parts)

    @classmethod
    def link(cls, tables: Sequence[Table], levels: Levels | None = None) -> Table:
        """Link several tables: common cells once, with the relations of all tables.

        Two cells are the same if they have the same measure and the same codes, apart from totals. Tables of
        the same records are linked more reliably by their records: see :func:`hitoku.link`.

        Parameters
        ----------
        tables
            Tables to link.
        levels
            For each classification, the variables that are levels of it, as in ``{"A88": ["A10", "A21"]}``: a
            code of A21 is the node of that name in the hierarchy of A88.

        Examples
        --------
        >>> tree = Hierarchy.from_tree({"A": ["01", "02"], "C": ["10", "11"]})
        >>> values = [1, 2, 3, 4, 3, 7, 10]
        >>> fine = Table(value=values, dimensions=[Dimension.of("division", tree)], measure="n")
        >>> coarse = Table.from_array([3, 7], names=["section"], codes=[["A", "C"]], measure="n")
        >>> Table.link([fine, coarse]).n_cells, Table.link([fine, coarse], {"division": ["section"]}).n_cells
        (9, 7)
        """
        return cls(**linked_parts(tables, levels))

    @property
    def n_cells(self) -> int:
        return len(self.value)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of codes of each dimension, including totals; without dimensions, number of cells."""
        return tuple(len(d) for d in self.dimensions) or (self.n_cells,)

    @property
    def contributors(self) -> Contributors | None:
        """Contributors used by rules: holdings if they are known, otherwise units."""
        return self.units if self.holdings is None else self.holdings

    @property
    def largest(self) -> Floats | None:
        """Largest contributions, cells by ranks, per holding, or per unit if there are no holdings."""
        return None if self.contributors is None else self.contributors.largest

    @property
    def cells(self) -> Any:
        """Codes of every cell as a data frame, one row per cell."""
        return self.labels.frame(self.backend)

    @property
    def shown(self) -> Mask:
        """Cells that are in a published table, suppressed or not."""
        return np.ones(self.n_cells, dtype=bool) if self.hidden is None else ~self.hidden

    @property
    def inner(self) -> Mask:
        """Cells that are not a total of any relation."""
        total = np.zeros(self.n_cells, dtype=bool)
        total[self.relations.indices[self.relations.data < 0]] = True
        return ~total

    def linked_tables(self) -> Iterator[tuple[Table, Integers]]:
        """Yield the linked tables with the values of this table, and the indices of their cells.

        This also works for tables derived from a linked one, such as the table of counts behind its values.

        Examples
        --------
        >>> row = Table.from_array([3, 4])
        >>> table = replace(row, value=[5.0, 1.0, 6.0], linked=((row, np.arange(3)),))
        >>> [(part.value.tolist(), cells.tolist()) for part, cells in table.linked_tables()]
        [([5.0, 1.0, 6.0], [0, 1, 2])]
        """
        for part, cells in self.linked:
            own = replace(
                part,
                value=self.value[cells],
                frequency=None if self.frequency is None else self.frequency[cells],
                units=None if self.units is None else self.units.take(cells),
                holdings=None if self.holdings is None else self.holdings.take(cells),
                measures={name: numbers[cells] for name, numbers in self.measures.items()},
                integer=self.integer,
                lower=self.lower[cells],
                upper=self.upper[cells],
                cost=None,
                fixed=None if self.fixed is None else self.fixed[cells],
                measure=self.measure,
                additive=self.additive,
            )
            yield own, cells

    def describe(self, cell: int) -> str:
        """Return a readable name of a cell."""
        return self.labels.describe(cell)

    def __repr__(self) -> str:
        words = [f"{self.n_cells:_} cells", f"{self.relations.shape[0]:_} relations"]
        if self.dimensions:
            words.append(f"{len(self.dimensions)} dimensions")
        if self.integer:
            words.append("whole numbers")
        return f"Table({', '.join(words)})"

    def _repr_html_(self) -> str:
        rows = [(d.name, len(d.leaves), len(d.codes)) for d in self.dimensions]
        size = f"{self.n_cells:,} cells tied by {self.relations.shape[0]:,} relations"
        variables = small_table(["variable", "categories", "with totals"], rows)
        return f"<div><b>Table of {escape(self.measure)}</b>: {size}{variables}</div>"


def refuse_broken(relations: sparse.csr_array, value: Floats, labels: Labels) -> None:
    """Raise if relations do not add up, with their number and the first few."""
    failing = broken(relations, value)
    if len(failing) == 0:
        return
    named = []
    for row in failing[:3]:
        entries = slice(relations.indptr[row], relations.indptr[row + 1])
        cells, signs = relations.indices[entries], relations.data[entries]
        totals = cells[signs < 0] if np.any(signs < 0) else cells[:1]
        named.append(
            Text(
                "[{cell}] and its {n} parts",
                cell=labels.describe(int(totals[0])),
                n=len(cells) - len(totals),
            )
        )
    raise TableError(
        "table_not_additive",
        "the table does not add up: {n_failing} of {n_relations} relations fail",
        where=join(named),
        fix="correct these totals or their parts, or use {arguments}",
        arguments=Arguments("from_frame", totals="recompute"),
        n_failing=len(failing),
        n_relations=relations.shape[0],
    )


def adds_up(table: Table, counted: NDArray[Any]) -> bool:
    """Return whether the numbers of units satisfy every relation of a table.

    This is the case if every unit is in exactly one inner cell.
    """
    return len(broken(table.relations, counted.astype(np.float64))) == 0


def are_units(table: Table, counted: NDArray[Any]) -> bool:
    """Return whether the values of a table are these numbers of units, and are known to be non-negative."""
    return bool(np.array_equal(table.value, counted) and not np.any(table.lower < 0))


def counts_units(table: Table) -> bool:
    """Return whether the values of a table are the numbers of units behind its cells.

    Examples
    --------
    >>> counts = Table.from_array([[5, 1], [2, 9]])
    >>> counts_units(counts), counts_units(Table.from_array([[5.5, 1.0], [2.0, 9.0]]))
    (True, False)
    """
    return table.frequency is not None and are_units(table, table.frequency)


def counted_table(table: Table, counted: NDArray[Any]) -> Table:
    """Return the table of the numbers of units behind the cells of another table.

    Numbers of units are never negative, even if values of the table are. Cells known to be zero have no
    units.

    Examples
    --------
    >>> table = Table.from_array([[30.5, 8.0], [4.0, 61.0]], frequency=[[5, 1], [2, 9]])
    >>> counted_table(table, table.frequency).value.reshape(3, 3)[-1].tolist()
    [7.0, 10.0, 17.0]
    """
    known = (table.upper == 0) & (table.lower == 0) & (counted == 0)
    whole = bool(np.all(counted == np.rint(counted)))
    return replace(
        table,
        value=counted.astype(np.float64),
        frequency=counted.astype(np.int64) if whole else None,
        units=None,
        holdings=None,
        integer=whole,
        lower=np.zeros(table.n_cells),
        upper=np.where(known, 0.0, np.inf),
        cost=None,
        measure="count",
        additive=True,
    )
