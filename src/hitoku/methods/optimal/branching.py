"""Which cell to decide next: the one whose two answers lift the bound most, tried or remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hitoku.methods.optimal.relaxation import WHOLE
from hitoku.model import Floats
from hitoku.solver.covering import Relaxed
from hitoku.solver.dense_master import DenseMaster
from hitoku.solver.master import Master

# A column is tried until each answer was seen so often; then the memory is trusted.
RELIABLE = 4
CANDIDATES = 10
STEPS = 60
SMALL, LARGE = 1e-6, 1e9


@dataclass(frozen=True, slots=True)
class Choice:
    """A column to branch on, and bounds for publishing and for withholding it."""

    column: int
    published: float = -np.inf
    withheld: float = -np.inf


class Branching:
    """Strong branching with pseudo-costs (Achterberg, Koch and Martin 2005)."""

    def __init__(self, master: Master | DenseMaster) -> None:
        self._master = master
        n = len(master.cost)
        self._gain = np.zeros((2, n))
        self._tried = np.zeros((2, n), dtype=np.int64)

    def choose(self, relaxed: Relaxed, lower: Floats, upper: Floats, enough: float) -> Choice | None:
        """Pick a column, at once one with a child bound above ``enough``; None when all are decided."""
        undecided = lower < upper
        part = np.where(undecided, np.minimum(relaxed.x, 1 - relaxed.x), 0.0)
        fractional = np.flatnonzero(part > WHOLE)
        if not len(fractional):
            # Whole already, but others may cost the same: decide a cell that this pattern withholds.
            left = np.flatnonzero(undecided & (relaxed.x > 0.5))
            left = left if len(left) else np.flatnonzero(undecided)
            return Choice(int(left[0])) if len(left) else None
        score = self._score(relaxed.x)
        candidates = fractional[np.lexsort((fractional, -score[fractional]))][:CANDIDATES]
        best, best_score = Choice(int(candidates[0])), -1.0
        here = self._master.freeze()
        for column in map(int, candidates):
            choice, value = Choice(column), float(score[column])
            if self._tried[:, column].min() < RELIABLE:
                bounds = [self._try(column, answer, relaxed, lower, upper, here) for answer in (0, 1)]
                choice = Choice(column, *bounds)
                lifts = np.clip(np.array(bounds) - relaxed.bound, SMALL, LARGE)
                value = float(lifts.prod()) if max(bounds) <= enough else np.inf
            if value > best_score:
                best, best_score = choice, value
            if value == np.inf:
                break
        self._master.fix(lower, upper)
        self._master.thaw(here)
        return best

    def _score(self, x: Floats) -> Floats:
        """Estimate what each column gains, from what it gained before."""
        rates = []
        for gain, tried in zip(self._gain, self._tried, strict=True):
            seen = tried > 0
            mean = max(float((gain[seen] / tried[seen]).mean()), 1e-9) if seen.any() else 1.0
            rates.append(np.where(seen, gain / np.maximum(tried, 1), mean))
        return np.asarray(np.maximum(rates[0] * x, 1e-9) * np.maximum(rates[1] * (1 - x), 1e-9))

    def _try(
        self, column: int, answer: int, relaxed: Relaxed, lower: Floats, upper: Floats, here: Any
    ) -> float:
        """Bound of one child after a few simplex steps; such a bound is weak but true."""
        self._master.thaw(here)
        low, high = lower.copy(), upper.copy()
        (low if answer else high)[column] = answer
        self._master.fix(low, high)
        child = self._master.solve(steps=STEPS)
        lift = max(child.bound - relaxed.bound, 0.0)
        if np.isfinite(lift):
            distance = relaxed.x[column] if answer == 0 else 1 - relaxed.x[column]
            self._gain[answer, column] += lift / max(float(distance), 1e-3)
            self._tried[answer, column] += 1
        return child.bound
