"""Witnesses made of boxes, without a linear program: one for every claim, then cheaper ones.

A *claim* is an unsafe cell, a direction and how far it must go; its *witness* is a sum of boxes, kept as
cells and amounts. ``space`` and ``ground`` are as :mod:`hitoku.kernels.cheapest_hypercube` reads them; the
ground
is there twice, the second time with the room that there is both ways. ``witnesses`` holds witnesses one after
the
other: cells, amounts, and per claim where its witness begins and how long it is; the last of the beginnings
is where free space begins.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.cheapest_hypercube import NO_ROOM, NONE, cheapest_hypercube, product_of
from hitoku.kernels.compiled import compiled, inlined

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Less than this is rounding.
CHEAPER = 1e-12


@compiled
def lay(
    space: Any, ground: Floats, hypercube: Integers, change: int, n: int, cells: Integers, amounts: Integers,
    scratch: Any,
) -> int:  # fmt: skip
    """Add a box to a growing witness; return its length, or -1 where there is no space left for it.

    Cells that it moves cost nothing more and have the room that is left; ``scratch`` keeps what they had.
    """
    offsets, signs, _, mark, saved = scratch
    size = product_of(space, hypercube, np.int64(NONE), offsets, signs)
    if n + size > min(len(cells), len(saved)):
        return -1
    for e in range(size):
        where = offsets[e]
        k = mark[where]
        if k == NONE:
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
    """Cancel the dearest cells of a growing witness by further boxes that cost less; return its length."""
    saved = scratch[4]
    hypercube = np.empty((len(space[0]), 2), dtype=np.int64)
    # What the claim asks for stays.
    ground[position, 1 if sign > 0 else 2] = 0.0
    ceiling = np.inf
    for _ in range(effort[1]):
        dear = NONE
        for k in range(n):
            if amounts[k] != 0 and saved[k, 0] < ceiling and (dear == NONE or saved[k, 0] > saved[dear, 0]):
                dear = k
        if dear == NONE or saved[dear, 0] <= 0:
            break
        ceiling = saved[dear, 0]
        amount, direction = abs(amounts[dear]), -1 if amounts[dear] > 0 else 1
        price = cheapest_hypercube(
            space, ground, cells[dear], direction, float(amount), effort, hypercube, scratch
        )
        if price < saved[dear, 0]:
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
    """Write a witness of boxes, each of a piece of the amount; return its price and length, zero for none.

    A piece for which there is no box is halved, some times. ``ground`` is restored.
    """
    mark, saved = scratch[3], scratch[4]
    hypercube = np.empty((len(space[0]), 2), dtype=np.int64)
    n, left, part = np.int64(0), amount, np.ceil(amount / pieces)
    hypercubes = 1 if pieces == 1 else 4 * pieces
    while left > 0 and hypercubes > 0 and part >= 1:
        hypercubes -= 1
        part = min(part, left)
        price = cheapest_hypercube(space, ground, position, sign, part, effort, hypercube, scratch)
        if price >= NO_ROOM:
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
        mark[cells[k]] = NONE
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
    """Write the cheapest witness among those of one piece, of several, and so on; return its length."""
    best, n = np.inf, 0
    for k in range(len(pieces)):
        trial = cells[n:], amounts[n:]
        price, length = compose(
            space, ground, position, sign, amount, effort, pieces[k], trial[0], trial[1], scratch
        )
        if price < best:
            best = price
            # The trial stands behind the best so far, so that no entry is written over before it is read.
            for e in range(length):
                cells[e], amounts[e] = trial[0][e], trial[1][e]
            n = length
    return n


@compiled
def charge(
    witnesses: Any, requirement: int, change: int, use: Integers, cost: Floats, share: float, ground: Floats
) -> float:  # fmt: skip
    """Count the cells of a witness as used once more, or once less; return how the pattern's cost grows."""
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
    pieces: Integers, room: int, scratch: Any,
) -> tuple[float, bool]:  # fmt: skip
    """Give a claim another witness in the free space of the book; return the change of cost, and whether."""
    cells, amounts, begins, lengths = witnesses
    position, sign, amount, even = requirements
    use, cost, share = prices
    free = begins[-1]
    n = find_witness(
        space, ground[int(even[requirement])], position[requirement], sign[requirement], amount[requirement],
        effort, pieces, cells[free : free + room], amounts[free : free + room], scratch,
    )  # fmt: skip
    if n == 0:
        return 0.0, False
    begins[requirement], lengths[requirement], begins[-1] = free, n, free + n
    return charge(witnesses, requirement, np.int64(1), use, cost, share, ground), True


