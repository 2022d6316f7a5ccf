"""Public knowledge before the draw: shape, totals, rules, required width.

Nothing here depends on an inner cell of the table, only on its totals. The proof of the method relies on that
(docs/reference/methods/randomised.md): an error, too, must not depend on confidential cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import ParameterError, ScopeError, some
from hitoku.methods.optimal import fits
from hitoku.model import Integers, Mask, Table
from hitoku.rules import Rule, assess

# Largest count that is tested with the rules individually.
MAX_COUNT = 10_000
# Steps between cells in the mixtures that test whether rules assess cells separately.
MIXTURES = (1, 2, 3, 7, 11)


@dataclass(frozen=True, eq=False)
class PublicKnowledge:
    """Public knowledge before the draw, which determines the probabilities of patterns."""

    # rows, columns: shape of the inner cells, row by row.
    rows: int
    columns: int
    inner: Integers  # Positions of the inner cells in the table.
    # Required width of each inner cell if it is suppressed; zero for cells that the totals determine.
    width: Integers
    verdict: Mask  # Inner cells by counts: whether this count in this cell is unsafe.

    @classmethod
    def of(cls, table: Table, rules: Sequence[Rule], width: ArrayLike) -> PublicKnowledge:
        """Derive it, or raise; depends only on the totals of the table.

        Examples
        --------
        >>> from hitoku.rules import MinFrequency
        >>> table = Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 3]])
        >>> public = PublicKnowledge.of(table, [MinFrequency(5)], 9)
        >>> public.width
        array([9, 9, 9, 9, 9, 9, 9, 9, 9])
        >>> public.unsafe(np.array([[0, 1, 4, 5, 6, 7, 8, 9, 10]])).astype(int)
        array([[0, 1, 1, 0, 0, 0, 0, 0, 0]])
        """
        refuse_other_kinds(table)
        rows, columns = (len(d.leaves) for d in table.dimensions)
        inner = np.flatnonzero(table.inner)
        low, high = reach(table, rows, columns)
        if high.max() > MAX_COUNT:
            raise ScopeError(
                "count_too_large",
                "a cell may be larger than {most:_}",
                where="randomised",
                fix="use it for small counts; large ones are better off with optimal",
                most=MAX_COUNT,
            )
        verdict = np.zeros((len(inner), int(high.max()) + 1), dtype=bool)
        for number in range(verdict.shape[1]):
            unsafe = judge_counts(table, inner, number, rules)
            verdict[:, number] = unsafe[inner]
        refuse_unsafe_totals(table, unsafe)
        refuse_other_rules(table, inner, verdict, rules)
        wanted = whole_width(width, table)[inner]
        may_be_unsafe = np.array([v[a : b + 1].any() for v, a, b in zip(verdict, low, high, strict=True)])
        refuse_telling_totals(table, inner[may_be_unsafe & (high - low < wanted)])
        return cls(rows, columns, inner, np.minimum(wanted, high - low), verdict)

    @property
    def allowed(self) -> Mask:
        """Cells that may be suppressed: all that the totals do not determine."""
        return np.asarray(self.width > 0)

    def unsafe(self, values: Integers) -> Mask:
        """Return which inner cells of tables are unsafe."""
        return self.verdict[np.arange(len(self.inner)), values]


def reach(table: Table, rows: int, columns: int) -> tuple[Integers, Integers]:
    """Return least and largest value of every inner cell, given the totals only."""
    printed = np.rint(table.value).astype(np.int64).reshape(rows + 1, columns + 1)
    row, column, total = printed[:-1, -1:], printed[-1:, :-1], printed[-1, -1]
    return np.maximum(0, row + column - total).ravel(), np.minimum(row, column).ravel()


def judge_counts(table: Table, inner: Integers, numbers: int | Integers, rules: Sequence[Rule]) -> Mask:
    """Assess a table with its own totals and these numbers in its inner cells."""
    value = table.value.copy()
    value[inner] = numbers
    probe = Table(
        value=value,
        relations=table.relations,
        dimensions=table.dimensions,
        labels=table.labels,
        frequency=np.rint(value).astype(np.int64),
        integer=True,
        additive=False,
        measure=table.measure,
    )
    # With any width, rules do not set levels that depend on the value.
    return assess(probe, rules, width=0, groups=False).unsafe


def refuse_other_kinds(table: Table) -> None:
    """Raise unless the table is flat, two-way, small, and of counts without fixed cells or known bounds."""
    fix = "use optimal, and measure what the matching attack learns"
    if not fits(table, ~table.inner, most_cells=64):
        raise ScopeError(
            "only_small_two_way_counts",
            "only flat two-way tables of counts with at most 64 inner cells are treated",
            where="randomised",
            fix=fix,
        )
    counts = table.frequency is None or np.array_equal(table.frequency, table.value)
    if not counts or table.fixed is not None or np.any(table.lower != 0) or np.any(np.isfinite(table.upper)):
        raise ScopeError(
            "only_plain_counts",
            "only plain counts are treated: no magnitudes, fixed cells or known bounds other than zero",
            where="randomised",
            fix=fix,
        )


def refuse_unsafe_totals(table: Table, unsafe: Mask) -> None:
    places = np.flatnonzero(unsafe & ~table.inner)
    if len(places):
        raise ScopeError(
            "totals_unsafe",
            "{n} total(s) are unsafe themselves, and the method publishes all totals",
            where="cells {cells}",
            fix="merge their codes with others",
            n=len(places),
            cells=some((table.describe(int(p)) for p in places[:4]), 3),
        )


def refuse_telling_totals(table: Table, cells: Integers) -> None:
    if len(cells):
        raise ScopeError(
            "totals_tell_too_much",
            "{n} cell(s) could be unsafe, and the totals alone tell more about them than allowed",
            where="cells {cells}",
            fix="merge their codes with others, or require a smaller width",
            n=len(cells),
            cells=some((table.describe(int(p)) for p in cells[:4]), 3),
        )


def refuse_other_rules(table: Table, inner: Integers, verdict: Mask, rules: Sequence[Rule]) -> None:
    """Raise if a rule depends on other inner cells, as tested with a few mixtures of numbers."""
    cells = np.arange(len(inner))
    for step in MIXTURES:
        numbers = cells * step % verdict.shape[1]
        if not np.array_equal(judge_counts(table, inner, numbers, rules)[inner], verdict[cells, numbers]):
            raise ScopeError(
                "rule_not_of_count_and_totals",
                "a rule judges an inner cell by more than its own count and the totals",
                where="randomised, rules",
                fix="use rules such as MinFrequency",
            )


def whole_width(width: ArrayLike, table: Table) -> Integers:
    """Return one required width per cell of the table; counts move by integers."""
    asked = np.asarray(width, dtype=np.float64)
    if asked.ndim and asked.shape != (table.n_cells,):
        raise ParameterError(
            "width_shape",
            "width has shape {shape}, the table {n_cells} cells",
            where="width",
            fix="give one number, or one per cell in the order of table.cells",
            shape=asked.shape,
            n_cells=table.n_cells,
        )
    if not np.isfinite(asked).all() or np.any(asked <= 0) or np.any(asked > MAX_COUNT):
        raise ParameterError(
            "width_not_positive",
            "a width is not positive",
            where="width",
            fix="widths are lengths, such as 9",
        )
    return np.broadcast_to(np.ceil(asked), (table.n_cells,)).astype(np.int64)
