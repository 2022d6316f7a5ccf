"""Products of sparse rows with a vector, for matrices so small that the calls of a library cost more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@compiled
def across(ptr: Integers, index: Integers, data: Floats, x: Floats) -> Floats:
    """Return ``rows @ x``."""
    out = np.zeros(len(ptr) - 1)
    for k in range(len(out)):
        for e in range(ptr[k], ptr[k + 1]):
            out[k] += data[e] * x[index[e]]
    return out


@compiled
def down(ptr: Integers, index: Integers, data: Floats, multipliers: Floats, n_columns: int) -> Floats:
    """Return ``rows.T @ multipliers``."""
    out = np.zeros(n_columns)
    for k in range(len(ptr) - 1):
        if multipliers[k] != 0.0:
            for e in range(ptr[k], ptr[k + 1]):
                out[index[e]] += data[e] * multipliers[k]
    return out


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    ptr, index, one = np.array([0, 1]), np.zeros(1, dtype=np.int64), np.ones(1)
    across(ptr, index, one, one)
    down(ptr, index, one, one, 1)
