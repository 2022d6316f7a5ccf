"""Bound propagation: bounds that follow from one relation at a time, without a solver."""

from __future__ import annotations

import numpy as np

from hitoku.feasibility.incidence import Incidence
from hitoku.model import Floats, Integers

# Maximum number of rounds. More would only help long chains of relations, which are left to the solver.
MAX_ROUNDS = 10


class Propagation:
    """Bound propagation in relations whose right-hand sides are zero.

    Propagated bounds never exclude a feasible point, so what they exclude is infeasible. The converse does
    not hold.

    Parameters
    ----------
    relations
        Rows by cells.
    slack
        Per cell, the largest crossing of bounds that counts as rounding.
    rounding
        Share of each sum that is allowed for rounding.
    """

    def __init__(self, relations: Incidence, slack: Floats, rounding: float = 0.0) -> None:
        self._relations, self._slack, self._rounding = relations, slack, rounding

    def tighten(
        self, lower: Floats, upper: Floats, changed: Integers | None = None, rounds: int = MAX_ROUNDS
    ) -> Integers:
        """Narrow bounds in place.

        Parameters
        ----------
        lower, upper
            Bounds of all cells.
        changed
            Cells whose bounds changed since the last call; default: all.
        rounds
            Largest number of rounds.

        Returns
        -------
        Cells whose bounds changed.
        """
        from hitoku.kernels.presolve import propagate_from  # noqa: PLC0415 - numba loads when it is needed

        rows, columns = self._relations.by_row, self._relations.by_cell
        cells = np.arange(self._relations.n_cells) if changed is None else changed
        found = propagate_from(rows, columns, cells, lower, upper, self._slack, self._rounding, rounds)
        return np.asarray(found, dtype=np.int64)
