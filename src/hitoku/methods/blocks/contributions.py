"""What contributions ask for in a table of magnitudes, in whole numbers of a unit; or a refusal.

The method rests on what a reader does not know: who contributes how much. So rules must judge every cell by
its own contributors, call a cell of a single one unsafe and a cell of many equal ones safe, and nothing may
be known about the values but that they are not negative.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import HitokuError, NeedError, ScopeError, some
from hitoku.methods.blocks.magnitudes import MagnitudeLevels
from hitoku.model import Contributors, Floats, Integers, Need, Table
from hitoku.rules.assess import assess
from hitoku.rules.rule import Rule

# Totals in units: as fine as they are printed, up to so many decimals and so large.
DECIMALS, LARGEST = 9, 2**50
# Where totals are no decimals at all, a unit is this small beside the grand total.
FINE = 10**9
# Equal contributors of a cell that no rule should mind.
MANY = 1_000
# What counts as rounding, in units.
ROUNDING = 1e-6


def in_units(table: Table) -> tuple[Integers, int]:
    """Write the inner cells as whole numbers, and how many of them are one; the totals alone decide that.

    Examples
    --------
    >>> in_units(Table.from_array([[1.5, 2.0], [3.25, 4.0]]))
    (array([[150, 200],
           [325, 400]]), 100)
    """
    sums, shape = table.value[~table.inner], [len(d.leaves) for d in table.dimensions]
    largest = float(sums.max())
    scales = [10**d for d in range(DECIMALS + 1) if largest * 10**d <= LARGEST] or [1]
    if table.integer:
        scales = [1]
    whole = (s for s in scales if np.all(np.abs(sums * s - np.rint(sums * s)) <= ROUNDING))
    scale = next(whole, None) or max([s for s in scales if largest * s <= FINE], default=1)
    if largest * scale > LARGEST:
        raise ScopeError(
            "total_too_large",
            "a total is larger than {most:_}",
            where="blocks",
            fix="publish thousands or millions",
            most=LARGEST,
        )
    return np.rint(table.value[table.inner] * scale).astype(np.int64).reshape(shape), scale


def levels_of(
    table: Table, need: Need, rules: Sequence[Rule], width: ArrayLike | None, scale: int
) -> MagnitudeLevels:
    """Write what the need asks for in units, or refuse.

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
    # Real numbers are rounded to units, so that they lack one at most.
    more = 0 if table.integer else 1
    shape = [len(d.leaves) for d in table.dimensions]

    def whole(level: Floats) -> Integers:
        units = np.ceil(level * scale - ROUNDING).astype(np.int64) + np.where(level > 0, more, 0)
        return units[table.inner].reshape(shape)

    unsafe = need.unsafe[table.inner].reshape(shape)
    # A cell that can be told exactly is never safe: one unit at least.
    upper = np.maximum(whole(need.upper), unsafe)
    return MagnitudeLevels(
        unsafe, whole(need.lower), upper, whole(need.width), sole=_in_units(sole, scale, more)
    )


def _in_units(need: Need, scale: int, more: int) -> tuple[int, int, int]:
    lower, upper, width = (float(level[0]) for level in (need.lower, need.upper, need.width))
    below, above, across = (
        int(np.ceil(level * scale - ROUNDING)) + (more if level > 0 else 0) for level in (lower, upper, width)
    )
    # Below a unit there is nothing but zero.
    return min(below, 1), max(above, 1), across


def probe(table: Table, rules: Sequence[Rule], width: ArrayLike | None, unit: float) -> Need:
    """Ask the rules about a unit of a single contributor, and about a cell of many equal ones."""
    known = table.contributors
    top = 2 if known is None else known.largest.shape[1]
    largest = np.zeros((2, top))
    largest[0, 0], largest[1] = unit, unit
    count, total = np.array([1, MANY]), np.array([unit, MANY * unit])
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
    if len(need) != table.n_cells:
        raise NeedError(
            "need_of_other_table",
            "a need of {n_need} cells for a table of {n_table}",
            fix="assess this very table",
            n_need=len(need),
            n_table=table.n_cells,
        )
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
    """Raise when the need is not what the rules say of every cell by itself."""
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
