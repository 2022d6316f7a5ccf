"""Bounds that follow from each other, relation by relation, from where something is known on."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from hitoku.attacks.equations import ROUNDS, parts
from hitoku.model.arrays import Floats, Integers


class BoundChains:
    """Relations whose right-hand sides are zero.

    Parameters
    ----------
    relations
        Rows by cells.
    slack
        What counts as rounding, by cell.
    """

    def __init__(self, relations: Any, slack: Floats) -> None:
        self._by_row = sparse.csr_array(relations)
        self._by_cell = self._by_row.tocsc()
        self._slack = slack

    def tighten(self, lower: Floats, upper: Floats, told: Integers | None = None) -> None:
        """Draw conclusions from bounds, in place: a part is no more than what the others leave.

        Parameters
        ----------
        lower, upper
            Bounds of all cells.
        told
            Cells whose bounds are news; left out, all are.
        """
        from hitoku.kernels.elimination import propagate  # noqa: PLC0415 - numba loads when it is needed

        rows = np.arange(self._by_row.shape[0]) if told is None else self._rows_of(told)
        for _ in range(ROUNDS):
            relations = self._by_row[rows]
            cells = np.unique(relations.indices)
            before = lower[cells], upper[cells]
            propagate(*parts(relations), np.zeros(len(rows)), lower, upper, self._slack, 1)
            changed = cells[(lower[cells] != before[0]) | (upper[cells] != before[1])]
            if len(changed) == 0:
                break
            rows = self._rows_of(changed)

    def _rows_of(self, cells: Integers) -> Integers:
        return np.unique(self._by_cell[:, cells].indices)
