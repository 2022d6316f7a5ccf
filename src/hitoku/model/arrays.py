"""Read-only arrays for model objects, and exact rational numbers of floating-point values."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from hitoku.errors import TableError
from hitoku.messages import Text

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Positions = NDArray[np.int32]
Mask = NDArray[np.bool_]


def frozen(values: ArrayLike, dtype: Any, *, shape: tuple[int, ...], what: str) -> NDArray[Any]:
    """Return a read-only array of this type and shape. A scalar is repeated, an array is copied."""
    try:
        array = np.array(values, dtype=dtype)
        if array.dtype == np.bool_:
            _refuse_other_than_truth(np.asarray(values))
    except (TypeError, ValueError) as error:
        yes_or_no = np.dtype(dtype) == np.bool_
        raise TableError(
            "array_unreadable",
            "{what} cannot be read as {dtype}",
            where=what,
            fix="give True or False for every cell"
            if yes_or_no
            else Text("give {what} as numbers", what=what),
            what=what,
            dtype=np.dtype(dtype).name,
        ) from error
    if array.ndim == 0 and shape:
        array = np.full(shape, array, dtype=dtype)
    if array.shape != shape:
        raise TableError(
            "array_shape",
            "{what} has shape {shape}, expected {expected}",
            where=what,
            fix="arrays over cells follow the order of table.cells, one entry per cell",
            what=what,
            shape=array.shape,
            expected=shape,
        )
    array.setflags(write=False)
    return array


def _refuse_other_than_truth(given: NDArray[Any]) -> None:
    """Raise for values that numpy would silently convert to True: text, indices of cells, missing values."""
    if given.dtype.kind in "SU" or (given.dtype != np.bool_ and not np.isin(given, (False, True)).all()):
        raise ValueError


def frozen_relations(relations: Any, n_cells: int) -> sparse.csr_array:
    """Return the relations as a read-only CSR array with sorted, summed entries."""
    matrix = sparse.csr_array(relations, dtype=np.float64)
    if matrix.shape[1] != n_cells:
        raise TableError(
            "relations_shape",
            "relations have {n_columns} columns, the table has {n_cells} cells",
            where="relations",
            fix="give one column per cell",
            n_columns=matrix.shape[1],
            n_cells=n_cells,
        )
    if not np.isfinite(matrix.data).all():
        raise TableError(
            "coefficient_not_a_number", "a relation has a coefficient that is not a number", where="relations"
        )
    if matrix is relations and not matrix.has_canonical_format:
        matrix = matrix.copy()
    matrix.sum_duplicates()
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.setflags(write=False)
    return matrix


# Significant digits on which sums of a few doubles agree.
DIGITS = 12
# Integers with at most this many digits fit into 64 bits.
INT64_DIGITS = 18
# Protection levels and known bounds are computed from values. A decimal of DIGITS digits, or a fraction with
# at most this denominator, that differs only by rounding is taken as the exact number.
LEVEL_DENOMINATOR, LEVEL_SHARE = 1000, Fraction(1, 10**13)


@lru_cache(maxsize=100_000)
def rational(number: float) -> Fraction:
    """Return the exact number that a level, bound or coefficient stands for, without rounding errors.

    Examples
    --------
    >>> rational(0.15 * 11401 - 422), rational(1.5 * 15 + 1 / 3)
    (Fraction(25763, 20), Fraction(137, 6))
    """
    if float(number).is_integer():
        return Fraction(int(number))
    double = Fraction(number)
    decimal = Fraction(f"{number:.{DIGITS}g}")
    for meant in (decimal, double.limit_denominator(LEVEL_DENOMINATOR)):
        if abs(meant - double) <= LEVEL_SHARE * abs(double):
            return meant
    return decimal
