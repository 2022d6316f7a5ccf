"""Cheapest boxes: changes of a cross table that cancel in every relation, found without a linear program.

A *move* of one variable takes a leaf up and another leaf down (or none), together with every code above one
of them and not above the other. A *box* has one move per variable: its cells are the product, and the sign of
a cell is the product of signs. A *claim* is an unsafe cell, a direction and how far it must go; its *witness*
is a sum of boxes, kept as cells and amounts.

Positions run over the cross of all codes. ``space`` holds the variables: stride of each; where its codes and
its leaves begin in the joint lists; per leaf the codes above it; per code the leaves below it, sorted; the
length of the longest move; per code the leaves nearest to it that are not below it. ``ground`` holds per
position a price and the room down and up, whole numbers in doubles; twice, the second time with the room that
there is both ways. ``book`` holds witnesses one after the other: cells, amounts, and per claim where its
witness begins and how long it is; the last of the beginnings is where free space begins.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled, inlined

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

# Prices are at most one: a cell without room outweighs any number of others, so that a search which starts
# among such cells leads away from them.
NO_ROOM = 1e9
ROUNDS = 4
NONE = -1
# Less than this is rounding.
CHEAPER = 1e-12
# Of variables with many leaves a search looks at some: so many below the code, near it, and anywhere.
BELOW, NEAR, ANYWHERE = 8, 24, 8


@inlined
def move_of(space: Any, v: int, up: int, down: int, codes: Integers, signs: Integers) -> int:
    """Write the codes above exactly one of two leaves, those of the first as plus one; return how many."""
    leaf_start, ends, above = space[2], space[3], space[4]
    n = 0
    for sign, leaf, other in ((1, up, down), (-1, down, up)):
        if leaf == NONE:
            continue
        for i in range(ends[leaf_start[v] + leaf], ends[leaf_start[v] + leaf + 1]):
            both = False
            if other != NONE:
                for j in range(ends[leaf_start[v] + other], ends[leaf_start[v] + other + 1]):
                    both = both or above[j] == above[i]
            if not both:
                codes[n], signs[n] = above[i], sign
                n += 1
    return n


@compiled
def product_of(space: Any, box: Integers, left_out: int, offsets: Integers, signs: Integers) -> int:
    """Write positions and signs of a box, one variable left out (none for -1); return how many."""
    stride = space[0]
    codes, directions = np.empty(space[7], dtype=np.int64), np.empty(space[7], dtype=np.int64)
    offsets[0], signs[0] = 0, 1
    n = 1
    for v in range(len(stride)):
        if v == left_out:
            continue
        m = move_of(space, v, box[v, 0], box[v, 1], codes, directions)
        for e in range(m - 1, -1, -1):
            for k in range(n):
                offsets[e * n + k] = offsets[k] + codes[e] * stride[v]
                signs[e * n + k] = signs[k] * directions[e]
        n *= m
    return n


@inlined
def weigh(
    ground: Floats, codes: Integers, stride: int, n: int, offsets: Integers, signs: Integers, sign: int,
    amount: float, weight: Floats,
) -> None:  # fmt: skip
    """Price codes of a variable, as they go up and as they go down, in the cells that others give them."""
    for code in codes:
        rise = fall = 0.0
        for e in range(n):
            position = code * stride + offsets[e]
            price, down, up = ground[position, 0], ground[position, 1], ground[position, 2]
            if signs[e] * sign < 0:
                down, up = up, down
            rise += price if up >= amount else price + NO_ROOM
            fall += price if down >= amount else price + NO_ROOM
        weight[code, 0], weight[code, 1] = rise, fall


@compiled
def pair_price(space: Any, v: int, up: int, down: int, weight: Floats) -> float:
    """Add up the codes above exactly one of two leaves."""
    leaf_start, ends, above = space[2], space[3], space[4]
    total = 0.0
    for side, leaf, other in ((0, up, down), (1, down, up)):
        if leaf == NONE:
            continue
        for i in range(ends[leaf_start[v] + leaf], ends[leaf_start[v] + leaf + 1]):
            both = False
            if other != NONE:
                for j in range(ends[leaf_start[v] + other], ends[leaf_start[v] + other + 1]):
                    both = both or above[j] == above[i]
            if not both:
                total += weight[above[i], side]
    return total


@inlined
def best_move(
    space: Any, v: int, rising: Integers, falling: Integers, weight: Floats, move: Integers
) -> float:
    """Change one variable's move for the best of some leaves, one end at a time; return its price."""
    best = pair_price(space, v, move[0], move[1], weight)
    for _ in range(2):
        before = best
        for leaf in falling:
            price = pair_price(space, v, move[0], leaf, weight)
            if price < best:
                best = price
                move[1] = leaf
        for leaf in rising:
            price = pair_price(space, v, leaf, move[1], weight)
            if price < best:
                best = price
                move[0] = leaf
        if not best < before or len(rising) == 1:
            break
    return float(best)


