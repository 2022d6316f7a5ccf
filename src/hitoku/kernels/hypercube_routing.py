"""Witnesses made of hypercubes, without a linear program: one for every requirement, then cheaper ones.

A *requirement* is an unsafe cell, a direction and a distance; its *witness* is a sum of hypercubes, kept as
cells and amounts. ``space`` and ``ground`` are as in :mod:`hitoku.kernels.cheapest_hypercube`; the ground has
two layers, the second with the slack in both directions. ``witnesses`` holds cells, amounts, and per
requirement start and length of its witness; the last start is that of the free space.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.cheapest_hypercube import NO_SLACK, cheapest_hypercube, product_of
from hitoku.kernels.compiled import compiled, inlined
from hitoku.kernels.pivoting import TINY

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@compiled
def lay(
    space: Any, ground: Floats, hypercube: Integers, change: int, n: int, cells: Integers, amounts: Integers,
    scratch: Any,
) -> int:  # fmt: skip
    """Add a hypercube to a growing witness; return its length, or -1 if the free space is exhausted.

    The price of its cells becomes zero, and their slack is reduced; ``scratch`` keeps the original values.
    """
    offsets, signs, _, mark, saved = scratch
    size = product_of(space, hypercube, np.int64(-1), offsets, signs)
    if n + size > min(len(cells), len(saved)):
        return -1
    for e in range(size):
        where = offsets[e]
        k = mark[where]
        if k < 0:
            k, n = n, n + 1
            mark[where], cells[k], amounts[k] = k, where, 0
            for part in range(3):
                saved[k, part] = ground[where, part]
        amounts[k] += change * signs[e]
        ground[where, 0] = 0.0 if amounts[k] != 0 else saved[k, 0]
        ground[where, 1] += change * signs[e]
        ground[where, 2] -= change * signs[e]
    return n


@inlined
def polish(
    space: Any, ground: Floats, n: int, position: int, sign: int, effort: Any, cells: Integers,
    amounts: Integers, scratch: Any,
) -> int:  # fmt: skip
    """Cancel the most expensive cells of a witness by further, cheaper hypercubes; return its length."""
    saved = scratch[4]
    hypercube = np.empty((len(space[0]), 2), dtype=np.int64)
    # The movement of the required cell must not be undone.
    ground[position, 1 if sign > 0 else 2] = 0.0
    ceiling = np.inf
    for _ in range(effort[1]):
        worst = -1
        for k in range(n):
            if amounts[k] != 0 and saved[k, 0] < ceiling and (worst < 0 or saved[k, 0] > saved[worst, 0]):
                worst = k
        if worst < 0 or saved[worst, 0] <= 0:
            break
        ceiling = saved[worst, 0]
        amount, direction = abs(amounts[worst]), -1 if amounts[worst] > 0 else 1
        price = cheapest_hypercube(
            space, ground, cells[worst], direction, float(amount), effort, hypercube, scratch
        )
        if price < saved[worst, 0]:
            longer = lay(space, ground, hypercube, direction * amount, n, cells, amounts, scratch)
            if longer == -1:
                break
            n = longer
            ground[position, 1 if sign > 0 else 2] = 0.0
            ceiling = np.inf
    return n


@inlined
def compose(
    space: Any, ground: Floats, position: int, sign: int, amount: float, effort: Any, pieces: int,
    cells: Integers, amounts: Integers, scratch: Any,
) -> tuple[float, int]:  # fmt: skip
    """Write a witness of hypercubes, each for a piece of the amount; return its price and length (0: none).

    A piece without a hypercube is halved, a limited number of times. ``ground`` is restored.
    """
    mark, saved = scratch[3], scratch[4]
    hypercube = np.empty((len(space[0]), 2), dtype=np.int64)
    n, left, part = np.int64(0), amount, np.ceil(amount / pieces)
    hypercubes = 1 if pieces == 1 else 4 * pieces
    while left > 0 and hypercubes > 0 and part >= 1:
        hypercubes -= 1
        part = min(part, left)
        price = cheapest_hypercube(space, ground, position, sign, part, effort, hypercube, scratch)
        if price >= NO_SLACK:
            part = np.floor(part / 2)
            continue
        longer = lay(space, ground, hypercube, sign * int(part), n, cells, amounts, scratch)
        if longer == -1:
            break
        n = longer
        left -= part
    if left <= 0 and effort[1] > 0:
        n = polish(space, ground, n, position, sign, effort, cells, amounts, scratch)
    total, kept = 0.0, 0
    for k in range(n):
        for which in range(3):
            ground[cells[k], which] = saved[k, which]
        mark[cells[k]] = -1
        if amounts[k] != 0:
            total += saved[k, 0]
            cells[kept], amounts[kept] = cells[k], amounts[k]
            kept += 1
    return (np.inf, 0) if left > 0 else (total, kept)


@inlined
def find_witness(
    space: Any, ground: Floats, position: int, sign: int, amount: float, effort: Any, pieces: Integers,
    cells: Integers, amounts: Integers, scratch: Any,
) -> int:  # fmt: skip
    """Write the cheapest witness over several numbers of pieces; return its length."""
    best, n = np.inf, 0
    for k in range(len(pieces)):
        trial = cells[n:], amounts[n:]
        price, length = compose(
            space, ground, position, sign, amount, effort, pieces[k], trial[0], trial[1], scratch
        )
        if price < best:
            best = price
            # The trial is stored behind the best one, so that no entry is overwritten before it is read.
            for e in range(length):
                cells[e], amounts[e] = trial[0][e], trial[1][e]
            n = length
    return n


@compiled
def charge(
    witnesses: Any, requirement: int, change: int, use: Integers, cost: Floats, share: float, ground: Floats
) -> float:  # fmt: skip
    """Change the number of users of the cells of a witness; return the change of the pattern's cost."""
    cells, _, begins, lengths = witnesses
    grown = 0.0
    for k in range(begins[requirement], begins[requirement] + lengths[requirement]):
        cell = cells[k]
        if use[cell] == 0:
            grown += cost[cell]
        use[cell] += change
        if use[cell] == 0:
            grown -= cost[cell]
            price = cost[cell]
        else:
            price = share * cost[cell] / (use[cell] + 1)
        ground[0, cell, 0] = ground[1, cell, 0] = price
    return grown


