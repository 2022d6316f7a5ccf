"""Linear disclosure: withheld cells that follow by adding and subtracting alone, no bounds needed.

A withheld cell is exposed when some combination of relations has it as its only withheld cell. Then everybody
who adds and subtracts the right published numbers has its value, whatever bounds are known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hitoku.errors import SolverError
from hitoku.feasibility.incidence import Incidence
from hitoku.model import Mask, Release, rational


def exposed(release: Release) -> Mask:
    """Mask of the withheld cells that can be recomputed by adding and subtracting published ones.

    Examples
    --------
    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> release = Release.of(table, Protection.withhold(table, table.value == 1))
    >>> [release.describe(cell) for cell in np.flatnonzero(exposed(release))]
    ['row=2, column=2']
    """
    cells = np.flatnonzero(release.withheld)
    mask = np.zeros(release.n_cells, dtype=np.bool_)
    mask[cells], _ = fixed(sparse.csr_array(release.relations[:, cells]))
    return mask


def null_dimension(release: Release) -> int:
    """Count the independent ways in which the withheld cells can move: withheld cells minus rank.

    The fewer there are, the easier a release is attacked; zero means that every withheld cell is exposed.

    Examples
    --------
    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> null_dimension(Release.of(table, Protection.withhold(table, table.inner)))
    1
    """
    cells = np.flatnonzero(release.withheld)
    _, rank = fixed(sparse.csr_array(release.relations[:, cells]))
    return len(cells) - rank


def fixed(matrix: sparse.csr_array) -> tuple[Mask, int]:
    """Columns that are zero in every vector the matrix sends to zero, and the rank of the matrix.

    Found modulo two primes of 61 bits, with two random null vectors each. A prime can only be wrong when it
    divides a subdeterminant, and then its rank is too small; a null vector can only be wrong by hitting zero
    by chance, one time in 2**61. The larger rank counts, and only what all its vectors agree on.
    """
    from hitoku.kernels.elimination import PRIMES, null_vector  # noqa: PLC0415 - loads numba

    n = matrix.shape[1]
    known = np.zeros(n, dtype=np.bool_)
    known[Incidence.of(matrix).stuck(~known)[0]] = True
    open_columns = np.flatnonzero(~known)
    nucleus = sparse.csr_array(matrix[:, open_columns])
    # Rare columns first, then short rows first: both keep the echelon form thin.
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
        raise SolverError("elimination_without_rank", "elimination gave no rank", where="exposure")
    known[open_columns[order[mask]]] = True
    return known, best_rank + int(n - len(open_columns))


def _residues(coefficients: NDArray[np.float64], prime: int) -> NDArray[np.uint64]:
    """Write coefficients as residues of the numbers they stand for.

    A third is meant as a third: taken to its last bit, relations that say the same would seem to differ.
    """
    distinct, places = np.unique(coefficients, return_inverse=True)
    residues = []
    for number in distinct:
        meant = rational(float(number))
        residues.append(meant.numerator * pow(meant.denominator, -1, prime) % prime)
    return np.array(residues, dtype=np.uint64)[places]
