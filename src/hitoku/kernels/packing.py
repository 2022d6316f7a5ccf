"""Packing of many small deviations into few sums that prove the same levels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled, inlined

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@inlined
def fits(
    entries: Any, change: int, way: int, owner: int, sign: int, level: float, slacks: Any, promised: Floats,
    sums: Integers, held: NDArray[np.int8],
) -> bool:  # fmt: skip
    """Return whether a deviation can be added to a pack, as it is or as its opposite."""
    begins, cells, amounts = entries
    for k in range(begins[change], begins[change + 1]):
        cell = cells[k]
        total = sums[cell] + way * amounts[k]
        low = promised[0, cell] if held[cell] > 0 else -slacks[0][cell]
        high = -promised[1, cell] if held[cell] < 0 else slacks[1][cell]
        if total < low or total > high or (cell == owner and way * sign * total < level):
            return False
    return True


@compiled
def pack(
    entries: Any, order: Integers, owner: Integers, sign: Integers, level: Floats, slacks: Any, flips: bool,
    spread: float, sums: Integers, held: NDArray[np.int8], numbers: Integers,
) -> None:  # fmt: skip
    """Add each deviation, in order, to the first pack where it or its opposite fits.

    ``entries`` are the start of each deviation, and the cells and amounts of all; ``owner``, ``sign`` and
    ``level`` are the cell for which it was found, its direction and its level. A deviation fits if the sum
    stays within the slacks of all cells, its owner reaches its level, and all owners in the pack keep theirs;
    and if the largest level of the pack is at most ``spread`` times its own. ``held`` marks the owners;
    ``numbers`` becomes the pack of each deviation, -1 if there is none.
    """
    begins, cells, amounts = entries
    promised = np.zeros((2, len(slacks[0])))
    for change in order:
        side = 0 if sign[change] > 0 else 1
        promised[side, owner[change]] = max(promised[side, owner[change]], level[change])
        if flips:
            promised[1 - side, owner[change]] = promised[side, owner[change]]
    first = np.zeros(len(sums))
    for change in order:
        mine, aim, far = owner[change], sign[change], level[change]
        numbers[change] = -1
        for trial in range(2 * len(sums) if flips else len(sums)):
            number, way = (trial // 2, 1 - 2 * (trial % 2)) if flips else (trial, 1)
            if first[number] > spread * far:
                continue
            if fits(entries, change, way, mine, aim, far, slacks, promised, sums[number], held[number]):
                for k in range(begins[change], begins[change + 1]):
                    sums[number, cells[k]] += way * amounts[k]
                held[number, mine] = way * aim
                numbers[change] = number
                first[number] = max(first[number], far)
                break
