"""Largest contributions, distinct contributors and squares of every marginal, exactly.

Two facts make it exact and fast. A contributor met in one leaf cell only adds the same amount to every
marginal above that leaf, so these may be collected per leaf and merged upward. All others are followed to
every cell above any of their leaves, where their amounts are added before they are ranked.

What is known about a cell is one row of a float64 array, so that a visit costs one cache line:

====================  =========================================================================
``row[COUNT]``        contributors so far
``row[SQUARES:]``     sum of weight * amount**2 over them: an integer of two words, see fixed_point
``row[PENDING:]``     the contributor being added up: its number, then its parts, see ``add_up``
                      (number and amount only, when there are no weights)
then                  the largest amounts, falling; each followed by its weight if there are weights
at the end            sum of weight * |amount|, two words, kept only when amounts are ranked by size
====================  =========================================================================

Nothing of it depends on the order of contributors: integers are added, and of pairs that are ranked the same
ones are kept. So states of parts of the records, each contributor in one part, may be merged in any order.

``fine`` are the powers of two by which numbers are multiplied before they are added, as named below.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled, inlined
from hitoku.kernels.fixed_point import BITS, LOW, plus, plus_square, rounded

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]
Integers = NDArray[np.int64]
Smalls = NDArray[np.uint32]

COUNT, SQUARES, PENDING = 0, 1, 3
FIRST, FIRST_WEIGHTED = 5, 9  # where the largest amounts start
N_PARTS = 5
# Of fine: amounts, weight * size, sizes, weights; the root of the squares' (0: amounts are whole numbers, and
# their squares exact); and the sums of weight * |amount|.
FINE_AMOUNT, FINE_WEIGHTED, FINE_SIZE, FINE_WEIGHT, FINE_ROOT, FINE_SIZES = 0, 1, 2, 3, 4, 5


@compiled
def add_up(key: Keys, x: Floats, w: Floats, fine: Floats) -> tuple[Keys, Floats]:
    """Add up neighbours of equal key: amount, and with weights (weight * size, size, weight, records).

    The sums do not depend on the order of rows with the same key. Keys are written over.
    """
    weighted = len(w) > 0
    parts = np.empty((len(x), N_PARTS)) if weighted else x.reshape((-1, 1))
    n = len(key)
    start, n_runs = 0, 0
    while start < n:
        stop = start + 1
        while stop < n and key[stop] == key[start]:
            stop += 1
        if weighted:
            _add_weighted(x, w, start, stop, fine, parts[n_runs])
        elif stop > start + 1:
            high, low = np.int64(0), np.int64(0)
            for i in range(start, stop):
                high, low = plus(high, low, x[i] * fine[FINE_AMOUNT])
            parts[n_runs, 0] = rounded(high, low) / fine[FINE_AMOUNT]
        else:
            parts[n_runs, 0] = x[start]
        key[n_runs] = key[start]
        n_runs += 1
        start = stop
    return key[:n_runs], parts[:n_runs]


@inlined
def _add_weighted(x: Floats, w: Floats, start: int, stop: int, fine: Floats, part: Floats) -> None:
    for which in range(4):
        high, low = np.int64(0), np.int64(0)
        for i in range(start, stop):
            if which == 0:
                term = x[i]
            elif which == 1:
                term = w[i] * abs(x[i])
            elif which == 2:
                term = abs(x[i])
            else:
                term = w[i]
            high, low = plus(high, low, term * fine[which])
        part[which] = rounded(high, low) / fine[which]
    part[4] = stop - start


@compiled
def rank_records(key: Keys, x: Floats, w: Floats, absolute: bool, fine: Floats, leaves: Floats) -> None:
    """Enter records that are contributors of their own; keys are leaves."""
    words = leaves.view(np.int64)
    for i in range(len(key)):
        weight = w[i] if len(w) else 1.0
        _enter(leaves, words, np.int64(key[i]), x[i], weight, len(w) > 0, absolute, fine)


@compiled
def rank_contributors(
    key: Keys,
    leaf_bits: int,
    parts: Floats,
    absolute: bool,
    fine: Floats,
    leaf_shape: Smalls,
    above: Integers,
    above_start: Integers,
    leaves: Floats,
    cells: Floats,
) -> None:
    """Enter contributors, one row for each of their leaves in order: key = contributor << leaf_bits | leaf.

    Those of one leaf go to ``leaves``, all others to every cell of ``cells`` above one of their leaves.
    Several threads may share ``cells`` when each is given other codes in ``above``; one of them is given
    ``leaves``, the others an empty array.

    Parameters
    ----------
    parts
        What :func:`add_up` returns.
    above, above_start
        For every leaf of every variable, one variable after the other, the codes above it (itself
        included) as steps through the cells.
    """
    n = len(key)
    weighted = parts.shape[1] > 1
    shift, mask = np.uint64(leaf_bits), np.uint64((1 << leaf_bits) - 1)
    reached = np.empty(_most_reached(leaf_shape, above_start), dtype=np.int64)
    touched = np.empty(len(reached))
    flat = cells.reshape(-1)
    flat_words = flat.view(np.int64)
    cell_words, leaf_words = cells.view(np.int64), leaves.view(np.int64)
    start, number = 0, 0
    while start < n:
        who = key[start] >> shift
        stop = start + 1
        while stop < n and key[stop] >> shift == who:
            stop += 1
        number += 1
        if stop == start + 1:
            if len(leaves):
                weight = _mean_weight(parts[start], 1) if weighted else 1.0
                leaf = np.int64(key[start] & mask)
                _enter(leaves, leaf_words, leaf, parts[start, 0], weight, weighted, absolute, fine)
            start = stop
            continue
        for i in range(start, stop):
            n_reached = _reach(np.uint32(key[i] & mask), leaf_shape, above, above_start, reached)
            # Cells lie far apart: asking for all of them first lets the memory fetch them together.
            for r in range(n_reached):
                touched[r] = flat[reached[r] * cells.shape[1]]
            if weighted:
                for r in range(n_reached):
                    _visit_weighted(cells, cell_words, reached[r], number, parts[i], absolute, fine)
            else:
                _visit(
                    flat, flat_words, cells.shape[1], reached, n_reached, number, parts[i, 0], absolute, fine
                )
        start = stop


@compiled
def settle(cells: Floats, weighted: bool, absolute: bool, fine: Floats) -> None:
    """Rank whoever is pending anywhere; due after each batch, since contributor numbers start again."""
    words = cells.view(np.int64)
    for cell in range(len(cells)):
        if cells[cell, PENDING] > 0:
            _settle(cells, words, cell, weighted, absolute, fine)


@inlined
def _most_reached(leaf_shape: Smalls, above_start: Integers) -> int:
    most, base = 1, 0
    for d in range(len(leaf_shape)):
        widest = 1
        for leaf in range(base, base + leaf_shape[d]):
            widest = max(widest, above_start[leaf + 1] - above_start[leaf])
        base += leaf_shape[d]
        most *= widest
    return most


@inlined
def _mean_weight(row: Floats, first: int) -> float:
    """Weight of a contributor: the mean over its records by size, the plain one if all are zero.

    From ``first`` on the row has weight * size, size, weight and number of records.
    """
    size = row[first + 1]
    return float(row[first] / size) if size > 0 else float(row[first + 2] / row[first + 3])


@inlined
def _reach(
    leaf: np.uint32, leaf_shape: Smalls, above: Integers, above_start: Integers, reached: Integers
) -> int:
    """Write the cells above a leaf to ``reached``; return how many."""
    base = np.int64(0)
    for d in range(len(leaf_shape)):
        base += leaf_shape[d]
    reached[0] = 0
    n_reached = 1
    for d in range(len(leaf_shape) - 1, -1, -1):
        base -= leaf_shape[d]
        rest = leaf // leaf_shape[d]  # 32 bits: dividing 64 takes twice as long
        own = base + leaf - rest * leaf_shape[d]
        leaf = rest
        start, stop = above_start[own], above_start[own + 1]
        # From the back, so that the first block is overwritten last.
        for a in range(stop - start - 1, -1, -1):
            step = above[start + a]
            for r in range(n_reached):
                reached[a * n_reached + r] = reached[r] + step
        n_reached *= stop - start
    return n_reached


@inlined
def _visit(
    flat: Floats,
    words: Integers,
    width: int,
    reached: Integers,
    n_reached: int,
    number: int,
    x: float,
    absolute: bool,
    fine: Floats,
) -> None:
    """Add a contributor's amount to some cells; who was pending there before is ranked first.

    The same as ``_visit_weighted`` without weights, written out: this loop is where the time goes.
    """
    end = width - 2 if absolute else width
    for r in range(n_reached):
        row = reached[r] * width
        if flat[row + PENDING] == number:
            flat[row + PENDING + 1] += x
            continue
        if flat[row + PENDING] > 0:
            amount = flat[row + PENDING + 1]
            flat[row + COUNT] += 1.0
            _add_square(words, row + SQUARES, amount, 1.0, fine[FINE_ROOT])
            if absolute:
                amount = abs(amount)
                _add(words, row + end, amount * fine[FINE_SIZES])
            place = row + end - 1
            if place >= row + FIRST and amount > flat[place]:
                while place > row + FIRST and flat[place - 1] < amount:
                    flat[place] = flat[place - 1]
                    place -= 1
                flat[place] = amount
        flat[row + PENDING] = number
        flat[row + PENDING + 1] = x


@inlined
def _add(words: Integers, at: int, t: float) -> None:
    words[at], words[at + 1] = plus(words[at], words[at + 1], t)


@inlined
def _add_square(words: Integers, at: int, x: float, w: float, root: float) -> None:
    if root == 0.0:
        words[at], words[at + 1] = plus_square(words[at], words[at + 1], x)
    else:
        x *= root
        words[at], words[at + 1] = plus(words[at], words[at + 1], w * x * x)


@inlined
def _visit_weighted(
    cells: Floats, words: Integers, at: int, number: int, part: Floats, absolute: bool, fine: Floats
) -> None:
    """Add a contributor's part to a cell; who was pending there before is ranked first."""
    if cells[at, PENDING] != number:
        if cells[at, PENDING] > 0:
            _settle(cells, words, at, len(part) > 1, absolute, fine)  # with weights
        cells[at, PENDING] = number
        for p in range(N_PARTS):
            cells[at, PENDING + 1 + p] = part[p]
    else:
        for p in range(N_PARTS):
            cells[at, PENDING + 1 + p] += part[p]