@inlined
def drawn(state: int) -> int:
    """Return the next of a sequence of pseudo-random whole numbers below 2**31."""
    return (state * 1103515245 + 12345) % 2147483648


@inlined
def some_of(listed: Integers, most: int, state: int, chosen: Integers) -> int:
    """Write so many of a list at equal distances, from a place that the state tells; return how many."""
    size = len(listed)
    for k in range(min(most, size)):
        chosen[k] = listed[k] if size <= most else listed[(k * size // most + (state >> 8)) % size]
    return min(most, size)


@inlined
def leaves_around(
    space: Any, v: int, code: int, most: int, state: int, rising: Integers, falling: Integers,
    counts: Integers,
) -> int:  # fmt: skip
    """Write leaves below a code, and others that may fall in return, near ones first; return the next state.

    All of them up to ``most``; where there are more, some: below the code, near it, and anywhere. ``counts``
    gets how many rise, fall, and are near.
    """
    code_start, leaf_start, ends, above = space[1], space[2], space[3], space[4]
    place, n_leaves = code_start[v] + code, leaf_start[v + 1] - leaf_start[v]
    below = space[6][space[5][place] : space[5][place + 1]]
    near = space[9][space[8][place] : space[8][place + 1]]
    few = n_leaves <= most
    state = drawn(state)
    falling[0] = NONE
    counts[0] = some_of(below, n_leaves if few else BELOW, state, rising)
    counts[2] = some_of(near, n_leaves if few else NEAR, state, falling[1:])
    m = 1 + counts[2]
    for k in range(n_leaves if few else ANYWHERE):
        state = drawn(state)
        leaf = k if few else (state >> 8) % n_leaves
        listed = False
        for i in range(ends[leaf_start[v] + leaf], ends[leaf_start[v] + leaf + 1]):
            listed = listed or above[i] == code
        if not listed and few:
            at = np.searchsorted(near, leaf)
            listed = bool(at < len(near) and near[at] == leaf)
        if not listed:
            falling[m] = leaf
            m += 1
    counts[1] = m
    return state


@inlined
def codes_above(space: Any, v: int, rising: Integers, falling: Integers, codes: Integers) -> int:
    """Write every code above some leaves once; return how many."""
    code_start, leaf_start, ends, above = space[1], space[2], space[3], space[4]
    seen = np.zeros(code_start[v + 1] - code_start[v], dtype=np.bool_)
    n = 0
    for leaves in (rising, falling):
        for leaf in leaves:
            if leaf == NONE:
                continue
            for i in range(ends[leaf_start[v] + leaf], ends[leaf_start[v] + leaf + 1]):
                if not seen[above[i]]:
                    seen[above[i]] = True
                    codes[n] = above[i]
                    n += 1
    return n


@compiled
def cheapest_box(
    space: Any, ground: Floats, position: int, sign: int, amount: float, effort: Any, box: Integers,
    scratch: Any,
) -> float:  # fmt: skip
    """Find a cheap box through a position by descent over the variables; return its price.

    Starts are pseudo-random and lean to near leaves. ``effort`` holds how many there are, how many cells are
    cancelled afterwards, and of how many leaves all are looked at.
    """
    starts, most = effort[0], effort[2]
    stride, n_variables = space[0], len(space[0])
    offsets, signs, weight, _, _ = scratch
    widest = len(weight)
    rising = np.empty((n_variables, widest), dtype=np.int64)
    falling = np.empty((n_variables, widest + 1), dtype=np.int64)
    codes = np.empty((n_variables, widest), dtype=np.int64)
    counts = np.empty((n_variables, 4), dtype=np.int64)
    state, rest = (position * 7919 + 17) % 2147483648, position
    for v in range(n_variables):
        code = rest // stride[v]
        rest %= stride[v]
        state = leaves_around(space, v, code, most, state, rising[v], falling[v], counts[v])
        counts[v, 3] = codes_above(space, v, rising[v, : counts[v, 0]], falling[v, : counts[v, 1]], codes[v])
    trial = np.empty((n_variables, 2), dtype=np.int64)
    best = np.inf
    for start in range(starts):
        for v in range(n_variables):
            state = drawn(state)
            trial[v, 0] = rising[v, (state >> 8) % counts[v, 0]]
            state = drawn(state)
            trial[v, 1] = falling[v, 0 if counts[v, 2] == 0 else 1 + (state >> 8) % counts[v, 2]]
        price = np.inf
        for _ in range(ROUNDS):
            before = price
            for k in range(n_variables):
                v = (start + k) % n_variables
                n = product_of(space, trial, v, offsets, signs)
                known = codes[v, : counts[v, 3]]
                weigh(ground, known, stride[v], n, offsets, signs, sign, amount, weight)
                price = best_move(
                    space, v, rising[v, : counts[v, 0]], falling[v, : counts[v, 1]], weight, trial[v]
                )
            if not price < before:
                break
        if price < best:
            best = price
            for v in range(n_variables):
                box[v, 0], box[v, 1] = trial[v, 0], trial[v, 1]
    return best


@compiled
def lay(
    space: Any, ground: Floats, box: Integers, change: int, n: int, cells: Integers, amounts: Integers,
    scratch: Any,
) -> int:  # fmt: skip
    """Add a box to a growing witness; return its length, or -1 where there is no space left for it.

    Cells that it moves cost nothing more and have the room that is left; ``scratch`` keeps what they had.
    """
    offsets, signs, _, mark, saved = scratch
    size = product_of(space, box, np.int64(NONE), offsets, signs)
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
    box = np.empty((len(space[0]), 2), dtype=np.int64)
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
        price = cheapest_box(space, ground, cells[dear], direction, float(amount), effort, box, scratch)
        if price < saved[dear, 0]:
            longer = lay(space, ground, box, direction * amount, n, cells, amounts, scratch)
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
    box = np.empty((len(space[0]), 2), dtype=np.int64)
    n, left, part = np.int64(0), amount, np.ceil(amount / pieces)
    boxes = 1 if pieces == 1 else 4 * pieces
    while left > 0 and boxes > 0 and part >= 1:
        boxes -= 1
        part = min(part, left)
        price = cheapest_box(space, ground, position, sign, part, effort, box, scratch)
        if price >= NO_ROOM:
            part = np.floor(part / 2)
            continue
        longer = lay(space, ground, box, sign * int(part), n, cells, amounts, scratch)
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
    book: Any, claim: int, change: int, use: Integers, cost: Floats, share: float, ground: Floats
) -> float:  # fmt: skip
    """Count the cells of a witness as used once more, or once less; return how the pattern's cost grows."""
    cells, _, begins, lengths = book
    grown = 0.0
    for k in range(begins[claim], begins[claim] + lengths[claim]):
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
    space: Any, ground: Floats, book: Any, claims: Any, claim: int, prices: Any, effort: Any,
    pieces: Integers, room: int, scratch: Any,
) -> tuple[float, bool]:  # fmt: skip
    """Give a claim another witness in the free space of the book; return the change of cost, and whether."""
    cells, amounts, begins, lengths = book
    position, sign, amount, even = claims
    use, cost, share = prices
    free = begins[-1]
    n = find_witness(
        space, ground[int(even[claim])], position[claim], sign[claim], amount[claim], effort, pieces,
        cells[free : free + room], amounts[free : free + room], scratch,
    )  # fmt: skip
    if n == 0:
        return 0.0, False
    begins[claim], lengths[claim], begins[-1] = free, n, free + n
    return charge(book, claim, np.int64(1), use, cost, share, ground), True


