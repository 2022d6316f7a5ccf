"""Public terms of a table: its totals, which counts are unsafe, and which width is required.

Nothing here depends on an inner cell, only on totals. The proof of the method relies on that
(docs/explanation/blocks.md); an error, too, reveals nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hitoku.attacks import Interval
from hitoku.errors import ScopeError, some
from hitoku.messages import Text
from hitoku.methods.blocks.attainable_range import FAR, Local
from hitoku.methods.randomised import MAX_COUNT, judge_counts, whole_width
from hitoku.methods.tuning import BLOCKS
from hitoku.model import Integers, Mask, Need, Protection, Release, Table
from hitoku.rules import Rule

# Steps between cells in the mixtures of counts that test whether rules assess cells separately.
MIXTURES = (1, 7)
# A cell that moves by less than two can be fixed by its neighbours: a single one in its line.
MIN_WIDTH = 2
PUBLIC = Text("this follows from the published totals alone, whatever the inner cells are")


@dataclass(frozen=True, eq=False)
class Terms:
    """Terms that decide about a cell, rows by columns."""

    # first, last: least and largest small count that is unsafe; none where ``first > last``.
    first: Integers
    last: Integers
    large: Integers  # Count from which a cell is unsafe again; ``FAR`` if there is none.
    width: Integers  # Required width of an unsafe cell.
    # Cells that are not structural zeros; None if there are no structural zeros.
    free: Mask | None = field(default=None, kw_only=True)

    @classmethod
    def below(cls, shape: tuple[int, int], threshold: int, width: int, *, zeros: bool = False) -> Terms:
        """Make terms by which counts below a threshold are unsafe, everywhere.

        Examples
        --------
        >>> Terms.below((1, 3), 5, 9).unsafe(np.array([[0, 4, 5]])).tolist()
        [[False, True, False]]
        """
        parts = (0 if zeros else 1, threshold - 1, FAR, max(width, MIN_WIDTH))
        return cls(*(np.full(shape, part, dtype=np.int64) for part in parts))

    def unsafe(self, values: Integers) -> Mask:
        """Return which counts are unsafe, rows by columns."""
        small = (values >= self.first) & (values <= self.last)
        unsafe = np.asarray(small | (values >= self.large))
        return unsafe if self.free is None else unsafe & self.free

    def at(self, rows: Integers, columns: Integers, row_sums: Integers, column_sums: Integers) -> Local:
        """Select rectangles, given by nodes by rows and nodes by columns."""
        place = rows[:, :, None], columns[:, None, :]
        parts = (a[place] for a in (self.first, self.last, self.large, self.width))
        return Local(row_sums, column_sums, *parts)

    def everywhere(self, row_sums: Integers, column_sums: Integers) -> Local:
        """Select the whole table."""
        parts = (a[None] for a in (self.first, self.last, self.large, self.width))
        return Local(row_sums[None], column_sums[None], *parts)


def terms_of(table: Table, rules: Sequence[Rule], width: ArrayLike) -> Terms:
    """Determine which counts the rules call unsafe, or raise; depends only on the totals of the table.

    Examples
    --------
    >>> from hitoku.rules import MinFrequency
    >>> table = Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 3]])
    >>> terms = terms_of(table, [MinFrequency(5)], 9)
    >>> terms.first[0], terms.last[0], terms.width[0]
    (array([1, 1, 1]), array([4, 4, 4]), array([9, 9, 9]))
    """
    shape = rows, columns = tuple(len(d.leaves) for d in table.dimensions)
    inner = np.flatnonzero(table.inner)
    row_sums, column_sums = totals(table, rows, columns)
    most = np.minimum(row_sums[:, None], column_sums[None, :]).ravel()
    first, last = small_counts(table, inner, most, rules)
    large = large_counts(table, inner, most, last, rules)
    asked = np.maximum(whole_width(width, table)[inner], MIN_WIDTH)
    free = None if table.fixed is None else ~table.fixed[inner].reshape(shape)
    terms = Terms(*(part.reshape(shape) for part in (first, last, large, asked)), free=free)
    refuse_unsafe_totals(table, judge_counts(table, inner, 0, rules))
    refuse_other_rules(table, inner, most, replace(terms, free=None), rules)
    if free is None:
        low = np.maximum(0, row_sums[:, None] + column_sums[None, :] - row_sums.sum())
        high = most.reshape(shape)
    else:
        low, high = beside_zeros(table, shape)
    small = (terms.first <= terms.last) & (low <= terms.last) & (high >= terms.first)
    narrow = (small | (high >= terms.large)) & (high - low < terms.width)
    if free is not None:
        narrow &= free
    refuse_telling_totals(table, inner[narrow.ravel()])
    return terms


def beside_zeros(table: Table, shape: tuple[int, ...]) -> tuple[Integers, Integers]:
    """Return least and largest value of every inner cell, given totals and structural zeros."""
    hidden = table.inner if table.fixed is None else table.inner & ~table.fixed
    bounds = Interval().bounds(Release.of(table, Protection.withhold(table, hidden)))
    low, high = (np.rint(end[table.inner]).astype(np.int64) for end in (bounds.lower, bounds.upper))
    return low.reshape(shape), high.reshape(shape)


def totals(table: Table, rows: int, columns: int) -> tuple[Integers, Integers]:
    """Return the sums of the rows and of the columns."""
    printed = np.rint(table.value).astype(np.int64).reshape(rows + 1, columns + 1)
    return printed[:-1, -1].copy(), printed[-1, :-1].copy()


def small_counts(
    table: Table, inner: Integers, most: Integers, rules: Sequence[Rule]
) -> tuple[Integers, Integers]:
    """Return for every inner cell the first and the last of the small counts that are unsafe."""
    zero = judge_counts(table, inner, 0, rules)[inner]
    first, last = np.where(zero, 0, 1), np.zeros(len(inner), dtype=np.int64)
    going = np.ones(len(inner), dtype=np.bool_)
    for count in range(1, MAX_COUNT + 1):
        # Counts that a cell cannot have are irrelevant.
        going &= judge_counts(table, inner, count, rules)[inner] | (count > most)
        if not np.any(going & (count <= most)):
            return first, last
        last[going] = count
    raise ScopeError(
        "threshold_too_large",
        "counts of {threshold:_} are unsafe",
        where="blocks, rules",
        fix="use rules for small counts",
        threshold=MAX_COUNT,
    )


def large_counts(
    table: Table, inner: Integers, most: Integers, last: Integers, rules: Sequence[Rule]
) -> Integers:
    """Return for every inner cell the count from which it is unsafe again, such as one filling its line."""
    found = np.full(len(inner), FAR)
    top = judge_counts(table, inner, most, rules)[inner] & (most > last)
    if not top.any():
        return found
    low, high = last.copy(), most.copy()
    while np.any(high[top] - low[top] > 1):
        middle = (low + high) // 2
        unsafe = judge_counts(table, inner, middle, rules)[inner]
        low, high = np.where(unsafe, low, middle), np.where(unsafe, middle, high)
    found[top] = high[top]
    return found


def of_counts(table: Table) -> bool:
    """Return whether a table counts people, rather than summing their contributions."""
    return bool(table.integer and (table.frequency is None or np.array_equal(table.frequency, table.value)))


def is_supported(table: Table) -> bool:
    """Return whether a table has two variables, each with one hierarchy, and no negative values."""
    two_way = len(table.dimensions) == 2 and all(len(d.hierarchies) == 1 for d in table.dimensions)
    return bool(two_way and not np.any(table.value < 0))


def refuse_other_kinds(table: Table) -> None:
    """Raise unless the table is two-way, and attackers know only that no value is negative."""
    if not is_supported(table):
        raise ScopeError(
            "only_two_way_tables",
            "only two-way tables are treated, of values that are not negative, with one hierarchy "
            "at most in either direction",
            where="blocks",
            fix="of counts with more variables, name all but two: Blocks(sections=['year']); else use "
            "optimal, and measure what the matching attack learns",
        )
    known = np.zeros(table.n_cells, dtype=np.bool_) if table.fixed is None else table.fixed
    zeros = known & (table.value == 0) & (table.upper == 0)
    if np.any(known & ~zeros) or np.any(table.lower != 0) or np.any(np.isfinite(table.upper) & ~zeros):
        raise ScopeError(
            "fixed_cells_not_supported",
            "no fixed cells are treated but structural zeros, and no known bounds other than zero",
            where="blocks",
            fix="use optimal, and measure what the matching attack learns",
        )
    if of_counts(table) and table.value.max() > BLOCKS.max_total:
        raise ScopeError(
            "total_too_large",
            "a total is larger than {most:_}",
            where="blocks",
            fix="split the table, or use optimal",
            most=BLOCKS.max_total,
        )


def refuse_zeros(table: Table) -> None:
    """Raise if structural zeros are not supported."""
    if table.fixed is not None:
        raise ScopeError(
            "structural_zeros_not_supported",
            "structural zeros are treated in flat tables of counts alone: with levels or "
            "magnitudes it is not shown that suppressed cells next to them can move far enough",
            where="blocks",
            fix="publish the finest level with its totals alone, or use another method",
        )


def refuse_hierarchies(table: Table) -> None:
    """Raise if a table of magnitudes has levels: their sums are assessed by contributions, too."""
    if any(len(d.groups) > 1 for d in table.dimensions):
        raise ScopeError(
            "magnitudes_need_flat_tables",
            "of magnitudes, only flat two-way tables are treated",
            where="blocks",
            fix="publish the finest level with its totals alone, or use another method",
        )


def refuse_unsafe_totals(table: Table, unsafe: Mask) -> None:
    places = np.flatnonzero(unsafe & ~table.inner)
    if len(places):
        raise ScopeError(
            "totals_unsafe",
            "{n} total(s) are unsafe themselves, and the method publishes all totals",
            where="cells {cells}",
            fix="merge their codes with others; {public}",
            n=len(places),
            cells=some((table.describe(int(p)) for p in places[:4]), 3),
            public=PUBLIC,
        )


def refuse_telling_totals(table: Table, cells: Integers) -> None:
    if len(cells):
        raise ScopeError(
            "totals_tell_too_much",
            "{n} cell(s) could be unsafe, and the totals alone tell more about them than allowed",
            where="cells {cells}",
            fix="merge their codes with others, or require a smaller width; {public}",
            n=len(cells),
            cells=some((table.describe(int(p)) for p in cells[:4]), 3),
            public=PUBLIC,
        )


def refuse_other_rules(
    table: Table, inner: Integers, most: Integers, terms: Terms, rules: Sequence[Rule]
) -> None:
    """Raise if a rule depends on other inner cells, as tested with a few mixtures of counts."""
    cells = np.arange(len(inner))
    for step in MIXTURES:
        numbers = np.minimum(cells * step % (int(most.max()) + 1), most)
        expected = terms.unsafe(numbers.reshape(terms.first.shape)).ravel()
        if not np.array_equal(judge_counts(table, inner, numbers, rules)[inner], expected):
            raise ScopeError(
                "rule_asks_for_more",
                "a rule considers more than whether a count is small, or large for its totals",
                where="blocks, rules",
                fix="use rules such as MinFrequency",
            )


def of_flat_counts(
    table: Table, need: Need, rules: Sequence[Rule], width: ArrayLike
) -> tuple[Terms, Integers]:
    """Return the terms and inner cells of a flat two-way table of counts; raise for another need."""
    terms = terms_of(table, rules, width)
    rows, columns = terms.width.shape
    values = np.rint(table.value).astype(np.int64).reshape(rows + 1, columns + 1)[:-1, :-1]
    unsafe, widths = (np.zeros((rows + 1, columns + 1), dtype=kind) for kind in (np.bool_, np.int64))
    unsafe[:-1, :-1], widths[:-1, :-1] = terms.unsafe(values), terms.width
    refuse_other_needs(table, need, widths.ravel(), unsafe.ravel())
    return terms, values


def protection_of(
    table: Table, need: Need, withheld: Mask, known_method: dict[str, Any] | None, method: str = "blocks"
) -> Protection:
    """Return the protection of a pattern, with the claim about an attacker who knows the method."""
    return Protection(
        withheld=withheld,
        value=table.value,
        secondary=withheld & ~need.unsafe,
        cost=float(withheld.sum()),
        method=method,
        known_method=known_method,
    )


def claim(terms: Terms, expected: Integers | None) -> dict[str, Any] | None:
    """Return the claim for a certificate about an attacker who knows the method.

    None if the cells are not all assessed in the same way, which the verifier does not support.
    """
    first, last, width = (np.unique(part).tolist() for part in (terms.first, terms.last, terms.width))
    if max(len(first), len(last), len(width)) > 1 or last[0] < first[0] or np.any(terms.large < FAR):
        return None
    if terms.free is not None:
        return None
    return {
        "method": "blocks",
        "rows": terms.width.shape[0],
        "columns": terms.width.shape[1],
        "first": first[0],
        "last": last[0],
        "width": width[0],
        "expected": None if expected is None else expected.tolist(),
    }


def refuse_other_needs(table: Table, need: Need, width: Integers, unsafe: Mask) -> None:
    """Raise if a need is not the one that the rules and the width give."""
    need.require_size(table.n_cells)
    if not np.array_equal(need.unsafe, unsafe):
        raise ScopeError(
            "need_not_of_rules_by_cell",
            "the need marks other cells as unsafe than the rules do, cell by cell",
            where="blocks, rules",
            fix="assess with the same rules; each must judge a cell by its count and the totals alone",
        )
    if np.any(need.lower > 0) or np.any(need.upper > 0) or np.any(need.width > width):
        raise ScopeError(
            "need_wider_than_method",
            "the need requires a larger width than the method's",
            where="blocks, width",
            fix="give assess the same width and groups=False, and rules no levels of their own",
        )