@inlined
def _settle(cells: Floats, words: Integers, at: int, weighted: bool, absolute: bool, fine: Floats) -> None:
    """Rank the pending contributor."""
    cells[at, PENDING] = 0.0
    weight = _mean_weight(cells[at], PENDING + 2) if weighted else 1.0
    _enter(cells, words, at, cells[at, PENDING + 1], weight, weighted, absolute, fine)


@compiled
def _enter(
    cells: Floats,
    words: Integers,
    at: int,
    x: float,
    w: float,
    weighted: bool,
    absolute: bool,
    fine: Floats,
) -> None:
    """Enter one contributor's final amount in a cell."""
    cells[at, COUNT] += 1.0
    row = words[at]
    _add_square(row, SQUARES, x, w, fine[FINE_ROOT])
    end = cells.shape[1]
    if absolute:
        x = abs(x)
        end -= 2
        _add(row, end, w * x * fine[FINE_SIZES])
    if x <= 0.0 or w <= 0.0:
        return
    if weighted:
        _insert_weighted(cells[at], end, x, w)
    else:
        _insert(cells[at], end, x)


@inlined
def _insert(row: Floats, end: int, x: float) -> None:
    place = end - 1
    if place < FIRST or x <= row[place]:
        return
    while place > FIRST and row[place - 1] < x:
        row[place] = row[place - 1]
        place -= 1
    row[place] = x


