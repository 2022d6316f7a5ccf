"""The table: cells tied by linear relations; and the table of units behind another one."""

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
from hitoku.model.arrays import Floats, Integers, Mask, frozen, frozen_relations
from hitoku.model.contributors import Contributors
from hitoku.model.dimension import Dimension, Labels
from hitoku.model.hierarchy import TOTAL, Hierarchy
from hitoku.model.link import Levels, linked_parts
from hitoku.model.markup import small_table
from hitoku.model.relations import broken, cross_relations
from hitoku.model.table_parts import array_parts, frame_parts

# Whole numbers up to here are exact in doubles, and searches over them end. Numbers that are all smaller than
# the second one are within the tolerances of solvers.
LARGEST_WHOLE, SMALLEST = 2.0**53, 1e-6
UNIT = "give values in another unit, such as thousands or thousandths"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Table:
    """Cells with ``relations @ value == 0``, and what is known about who is behind them.

    Usually made by :meth:`from_array`, :meth:`from_frame`, ``hitoku.tabulate`` or ``hitoku.read_jj``.
    Arrays over cells are read-only and follow the order of :attr:`cells`.

    Parameters
    ----------
    value
        What would be published in each cell.
    relations
        One row per sum: parts minus total. Left out, it follows from ``dimensions``.
    dimensions
        The variables when the table is the full cross of their codes; empty otherwise.
    labels
        Names of the cells; left out, they follow from ``dimensions``, or cells are numbered.
    frequency
        Respondents per cell (distinct units; records where no unit was named).
    units, holdings
        Contributors per unit and per holding.
    measures
        Further numbers per cell, by name.
    integer
        Values are whole numbers and an outsider knows it.
    lower, upper
        Bounds that an outsider is assumed to know; zero and infinity by default, no lower bound when
        some value is negative.
    cost
        Own price of withholding each cell.
    fixed
        Cells that may not be withheld.
    hidden
        Cells that tie published ones together and are in no published table themselves: withheld in every
        release, at no cost, and not judged by rules.
    measure
        Name of the quantity in ``value``. Linking shares cells of equal measure only.
    additive
        False for a table that is known not to add up exactly, such as one printed with six digits.
    backend
        Kind of data frame handed out: "pandas", "polars" or "pyarrow".
    linked
        Published tables that were linked to this one, each with the positions of its cells; empty for a
        single table. Their values are read by :meth:`linked_tables` from this table.

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
            self._refuse(large, "is a whole number beyond 2**53, which no double holds exactly", UNIT)
        if 0 < np.abs(self.value).max() < SMALLEST:
            self._refuse(self.value != 0, "is below 1e-6, which is taken for rounding", UNIT)
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
        """Inner cells as an array of any dimension; every margin is added.

        Cells run row-major over the array with its totals appended last in each dimension. An array of
        non-negative whole numbers is taken for counts: ``frequency`` is the value itself unless given.

        Parameters
        ----------
        array
            Inner cells.
        names, codes
            The variables and their codes; numbered when left out.
        frequency
            Respondents per inner cell, an array of the same shape.
        total
            Code of the totals.
        **parts
            What :class:`Table` takes: ``lower``, ``upper``, ``cost``, ``fixed``, ``measure``, ``integer``.

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
        """Cells in long form, one row per cell, with or without the totals.

        Combinations that are missing count as zero; totals that are given are checked.

        Parameters
        ----------
        frame
            pandas, polars or pyarrow, or a DuckDB relation.
        by
            Columns with the codes.
        value
            Column with the cell values.
        frequency
            Column with the number of respondents.
        hierarchies
            Code trees by variable; a variable without one is flat.
        total
            Code of the totals, one for all variables or one for each.
        **columns
            Names of the columns ``largest`` (a list), ``cost``, ``lower``, ``upper``, ``fixed``; ``integer``,
            ``measure``, ``magnitude``; see :func:`hitoku.model.table_parts.frame_parts`.

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
        """Put several tables together: equal cells once, all relations.

        Two cells are the same when they name the same codes and measure, totals aside. Tables made from the
        same records link more surely by those: see :func:`hitoku.link`.

        Parameters
        ----------
        tables
            The tables.
        levels
            By classification, the variables that are levels of it, as in ``{"A88": ["A10", "A21"]}``: a code
            of A21 is the node of that name in the tree of A88.

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
        """Codes per dimension, totals included; the number of cells where there are no dimensions."""
        return tuple(len(d) for d in self.dimensions) or (self.n_cells,)

    @property
    def contributors(self) -> Contributors | None:
        """Contributors as rules see them: holdings where they are known, else units."""
        return self.units if self.holdings is None else self.holdings

    @property
    def largest(self) -> Floats | None:
        """Cells by ranks, the largest contributions per holding (per unit where there are no holdings)."""
        return None if self.contributors is None else self.contributors.largest

    @property
    def cells(self) -> Any:
        """Codes of every cell as a frame, one row per cell."""
        return self.labels.frame(self.backend)

    @property
    def shown(self) -> Mask:
        """Cells that are in a published table, withheld there or not."""
        return np.ones(self.n_cells, dtype=bool) if self.hidden is None else ~self.hidden

    @property
    def inner(self) -> Mask:
        """Cells that are no sum: no relation has them on the side of the total."""
        total = np.zeros(self.n_cells, dtype=bool)
        total[self.relations.indices[self.relations.data < 0]] = True
        return ~total

    def linked_tables(self) -> Iterator[tuple[Table, Integers]]:
        """Yield the linked tables with what this table has in their cells, and the positions of these.

        So they follow a table that is derived from this one, such as that of the counts behind its values.

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
        """Name one cell by its codes."""
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
    """Raise when a relation does not add up: how many, and the first few by their codes."""
    failing = broken(relations, value)
    if len(failing) == 0:
        return
    named = []
    for row in failing[:3]:
        entries = slice(relations.indptr[row], relations.indptr[row + 1])
        cells, signs = relations.indices[entries], relations.data[entries]
        totals = cells[signs < 0] if np.any(signs < 0) else cells[:1]
        named.append(f"[{labels.describe(int(totals[0]))}] and its {len(cells) - len(totals)} parts")
    raise TableError(
        "table_not_additive",
        "the table does not add up: {n_failing} of {n_relations} relations fail",
        where="; ".join(named),
        fix="correct these totals or their parts, or leave them out; from_frame(..., totals='recompute') "
        "adds them up again",
        n_failing=len(failing),
        n_relations=relations.shape[0],
    )


def adds_up(table: Table, counted: NDArray[Any]) -> bool:
    """Return whether the numbers of units satisfy every relation of a table.

    They do when every unit is in exactly one inner cell.
    """
    return len(broken(table.relations, counted.astype(np.float64))) == 0


def are_units(table: Table, counted: NDArray[Any]) -> bool:
    """Return whether the values of a table are these numbers of units, and known not to be negative."""
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
    """Return the table whose values are the numbers of units behind the cells of another one.

    A number of units is never negative, whatever the values of the table are. Cells that readers know to be
    zero have no units.

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
