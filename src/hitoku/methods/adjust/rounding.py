"""Round deviations to a grid of decimals, so that printed values add up exactly and stay safe.

A solver's numbers add up to about twelve digits, but a printed table must add up exactly. Six decimals are
fine enough to round the cells that may be chosen freely and to compute the rest. Integers are not: every cell
takes one of its neighbours on the grid (controlled rounding). A linear program finds them if the table is
a network, as two-way tables are, and an integer program otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.methods.tuning import ADJUST
from hitoku.model import EXACT_SUMS, MAX_DECIMALS, WHOLE, Floats, Integers, Mask
from hitoku.solver import integer, quadratic
from hitoku.solver.solution import CountedWork


@dataclass(frozen=True, slots=True)
class Sums:
    """Order in which a table is completed from some of its cells."""

    free: Mask  # Cells that may be chosen freely.
    # tied, ties: inner cells that follow from chosen ones, and the matrix that computes them.
    tied: Integers
    ties: Any
    # For each round, a matrix that computes some totals from known cells, and these totals.
    rounds: tuple[tuple[Any, Integers], ...]

    @classmethod
    def of(cls, relations: Any, kept: Mask) -> Sums | None:
        """Derive the order from the relations.

        None if a relation is not "parts minus sum", if sums are circular, or if inner cells are related by
        coefficients other than integers.

        Parameters
        ----------
        relations
            Relations between the cells.
        kept
            Cells that do not move.
        """
        rounds = _rounds(relations)
        if rounds is None:
            return None
        n = relations.shape[1]
        inner = np.ones(n, dtype=bool)
        for _, cells in rounds:
            inner[cells] = False
        leaves = np.flatnonzero(inner & ~kept)
        chosen = sparse.csr_array((np.ones(len(leaves)), (leaves, np.arange(len(leaves)))), (n, len(leaves)))
        filled = _express_cells(chosen, rounds)
        tied = sparse.csr_array(sparse.vstack([relations @ filled, filled[np.flatnonzero(kept & ~inner)]]))
        tied.eliminate_zeros()
        tied = tied[np.flatnonzero(np.diff(tied.indptr))]
        if tied.shape[0] * tied.shape[1] > ADJUST.max_tie_entries:
            return None
        solved = _solve_integers(np.unique(tied.toarray().astype(np.int32), axis=0))
        if solved is None:
            return None
        pivots, ties = solved
        free = inner & ~kept
        free[leaves[pivots]] = False
        matrix = sparse.csr_array((len(pivots), n))
        if len(pivots):
            coefficients = sparse.coo_array(ties)
            rows, columns = coefficients.coords
            matrix = sparse.csr_array((coefficients.data, (rows, leaves[columns])), (len(pivots), n))
        return cls(free, leaves[pivots], matrix, rounds)

    def add_up(self, steps: Floats) -> Floats:
        """Take the freely chosen cells and compute the rest."""
        added = np.where(self.free, steps, 0.0)
        added[self.tied] = self.ties @ added
        for matrix, cells in self.rounds:
            added[cells] = matrix @ added
        return added


def _rounds(relations: Any) -> tuple[tuple[Any, Integers], ...] | None:
    """Order the totals so that each follows from cells known before it."""
    n_rows, n = relations.shape
    row_of = np.repeat(np.arange(n_rows), np.diff(relations.indptr))
    negative = relations.data < 0
    one_sum = np.all(np.bincount(row_of[negative], minlength=n_rows) == 1)
    if not one_sum or not np.all(np.abs(relations.data) == 1):
        return None
    total = np.empty(n_rows, dtype=np.int64)
    total[row_of[negative]] = relations.indices[negative]
    known = np.ones(n, dtype=bool)
    known[total] = False
    parts = sparse.csr_array(
        (np.where(negative, 0.0, relations.data), relations.indices, relations.indptr), relations.shape
    )
    rounds = []
    while not known.all():
        ready = (parts @ (~known).astype(np.float64) == 0) & ~known[total]
        cells, rows = np.unique(total[ready], return_index=True)
        if len(cells) == 0:
            return None
        rounds.append((sparse.csr_array(parts[np.flatnonzero(ready)[rows]]), cells))
        known[cells] = True
    return tuple(rounds)


def _express_cells(chosen: Any, rounds: tuple[tuple[Any, Integers], ...]) -> Any:
    """Express every cell in terms of the chosen ones."""
    filled = chosen
    n = chosen.shape[0]
    for matrix, cells in rounds:
        place = sparse.csr_array((np.ones(len(cells)), (cells, np.arange(len(cells)))), (n, len(cells)))
        filled = sparse.csr_array(filled + place @ (matrix @ filled))
    return filled


def _solve_integers(rows: Any) -> tuple[Integers, Any] | None:
    """Solve integer equations for some columns, by elimination with pivots ±1; None if that fails.

    Examples
    --------
    >>> pivots, ties = _solve_integers(np.array([[1, 1, -1, 0], [0, 1, 1, -1]]))
    >>> pivots, ties.tolist()
    (array([0, 3]), [[0, -1, 1, 0], [0, 1, 1, 0]])
    """
    filled = rows != 0
    in_row, in_column = filled.sum(axis=1), filled.sum(axis=0)
    open_rows = in_row > 0
    order: list[int] = []
    pivots: list[int] = []
    while open_rows.any():
        row = int(np.argmin(np.where(open_rows, in_row, rows.shape[1] + 1)))
        ones = np.flatnonzero(np.abs(rows[row]) == 1)
        if len(ones) == 0:
            return None
        # Among the columns that can be solved for, one that few other equations contain.
        column = int(ones[np.argmin(in_column[ones])])
        rows[row] *= rows[row, column]
        others = np.flatnonzero(rows[:, column])
        others = others[others != row]
        before = rows[others] != 0
        rows[others] -= rows[others, column][:, None] * rows[row]
        after = rows[others] != 0
        if np.abs(rows[others]).max(initial=0) > ADJUST.max_tie_coefficient:
            return None
        in_row[others] = after.sum(axis=1)
        in_column += after.sum(axis=0) - before.sum(axis=0)
        open_rows[others] &= in_row[others] > 0
        open_rows[row] = False
        order.append(row)
        pivots.append(column)
    ties = -rows[order]
    ties[np.arange(len(pivots)), pivots] = 0
    return np.array(pivots, dtype=np.int64), ties


# Neighbours on either side that controlled rounding may use before it gives up.
WINDOWS = (0, 1, 5)


@dataclass(frozen=True, slots=True)
class RoundingGrid:
    """Integer multiples of a step: ``scale`` steps per unit."""

    scale: int

    def up(self, number: Floats) -> Floats:
        """Return the next grid point at or above, in steps."""
        return np.ceil(number * self.scale - ADJUST.grid_slack)

    def down(self, number: Floats) -> Floats:
        """Return the next grid point at or below, in steps."""
        return np.floor(number * self.scale + ADJUST.grid_slack)

    def holds(self, value: Floats) -> bool:
        """Return whether all values lie on the grid and are distinct there."""
        steps = value * self.scale
        near = np.abs(steps - np.rint(steps)) <= np.minimum(ADJUST.grid_slack, 1e-12 * np.abs(steps) + 1e-9)
        return bool(np.all(near) and np.abs(steps).max(initial=0.0) < 2 * EXACT_SUMS)


def finest(value: Floats) -> RoundingGrid | None:
    """Return the finest grid of at most six decimals that doubles of this size can represent, or None.

    Examples
    --------
    >>> finest(np.array([12.0, 0.5])), finest(np.array([2e11, 7.0])), finest(np.array([1 / 3]))
    (RoundingGrid(scale=1000000), RoundingGrid(scale=1000), None)
    """
    for decimals in range(MAX_DECIMALS, -1, -1):
        grid = RoundingGrid(10**decimals)
        if 2 * np.abs(value).max(initial=0.0) * grid.scale < 2 * EXACT_SUMS:
            return grid if grid.holds(value) else None
    return None


def round_and_add_up(
    relations: Any,
    deviation: Floats,
    bounds: tuple[Floats, Floats],
    grid: RoundingGrid,
    again: Callable[[Floats, Floats], Floats | None],
) -> Floats | None:
    """Round cells that may be chosen freely and compute the rest; None if that fails.

    Parameters
    ----------
    relations
        Relations, which must stay zero.
    deviation
        Deviation to approximate.
    bounds
        Lowest and highest deviation of each cell.
    grid
        Grid of the values.
    again
        Finds the deviation for tighter bounds; called if a total misses its bound by a few steps.
    """
    low, high = grid.up(bounds[0]), grid.down(bounds[1])
    sums = Sums.of(relations, (low == 0) & (high == 0))
    lower, upper = low, high
    if sums is None:
        return None
    for _ in range(ADJUST.rounding_attempts):
        added = sums.add_up(np.clip(np.rint(deviation * grid.scale), low, high))
        if np.any(relations @ added):
            return None
        below, above = np.maximum(low - added, 0.0), np.maximum(added - high, 0.0)
        if not below.any() and not above.any():
            return added / grid.scale
        # Twice what was missing, and a little more, so that the next deviation is rounded differently.
        lower = lower + np.where(below > 0, 2 * below + 2, 0.0)
        upper = upper - np.where(above > 0, 2 * above + 2, 0.0)
        nearer = again(lower / grid.scale, upper / grid.scale) if np.all(lower <= upper) else None
        if nearer is None:
            return None
        deviation = nearer
    return None


def round_controlled(
    relations: Any,
    deviation: Floats,
    bounds: tuple[Floats, Floats],
    grid: RoundingGrid,
    *,
    time_limit_s: float | None = None,
    work: CountedWork | None = None,
) -> Floats | None:
    """Choose a neighbour on the grid for every cell, jointly as near as possible; None if impossible.

    Parameters
    ----------
    relations, deviation, bounds, grid
        As in :func:`round_and_add_up`.
    time_limit_s
        Limit of each integer program, which is used if the linear program has fractions.
    work
        Counts the steps of all programs; no further one begins once its limit is reached.
    """
    low, high = grid.up(bounds[0]), grid.down(bounds[1])
    for window in WINDOWS:
        near = _Near.of(relations, deviation * grid.scale, low, high, window)
        if near is None:
            continue
        found = quadratic.solve(near.program(), work=work)
        if found.x is None:
            continue
        steps = near.steps(found.x)
        if steps is None:
            whole = integer.solve(near.whole(), gap=ADJUST.rounding_gap, time_limit_s=time_limit_s, work=work)
            steps = near.steps(whole.x)
        if steps is not None and not np.any(relations @ steps):
            return steps / grid.scale
    return None


@dataclass(frozen=True, slots=True)
class _Near:
    """Grid points around a deviation: one step up from ``floor``, then further up or down."""

    relations: Any
    floor: Floats
    moving: Integers
    share: Floats
    below: Floats
    above: Floats

    @classmethod
    def of(cls, relations: Any, steps: Floats, low: Floats, high: Floats, window: int) -> _Near | None:
        """Use ``window`` more neighbours on either side than the nearest."""
        floor = np.floor(steps + WHOLE)
        below = np.clip(floor - window, low, high)
        above = np.clip(np.ceil(steps - WHOLE) + window, low, high)
        if np.any(low > high):
            return None
        floor = np.clip(floor, below, above)
        return cls(
            relations, floor, np.flatnonzero(below < above), np.clip(steps - floor, 0.0, 1.0), below, above
        )

    def program(self) -> quadratic.QuadraticProgram:
        moving, k = self.moving, len(self.moving)
        columns = sparse.csr_array(self.relations[:, moving])
        rise = self.above[moving] - self.floor[moving]
        between = np.minimum(rise, 1.0)
        return quadratic.QuadraticProgram(
            cost=np.concatenate([1 - 2 * self.share[moving], np.ones(k), np.ones(k)]),
            relations=sparse.hstack([columns, columns, -columns], format="csr"),
            rhs=-(self.relations @ self.floor),
            lower=np.zeros(3 * k),
            upper=np.concatenate([between, rise - between, self.floor[moving] - self.below[moving]]),
        )

    def whole(self) -> integer.IntegerProgram:
        """Return the integer program."""
        plain = self.program()
        return integer.IntegerProgram(plain.cost, plain.relations, plain.rhs, plain.lower, plain.upper)

    def steps(self, x: Floats | None) -> Floats | None:
        """Return the grid points of a solution, or None if it has fractions."""
        if x is None or np.any(np.abs(x - np.rint(x)) > WHOLE):
            return None
        k, steps = len(self.moving), self.floor.copy()
        steps[self.moving] += np.rint(x[:k] + x[k : 2 * k] - x[2 * k :])
        return steps