@inlined
def _insert_weighted(row: Floats, end: int, x: float, w: float) -> None:
    """Insert a pair; of equal amounts the heavier comes first, so that the order of arrival is nothing."""
    place = end - 2
    if place < FIRST_WEIGHTED or not _precedes(x, w, row, place):
        return
    while place > FIRST_WEIGHTED and _precedes(x, w, row, place - 2):
        row[place] = row[place - 2]
        row[place + 1] = row[place - 1]
        place -= 2
    row[place] = x
    row[place + 1] = w


@inlined
def _precedes(x: float, w: float, row: Floats, place: int) -> bool:
    return bool(x > row[place] or (x == row[place] and w > row[place + 1]))


@compiled
def merge_axis(
    source: Floats,
    indptr: Integers,
    indices: Integers,
    target: Floats,
    before: int,
    n_leaves: int,
    after: int,
    weighted: bool,
    absolute: bool,
) -> None:
    """Merge the leaves of one variable into its codes; rows run over (before, leaf or code, after).

    Right only where no contributor is in two of the leaves.
    """
    n_codes = len(indptr) - 1
    source_words, target_words = source.view(np.int64), target.view(np.int64)
    for b in range(before):
        for code in range(n_codes):
            for entry in range(indptr[code], indptr[code + 1]):
                for a in range(after):
                    here = (b * n_leaves + indices[entry]) * after + a
                    if source[here, COUNT] == 0.0:
                        continue
                    there = (b * n_codes + code) * after + a
                    _merge(
                        source[here],
                        source_words[here],
                        target[there],
                        target_words[there],
                        weighted,
                        absolute,
                    )


