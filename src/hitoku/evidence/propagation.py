"""Bounds implied by single relations and propagated between them, which exclude most unsafe cells.

A part is at most what the others leave. Applied to all relations repeatedly, this narrows
the bounds of suppressed cells without a linear program; large unsafe patterns usually fail this test.
Rounds are computed in doubles and recorded; the exclusion of a cell is then proved, by the
multipliers of the relations that were used, in exact numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from hitoku.evidence.disclosure import Disclosure, bound_from
from hitoku.evidence.problem import AuditProblem
from hitoku.feasibility import Levels
from hitoku.model import Floats, Integers

ROUNDS = 40
# A bound is narrowed if it changes by this share and half a step: less may lead to endless rounds.
GAIN, STEP = 1e-3, 0.5
# Proofs with more relations than this are left to a linear program.
MAX_RELATIONS = 2_000

LOW, HIGH = range(2)


@dataclass
class BoundPropagation:
    """Narrowed bounds of all cells, and the relation that implied each, by round."""

    problem: AuditProblem
    """Unknowns of an outsider."""
    bounds: Floats = field(init=False)
    """Current lower and upper bounds in steps of the grid."""
    history: list[tuple[tuple[Integers, Integers], ...]] = field(default_factory=list)
    """For each round and side the narrowed cells, ascending, and the rows that implied them."""

    def __post_init__(self) -> None:
        ends = (self.problem.lower, -np.inf), (self.problem.upper, np.inf)
        known = [[endless if end is None else float(end) for end in side] for side, endless in ends]
        self.bounds = np.array(known) * self.problem.scale
        matrix = self.problem.matrix
        by_cell = matrix.tocsc()
        self._cells = np.flatnonzero(np.diff(by_cell.indptr))
        self._starts = by_cell.indptr[self._cells]
        self._place = np.repeat(np.arange(matrix.shape[1]), np.diff(by_cell.indptr))
        self._row, self._factor = by_cell.indices, by_cell.data
        self._n_rows = matrix.shape[0]

    def narrow(self) -> bool:
        """Process all relations once; return whether some bound was narrowed."""
        ends = self._factor * self.bounds[:, self._place]
        ends = np.where(self._factor > 0, ends, ends[::-1])
        others = np.empty_like(ends)
        for side in (LOW, HIGH):
            endless = np.isinf(ends[side])
            total = np.bincount(self._row, np.where(endless, 0.0, ends[side]), self._n_rows)[self._row]
            n_endless = np.bincount(self._row[endless], minlength=self._n_rows)[self._row] - endless
            rest = np.where(endless, total, total - ends[side])
            others[side] = np.where(n_endless > 0, -np.inf if side == LOW else np.inf, rest)
        # A cell balances the others of its relation.
        found = -others[::-1] / self._factor
        found = np.where(self._factor > 0, found, found[::-1])
        self.history.append((self._take(found[LOW], LOW), self._take(found[HIGH], HIGH)))
        return any(len(cells) for cells, _ in self.history[-1])

    def _take(self, found: Floats, side: int) -> tuple[Integers, Integers]:
        """Keep the narrowest bound of each cell, and record its row."""
        inward = 1.0 if side == HIGH else -1.0
        best = np.minimum.reduceat(inward * found, self._starts) if len(self._starts) else np.zeros(0)
        before = inward * self.bounds[side, self._cells]
        with np.errstate(invalid="ignore"):
            better = before - best > np.where(np.isinf(before), 0.0, GAIN * np.abs(before)) + STEP
        cells, best = self._cells[better], best[better]
        narrowest = np.full(len(self.problem.cells), np.nan)
        narrowest[cells] = best
        entries = np.flatnonzero(inward * found == narrowest[self._place])
        first = entries[np.searchsorted(self._place[entries], cells)]
        self.bounds[side, cells] = inward * best
        return cells, self._row[first]

    def multipliers(self, place: int, side: int) -> dict[int, Fraction | int] | None:
        """Return the multipliers of rows that give the current bound of a cell; None if too many."""
        rows: dict[int, Fraction | int] = {}
        waiting = self._before(len(self.history), place, side)
        shares: list[dict[tuple[int, int, int], Fraction | int]] = [{} for _ in self.history]
        if waiting is None:
            return None
        number, row = waiting
        shares[number][place, side, row] = 1
        for number in reversed(range(len(self.history))):
            for (cell, end, row), share in shares[number].items():
                entries = self.problem.rows[row]
                times = _divide(share, entries[cell])
                rows[row] = rows.get(row, 0) + times
                if len(rows) > MAX_RELATIONS:
                    return None
                for other, coefficient in entries.items():
                    if other == cell:
                        continue
                    # Side of the other cell that bounds this side of the cell.
                    opposite = end if (coefficient > 0) != (entries[cell] > 0) else 1 - end
                    earlier = self._before(number, other, opposite)
                    if earlier is not None:
                        key = (other, opposite, earlier[1])
                        so_far = shares[earlier[0]]
                        so_far[key] = so_far.get(key, 0) - times * coefficient
        return rows

    def _before(self, number: int, place: int, side: int) -> tuple[int, int] | None:
        """Return the last earlier round in which a bound was narrowed, and its row."""
        for earlier in reversed(range(number)):
            cells, rows = self.history[earlier][side]
            spot = int(np.searchsorted(cells, place))
            if spot < len(cells) and cells[spot] == place:
                return earlier, int(rows[spot])
        return None


def _divide(share: Fraction | int, by: int) -> Fraction | int:
    return share * by if by in (1, -1) else Fraction(share) / by


def ruled_out(problem: AuditProblem, levels: Levels) -> dict[int, dict[bool, Disclosure]]:
    """Return cells whose bounds are narrower than required, with exact bounds: False the lower one."""
    propagation, left = BoundPropagation(problem), levels.required.copy()
    width = np.maximum(levels.width, STEP)
    found: dict[int, dict[bool, Disclosure]] = {}
    for _ in range(ROUNDS):
        if not propagation.narrow():
            break
        low, high = propagation.bounds
        short = left & ((-low < levels.down) | (high < levels.up) | (high - low < width))
        for place in np.flatnonzero(short).tolist():
            left[place] = False
            ends = [bool(high[place] < levels.up[place]), bool(-low[place] < levels.down[place])]
            sides = (True, False) if not any(ends) else [ends[0]]
            found[place] = {up: reason for up in sides if (reason := _exact(propagation, place, up=up))}
    return found


def _exact(propagation: BoundPropagation, place: int, *, up: bool) -> Disclosure | None:
    """Prove the current bound of a cell; its known bound if it was never narrowed."""
    times = propagation.multipliers(place, HIGH if up else LOW)
    if times is None:
        end = propagation.problem.upper[place] if up else propagation.problem.lower[place]
        return None if end is None else Disclosure(place, up, end)
    return bound_from(propagation.problem, place, times, up=up)
