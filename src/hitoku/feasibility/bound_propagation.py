"""Presolve without a solver: determined cells, and bounds that follow from one relation at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hitoku.errors import SolverError
from hitoku.feasibility.pattern import Incidence
from hitoku.feasibility.problem import Problem, contradiction
from hitoku.model import ADDITIVITY, ROUNDING, Floats, Integers, Mask, rational

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
            Maximum number of rounds.

        Returns
        -------
        Cells whose bounds changed.
        """
        from hitoku.kernels.propagate import propagate_from  # noqa: PLC0415 - numba loads when it is needed

        rows, columns = self._relations.by_row, self._relations.by_cell
        cells = np.arange(self._relations.n_cells) if changed is None else changed
        found = propagate_from(rows, columns, cells, lower, upper, self._slack, self._rounding, rounds)
        return np.asarray(found, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Settled:
    """Result of presolve."""

    known: Mask
    value: Floats
    """Cells that are determined, and their values."""
    lower: Floats
    upper: Floats
    """Bounds that follow from one relation at a time; equal where a cell is known."""
    cells: Integers
    """The cells that remain open."""
    rest: Problem
    """The problem in the open cells."""


def settle(equations: Problem) -> Settled:
    """Determine cells that are alone in a relation, or whose bounds meet, until none is left."""
    from hitoku.kernels.propagate import peel, propagate  # noqa: PLC0415 - numba loads when it is needed

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
        if not propagate(*rows, equations.rhs, lower, upper, slack, 0.0, MAX_ROUNDS):
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


def fixed_columns(matrix: sparse.csr_array) -> tuple[Mask, int]:
    """Return the columns that are zero in every null vector of the matrix, and the rank of the matrix.

    Computed modulo two primes of 61 bits, with two random null vectors each. A prime is wrong only if it
    divides a subdeterminant, and then its rank is too small; a null vector is wrong only if an entry is zero
    by chance, with probability 2**-61. The larger rank counts, with the columns on which its vectors agree.
    """
    from hitoku.kernels.residues import PRIMES, null_vector  # noqa: PLC0415 - loads numba

    n = matrix.shape[1]
    known = np.zeros(n, dtype=np.bool_)
    known[Incidence.of(matrix).stuck(~known)[0]] = True
    open_columns = np.flatnonzero(~known)
    nucleus = sparse.csr_array(matrix[:, open_columns])
    # Rare columns first, then short rows first: both keep the echelon form sparse.
    order = np.argsort(np.bincount(nucleus.indices, minlength=nucleus.shape[1]), kind="stable")
    nucleus = sparse.csr_array(nucleus[:, order])
    nucleus = nucleus[np.argsort(np.diff(nucleus.indptr), kind="stable")]
    indptr, indices, coefficients = Incidence.of(nucleus).by_row
    best_rank, mask = -1, np.zeros(0, dtype=np.bool_)
    for c in PRIMES:
        residues = _residues(coefficients, 2**61 - c)
        for seed in (1, 2):
            rank, vector = null_vector(indptr, indices, residues, len(order), np.uint64(c), np.uint64(seed))
            zero = vector == 0
            if rank > best_rank:
                best_rank, mask = rank, zero
            elif rank == best_rank:
                mask = mask & zero
    if best_rank < 0:
        raise SolverError("elimination_without_rank", "elimination gave no rank", where="feasibility")
    known[open_columns[order[mask]]] = True
    return known, best_rank + int(n - len(open_columns))


def _residues(coefficients: NDArray[np.float64], prime: int) -> NDArray[np.uint64]:
    """Return coefficients as residues of the rational numbers that they stand for.

    A double near 1/3 stands for 1/3: taken exactly, equivalent relations would seem to differ.
    """
    distinct, places = np.unique(coefficients, return_inverse=True)
    residues = []
    for number in distinct:
        meant = rational(float(number))
        residues.append(meant.numerator * pow(meant.denominator, -1, prime) % prime)
    return np.array(residues, dtype=np.uint64)[places]
