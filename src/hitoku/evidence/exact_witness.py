"""A solver's point made exact: rounded to the grid, or solved again from its basis in whole numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.evidence.exact import Row, solve
from hitoku.evidence.grid import common_denominator
from hitoku.evidence.problem import AuditProblem, Witness
from hitoku.model import WHOLE, Floats
from hitoku.solver.linear import BASIC, UPPER, Basis, LinearProgram

# A basis that the solver calls feasible may leave a bound by its tolerance; pulling the whole point this
# little towards the true table mends that. More would be no rounding.
PULL = Fraction(1, 10**6)


@dataclass(frozen=True)
class Split:
    """The columns of a linear program in which every unsafe cell has three.

    The base runs from what is required below to what is required above; overflows take what goes beyond.
    Rewarding the base alone, the solver moves a cell as far as it must and no further, with no extra row.
    """

    problem: AuditProblem
    """Differences to be split."""
    unsafe: tuple[int, ...]
    """Cells that are split; their overflows stand after the bases of all cells, first those above."""
    low: tuple[Fraction | None, ...]
    high: tuple[Fraction | None, ...]
    """Exact bounds of all columns, None where there is none."""

    @classmethod
    def of(cls, problem: AuditProblem, places: Iterable[int]) -> Split:
        """Split some unsafe cells at what they need, rounded outwards to the grid."""
        unsafe = tuple(places)
        demands = [problem.demands[place] for place in unsafe]
        bare = any(not (d.lower or d.upper or d.width) for d in demands)
        usual = _usual(problem) if bare else Fraction(0)
        low, high = list(problem.lower), list(problem.upper)
        above: list[Fraction | None] = []
        below: list[Fraction | None] = []
        for place in unsafe:
            demand = problem.demands[place]
            # A cell that need only not be known may go as far as others do: a single step beside numbers that
            # are millions of millions of steps is less than what the solver takes for rounding.
            least = Fraction(0) if demand.lower or demand.upper or demand.width else usual
            down = _outwards(max(demand.lower, demand.width, least), problem.scale)
            up = _outwards(max(demand.upper, demand.width, least), problem.scale)
            bottom, top = problem.lower[place], problem.upper[place]
            base_low = -down if bottom is None else max(-down, bottom)
            base_high = up if top is None else min(up, top)
            low[place], high[place] = base_low, base_high
            above.append(None if top is None else top - base_high)
            below.append(None if bottom is None else bottom - base_low)
        zero = [Fraction(0)] * len(unsafe)
        return cls(problem, unsafe, (*low, *zero, *below), (*high, *above, *zero))

    @cached_property
    def matrix(self) -> Any:
        parts = self.problem.matrix
        again = parts[:, np.array(self.unsafe, dtype=np.int64)]
        return sparse.csr_array(sparse.hstack([parts, again, again]))

    @cached_property
    def program(self) -> LinearProgram:
        """The linear program in doubles; whole bounds rounded inwards where differences are whole."""
        low = np.array([-np.inf if b is None else float(b) for b in self.low])
        high = np.array([np.inf if b is None else float(b) for b in self.high])
        if self.problem.integer:
            low, high = np.ceil(low), np.floor(high)
        matrix = self.matrix
        return LinearProgram(np.zeros(matrix.shape[1]), matrix, np.zeros(matrix.shape[0]), low, high)

    @cached_property
    def width(self) -> Floats:
        """Length of each unsafe cell's base, by which its progress is measured; one where it is fixed."""
        program, cells = self.program, list(self.unsafe)
        length = program.upper[cells] - program.lower[cells]
        return np.where(length > 0, length, 1.0)

    def joined(self, point: Floats) -> Floats:
        """Add bases and overflows up to differences."""
        n, k = len(self.problem.cells), len(self.unsafe)
        whole = point[:n].copy()
        whole[list(self.unsafe)] += point[n : n + k] + point[n + k :]
        return whole

    def owner(self, column: int) -> int:
        """Return the cell that a column belongs to."""
        n, k = len(self.problem.cells), len(self.unsafe)
        return column if column < n else self.unsafe[(column - n) % k]


def exact_witness(split: Split, point: Floats, basis: Basis | None) -> Witness | None:
    """Make a solver's point exact; None when neither rounding nor its basis gives a table that fits."""
    problem, whole = split.problem, split.joined(point)
    rounded = problem.on_grid(whole)
    # A point between the steps of the grid may round to a table that fits but has hardly moved.
    steps = whole * problem.scale
    between = bool(np.any(np.abs(steps - np.rint(steps)) > WHOLE))
    if problem.integer or basis is None or not (between or rounded is None):
        return rounded
    return from_basis(split, basis) or rounded


def from_basis(split: Split, basis: Basis) -> Witness | None:
    """Solve for the basic columns exactly, the others standing at their bounds."""
    problem = split.problem
    basic = np.flatnonzero(basis.columns == BASIC)
    deviations: dict[int, Fraction] = {}
    for column in np.flatnonzero(basis.columns != BASIC).tolist():
        end = split.high[column] if basis.columns[column] == UPPER else split.low[column]
        if end:
            cell = split.owner(column)
            deviations[cell] = deviations.get(cell, Fraction(0)) + end
    below = common_denominator(deviations.values())
    right = [0] * len(problem.rows)
    for cell, move in deviations.items():
        for number in problem.users[cell]:
            right[number] -= problem.rows[number][cell] * int(move * below)
    # Two basic columns of one cell would be parallel; the solver never chooses them, and one is enough.
    unknown = {split.owner(column) for column in basic.tolist()}
    rows: list[Row] = [{c: a for c, a in row.items() if c in unknown} for row in problem.rows]
    found = solve(rows, right)
    if found is None:
        return None
    for cell, steps in found.items():
        deviations[cell] = deviations.get(cell, Fraction(0)) + Fraction(steps) / below
    return _scale_back(problem, deviations)


def _scale_back(problem: AuditProblem, deviations: dict[int, Fraction]) -> Witness | None:
    """Scale differences back until they keep every bound, if that takes next to nothing."""
    share = Fraction(1)
    for cell, move in deviations.items():
        low, high = problem.lower[cell], problem.upper[cell]
        if high is not None and move > high:
            share = min(share, high / move)
        if low is not None and move < low:
            share = min(share, low / move)
    if share < 1 - PULL:
        return None
    if share < 1:
        deviations = {cell: move * share for cell, move in deviations.items()}
    return Witness.of(deviations) if problem.fits(deviations) else None


def _usual(problem: AuditProblem) -> Fraction:
    """Return how far cells can usually move: the median of the room that is finite and not zero."""
    room = sorted(abs(float(end)) for ends in (problem.lower, problem.upper) for end in ends if end)
    return Fraction(room[len(room) // 2]) if room else Fraction(0)


def _outwards(level: Fraction, scale: int) -> Fraction:
    """Round a level up to the grid, at least one step."""
    return Fraction(max(1, -(-level * scale // 1)), scale)
