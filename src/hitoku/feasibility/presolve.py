"""Presolve: cells that are alone in a relation, and bounds that one relation implies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hitoku.feasibility.incidence import Incidence
from hitoku.feasibility.problem import Problem, contradiction
from hitoku.feasibility.propagation import ROUNDS
from hitoku.model import ADDITIVITY, Floats, Integers, Mask

# Rounding of a sum of doubles, as a share of the sum of the terms' sizes.
ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class Settled:
    """Result of presolve.

    Parameters
    ----------
    known, value
        Cells that are determined, and their values.
    lower, upper
        Bounds that follow from one relation at a time; equal where a cell is known.
    cells
        The cells that remain open.
    rest
        The problem in the open cells.
    """

    known: Mask
    value: Floats
    lower: Floats
    upper: Floats
    cells: Integers
    rest: Problem


def settle(equations: Problem) -> Settled:
    """Determine cells that are alone in a relation, or whose bounds meet, until none is left."""
    from hitoku.kernels.presolve import peel, propagate  # noqa: PLC0415 - numba loads when it is needed

    n = equations.n_cells
    relations = Incidence.of(equations.matrix)
    rows, columns = relations.by_row, relations.by_cell
    known, value = np.zeros(n, dtype=np.bool_), np.zeros(n)
    lower, upper = equations.lower.copy(), equations.upper.copy()
    reach = equations.reach
    squeezed = np.zeros(n) if equations.exact else ROUNDING * reach
    while True:
        rhs = equations.rhs.copy()
        peel(rows, columns, rhs, value, known, np.full(n, -1, dtype=np.int64))
        slack = ADDITIVITY * reach
        if np.any(value[known] < (lower - slack)[known]) or np.any(value[known] > (upper + slack)[known]):
            raise contradiction()
        value[known] = np.clip(value[known], equations.lower[known], equations.upper[known])
        lower[known] = upper[known] = value[known]
        if not propagate(*rows, equations.rhs, lower, upper, slack, 0.0, ROUNDS):
            raise contradiction()
        lower[known] = upper[known] = value[known]
        new = ~known & (upper - lower <= squeezed)
        if not new.any():
            break
        known |= new
        value[new] = lower[new] if equations.exact else (lower[new] + upper[new]) / 2
    n_open = np.asarray(
        sparse.csr_array((~known[rows[1]], rows[1], rows[0]), equations.matrix.shape).sum(axis=1)
    )
    if np.any(np.abs(rhs[n_open == 0]) > ADDITIVITY * equations.size[n_open == 0]):
        raise contradiction()
    cells = np.flatnonzero(~known)
    rest = equations.part(cells, rhs, equations.lower[cells], equations.upper[cells])
    return Settled(known, value, lower, upper, cells, rest)
