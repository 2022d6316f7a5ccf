"""Rectangles in tables of magnitudes whose readers see neither contributions nor their number.

Whether a cell is unsafe, and how much protection it needs, depends on its contributions. The attacker does
not know them: a table is possible if *some* contributions lead to the release. So any positive value may be
unsafe, any value may be safe, and a rectangle can be exchanged for nearly every other one with its sums. This
is why levels around the value can be guaranteed here, not only widths: docs/explanation/blocks.md.

Values are integers in some unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import HitokuError, ScopeError, some
from hitoku.methods.blocks.attainable_range import FAR, AttainableRange, Local, reach_alone
from hitoku.methods.blocks.rectangles import Nodes
from hitoku.methods.tuning import BLOCKS
from hitoku.model import EXACT_SUMS, WHOLE, Contributors, Floats, Integers, Mask, Need, Table
from hitoku.rules import Rule, assess


@dataclass(frozen=True, eq=False)
class MagnitudeLevels:
    """Requirements that the contributions of every cell imply, rows by columns, in units; zero if none."""

    unsafe: Mask  # Unsafe cells.
    # lower, upper, width: required protection below and above the value, and required width.
    lower: Integers
    upper: Integers
    width: Integers
    sole: tuple[int, int, int]  # The same three for one unit that has a single contributor.

    def short(self, rows: Integers, columns: Integers, values: Integers, reach: AttainableRange) -> Mask:
        """Return for each rectangle whether one of its unsafe cells cannot move as far as required."""
        place = rows[:, :, None], columns[:, None, :]
        unsafe, lower, upper, width = (a[place] for a in (self.unsafe, self.lower, self.upper, self.width))
        near = (values - reach.least < lower) | (reach.most - values < upper)
        return np.asarray((unsafe & (near | (reach.most - reach.least < width))).any(axis=(1, 2)))


def magnitude_pattern(
    levels: Sequence[Sequence[Nodes]], values: Integers, asked: MagnitudeLevels
) -> tuple[Mask, Mask]:
    """Suppress rectangles of a tree; also return which roots call: there no rectangle is large enough.

    A leaf is suppressed if a cell of it is unsafe, or is one unit. If an unsafe cell cannot move as far as
    required within the sums of the leaf, the leaf calls, and the node above is suppressed; and so on.

    Examples
    --------
    >>> from hitoku.methods.blocks import tree
    >>> values = np.array([[20, 33, 30, 40], [31, 25, 60, 70], [50, 40, 80, 90], [70, 60, 90, 99]])
    >>> level = np.where(values == 25, 3, 0)
    >>> asked = MagnitudeLevels(level > 0, level, level, 0 * level, (1, 1, 0))
    >>> magnitude_pattern(tree(values, "count"), values, asked)[0].astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 0, 0],
           [0, 0, 0, 0],
           [0, 0, 0, 0]])
    """
    withheld = np.zeros(values.shape, dtype=np.bool_)
    # One unit gives a leaf its reason for any contributor: the extreme tables of a class contain such a cell.
    marked = asked.unsafe | (values == 1)
    calls = np.zeros(1 + max(int(nodes.number.max()) for level in levels for nodes in level), dtype=np.bool_)
    for level in reversed(levels):
        for nodes in level:
            if nodes.axis < 0:
                hit = np.asarray(marked[nodes.rows[:, :, None], nodes.columns[:, None, :]].any(axis=(1, 2)))
            else:
                hit = np.asarray(calls[nodes.children].any(axis=1))
            if not hit.any():
                continue
            rows, columns = nodes.rows[hit], nodes.columns[hit]
            withheld[rows[:, :, None], columns[:, None, :]] = True
            local = values[rows[:, :, None], columns[:, None, :]]
            reach = attainable_ranges(local.sum(axis=2), local.sum(axis=1), nodes.axis, nodes.cut, asked.sole)
            calls[nodes.number[hit]] = asked.short(rows, columns, local, reach)
    return withheld, calls[np.concatenate([nodes.number for nodes in levels[0]])]


def attainable_ranges(
    rows: Integers, columns: Integers, axis: int, cut: int, sole: tuple[int, int, int]
) -> AttainableRange:
    """Return the ranges of cells over the tables with the sums and the reason of their rectangle.

    Reason of a leaf: some cell is one unit. Reason of an inner node: in one of its parts a line has a single
    unit of a single contributor, which is unsafe and cannot move within the part, so that the part calls; in
    the node it can move as far as required.

    Parameters
    ----------
    rows, columns
        Sums: rectangles by rows, rectangles by columns.
    axis, cut
        Position of the cut; axis -1 for leaves.
    sole
        Requirements of a unit of a single contributor: below, above, width.
    """
    if axis == 0:
        turned = attainable_ranges(columns, rows, 1, cut, sole)
        return AttainableRange(turned.least.swapaxes(1, 2), turned.most.swapaxes(1, 2))
    shape = (*rows.shape, columns.shape[1])
    ones, far = np.ones(shape, dtype=np.int64), np.full(shape, FAR)
    local = Local(rows, columns, ones, ones, far, ones)
    if axis < 0:
        return reach_alone(local)
    parts = [np.arange(columns.shape[1]) < cut, np.arange(columns.shape[1]) >= cut]
    kept = np.ones((2, *rows.shape), dtype=np.bool_)
    empty = (rows[:, :, None] == 0) | (columns[:, None, :] == 0)
    below, above, width = sole
    for _ in range(BLOCKS.family_rounds):
        reach = AttainableRange.nowhere(local)
        for inside, lines in zip(parts, kept, strict=True):
            reach.widen(local, inside, ones[:, :, 0], lines.astype(np.int64))
        fits = (reach.least <= 1 - below) & (reach.most >= 1 + above) & (reach.most - reach.least >= width)
        fewer = kept & np.stack([(fits | empty)[:, :, inside].all(axis=2) for inside in parts])
        settled = (fewer == kept).all(axis=(0, 2))[:, None, None]
        if settled.all():
            break
        kept = fewer
    # Nothing is guaranteed for those that are not settled.
    return AttainableRange(np.where(settled, reach.least, FAR), np.where(settled, reach.most, -FAR))


def in_units(table: Table) -> tuple[Integers, int]:
    """Return the inner cells as integers, and how many units are one; only the totals determine that.

    Examples
    --------
    >>> in_units(Table.from_array([[1.5, 2.0], [3.25, 4.0]]))
    (array([[150, 200],
           [325, 400]]), 100)
    """
    sums, shape = table.value[~table.inner], [len(d.leaves) for d in table.dimensions]
    largest = float(sums.max())
    scales = [10**d for d in range(BLOCKS.max_decimals + 1) if largest * 10**d <= EXACT_SUMS] or [1]
    if table.integer:
        scales = [1]
    whole = (s for s in scales if np.all(np.abs(sums * s - np.rint(sums * s)) <= WHOLE))
    scale = next(whole, None) or max([s for s in scales if largest * s <= BLOCKS.fine_total], default=1)
    if largest * scale > EXACT_SUMS:
        raise ScopeError(
            "total_too_large",
            "a total is larger than {most:_}",
            where="blocks",
            fix="publish thousands or millions",
            most=int(EXACT_SUMS),
        )
    return np.rint(table.value[table.inner] * scale).astype(np.int64).reshape(shape), scale


def levels_of(
    table: Table, need: Need, rules: Sequence[Rule], width: ArrayLike | None, scale: int
) -> MagnitudeLevels:
    """Convert the requirements of a need to units; raise an error if the need is not supported.

    Examples
    --------
    >>> from hitoku.rules import PPercent
    >>> units = Contributors(count=[3] * 9, largest=[[5.0, 5.0]] * 9, total=[20.0] * 9)
    >>> table = Table.from_array([[20, 20], [20, 20]])
    >>> from dataclasses import replace
    >>> table = replace(table, units=units, frequency=units.count)
    >>> levels_of(table, PPercent(10).assess(table), [PPercent(10)], None, 1).sole
    (1, 1, 0)
    """
    refuse_unsafe_totals(table, need)
    sole = probe(table, rules, width, 1 / scale)
    refuse_judging_together(table, need, rules, width)
    # Reals are rounded to units, so they lack one at most.
    more = 0 if table.integer else 1
    shape = [len(d.leaves) for d in table.dimensions]

    def whole(level: Floats) -> Integers:
        units = np.ceil(level * scale - WHOLE).astype(np.int64) + np.where(level > 0, more, 0)
        return units[table.inner].reshape(shape)

    unsafe = need.unsafe[table.inner].reshape(shape)
    # A cell that can be derived exactly is never safe: one unit at least.
    upper = np.maximum(whole(need.upper), unsafe)
    return MagnitudeLevels(
        unsafe, whole(need.lower), upper, whole(need.width), sole=_in_units(sole, scale, more)
    )


def _in_units(need: Need, scale: int, more: int) -> tuple[int, int, int]:
    lower, upper, width = (float(level[0]) for level in (need.lower, need.upper, need.width))
    below, above, across = (
        int(np.ceil(level * scale - WHOLE)) + (more if level > 0 else 0) for level in (lower, upper, width)
    )
    # Below a unit there is only zero.
    return min(below, 1), max(above, 1), across


def probe(table: Table, rules: Sequence[Rule], width: ArrayLike | None, unit: float) -> Need:
    """Assess a unit of a single contributor, and a cell of many equal contributors."""
    known = table.contributors
    top = 2 if known is None else known.largest.shape[1]
    largest = np.zeros((2, top))
    largest[0, 0], largest[1] = unit, unit
    count, total = np.array([1, BLOCKS.many_contributors]), np.array([unit, BLOCKS.many_contributors * unit])
    units = Contributors(count=count, largest=largest, total=total)
    cells = Table(
        value=total, relations=np.zeros((0, 2)), frequency=count, units=units, integer=table.integer
    )
    try:
        widest = None if width is None else float(np.max(np.asarray(width)))
        asked = assess(cells, rules, width=widest, groups=False)
    except HitokuError as error:
        raise judging_together() from error
    if not asked.unsafe[0] or asked.unsafe[1] or len(asked.attributions):
        raise ScopeError(
            "rules_not_of_contributors",
            "the rules do not call a cell of a single contributor unsafe, and one of many equal ones safe",
            where="blocks, rules",
            fix="use rules such as PPercent, Dominance or FewContributors",
        )
    return asked


def refuse_unsafe_totals(table: Table, need: Need) -> None:
    need.require_size(table.n_cells)
    places = np.flatnonzero(need.unsafe & ~table.inner)
    if len(places):
        raise ScopeError(
            "totals_unsafe",
            "{n} total(s) are unsafe themselves, and the method publishes all totals",
            where="cells {cells}",
            fix="merge their codes with others; publish nothing before that",
            n=len(places),
            cells=some((table.describe(int(p)) for p in places[:4]), 3),
        )


def refuse_judging_together(table: Table, need: Need, rules: Sequence[Rule], width: ArrayLike | None) -> None:
    """Raise if the need differs from what the rules say of every cell separately."""
    apart = Table(
        value=table.value,
        relations=np.zeros((0, table.n_cells)),
        frequency=table.frequency,
        units=table.units,
        holdings=table.holdings,
        integer=table.integer,
        lower=table.lower,
        measures=table.measures,
    )
    try:
        asked = assess(apart, rules, width=width, groups=False)
    except HitokuError as error:
        raise judging_together() from error
    inner = table.inner
    same = all(
        np.allclose(getattr(asked, name)[inner], getattr(need, name)[inner])
        for name in ("unsafe", "lower", "upper", "width")
    )
    if not same or len(need.attributions):
        raise judging_together()


def judging_together() -> ScopeError:
    return ScopeError(
        "need_not_of_rules_alone",
        "the need is not what the rules say of every cell by itself",
        where="blocks, rules",
        fix="assess with the same rules and width; each must judge a cell by its own contributors",
    )