@inlined
def restore(book: Any, claim: int, old: Integers, replaced: bool, prices: Any, ground: Floats) -> float:
    """Go back to the witness that a claim had; return the change of cost."""
    begins, lengths = book[2], book[3]
    use, cost, share = prices
    grown = charge(book, claim, np.int64(-1), use, cost, share, ground) if replaced else 0.0
    begins[claim], lengths[claim] = old[0], old[1]
    return float(grown + charge(book, claim, np.int64(1), use, cost, share, ground))


@compiled
def route(
    space: Any, ground: Floats, book: Any, claims: Any, order: Integers, prices: Any, effort: Any,
    pieces: Integers, room: int, scratch: Any,
) -> None:  # fmt: skip
    """Give every claim of a list a witness, or a cheaper one than it has."""
    begins, lengths = book[2], book[3]
    use, cost, share = prices
    old = np.empty(2, dtype=np.int64)
    for claim in order:
        old[0], old[1] = begins[claim], lengths[claim]
        free = begins[-1]
        freed = charge(book, claim, np.int64(-1), use, cost, share, ground)
        grown, replaced = replace(space, ground, book, claims, claim, prices, effort, pieces, room, scratch)
        if not replaced or (freed + grown > CHEAPER and old[1] > 0):
            restore(book, claim, old, replaced, prices, ground)
            begins[-1] = free


