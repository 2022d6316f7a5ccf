"""Exact version of a solver's point: rounded to the grid, or solved again from its basis in integers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.evidence.grid import Row, common_denominator, solve
from hitoku.evidence.problem import AuditProblem, Witness
from hitoku.model import WHOLE, Floats
from hitoku.solver.linear import BASIC, UPPER, Basis, LinearProgram
from hitoku.solver.solution import CountedWork

# A basis that the solver calls feasible may violate a bound by its tolerance. Scaling the point towards the
# true table by at most this share corrects that; a larger correction would not be rounding.
PULL = Fraction(1, 10**6)


@dataclass(frozen=True)
class Split:
    """Columns of a linear program in which every unsafe cell has three.

    The base runs from the requirement below to the requirement above; overflows take further movement.
    With rewards for the base alone, the solver moves a cell as far as required, without additional rows.
    """

    problem: AuditProblem
    """Problem whose deviations are split."""
    unsafe: tuple[int, ...]
    """Cells that are split; their overflows follow the bases of all cells, first those above."""
    low: tuple[Fraction | None, ...]
    high: tuple[Fraction | None, ...]
    """Exact bounds of all columns, None if there is none."""

    @classmethod
    def of(cls, problem: AuditProblem, places: Iterable[int]) -> Split:
        """Split some unsafe cells at their requirements, rounded outwards to the grid."""
        unsafe = tuple(places)
        demands = [problem.demands[place] for place in unsafe]
        bare = any(not (d.lower or d.upper or d.width) for d in demands)
        usual = _usual(problem) if bare else Fraction(0)
        low, high = list(problem.lower), list(problem.upper)
        above: list[Fraction | None] = []
        below: list[Fraction | None] = []
        for place in unsafe:
            demand = problem.demands[place]
            # A cell without levels may move as far as others usually do: a single step next to very
            # large numbers is less than the solver's rounding.
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
        """The linear program in doubles; bounds are rounded inwards if deviations are integers."""
        low = np.array([-np.inf if b is None else float(b) for b in self.low])
        high = np.array([np.inf if b is None else float(b) for b in self.high])
        if self.problem.integer:
            low, high = np.ceil(low), np.floor(high)
        matrix = self.matrix
        return LinearProgram(np.zeros(matrix.shape[1]), matrix, np.zeros(matrix.shape[0]), low, high)

    @cached_property
    def width(self) -> Floats:
        """Length of each unsafe cell's base, the unit of its progress; one if it is fixed."""
        program, cells = self.program, list(self.unsafe)
        length = program.upper[cells] - program.lower[cells]
        return np.where(length > 0, length, 1.0)

    def joined(self, point: Floats) -> Floats:
        """Return deviations as sums of bases and overflows."""
        n, k = len(self.problem.cells), len(self.unsafe)
        whole = point[:n].copy()
        whole[list(self.unsafe)] += point[n : n + k] + point[n + k :]
        return whole

    def owner(self, column: int) -> int:
        """Return the cell of a column."""
        n, k = len(self.problem.cells), len(self.unsafe)
        return column if column < n else self.unsafe[(column - n) % k]


def exact_witness(split: Split, point: Floats, basis: Basis | None, work: CountedWork) -> Witness | None:
    """Make a solver's point exact; None if neither rounding nor its basis gives a feasible table.

    ``work`` limits the solves from bases.
    """
    problem, whole = split.problem, split.joined(point)
    rounded = problem.on_grid(whole)
    # A point between the steps of the grid may round to a feasible table with hardly any movement.
    steps = whole * problem.scale
    between = bool(np.any(np.abs(steps - np.rint(steps)) > WHOLE))
    if problem.integer or basis is None or not (between or rounded is None):
        return rounded
    return from_basis(split, basis, work) or rounded


def from_basis(split: Split, basis: Basis, work: CountedWork) -> Witness | None:
    """Solve for the basic columns exactly, with the others at their bounds."""
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
    found = solve(rows, right, work)
    if found is None:
        return None
    for cell, steps in found.items():
        deviations[cell] = deviations.get(cell, Fraction(0)) + Fraction(steps) / below
    return _scale_back(problem, deviations)


def _scale_back(problem: AuditProblem, deviations: dict[int, Fraction]) -> Witness | None:
    """Scale deviations back until they satisfy every bound, if a tiny correction suffices."""
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
    """Return the usual movement of cells: the median of the finite nonzero slacks."""
    sizes = sorted(abs(float(end)) for ends in (problem.lower, problem.upper) for end in ends if end)
    return Fraction(sizes[len(sizes) // 2]) if sizes else Fraction(0)


def _outwards(level: Fraction, scale: int) -> Fraction:
    """Round a level up to the grid, at least one step."""
    return Fraction(max(1, -(-level * scale // 1)), scale)