@compiled
def merge_rows(source: Floats, places: Integers, target: Floats, weighted: bool, absolute: bool) -> None:
    """Merge rows of one state into the rows of another that stand at some places; nobody is pending.

    Right only where no contributor is in both.
    """
    source_words, target_words = source.view(np.int64), target.view(np.int64)
    for here in range(len(source)):
        there = places[here]
        _merge(source[here], source_words[here], target[there], target_words[there], weighted, absolute)


@inlined
def _merge(
    source: Floats,
    source_words: Integers,
    target: Floats,
    target_words: Integers,
    weighted: bool,
    absolute: bool,
) -> None:
    target[COUNT] += source[COUNT]
    _merge_words(source_words, target_words, SQUARES)
    end = len(source)
    if absolute:
        end -= 2
        _merge_words(source_words, target_words, end)
    if weighted:
        for p in range(FIRST_WEIGHTED, end, 2):
            if source[p] <= 0.0:
                break
            _insert_weighted(target, end, source[p], source[p + 1])
    else:
        for p in range(FIRST, end):
            if source[p] <= 0.0:
                break
            _insert(target, end, source[p])


@inlined
def _merge_words(source: Integers, target: Integers, at: int) -> None:
    low = target[at + 1] + source[at + 1]
    target[at] += source[at] + (low >> BITS)
    target[at + 1] = low & LOW


@compiled
def fill_ranks(cells: Floats, end: int, largest: Floats) -> bool:
    """Turn pairs of amount and weight into ranks: the mean amount of each unit of weight, in order.

    The last pair fills no rank: it tells that there was one more. True: those before it leave ranks open.
    """
    short = False
    end -= 2
    for cell in range(len(cells)):
        row = cells[cell]
        p = FIRST_WEIGHTED
        left = row[p + 1] if p < end else 0.0
        for rank in range(largest.shape[1]):
            room, amount = 1.0, 0.0
            while room > 0.0 and p < end and row[p] > 0.0:
                taken = min(room, left)
                amount += taken * row[p]
                room -= taken
                left -= taken
                if left <= 0.0:
                    p += 2
                    left = row[p + 1] if p < end else 0.0
            if room > 0.0 and row[end] > 0.0:
                short = True
            largest[cell, rank] = amount
            # Rounding in the last digit must not let a later rank overtake an earlier one.
            if rank > 0 and largest[cell, rank] > largest[cell, rank - 1]:
                largest[cell, rank] = largest[cell, rank - 1]
    return short