@inlined
def replace(
    space: Any, ground: Floats, witnesses: Any, requirements: Any, requirement: int, prices: Any, effort: Any,
    pieces: Integers, capacity: int, scratch: Any,
) -> tuple[float, bool]:  # fmt: skip
    """Find another witness of a requirement; return the change of cost, and whether one exists."""
    cells, amounts, begins, lengths = witnesses
    position, sign, amount, even = requirements
    use, cost, share = prices
    free = begins[-1]
    n = find_witness(
        space, ground[int(even[requirement])], position[requirement], sign[requirement], amount[requirement],
        effort, pieces, cells[free : free + capacity], amounts[free : free + capacity], scratch,
    )  # fmt: skip
    if n == 0:
        return 0.0, False
    begins[requirement], lengths[requirement], begins[-1] = free, n, free + n
    return charge(witnesses, requirement, np.int64(1), use, cost, share, ground), True


@inlined
def restore(
    witnesses: Any, requirement: int, old: Integers, replaced: bool, prices: Any, ground: Floats
) -> float:
    """Restore the former witness of a requirement; return the change of cost."""
    begins, lengths = witnesses[2], witnesses[3]
    use, cost, share = prices
    grown = charge(witnesses, requirement, np.int64(-1), use, cost, share, ground) if replaced else 0.0
    begins[requirement], lengths[requirement] = old[0], old[1]
    return float(grown + charge(witnesses, requirement, np.int64(1), use, cost, share, ground))


@compiled
def route(
    space: Any, ground: Floats, witnesses: Any, requirements: Any, order: Integers, prices: Any, effort: Any,
    pieces: Integers, capacity: int, scratch: Any,
) -> None:  # fmt: skip
    """Find a witness, or a cheaper one, for every requirement of a list."""
    begins, lengths = witnesses[2], witnesses[3]
    use, cost, share = prices
    old = np.empty(2, dtype=np.int64)
    for requirement in order:
        old[0], old[1] = begins[requirement], lengths[requirement]
        free = begins[-1]
        freed = charge(witnesses, requirement, np.int64(-1), use, cost, share, ground)
        grown, replaced = replace(
            space, ground, witnesses, requirements, requirement, prices, effort, pieces, capacity, scratch
        )
        if not replaced or (freed + grown > TINY and old[1] > 0):
            restore(witnesses, requirement, old, replaced, prices, ground)
            begins[-1] = free


@compiled
def users_of(witnesses: Any, cell: int, listed: Integers) -> Integers:
    """Return the requirements of a list whose witness currently moves a cell."""
    cells, _, begins, lengths = witnesses
    users = np.empty(len(listed), dtype=np.int64)
    n = 0
    for requirement in listed:
        for k in range(begins[requirement], begins[requirement] + lengths[requirement]):
            if cells[k] == cell:
                users[n] = requirement
                n += 1
                break
    return users[:n]


@inlined
def swap_slack(ground: Floats, cell: int, slack: Floats) -> None:
    """Exchange the stored slack of a cell with ``slack``. Loops, because slices take seconds to compile."""
    for kind in range(2):
        for way in range(2):
            had = ground[kind, cell, 1 + way]
            ground[kind, cell, 1 + way] = slack[kind, way]
            slack[kind, way] = had


@compiled
def avoid(
    space: Any, ground: Floats, witnesses: Any, requirements: Any, expensive: Integers, listed: Any,
    prices: Any,
    effort: Any, pieces: Integers, most: int, capacity: int, scratch: Any,
) -> None:  # fmt: skip
    """Reroute all witnesses around one cell after the other, where the replacements cost less.

    ``listed`` holds for each of these cells the requirements that use it; cells with further users are
    skipped.
    """
    begins, lengths = witnesses[2], witnesses[3]
    use, cost, share = prices
    slack_before = np.empty((2, 2))
    for place in range(len(expensive)):
        cell = expensive[place]
        if use[cell] == 0 or use[cell] > most:
            continue
        users = users_of(witnesses, cell, listed[1][listed[0][place] : listed[0][place + 1]])
        if len(users) < use[cell]:
            continue
        old = np.empty((len(users), 2), dtype=np.int64)
        gain, free, routed = 0.0, begins[-1], 0
        for k in range(len(users)):
            old[k, 0], old[k, 1] = begins[users[k]], lengths[users[k]]
            gain += charge(witnesses, users[k], np.int64(-1), use, cost, share, ground)
        slack_before.fill(-1.0)
        swap_slack(ground, cell, slack_before)
        while routed < len(users) and gain < -TINY:
            grown, found = replace(
                space, ground, witnesses, requirements, users[routed], prices, effort, pieces, capacity,
                scratch,
            )  # fmt: skip
            if not found:
                break
            gain += grown
            routed += 1
        swap_slack(ground, cell, slack_before)
        if routed < len(users) or gain >= -TINY:
            for k in range(len(users)):
                restore(witnesses, users[k], old[k], k < routed, prices, ground)
            begins[-1] = free
