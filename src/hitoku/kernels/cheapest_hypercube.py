"""The cheapest hypercube through a cell: a deviation of a cross table that cancels in every relation.

A *move* of one variable raises a leaf and lowers another one (or none), together with every code above one of
them and not above the other. A *hypercube* has one move per variable: its cells are the product, and the sign
of a cell is the product of signs.

Positions run over the cross of all codes. ``space`` holds the variables: stride of each; start of its codes
and its leaves in the joint lists; per leaf the codes above it; per code the leaves below it, sorted; the
length of the longest move; per code its wider code and the leaves of that before its own. ``ground`` holds
per position a price and the slacks down and up, integers in doubles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled, inlined

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Price of a cell without slack. Prices are at most one, so it outweighs any number of other cells, and a
# search that starts among such cells leads away from them.
NO_SLACK = 1e9
# In variables with many leaves a search samples this many leaves below the code, this many anywhere, and
# three times as many near the code.
SAMPLE = 8


@inlined
def move_of(space: Any, v: int, up: int, down: int, codes: Integers, signs: Integers) -> int:
    """Write the codes above exactly one of two leaves (-1: none) with signs; return their number."""
    leaf_start, ends, above = space[2], space[3], space[4]
    n = 0
    for sign, leaf, other in ((1, up, down), (-1, down, up)):
        if leaf < 0:
            continue
        for i in range(ends[leaf_start[v] + leaf], ends[leaf_start[v] + leaf + 1]):
            both = False
            if other >= 0:
                for j in range(ends[leaf_start[v] + other], ends[leaf_start[v] + other + 1]):
                    both = both or above[j] == above[i]
            if not both:
                codes[n], signs[n] = above[i], sign
                n += 1
    return n


@compiled
def product_of(space: Any, hypercube: Integers, left_out: int, offsets: Integers, signs: Integers) -> int:
    """Write positions and signs of a hypercube without one variable (-1: all); return their number."""
    stride = space[0]
    codes, directions = np.empty(space[7], dtype=np.int64), np.empty(space[7], dtype=np.int64)
    offsets[0], signs[0] = 0, 1
    n = 1
    for v in range(len(stride)):
        if v == left_out:
            continue
        m = move_of(space, v, hypercube[v, 0], hypercube[v, 1], codes, directions)
        for e in range(m - 1, -1, -1):
            for k in range(n):
                offsets[e * n + k] = offsets[k] + codes[e] * stride[v]
                signs[e * n + k] = signs[k] * directions[e]
        n *= m
    return n


@inlined
def weigh(
    ground: Floats, v: int, codes: Integers, counts: Integers, stride: int, n: int, offsets: Integers,
    signs: Integers, sign: int, amount: float, weight: Floats,
) -> None:  # fmt: skip
    """Write the prices of raising and of lowering each code of a variable."""
    for k in range(counts[v, 3]):
        code = codes[v, k]
        rise = fall = 0.0
        for e in range(n):
            position = code * stride + offsets[e]
            price, down, up = ground[position, 0], ground[position, 1], ground[position, 2]
            if signs[e] * sign < 0:
                down, up = up, down
            rise += price if up >= amount else price + NO_SLACK
            fall += price if down >= amount else price + NO_SLACK
        weight[code, 0], weight[code, 1] = rise, fall


@compiled
def pair_price(space: Any, v: int, up: int, down: int, weight: Floats) -> float:
    """Return the price of the codes above exactly one of two leaves."""
    leaf_start, ends, above = space[2], space[3], space[4]
    total = 0.0
    for side, leaf, other in ((0, up, down), (1, down, up)):
        if leaf < 0:
            continue
        for i in range(ends[leaf_start[v] + leaf], ends[leaf_start[v] + leaf + 1]):
            both = False
            if other >= 0:
                for j in range(ends[leaf_start[v] + other], ends[leaf_start[v] + other + 1]):
                    both = both or above[j] == above[i]
            if not both:
                total += weight[above[i], side]
    return total


@inlined
def best_move(
    space: Any, v: int, rising: Integers, falling: Integers, counts: Integers, weight: Floats, hypercube:
    Integers
) -> float:  # fmt: skip
    """Improve one variable's move over some leaves, one end at a time; return its price."""
    best = pair_price(space, v, hypercube[v, 0], hypercube[v, 1], weight)
    for _ in range(2):
        before = best
        for k in range(counts[v, 1]):
            price = pair_price(space, v, hypercube[v, 0], falling[v, k], weight)
            if price < best:
                best = price
                hypercube[v, 1] = falling[v, k]
        for k in range(counts[v, 0]):
            price = pair_price(space, v, rising[v, k], hypercube[v, 1], weight)
            if price < best:
                best = price
                hypercube[v, 0] = rising[v, k]
        if not best < before or counts[v, 0] == 1:
            break
    return float(best)


@inlined
def next_random(state: int) -> int:
    """Return the next of a sequence of pseudo-random integers below 2**31."""
    return (state * 1103515245 + 12345) % 2147483648


