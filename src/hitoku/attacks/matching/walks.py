"""Walks from one table through others that lead to the same release, for tables too large to list candidates.

An auditor starts from the true table. What a walk meets the attacker who knows the method cannot rule out, so
the widths that walks reach are lower bounds of what is left to him; what they do not reach may be possible or
not. A step pushes an unsafe cell that is not wide yet along a cycle of withheld cells, four of them or more,
and runs the method on the result. Every walk has a seed of its own, so that several can run at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hitoku.model import Floats, Integers, Mask, Release

# Cycles of at most so many cells; how many proposals that do not add up to a table count as one step.
LONGEST, PROPOSALS = 12, 20
# Parts of the required width by which a cell is pushed in turn, beside a single unit.
SHARES = (1.0, 0.5, 0.0)


def flat_two_way(release: Release) -> bool:
    """Tell whether a release is a plain two-way table of whole numbers that shows all its margins."""
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
    """Walk from a table through others that lead to the same release; least and largest values met.

    Parameters
    ----------
    release
        What is published; flat and two-way.
    reproduces
        Tells of values of all cells whether the method publishes the same of them.
    start
        Values of all cells.
    wanted
        By cell the width to be shown; zero for cells that are of no interest.
    steps, seed
        How often the method is run, and which way to go.
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
    """Push one of the narrow cells along a random cycle; None when no proposal is a table."""
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
    """Walk several times, each with a seed of its own; least and largest values met by any.

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
    """Find a cycle of withheld cells through one of them, turning at every cell; None when it gets stuck."""
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
