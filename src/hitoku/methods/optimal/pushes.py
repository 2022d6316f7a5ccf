"""Attacker subproblems as pushes: one cell, one direction; their answers, and what every engine can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from hitoku.methods.optimal.budget import Budget
from hitoku.methods.optimal.instance import DOWN, UP, WIDTH, Instance
from hitoku.model import Floats, Integers, Mask
from hitoku.solver.covering import SparseRows

# Reaching this share less than a level is rounding, not a shortfall.
SHORT = 1e-8
# A cut: cells of the instance, and their coefficients.
Row = tuple[Integers, Floats]

# Cells that cannot move, in the order in which multipliers take them out of a cut; the relation that each is
# alone in, and its entry there.
Peeling = tuple[Integers, Integers, Floats]
NOTHING_PEELED: Peeling = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))


@dataclass(frozen=True, slots=True, eq=False)
class Pushed:
    """Answers of some attacker subproblems ("pushes": one cell, one direction).

    Parameters
    ----------
    level, sense
        Which level each push served and its direction.
    reach
        How far it got, in the table's units; never further than the level's amount.
    multipliers
        Whole multiples of ``1 / grid``, pushes by relations; empty rows where nothing but the cell's own
        room stopped it.
    others
        A second set of multipliers, or None.
    flows
        Pushes by cells: the differences found; None unless asked for. Multipliers may then be left out.
    peeled
        Cells that the multipliers do not know of: the last to drop out comes first.
    """

    level: Integers
    sense: Integers
    reach: Floats
    multipliers: SparseRows
    others: SparseRows | None
    grid: int
    flows: Floats | None
    peeled: Peeling = NOTHING_PEELED


class Subproblems(Protocol):
    """Protocol of the engines for the attacker subproblems of one instance.

    Attributes
    ----------
    instance, budget
        The instance, and the budget that the engine spends.
    network
        Whether the engine pushes by maximum flows.
    tableau
        Whether the engine keeps a tableau between calls, so that pushes are quick.
    """

    instance: Instance
    budget: Budget
    network: ClassVar[bool]
    tableau: ClassVar[bool]

    def push(
        self, x: Floats, level: Integers, sense: Integers, *, exact: bool = False, flows: bool = False
    ) -> Pushed:
        """Push cells at a point, fractional or not; see :class:`Pushed`."""

    def separate(self, x: Floats, *, exact: bool) -> tuple[list[Row], Mask]:
        """Return cuts that the point violates, and which levels are reached there."""


def pushes_for(instance: Instance, chosen: Integers) -> tuple[Integers, Integers]:
    """Write each level as pushes: one for a side, two for a width."""
    side = instance.levels.side[chosen].astype(np.int64)
    wide = chosen[side == WIDTH]
    level = np.concatenate([chosen[side != WIDTH], wide, wide])
    sense = np.concatenate([side[side != WIDTH], np.full(len(wide), UP), np.full(len(wide), DOWN)])
    return level, sense


def levels_met(instance: Instance, pushed: Pushed) -> Mask:
    """Tell of every level whether the pushes reach it; false for those that were not pushed."""
    total = np.zeros(len(instance.levels))
    np.add.at(total, pushed.level, pushed.reach)
    asked = np.zeros(len(total), dtype=bool)
    asked[pushed.level] = True
    return asked & (total >= instance.levels.amount * (1 - SHORT))
