"""Walks between tables that lead to the same release, for tables too large to list candidates.

An auditor starts from the true table. An attacker who knows the method cannot rule out visited tables, so the
widths that walks attain are lower bounds of the attacker's intervals; values that are not visited may be
possible or not. A step pushes an unsafe cell that is not wide yet along a cycle of at least four suppressed
cells, and runs the method on the result. Every walk has its own seed, so that several can run at once.

A random walk on the candidates, if there are too many to examine.

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
from hitoku.model import Bounds, Floats, Integers, Mask, Release

# Maximum length of cycles; number of proposals that are not tables and together count as one step.
LONGEST, PROPOSALS = 12, 20
# Parts of the required width by which a cell is pushed in turn, in addition to a single unit.
SHARES = (1.0, 0.5, 0.0)


def flat_two_way(release: Release) -> bool:
    """Return whether a release is a plain two-way table of integers with all its margins published."""
    if len(release.dimensions) != 2 or not release.integer:
        return False
    if any(len(d.groups) != 1 for d in release.dimensions):
        return False
    plain = np.all(release.lower == 0) and np.all(np.isinf(release.upper))
    printed = release.withheld.reshape([len(d) for d in release.dimensions])
    return bool(plain and not printed[-1].any() and not printed[:, -1].any())


def walk_tables(
    release: Release,
    reproduces: Callable[[Integers], bool],
    start: Integers,
    wanted: Floats,
    *,
    steps: int,
    seed: int,
) -> tuple[Integers, Integers]:
    """Walk between tables that lead to the same release; return least and largest values visited.

    Parameters
    ----------
    release
        The release; flat and two-way.
    reproduces
        Returns whether the method publishes the same for given values of all cells.
    start
        Values of all cells.
    wanted
        Required width per cell; zero for cells to be ignored.
    steps, seed
        Number of runs of the method, and seed.
    """
    shape = tuple(len(d) for d in release.dimensions)
    low, high = start.copy(), start.copy()
    hidden = release.withheld.reshape(shape)
    random = np.random.default_rng(seed)
    here = start.reshape(shape).copy()
    targets = np.flatnonzero((wanted > 0) & release.withheld)
    for step in range(steps):
        narrow = targets[high[targets] - low[targets] < wanted[targets]]
        moved = _push_along_cycle(here, hidden, narrow, wanted, SHARES[step % len(SHARES)], random)
        if moved is None:
            if not len(narrow):
                break
            continue
        if reproduces(moved.ravel()):
            here = moved
            low, high = np.minimum(low, here.ravel()), np.maximum(high, here.ravel())
    return low, high


def _push_along_cycle(
    here: Integers, hidden: Mask, narrow: Integers, wanted: Floats, share: float, random: np.random.Generator
) -> Integers | None:
    """Push one of the narrow cells along a random cycle; None if no proposal is a table."""
    for _ in range(PROPOSALS if len(narrow) else 0):
        cell = int(random.choice(narrow))
        row, column = divmod(cell, hidden.shape[1])
        cycle = random_cycle(hidden, (row, column), random)
        sign = 1 if random.random() < 0.5 else -1
        if cycle is None:
            continue
        moved = here.copy()
        for place, at in enumerate(cycle):
            moved[at] += sign * max(1, int(np.ceil(share * wanted[cell]))) * (1 - 2 * (place % 2))
        if min(moved[at] for at in cycle) >= 0:
            return moved
    return None


def several(
    release: Release,
    reproduces: Callable[[Integers], bool],
    start: Integers,
    wanted: Floats,
    *,
    walks: int,
    steps: int,
    seed: int,
    n_jobs: int | None = None,
) -> tuple[Integers, Integers]:
    """Walk several times, with different seeds; return least and largest values visited by any.

    The answer does not depend on ``n_jobs``, the number of processes.
    """
    from joblib import Parallel, delayed  # noqa: PLC0415 - only for walks

    seeds = [int(np.random.SeedSequence([seed, k]).generate_state(1)[0]) for k in range(walks)]
    work = (delayed(walk_tables)(release, reproduces, start, wanted, steps=steps, seed=own) for own in seeds)
    lows, highs = zip(*Parallel(n_jobs=n_jobs)(work), strict=True)
    return np.min(lows, axis=0), np.max(highs, axis=0)


def random_cycle(
    hidden: Mask, cell: tuple[int, int], random: np.random.Generator
) -> list[tuple[int, int]] | None:
    """Find a cycle of suppressed cells through one of them, turning at every cell; None if that fails."""
    row, column = cell
    path, used_rows, used_columns = [cell], {row}, {column}
    while len(path) < LONGEST:
        ways = [int(i) for i in np.flatnonzero(hidden[:, column]) if i not in used_rows]
        if not ways:
            return None
        here = ways[int(random.integers(len(ways)))]
        path.append((here, column))
        used_rows.add(here)
        across = [int(j) for j in np.flatnonzero(hidden[here]) if j not in used_columns]
        closing = [j for j in across if hidden[row, j]]
        if closing and (len(path) > 2 or random.random() < 0.7):
            last = closing[int(random.integers(len(closing)))]
            return [*path, (here, last), (row, last)]
        if not across:
            return None
        column = across[int(random.integers(len(across)))]
        path.append((here, column))
        used_columns.add(column)
    return None


# Random deviations prepared for a walk, per null-space dimension.
MOVES = 60
# Candidates tested at a time: their results determine which ones are worth testing next.
BATCH = 64


def sample_candidates(
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
