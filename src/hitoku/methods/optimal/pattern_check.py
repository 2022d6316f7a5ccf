"""The final pattern checked by the attack that the audit uses: the result of the search is not trusted."""

from __future__ import annotations

import numpy as np

from hitoku.attacks.interval import Interval
from hitoku.errors import SolverError
from hitoku.methods.optimal.attacker_subproblems import subproblems_for
from hitoku.methods.optimal.budget import Budget
from hitoku.methods.optimal.instance import UP, WIDTH, Instance
from hitoku.methods.optimal.presolve import levels_of
from hitoku.methods.optimal.pushes import pushes_for
from hitoku.model import Floats, Mask, Need, Protection, Release, Table, level_slack


def refuse_unprotected(table: Table, need: Need, found: Protection) -> None:
    """Raise when a pattern leaves an unsafe cell short of what it needs."""
    low, high, wide = _targets(table, need, found)
    below, above = Interval().meets(Release.of(table, found), low, high)
    short = np.flatnonzero(need.unsafe & ~(below & above & wide))
    if len(short):
        raise SolverError(
            "pattern_leaves_cells_short",
            "the pattern found leaves {n} unsafe cell(s) short of what they need",
            where="first cell {cell}",
            fix="look for values of very different size in one table; report it if there are none",
            n=len(short),
            cell=table.describe(int(short[0])),
        )


def _targets(table: Table, need: Need, found: Protection) -> tuple[Floats, Floats, Mask]:
    """Say how far down and up every unsafe cell must reach, and whether that is as wide as it must be.

    Where between its ends a width lies, the search's own pushes tell: the attack then need only confirm two
    values, which for a large table is much less than to find all ends.
    """
    low = np.where(need.unsafe, table.value - need.lower, np.nan)
    high = np.where(need.unsafe, table.value + need.upper, np.nan)
    levels = levels_of(table, need)
    levels = levels.take(levels.side == WIDTH)
    if len(levels):
        nothing = np.zeros(table.n_cells, dtype=np.int64)
        whole = Instance(
            cells=np.arange(table.n_cells),
            relations=table.relations,
            up=table.upper - table.value,
            down=table.value - table.lower,
            forced=found.withheld,
            weight=nothing.astype(np.float64),
            tie=nothing,
            levels=levels,
        )
        inside = whole.kept(found.withheld)
        pushed = subproblems_for(inside, Budget()).push(
            np.ones(len(inside)), *pushes_for(inside, np.arange(len(levels))), exact=True
        )
        cell, up = levels.cell[pushed.level], pushed.sense == UP
        np.maximum.at(high, cell[up], table.value[cell[up]] + pushed.reach[up])
        np.minimum.at(low, cell[~up], table.value[cell[~up]] - pushed.reach[~up])
    # The attack confirms both ends; here it remains whether ends like these are what the cell needs.
    with np.errstate(invalid="ignore"):
        asked = np.maximum(np.maximum(need.lower, need.upper), need.width)
        rounding = level_slack(table.value, asked)
        return low, high, need.met_by(table.value - low, high - table.value, rounding)