@inlined
def restore(
    witnesses: Any, requirement: int, old: Integers, replaced: bool, prices: Any, ground: Floats
) -> float:
    """Go back to the witness that a claim had; return the change of cost."""
    begins, lengths = witnesses[2], witnesses[3]
    use, cost, share = prices
    grown = charge(witnesses, requirement, np.int64(-1), use, cost, share, ground) if replaced else 0.0
    begins[requirement], lengths[requirement] = old[0], old[1]
    return float(grown + charge(witnesses, requirement, np.int64(1), use, cost, share, ground))


@compiled
def route(
    space: Any, ground: Floats, witnesses: Any, requirements: Any, order: Integers, prices: Any, effort: Any,
    pieces: Integers, room: int, scratch: Any,
) -> None:  # fmt: skip
    """Give every claim of a list a witness, or a cheaper one than it has."""
    begins, lengths = witnesses[2], witnesses[3]
    use, cost, share = prices
    old = np.empty(2, dtype=np.int64)
    for requirement in order:
        old[0], old[1] = begins[requirement], lengths[requirement]
        free = begins[-1]
        freed = charge(witnesses, requirement, np.int64(-1), use, cost, share, ground)
        grown, replaced = replace(
            space, ground, witnesses, requirements, requirement, prices, effort, pieces, room, scratch
        )
        if not replaced or (freed + grown > CHEAPER and old[1] > 0):
            restore(witnesses, requirement, old, replaced, prices, ground)
            begins[-1] = free


@compiled
def users_of(witnesses: Any, cell: int, listed: Integers) -> Integers:
    """Return those of some claims whose witness moves a cell now."""
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
def swap_room(ground: Floats, cell: int, room: Floats) -> None:
    """Give a cell other room, and write down what it had; slices would take seconds to compile."""
    for kind in range(2):
        for way in range(2):
            had = ground[kind, cell, 1 + way]
            ground[kind, cell, 1 + way] = room[kind, way]
            room[kind, way] = had


@compiled
def avoid(
    space: Any, ground: Floats, witnesses: Any, requirements: Any, dear: Integers, listed: Any, prices: Any,
    effort: Any, pieces: Integers, most: int, room: int, scratch: Any,
) -> None:  # fmt: skip
    """Lead all witnesses round one cell after the other, where what they need instead costs less.

    ``listed`` holds for each of these cells claims that use it; those that came later are left alone, and so
    is their cell.
    """
    begins, lengths = witnesses[2], witnesses[3]
    use, cost, share = prices
    room_before = np.empty((2, 2))
    for place in range(len(dear)):
        cell = dear[place]
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
        room_before.fill(-1.0)
        swap_room(ground, cell, room_before)
        while routed < len(users) and gain < -CHEAPER:
            grown, found = replace(
                space, ground, witnesses, requirements, users[routed], prices, effort, pieces, room, scratch
            )
            if not found:
                break
            gain += grown
            routed += 1
        swap_room(ground, cell, room_before)
        if routed < len(users) or gain >= -CHEAPER:
            for k in range(len(users)):
                restore(witnesses, users[k], old[k], k < routed, prices, ground)
            begins[-1] = free
