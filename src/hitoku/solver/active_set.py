"""Active-set polishing: from a nearly optimal point of a quadratic program to the optimum.

For the correct set of active bounds and rows, the optimality conditions are linear equations, and a sparse
factorisation solves them to the last digits where an interior point method has stopped. A wrong guess is
visible, because a column violates its bounds or a multiplier has the wrong sign; it is corrected and the
equations are solved again. Nothing is proven here; callers judge each point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import linalg

from hitoku.solver.highs import FEASIBLE

Floats = NDArray[np.float64]

# Maximum number of guesses; most programs take three or four, some cycle.
MAX_GUESSES = 30
# Regularisation: columns without curvature and redundant rows leave the equations singular. A weak pull
# towards the last answer makes them regular; repeated, it does not change the answer.
PULL = 1e-7


@dataclass(frozen=True, slots=True)
class Conditions:
    """Minimise ``cost @ y + squares @ y**2 / 2``, ``low <= y <= high``, ``least <= matrix @ y <= most``.

    All numbers are scaled to be near one.
    """

    cost: Floats
    squares: Floats
    matrix: sparse.csr_array
    low: Floats
    high: Floats
    least: Floats
    most: Floats

    def settle(self, y: Floats, duals: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Yield improving points with their multipliers, starting near the given ones.

        Examples
        --------
        Two parts of a total of 10 with the smallest sum of squares, the second at least 6.

        >>> total, endless = np.array([10.0]), np.full(2, np.inf)
        >>> conditions = Conditions(
        ...     cost=np.zeros(2),
        ...     squares=np.full(2, 2.0),
        ...     matrix=sparse.csr_array([[1.0, 1.0]]),
        ...     low=np.array([0.0, 6.0]),
        ...     high=endless,
        ...     least=total,
        ...     most=total,
        ... )
        >>> *_, (y, duals) = conditions.settle(np.array([4.2, 6.1]), np.array([9.0]))
        >>> y.round(6), duals.round(6)
        (array([4., 6.]), array([8.]))
        """
        y = np.clip(y, self.low, self.high)
        push = self._push(y, duals)
        stuck, equal = self.low == self.high, self.least == self.most
        at_low = stuck | (push > y - self.low)
        at_high = ~at_low & (-push > self.high - y)
        activity = self.matrix @ y
        on_least = equal | (duals > activity - self.least)
        on_most = ~on_least & (-duals > self.most - activity)
        seen = set()
        for _ in range(MAX_GUESSES):
            guess = np.concatenate([at_low, at_high, on_least, on_most]).tobytes()
            if guess in seen:
                return
            seen.add(guess)
            y = np.where(at_low, self.low, np.where(at_high, self.high, y))
            solved = self._solve(y, duals, ~(at_low | at_high), on_least, on_most)
            if solved is None:
                return
            y, duals = solved
            yield y, duals
            push, activity = self._push(y, duals), self.matrix @ y
            # Pushes and distances below this share of the largest column are rounding.
            noise = FEASIBLE * np.abs(y).max(initial=0.0)
            at_low, at_high = (
                stuck | np.where(at_low, push > -noise, y < self.low - noise),
                ~stuck & np.where(at_high, push < noise, y > self.high + noise),
            )
            on_least, on_most = (
                equal | np.where(on_least, duals > -noise, activity < self.least - noise),
                ~equal & np.where(on_most, duals < noise, activity > self.most + noise),
            )

    def violation(self, y: Floats, duals: Floats) -> float:
        """Return by how much a point and its multipliers violate the optimality conditions.

        The natural residual of the Karush-Kuhn-Tucker conditions: each column is moved to where its own cost,
        with the multipliers of the rows, is least within its bounds, and each row likewise; at an optimum
        nothing moves. The largest distance counts, for a column as a share of the largest column, for a row
        as a share of the sum of its absolute terms.

        Examples
        --------
        >>> conditions = Conditions(
        ...     cost=np.zeros(2),
        ...     squares=np.full(2, 2.0),
        ...     matrix=sparse.csr_array([[1.0, 1.0]]),
        ...     low=np.array([0.0, 6.0]),
        ...     high=np.full(2, np.inf),
        ...     least=np.array([10.0]),
        ...     most=np.array([10.0]),
        ... )
        >>> conditions.violation(np.array([4.0, 6.0]), np.array([8.0]))
        0.0
        >>> round(conditions.violation(np.array([3.7, 6.3]), np.array([8.0])), 6)  # either is 0.3 off, of 6.3
        0.047619
        """
        # A column without curvature moves by its slope, others by a Newton step.
        slope = self._push(y, duals) / np.where(self.squares > 0, self.squares, 1.0)
        activity = self.matrix @ y
        columns = np.abs(y - np.clip(y - slope, self.low, self.high))
        rows = np.abs(activity - np.clip(activity - duals, self.least, self.most))
        # Least size of columns, which are scaled to be near one, and of rows, as a share of the largest one.
        floor = 1e-6
        largest = np.abs(y).max(initial=floor)
        moving = abs(self.matrix) @ np.abs(y) + floor * largest
        return float(max((columns / largest).max(initial=0.0), (rows / moving).max(initial=0.0)))

    def _push(self, y: Floats, duals: Floats) -> Floats:
        """Return the reduced gradient: positive at active lower bounds, negative at active upper ones."""
        return np.asarray(self.cost + self.squares * y - self.matrix.T @ duals)

    def _solve(
        self, y: Floats, duals: Floats, free: NDArray[np.bool_], on_least: NDArray[np.bool_], on_most: Any
    ) -> tuple[Floats, Floats] | None:
        """Solve for the free columns and the multipliers of active rows; None if that is impossible."""
        held = on_least | on_most
        rows = self.matrix[held]
        target = np.where(on_least, self.least, self.most)[held] - rows[:, ~free] @ y[~free]
        own, n_free, n_held = sparse.csr_array(rows[:, free]), int(free.sum()), int(held.sum())
        if n_free + n_held == 0:
            return y, np.zeros_like(duals)
        system = sparse.block_array(
            [
                [sparse.diags_array(self.squares[free] + PULL), own.T],
                [own, -PULL * sparse.eye_array(n_held)],
            ],
            format="csc",
        )
        try:
            # The regularised matrix needs no pivoting, so the ordering can minimise fill.
            factors = linalg.splu(
                system,
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )
        except RuntimeError:
            return None
        # Newton steps on the residual: they also undo the rounding of the factorisation.
        moved, multiplier = y[free], duals[held]
        for _ in range(8):
            slope = self.cost[free] + self.squares[free] * moved - own.T @ multiplier
            step = factors.solve(np.concatenate([-slope, target - own @ moved]))
            if not np.isfinite(step).all():
                return None
            moved, multiplier = moved + step[:n_free], multiplier - step[n_free:]
        y, duals = y.copy(), np.zeros_like(duals)
        y[free], duals[held] = moved, multiplier
        return y, duals
