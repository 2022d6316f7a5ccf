"""Bounds that follow from each other, relation by relation, from where something is known on."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from hitoku.feasibility.problem import ROUNDS, parts
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
        by_row = sparse.csr_array(relations)
        self._by_row, self._by_cell = parts(by_row), parts(by_row.tocsc())
        self._slack = slack

    def tighten(self, lower: Floats, upper: Floats, told: Integers | None = None) -> Integers:
        """Draw conclusions from bounds, in place: a part is no more than what the others leave.

        Parameters
        ----------
        lower, upper
            Bounds of all cells.
        told
            Cells whose bounds are news; left out, all are.

        Returns
        -------
        Cells of which more is known now.
        """
        from hitoku.kernels.elimination import propagate  # noqa: PLC0415 - numba loads when it is needed

        begins, indices, data = self._by_row
        rows = np.arange(len(begins) - 1) if told is None else self._rows_of(told)
        learnt = []
        for _ in range(ROUNDS):
            entries, ends = _lines(begins, rows)
            met = indices[entries]
            before = lower[met], upper[met]
            propagate(ends, met, data[entries], np.zeros(len(rows)), lower, upper, self._slack, 1)
            changed = np.unique(met[(lower[met] != before[0]) | (upper[met] != before[1])])
            if len(changed) == 0:
                break
            learnt.append(changed)
            rows = self._rows_of(changed)
        return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *learnt]))

    def _rows_of(self, cells: Integers) -> Integers:
        begins, indices, _ = self._by_cell
        return np.unique(indices[_lines(begins, cells)[0]])


def _lines(begins: Integers, lines: Integers) -> tuple[Integers, Integers]:
    """Return where the entries of some lines of a sparse matrix are, and where each line begins in them."""
    lengths = begins[lines + 1] - begins[lines]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return np.arange(ends[-1]) + np.repeat(begins[lines] - ends[:-1], lengths), ends
