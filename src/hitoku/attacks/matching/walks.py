"""Walks between tables that lead to the same release, for tables too large to list candidates.

An auditor starts from the true table. An attacker who knows the method cannot rule out visited tables, so the
widths that walks attain are lower bounds of the attacker's intervals; values that are not visited may be
possible or not. A step pushes an unsafe cell that is not wide yet along a cycle of at least four suppressed
cells, and runs the method on the result. Every walk has its own seed, so that several can run at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hitoku.model import Floats, Integers, Mask, Release

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


def walked(
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
        moved = _pushed(here, hidden, narrow, wanted, SHARES[step % len(SHARES)], random)
        if moved is None:
            if not len(narrow):
                break
            continue
        if reproduces(moved.ravel()):
            here = moved
            low, high = np.minimum(low, here.ravel()), np.maximum(high, here.ravel())
    return low, high


def _pushed(
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
    from joblib import Parallel, delayed  # noqa: PLC0415 - not everybody walks

    seeds = [int(np.random.SeedSequence([seed, k]).generate_state(1)[0]) for k in range(walks)]
    work = (delayed(walked)(release, reproduces, start, wanted, steps=steps, seed=own) for own in seeds)
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
