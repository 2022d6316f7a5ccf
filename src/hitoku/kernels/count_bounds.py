"""Boxes of two-way counts: tables between a least and a largest count per cell, with given sums of lines.

Cells, lines and patterns are as in :mod:`hitoku.kernels.line_masks`. There is one sum per line, rows first,
over its suppressed cells only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.bits import lowest
from hitoku.kernels.compiled import compiled
from hitoku.kernels.line_masks import augment, lines_of, reopen_residual

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

EMPTY, SAME, SMALLER = range(-1, 2)


@compiled
def sums_of(rows: int, columns: int, values: Integers, withheld: Mask) -> Integers:
    """Add up the suppressed cells of every line."""
    sums = np.zeros(rows + columns, dtype=np.int64)
    for k in np.flatnonzero(withheld):
        sums[k // columns] += values[k]
        sums[rows + k % columns] += values[k]
    return sums


@compiled
def squeeze_line(first: int, step: int, held: int, total: int, low: Integers, high: Integers) -> int:
    """Tighten the bounds of the cells of one line by its sum."""
    least, most, left, outcome = 0, 0, held, SAME
    while left != 0:
        k = first + step * lowest(left)
        left &= left - 1
        least += low[k]
        most += high[k]
    if least > total or most < total:
        return EMPTY
    while held != 0:
        k = first + step * lowest(held)
        held &= held - 1
        lower, upper = total - (most - high[k]), total - (least - low[k])
        if lower > low[k]:
            least += lower - low[k]
            low[k] = lower
            outcome = SMALLER
        if upper < high[k]:
            most -= high[k] - upper
            high[k] = upper
            outcome = SMALLER
    return outcome


@compiled
def squeeze(
    rows: int, columns: int, pattern: Integers, sums: Integers, low: Integers, high: Integers
) -> bool:
    """Tighten a box until no line tightens it further; False if it is empty."""
    changed = True
    while changed:
        changed = False
        for line in range(rows + columns):
            first, step = (line * columns, 1) if line < rows else (line - rows, columns)
            outcome = squeeze_line(first, step, pattern[line], sums[line], low, high)
            if outcome == EMPTY:
                return False
            changed = changed or outcome == SMALLER
    return True


@compiled
def pour(rows: int, columns: int, pattern: Integers, slack: Integers, left: Integers, flow: Integers) -> None:
    """Fill cells one after the other with the smaller remainder of their two lines."""
    flow[:] = 0
    for i in range(rows):
        held = pattern[i]
        while held != 0:
            j = lowest(held)
            held &= held - 1
            k = i * columns + j
            flow[k] = min(left[i], left[rows + j], slack[k])
            left[i] -= flow[k]
            left[rows + j] -= flow[k]


@compiled
def table_in(
    rows: int, columns: int, pattern: Integers, sums: Integers, low: Integers, high: Integers, x: Integers,
    scratch: Integers,
) -> bool:  # fmt: skip
    """Write one table of a box; False if there is none."""
    slack, nothing = high - low, np.zeros(len(low), dtype=np.int64)
    left = sums.copy()
    for i in range(rows):
        held = pattern[i]
        while held != 0:
            j = lowest(held)
            held &= held - 1
            left[i] -= low[i * columns + j]
            left[rows + j] -= low[i * columns + j]
    if left.min() < 0:
        return False
    pour(rows, columns, pattern, slack, left, x)
    reopen_residual(rows, columns, slack, nothing, pattern, -1, x, scratch)
    for source in range(rows):
        for sink in range(columns):
            wanted = min(left[source], left[rows + sink])
            if wanted > 0:
                sent, _, _ = augment(rows, columns, slack, nothing, source, sink, wanted, x, scratch)
                left[source] -= sent
                left[rows + sink] -= sent
        if left[source] > 0:
            return False
    x += low
    return bool(left.max() == 0)


@compiled
def any_table(columns: int, published: Integers, withheld: Mask, sums: Integers) -> tuple[bool, Integers]:
    """Fill the suppressed cells so that they add up to the given sums, if that is possible."""
    rows = len(sums) - columns
    low, high = np.where(withheld, 0, published), published.copy()
    for k in np.flatnonzero(withheld):
        high[k] = min(sums[k // columns], sums[rows + k % columns])
    scratch, x = np.empty((3, len(sums)), dtype=np.int64), np.empty(len(published), dtype=np.int64)
    pattern = lines_of(rows, columns, withheld)
    return sums.min() >= 0 and table_in(rows, columns, pattern, sums, low, high, x, scratch), x


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    one = np.ones(4, dtype=np.int64)
    any_table(2, one, np.ones(4, dtype=np.bool_), one)
