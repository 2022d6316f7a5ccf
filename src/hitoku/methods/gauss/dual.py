"""Elimination on the relations: the fast way to find secondary cells.

A hidden cell can be worked out from the published ones exactly when its column of the relations is not a
combination of the columns of the other hidden cells. So it is enough to look at hidden columns, which are
few, instead of incidence columns over all inner cells. See :mod:`hitoku.kernels.gauss` for the two passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.model import Integers, Mask

# Primes 2**61 - c. The second one repeats the whole computation as a check.
CHOICES = (1, 31)


@dataclass(frozen=True, slots=True, eq=False)
class Elimination:
    """What elimination found.

    ``secondary`` marks candidates that stay hidden, ``exposed`` unsafe cells that nothing can hide, and
    ``moves`` counts the independent ways in which the hidden cells can change together.
    """

    secondary: Mask
    exposed: Mask
    moves: int


def eliminate(
    relations: Any, order: Integers, unsafe: Mask, hidden: Mask, moves: int = 0, c: int = CHOICES[0]
) -> Elimination:
    """Find the secondary cells; candidates that are neither in ``order`` nor hidden are published.

    Parameters
    ----------
    relations
        Sparse matrix, one column per cell.
    order
        Candidates, the most important first; no unsafe and no hidden ones.
    unsafe
        Cells to protect. They stay hidden.
    hidden
        Cells that are not published either way, and need no protection.
    moves
        Independent moves to leave at least, where there are that many.
    c
        Choice of prime.
    """
    from hitoku.kernels import basis as kernel  # noqa: PLC0415 - numba starts slowly, small tables do without
    from hitoku.kernels import gauss  # noqa: PLC0415 - see above

    columns, spread = residues(relations, c)
    fixed = np.flatnonzero(unsafe | hidden)
    order = np.asarray(order, dtype=np.int64)
    prime, seed = np.uint64(c), np.uint64(1)
    limit = max(1, min(len(spread), len(fixed) + len(order)))
    grown, space = kernel.empty_basis(len(spread), limit, 4 * limit + 16)
    start = kernel.fixed_basis(columns, spread, fixed, grown, space, prime, seed)
    n_fixed, _, number, _, moved = start
    numbers = number[np.flatnonzero(unsafe)]
    numbers = numbers[numbers >= 0]
    watched = numbers[moved[numbers] == 0]
    opened = np.zeros(limit, dtype=np.uint64)
    draw = np.random.default_rng(c)
    opened[watched] = draw.integers(1, 2**60, size=len(watched), dtype=np.uint64)
    free = len(fixed) - n_fixed
    stop, n, grown, last, free = gauss.backward(
        columns, spread, order, moves, start, opened, free, space, prime, seed
    )
    kept, free = gauss.forward(columns, order, stop, moves, n, grown, number, last, free, space, prime)
    secondary = np.zeros(len(unsafe), dtype=bool)
    secondary[order[kept]] = True
    exposed = np.zeros(len(unsafe), dtype=bool)
    watched_cells = np.flatnonzero(unsafe)
    stuck = np.isin(number[watched_cells], watched[opened[watched] != 0])
    exposed[watched_cells[stuck]] = True
    return Elimination(secondary, exposed, int(free))


def residues(relations: Any, c: int) -> tuple[tuple[Any, Any, Any], Integers]:
    """CSC parts modulo ``2**61 - c``, and the number of entries of each row."""
    matrix = sparse.csc_array(relations)
    matrix.sort_indices()
    whole = np.rint(matrix.data).astype(np.int64)
    if np.array_equal(whole, matrix.data):
        data = np.where(whole < 0, whole + (2**61 - c), whole).astype(np.uint64)
    else:
        data = np.array([residue(x, c) for x in matrix.data.tolist()], dtype=np.uint64)
    spread = np.bincount(matrix.indices, minlength=matrix.shape[0]).astype(np.int64)
    return (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), data), spread


def residue(x: float, c: int) -> int:
    """One coefficient modulo ``2**61 - c``; decimals are taken for the fractions they stand for.

    Examples
    --------
    >>> residue(-1.0, 1) == 2**61 - 2, residue(0.1, 1) * 10 % (2**61 - 1)
    (True, 1)
    """
    prime = 2**61 - c
    fraction = Fraction(x).limit_denominator(10**6)
    if float(fraction) != x:
        fraction = Fraction(x)
    return fraction.numerator * pow(fraction.denominator, -1, prime) % prime