@inlined
def some_of(
    listed: Integers, begin: int, end: int, most: int, state: int, chosen: Integers, v: int, first: int
) -> int:  # fmt: skip
    """Copy up to ``most`` evenly spaced entries of ``listed[begin:end]``, at an offset taken from ``state``.

    They are written to ``chosen[v, first:]``. Returns their number.
    """
    size = end - begin
    for k in range(min(most, size)):
        place = k if size <= most else (k * size // most + (state >> 8)) % size
        chosen[v, first + k] = listed[begin + place]
    return min(most, size)


@inlined
def near_of(
    space: Any, place: int, wider: int, most: int, state: int, chosen: Integers, v: int, first: int
) -> int:  # fmt: skip
    """Copy up to ``most`` leaves of a wider code that are not below the code itself, as ``some_of`` does.

    Returns their number.
    """
    ends, below, skipped = space[5], space[6], space[9]
    begin, own = ends[place], ends[place + 1] - ends[place]
    size = ends[wider + 1] - ends[wider] - own
    for k in range(min(most, size)):
        place_near = k if size <= most else (k * size // most + (state >> 8)) % size
        # Binary search for the leaves below the code that precede it; numpy's searchsorted compiles slowly.
        low, high = 0, own
        while low < high:
            middle = (low + high) // 2
            if skipped[begin + middle] <= place_near:
                low = middle + 1
            else:
                high = middle
        chosen[v, first + k] = below[ends[wider] + place_near + low]
    return int(min(most, size))


@inlined
def leaves_around(
    space: Any, v: int, code: int, most: int, state: int, rising: Integers, falling: Integers,
    counts: Integers,
) -> int:  # fmt: skip
    """Write leaves below a code, and others that may fall in return, near ones first; return the next state.

    Up to ``most`` leaves all are written; otherwise a sample below the code, near it, and anywhere.
    ``counts`` gets the numbers of rising, falling and near leaves. Rows are indexed directly, because slices
    compile slowly.
    """
    code_start, leaf_start, ends, above = space[1], space[2], space[3], space[4]
    place, n_leaves = code_start[v] + code, leaf_start[v + 1] - leaf_start[v]
    below, wider = space[6], space[8][place]
    few = n_leaves <= most
    state = next_random(state)
    falling[v, 0] = -1
    most_below, most_near = n_leaves if few else SAMPLE, n_leaves if few else 3 * SAMPLE
    counts[v, 0] = some_of(below, space[5][place], space[5][place + 1], most_below, state, rising, v, 0)
    counts[v, 2] = near_of(space, place, code_start[v] + wider, most_near, state, falling, v, 1)
    m = 1 + counts[v, 2]
    for k in range(n_leaves if few else SAMPLE):
        state = next_random(state)
        leaf = k if few else (state >> 8) % n_leaves
        listed = False
        for i in range(ends[leaf_start[v] + leaf], ends[leaf_start[v] + leaf + 1]):
            # If all leaves are listed, those near the code are included already.
            listed = listed or above[i] == code or (few and above[i] == wider)
        if not listed:
            falling[v, m] = leaf
            m += 1
    counts[v, 1] = m
    return state


@inlined
def codes_above(
    space: Any, v: int, rising: Integers, falling: Integers, counts: Integers, codes: Integers
) -> int:  # fmt: skip
    """Write every code above some leaves once; return their number."""
    code_start, leaf_start, ends, above = space[1], space[2], space[3], space[4]
    seen = np.zeros(code_start[v + 1] - code_start[v], dtype=np.bool_)
    n, n_rising = 0, counts[v, 0]
    for k in range(n_rising + counts[v, 1]):
        leaf = rising[v, k] if k < n_rising else falling[v, k - n_rising]
        if leaf < 0:
            continue
        for i in range(ends[leaf_start[v] + leaf], ends[leaf_start[v] + leaf + 1]):
            if not seen[above[i]]:
                seen[above[i]] = True
                codes[v, n] = above[i]
                n += 1
    return n


@compiled
def cheapest_hypercube(
    space: Any, ground: Floats, position: int, sign: int, amount: float, effort: Any, hypercube: Integers,
    scratch: Any,
) -> float:  # fmt: skip
    """Find a cheap hypercube through a position by descent over the variables; return its price.

    Starts are pseudo-random and prefer near leaves. ``effort`` holds the number of starts, the number of
    cells to cancel afterwards, and the number of leaves up to which all are tried.
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
        state = leaves_around(space, v, code, most, state, rising, falling, counts)
        counts[v, 3] = codes_above(space, v, rising, falling, counts, codes)
    trial = np.empty((n_variables, 2), dtype=np.int64)
    best = np.inf
    for start in range(starts):
        for v in range(n_variables):
            state = next_random(state)
            trial[v, 0] = rising[v, (state >> 8) % counts[v, 0]]
            state = next_random(state)
            trial[v, 1] = falling[v, 0 if counts[v, 2] == 0 else 1 + (state >> 8) % counts[v, 2]]
        price = np.inf
        for _ in range(4):
            before = price
            for k in range(n_variables):
                v = (start + k) % n_variables
                n = product_of(space, trial, v, offsets, signs)
                weigh(ground, v, codes, counts, stride[v], n, offsets, signs, sign, amount, weight)
                price = best_move(space, v, rising, falling, counts, weight, trial)
            if not price < before:
                break
        if price < best:
            best = price
            for v in range(n_variables):
                hypercube[v, 0], hypercube[v, 1] = trial[v, 0], trial[v, 1]
    return best
