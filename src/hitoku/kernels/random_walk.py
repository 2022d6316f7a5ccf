"""A hit-and-run random walk on the tables that fit a release: a random move, a random table along it."""

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
    """Walk on, and note the tables that have a value outside what was met so far.

    Parameters
    ----------
    x
        Where the walk stands; it moves on.
    moves
        Moves by cells: whole vectors that change no total.
    lower, upper
        Bounds of the cells.
    least, most
        Values met so far. A table inside them is not noted.
    steps, seed
        How far, and which way.
    found
        Takes the tables that are noted; the walk stops when it is full.

    Returns
    -------
    How many were noted, and the steps made.
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
