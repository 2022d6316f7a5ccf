"""Hit-and-run random walk over the tables that fit a release: random direction, random step length."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled

Integers = NDArray[np.int64]


@compiled
def walk(
    x: Integers, moves: Integers, lower: Integers, upper: Integers, least: Integers, most: Integers,
    steps: int, seed: int, found: Integers,
) -> tuple[int, int]:  # fmt: skip
    """Continue the walk, and record tables with a value outside the range met so far.

    Parameters
    ----------
    x
        Current table; changed in place.
    moves
        Directions by cells: integer vectors that change no total.
    lower, upper
        Bounds of the cells.
    least, most
        Range of values met so far. Tables inside it are not recorded.
    steps, seed
        Number of steps, and random seed.
    found
        Output: recorded tables; the walk stops when it is full.

    Returns
    -------
    Number of recorded tables, and of steps.
    """
    np.random.seed(seed)  # noqa: NPY002 - the only generator that can be seeded inside compiled code
    n = 0
    for step in range(steps):
        move = moves[np.random.randint(len(moves))]  # noqa: NPY002 - see above
        back, forth = -(2**60), 2**60
        for k in range(len(x)):
            if move[k] > 0:
                back, forth = (
                    max(back, -((x[k] - lower[k]) // move[k])),
                    min(forth, (upper[k] - x[k]) // move[k]),
                )
            elif move[k] < 0:
                back, forth = (
                    max(back, -((upper[k] - x[k]) // -move[k])),
                    min(forth, (x[k] - lower[k]) // -move[k]),
                )
        times = back + np.random.randint(forth - back + 1)  # noqa: NPY002 - see above
        outside = False
        for k in range(len(x)):
            x[k] += times * move[k]
            outside = outside or x[k] < least[k] or x[k] > most[k]
        if outside:
            found[n] = x
            n += 1
            if n == len(found):
                return n, step + 1
    return n, steps


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    one, move = np.ones(2, dtype=np.int64), np.array([[1, -1]])
    walk(one.copy(), move, 0 * one, 2 * one, one, one, 3, 1, np.empty((1, 2), dtype=np.int64))