@compiled
def users_of(book: Any, cell: int, listed: Integers) -> Integers:
    """Return those of some claims whose witness moves a cell now."""
    cells, _, begins, lengths = book
    users = np.empty(len(listed), dtype=np.int64)
    n = 0
    for claim in listed:
        for k in range(begins[claim], begins[claim] + lengths[claim]):
            if cells[k] == cell:
                users[n] = claim
                n += 1
                break
    return users[:n]


@compiled
def avoid(
    space: Any, ground: Floats, book: Any, claims: Any, dear: Integers, listed: Any, prices: Any, effort: Any,
    pieces: Integers, most: int, room: int, scratch: Any,
) -> None:  # fmt: skip
    """Lead all witnesses round one cell after the other, where what they need instead costs less.

    ``listed`` holds for each of these cells claims that use it; those that came later are left alone, and so
    is their cell.
    """
    begins, lengths = book[2], book[3]
    use, cost, share = prices
    for place in range(len(dear)):
        cell = dear[place]
        if use[cell] == 0 or use[cell] > most:
            continue
        users = users_of(book, cell, listed[1][listed[0][place] : listed[0][place + 1]])
        if len(users) < use[cell]:
            continue
        old = np.empty((len(users), 2), dtype=np.int64)
        gain, free, routed = 0.0, begins[-1], 0
        for k in range(len(users)):
            old[k, 0], old[k, 1] = begins[users[k]], lengths[users[k]]
            gain += charge(book, users[k], np.int64(-1), use, cost, share, ground)
        room_before = ground[:, cell, 1:].copy()
        ground[:, cell, 1:] = -1.0
        while routed < len(users) and gain < -CHEAPER:
            grown, found = replace(
                space, ground, book, claims, users[routed], prices, effort, pieces, room, scratch
            )
            if not found:
                break
            gain += grown
            routed += 1
        ground[:, cell, 1:] = room_before
        if routed < len(users) or gain >= -CHEAPER:
            for k in range(len(users)):
                restore(book, users[k], old[k], k < routed, prices, ground)
            begins[-1] = free
