"""Why senses cannot all be kept: the cells and relations that contradict each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hitoku.errors import some
from hitoku.methods.adjust.choice import AdjustmentProblem
from hitoku.model import Floats, Integers, Labels
from hitoku.solver.quadratic import QuadraticProgram, solve

# Multipliers below this share of the largest are rounding.
NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class Conflict:
    """A proof that senses contradict each other.

    Parameters
    ----------
    short
        Unsafe cells that stay short of their level when the sum of relative shortfalls is least.
    unsafe, held
        Cells in the contradiction: those whose level, and those whose bound or fixed value, it needs.
    relations
        Relations that tie them together.
    """

    short: Integers
    unsafe: Integers
    held: Integers
    relations: Integers

    def describe(self, labels: Labels) -> str:
        """Name the contradiction by codes."""
        names = [labels.describe(int(cell)) for cell in self.unsafe[:4]]
        text = f"{len(self.unsafe)} unsafe cell(s) [{some(names, 3)}]"
        if len(self.held):
            names = [labels.describe(int(cell)) for cell in self.held[:4]]
            text += f" against {len(self.held)} held cell(s) [{some(names, 3)}]"
        return f"{text}, tied by {len(self.relations)} relation(s)"


def conflict(task: AdjustmentProblem, sense: Floats) -> Conflict | None:
    """Find what contradicts; None when some table keeps all senses.

    Levels may be missed at a price, nothing else. Multipliers of the cheapest way say who is to blame: the
    relations with a multiplier, added up with it, leave the named levels and bounds without room.
    """
    levels, n = task.levels, len(task.weight)
    cells = np.flatnonzero(levels.unsafe)
    unit = 1 / np.sqrt(task.weight) if task.norm == "l2" else 1 / task.weight
    rising = sense[cells] > 0
    level = np.where(rising, levels.up[cells], levels.down[cells])
    direction = np.where(rising, 1.0, -1.0)
    moves = sparse.csr_array((direction, (np.arange(len(cells)), cells)), shape=(len(cells), n)) * unit
    rows = sparse.block_array(
        [[task.relations * unit, None], [moves, sparse.diags_array(level)]], format="csr"
    )
    zero = np.zeros(task.relations.shape[0])
    found = solve(
        QuadraticProgram(
            cost=np.concatenate([np.zeros(n), np.ones(len(cells))]),
            relations=rows,
            rhs=np.concatenate([zero, level]),
            lower=np.concatenate([levels.lower / unit, np.zeros(len(cells))]),
            upper=np.concatenate([levels.upper / unit, np.full(len(cells), np.inf)]),
            row_upper=np.concatenate([zero, np.full(len(cells), np.inf)]),
        ),
        work=task.work,
    )
    if found.x is None or found.duals is None or found.reduced is None or found.value <= NOTHING:
        return None
    ties, demands = np.split(found.duals * np.concatenate([np.ones(len(zero)), level]), [len(zero)])
    pull = np.abs(found.reduced[:n] / unit)
    return Conflict(
        short=cells[found.x[n:] > NOTHING],
        unsafe=cells[np.abs(demands) > NOTHING],
        held=np.flatnonzero((pull > NOTHING * pull.max(initial=0.0)) & ~levels.unsafe),
        relations=np.flatnonzero(np.abs(ties) > NOTHING * np.abs(ties).max(initial=0.0)),
    )
