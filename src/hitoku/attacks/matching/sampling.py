"""A random walk on the candidates, if there are too many to examine.

Visited candidates match for certain; others may match as well. So the resulting intervals are inner
ones: a wide one proves safety, a narrow one proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from hitoku.attacks.matching.candidates import Lattice
from hitoku.attacks.matching.matched import Matched, over_all
from hitoku.errors import ParameterError
from hitoku.feasibility import Problem
from hitoku.model import Bounds, Integers, Mask, Release

# Random deviations prepared for a walk, per null-space dimension.
MOVES = 60
# Candidates tested at a time: their results determine which ones are worth testing next.
BATCH = 64


def sampled(
    release: Release,
    reproduces: Callable[[Integers], Mask],
    *,
    steps: int,
    seed: int,
    start: ArrayLike | None,
) -> Matched:
    """Walk between candidates and test those that would widen an interval.

    Parameters
    ----------
    release
        The release under attack.
    reproduces
        Returns which candidates, rows over all cells, get the pattern.
    steps, seed
        Number of steps, and seed.
    start
        Initial values of all cells: the true table, for an auditor.
    """
    from hitoku.kernels.random_walk import walk  # noqa: PLC0415 - loads numba

    lattice = Lattice.of(release)
    random = np.random.default_rng(seed)
    moves = random_moves(release, lattice, random)
    x = lattice.solution.copy() if start is None else fitting(release, start)[lattice.cells]
    n = len(lattice.cells)
    least, most = np.full(n, 2**60), np.full(n, -(2**60))
    found = np.empty((BATCH, n), dtype=np.int64)
    tested: dict[bytes, bool] = {}
    pending, left = x[None, :].copy(), steps if len(moves) else 0
    while True:
        new = [table for table in np.unique(pending, axis=0) if table.tobytes() not in tested]
        if new:
            fits = reproduces(lattice.filled(release, np.array(new)))
            tested.update((table.tobytes(), bool(yes)) for table, yes in zip(new, fits, strict=True))
            for table in np.array(new)[fits]:
                least, most = np.minimum(least, table), np.maximum(most, table)
        if left <= 0:
            break
        noted, made = walk(
            x, moves, lattice.lower, lattice.upper, least, most, left, int(random.integers(2**31)), found
        )
        pending, left = found[:noted].copy(), left - made
    met = None
    if np.all(least <= most):
        met = over_all(release.published, lattice.cells, least, most)
    return inner_intervals(lattice.bounds, met, lattice.dimension)


def inner_intervals(feasible: Bounds, met: Bounds | None, null_dimension: int) -> Matched:
    """Return the result of a walk: visited values are possible, others unknown."""
    reached = np.zeros(len(feasible.lower), dtype=np.bool_)
    if met is not None:
        reached = (met.lower <= feasible.lower) & (met.upper >= feasible.upper)
    return Matched(
        bounds=Bounds(lower=feasible.lower, upper=feasible.upper, unknown=~reached),
        met=met,
        feasible=feasible,
        null_dimension=null_dimension,
        strategy="sample",
    )


def random_moves(release: Release, lattice: Lattice, random: np.random.Generator) -> Integers:
    """Draw integer vectors that change no total: in a network, cycles of suppressed cells.

    Otherwise sums of a few vectors of the basis, which may not reach every table.
    """
    matrix = Problem.of(release, whole=True).matrix
    n = MOVES * lattice.dimension
    columns = sparse.csc_array(matrix)
    if lattice.dimension and np.all(np.diff(columns.indptr) == 2) and np.all(columns.data == 1):
        ends = columns.indices.reshape(-1, 2)
        circles = {circle(ends, matrix, random) for _ in range(n)} - {()}
        moves = np.zeros((len(circles), matrix.shape[1]), dtype=np.int64)
        for move, cells in zip(moves, sorted(circles), strict=True):
            move[list(cells)] = [1 - 2 * (place % 2) for place in range(len(cells))]
        return moves
    parts = random.integers(-1, 2, (n, lattice.dimension)) * (random.random((n, lattice.dimension)) < 0.5)
    moves = np.vstack([lattice.basis, parts @ lattice.basis])
    return np.unique(moves[moves.any(axis=1)], axis=0)


def circle(ends: Integers, matrix: sparse.csr_array, random: np.random.Generator) -> tuple[int, ...]:
    """Follow relations along suppressed cells until one repeats; return that cycle.

    Empty if the path ends before, or if the cycle is odd.
    """
    relation = int(random.integers(matrix.shape[0]))
    visited, path = {relation: 0}, list[int]()
    while True:
        here = matrix.indices[matrix.indptr[relation] : matrix.indptr[relation + 1]]
        ways = [int(cell) for cell in here if not path or cell != path[-1]]
        if not ways:
            return ()
        cell = ways[int(random.integers(len(ways)))]
        path.append(cell)
        relation = int(ends[cell].sum()) - relation
        if relation in visited:
            cells = path[visited[relation] :]
            return tuple(cells) if len(cells) % 2 == 0 else ()
        visited[relation] = len(path)


def fitting(release: Release, start: ArrayLike) -> Integers:
    """Validate the values of all cells of a table that fits a release."""
    values = np.asarray(start, dtype=np.float64)
    shown = ~release.withheld
    if (
        values.shape != (release.n_cells,)
        or not np.array_equal(values, np.rint(values))
        or not np.array_equal(values[shown], release.published[shown])
        or np.any(release.relations @ values != 0)
    ):
        raise ParameterError(
            "start_table_does_not_fit",
            "the table to start from does not fit the release",
            where="start",
            fix="give the values of all cells of the table that was protected",
        )
    return values.astype(np.int64)
