"""Many small changes of a table added up to few, such that every cell keeps what it was promised."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled, inlined

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@inlined
def fits(
    entries: Any, change: int, way: int, owner: int, sign: int, level: float, rooms: Any, promised: Floats,
    sums: Integers, held: NDArray[np.int8],
) -> bool:  # fmt: skip
    """Tell whether a change can be added to a pack, as it is or as its opposite."""
    begins, cells, amounts = entries
    for k in range(begins[change], begins[change + 1]):
        cell = cells[k]
        total = sums[cell] + way * amounts[k]
        low = promised[0, cell] if held[cell] > 0 else -rooms[0][cell]
        high = -promised[1, cell] if held[cell] < 0 else rooms[1][cell]
        if total < low or total > high or (cell == owner and way * sign * total < level):
            return False
    return True


@compiled
def pack(
    entries: Any, order: Integers, owner: Integers, sign: Integers, level: Floats, rooms: Any, flips: bool,
    spread: float, sums: Integers, held: NDArray[np.int8], numbers: Integers,
) -> None:  # fmt: skip
    """Put changes, in some order, each into the first pack where it fits; as it is, or its opposite.

    ``entries`` are where each change begins, the cells it moves and by how much; ``owner``, ``sign`` and
    ``level`` say for whose sake. A change fits where the sum keeps the rooms of all cells, brings its owner
    to its level, and leaves those there who have reached theirs; and where the first level of the pack is at
    most ``spread`` times its own. ``held`` remembers them; ``numbers`` gets
    the pack of each change, -1 where there is none.
    """
    begins, cells, amounts = entries
    promised = np.zeros((2, len(rooms[0])))
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
            if fits(entries, change, way, mine, aim, far, rooms, promised, sums[number], held[number]):
                for k in range(begins[change], begins[change + 1]):
                    sums[number, cells[k]] += way * amounts[k]
                held[number, mine] = way * aim
                numbers[change] = number
                first[number] = max(first[number], far)
                break
