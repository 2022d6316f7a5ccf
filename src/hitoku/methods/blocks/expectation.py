"""Expected inner cells as integers, computed from public information."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import ParameterError
from hitoku.model import Integers

# Expected counts are stored in units of 1/1024.
PARTS = 1024


def expectation(
    rows: Integers, columns: Integers, given: ArrayLike | None, plenty: int | None = None
) -> Integers:
    """Return the expectation of every cell, from both totals or as given, in units of 1/1024.

    A given expectation is capped at ``plenty``: above it a cell is not small, and its exact size would only
    prevent lines with small cells in the same positions from being adjacent.

    Examples
    --------
    >>> expectation(np.array([10, 30]), np.array([20, 20]), None) // PARTS
    array([[ 5,  5],
           [15, 15]])
    """
    whole, rest = np.divmod(rows[:, None] * columns[None, :], max(int(rows.sum()), 1))
    shares: Integers = whole * PARTS + rest * PARTS // max(int(rows.sum()), 1)
    if given is None:
        return shares
    shape = shares.shape
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise wrong_expectation(shape) from error
    if numbers.size == (shape[0] + 1) * (shape[1] + 1):
        numbers = numbers.reshape(shape[0] + 1, shape[1] + 1)[:-1, :-1]
    if numbers.shape != shape or np.isinf(numbers).any() or np.any(numbers < 0):
        raise wrong_expectation(shape)
    known = ~np.isnan(numbers)
    counts = np.where(known, np.rint(np.where(known, numbers, 0) * PARTS).astype(np.int64), shares)
    return counts if plenty is None else np.minimum(counts, plenty * PARTS)


def wrong_expectation(shape: Sequence[int]) -> ParameterError:
    return ParameterError(
        "expected_shape",
        "expected is not a table of {n_rows} by {n_columns} non-negative numbers",
        where="blocks, expected",
        fix="give the inner cells, or all cells of a release over the same codes; NaN where nothing is known",
        n_rows=shape[0],
        n_columns=shape[1],
    )
