"""Exact linear algebra modulo a prime: arithmetic of residues, rank and null vectors.

Matrices are CSR arrays. Numbers are residues modulo a prime of 61 bits, 2**61 - c with a small c, so that
products are reduced by shifts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled, inlined

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Residues = NDArray[np.uint64]

# 2**61 - 1 and 2**61 - 31 are prime.
PRIMES = (1, 31)

_30 = np.uint64(30)
_31 = np.uint64(31)
_61 = np.uint64(61)
_LOW30 = np.uint64(2**30 - 1)
_LOW31 = np.uint64(2**31 - 1)
_LOW61 = np.uint64(2**61 - 1)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_BLOCK = 64


@inlined
def _fold(high: Any, low: Any, c: Any) -> Any:
    """Reduce ``high * 2**61 + low`` modulo ``2**61 - c`` for high, low < 2**63 and c < 2**9."""
    prime = (_ONE << _61) - c
    upper = (high >> _30) * c  # stands for upper * 2**30
    total = (low & _LOW61) + (low >> _61) * c
    total += (high & _LOW30) * c
    total += (upper >> _31) * c + ((upper & _LOW31) << _30)
    total = (total & _LOW61) + (total >> _61) * c
    return total - prime if total >= prime else total


@compiled
def multiply(a: Any, b: Any, c: Any) -> Any:
    """Return the product of two residues modulo ``2**61 - c``, from 31-bit pieces."""
    a1, a0 = a >> _31, a & _LOW31
    b1, b0 = b >> _31, b & _LOW31
    middle = a1 * b0 + a0 * b1
    high = ((a1 * b1) << _ONE) + (middle >> _30)
    return _fold(high, ((middle & _LOW30) << _31) + a0 * b0, c)


@compiled
def inverse(a: Any, c: Any) -> Any:
    """Return the inverse of a residue, by Fermat's little theorem."""
    prime = (_ONE << _61) - c
    exponent = prime - np.uint64(2)
    result, power = _ONE, a
    while exponent > _ZERO:
        if exponent & _ONE:
            result = multiply(result, power, c)
        power = multiply(power, power, c)
        exponent >>= _ONE
    return result


@inlined
def _mix(state: Any) -> Any:
    """Scramble a counter into 61 bits (the finaliser of splitmix64)."""
    z = state * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> _30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> _31)) & _LOW61


@inlined
def _reduce_row(
    row: Residues,
    touched: NDArray[np.bool_],
    echelon: tuple[Integers, Integers, Residues],
    pivot_row: Integers,
    rank: int,
    c: Any,
) -> tuple[int, Integers, Residues]:
    """Reduce a row by the pivots and append the remainder to the echelon form; return its new end.

    The row is cleared. Echelon rows start with their pivot, which is one, and continue with later columns,
    so one pass from the first column to the last is enough.
    """
    prime = (_ONE << _61) - c
    start, columns, entries = echelon
    filled = start[rank]
    for block in range(len(touched)):
        if not touched[block]:
            continue
        for j in range(block * _BLOCK, min((block + 1) * _BLOCK, len(row))):
            factor = row[j]
            if factor == _ZERO:
                continue
            row[j] = _ZERO
            reducer = pivot_row[j]
            if reducer >= 0:
                for k in range(start[reducer] + 1, start[reducer + 1]):
                    place = columns[k]
                    less = row[place] + prime - multiply(factor, entries[k], c)
                    row[place] = less - prime if less >= prime else less
                    touched[place // _BLOCK] = True
                continue
            if filled == len(columns):
                # A loop, because np.concatenate takes longer to compile than the rest of this kernel.
                wider = np.empty(2 * filled, dtype=np.int64), np.empty(2 * filled, dtype=np.uint64)
                for k in range(filled):
                    wider[0][k], wider[1][k] = columns[k], entries[k]
                columns, entries = wider
            columns[filled] = j
            entries[filled] = factor
            filled += 1
        touched[block] = False
    return filled, columns, entries


@compiled
def null_vector(
    indptr: Integers, indices: Integers, data: Residues, n_columns: int, c: Any, seed: Any
) -> tuple[int, Residues]:
    """Return the rank of a matrix modulo ``2**61 - c``, and a random null vector.

    A coordinate that is zero in every null vector is zero here; any other is zero with probability 2**-61.
    Columns should be ordered with rare ones first: a pivot is the first column of its row, and few entries
    below a pivot mean little fill.

    Parameters
    ----------
    indptr, indices, data
        CSR arrays with residues as data.
    n_columns
        Number of columns.
    c
        Choice of prime.
    seed
        Choice of the vector.
    """
    prime = (_ONE << _61) - c
    start = np.zeros(len(indptr), dtype=np.int64)  # rows of the echelon form, in order of discovery
    columns = np.empty(max(len(indices), 16), dtype=np.int64)
    entries = np.empty(max(len(indices), 16), dtype=np.uint64)
    pivot_row = np.full(n_columns, -1, dtype=np.int64)
    row = np.zeros(n_columns, dtype=np.uint64)
    touched = np.zeros(n_columns // _BLOCK + 1, dtype=np.bool_)
    rank = 0
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            row[indices[k]] = data[k]
            touched[indices[k] // _BLOCK] = True
        echelon = (start, columns, entries)
        filled, columns, entries = _reduce_row(row, touched, echelon, pivot_row, rank, c)
        if filled > start[rank]:
            scale = inverse(entries[start[rank]], c)
            for k in range(start[rank], filled):
                entries[k] = multiply(entries[k], scale, c)
            pivot_row[columns[start[rank]]] = rank
            rank += 1
            start[rank] = filled
    vector = np.empty(n_columns, dtype=np.uint64)
    for j in range(n_columns - 1, -1, -1):
        reducer = pivot_row[j]
        if reducer < 0:
            vector[j] = _mix(np.uint64(j + 1) + seed * np.uint64(n_columns + 1)) % prime
            continue
        total = _ZERO
        for k in range(start[reducer] + 1, start[reducer + 1]):
            total += multiply(entries[k], vector[columns[k]], c)
            total = total - prime if total >= prime else total
        vector[j] = prime - total if total > _ZERO else _ZERO
    return rank, vector
