"""Largest contributions, distinct contributors and squares of every marginal, exactly.

Two facts make it exact and fast. A contributor met in one leaf cell only adds the same amount to every
marginal above that leaf, so these may be collected per leaf and merged upward. All others are followed to
every cell above any of their leaves, where their amounts are added before they are ranked.

What is known about a cell is one row of a float64 array, so that a visit costs one cache line:

====================  =========================================================================
``row[COUNT]``        contributors so far
``row[SQUARES]``      sum of weight * amount**2 over them
``row[SIZES]``        sum of weight * |amount|, kept when amounts are ranked by size
``row[PENDING:]``     the contributor being added up: its number, then the parts of ``_add_up``
                      (number and amount only, when there are no weights)
then                  the largest amounts, falling; each followed by its weight if there are weights
====================  =========================================================================
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]
Integers = NDArray[np.int64]
Smalls = NDArray[np.uint32]

COUNT, SQUARES, SIZES, PENDING = 0, 1, 2, 3
FIRST, FIRST_WEIGHTED = 5, 9  # where the largest amounts start


@compiled
def rank_records(key: Keys, x: Floats, w: Floats, absolute: bool, leaves: Floats) -> bool:
    """Enter records that are contributors of their own; keys are leaves. True: a list was too short."""
    short = False
    for i in range(len(key)):
        weight = w[i] if len(w) else 1.0
        if _enter(leaves, np.int64(key[i]), x[i], weight, len(w) > 0, absolute):
            short = True
    return short


@compiled
def rank_contributors(
    key: Keys,
    leaf_bits: int,
    x: Floats,
    w: Floats,
    absolute: bool,
    leaf_shape: Smalls,
    above: Integers,
    above_start: Integers,
    leaves: Floats,
    cells: Floats,
) -> bool:
    """Enter contributors, rows sorted by (contributor, leaf): key = contributor << leaf_bits | leaf.

    Those of one leaf go to ``leaves``, all others to every cell of ``cells`` above one of their leaves.
    Several threads may share ``cells`` when each is given other codes in ``above``; one of them is given
    ``leaves``, the others an empty array.

    Parameters
    ----------
    above, above_start
        For every leaf of every variable, one variable after the other, the codes above it (itself
        included) as steps through the cells.

    Returns
    -------
    bool
        Some list of pairs was too short to fill the ranks.
    """
    n = len(key)
    weighted = len(w) > 0
    short = False
    shift, mask = np.uint64(leaf_bits), np.uint64((1 << leaf_bits) - 1)
    reached = np.empty(_most_reached(leaf_shape, above_start), dtype=np.int64)
    touched = np.empty(len(reached))
    flat = cells.reshape(-1)
    part = np.zeros(5)
    start, number = 0, 0
    while start < n:
        stop, single = _own_rows(key, shift, start)
        number += 1
        i = stop if single and len(leaves) == 0 else start
        while i < stop:
            leaf = key[i] & mask
            i = _add_up(key, x, w, i, stop, part)
            if single:
                weight = _mean_weight(part[1], part[2], part[3], part[4]) if weighted else 1.0
                if _enter(leaves, np.int64(leaf), part[0], weight, weighted, absolute):
                    short = True
                continue
            n_reached = _reach(np.uint32(leaf), leaf_shape, above, above_start, reached)
            # Cells lie far apart: asking for all of them first lets the memory fetch them together.
            for r in range(n_reached):
                touched[r] = flat[reached[r] * cells.shape[1]]
            if weighted:
                for r in range(n_reached):
                    if _visit_weighted(cells, reached[r], number, part, absolute):
                        short = True
            else:
                _visit(flat, cells.shape[1], reached, n_reached, number, part[0], absolute)
        start = stop
    return short


@compiled
def settle(cells: Floats, weighted: bool, absolute: bool) -> bool:
    """Rank whoever is pending anywhere; due after each batch, since contributor numbers start again."""
    short = False
    for cell in range(len(cells)):
        if cells[cell, PENDING] > 0 and _settle(cells, cell, weighted, absolute):
            short = True
    return short


@compiled
def _most_reached(leaf_shape: Smalls, above_start: Integers) -> int:
    most, base = 1, 0
    for d in range(len(leaf_shape)):
        widest = 1
        for leaf in range(base, base + leaf_shape[d]):
            widest = max(widest, above_start[leaf + 1] - above_start[leaf])
        base += leaf_shape[d]
        most *= widest
    return most


@compiled
def _own_rows(key: Keys, shift: np.uint64, start: int) -> tuple[int, bool]:
    """Find where a contributor's rows end, and whether all are in one leaf."""
    who = key[start] >> shift
    single = True
    stop = start + 1
    while stop < len(key) and key[stop] >> shift == who:
        single = single and key[stop] == key[start]
        stop += 1
    return stop, single


@compiled
def _add_up(key: Keys, x: Floats, w: Floats, start: int, stop: int, part: Floats) -> int:
    """Sum rows of equal key into (amount, weighted size, size, weight, rows); return where they end."""
    part[:] = 0.0
    lost = 0.0
    i = start
    while i < stop and key[i] == key[start]:
        old, new = part[0], part[0] + x[i]
        lost += (old - new) + x[i] if abs(old) >= abs(x[i]) else (x[i] - new) + old
        part[0] = new
        if len(w) > 0:
            part[1] += w[i] * abs(x[i])
            part[2] += abs(x[i])
            part[3] += w[i]
            part[4] += 1.0
        i += 1
    part[0] += lost
    return i


@compiled
def _mean_weight(weighted_size: float, size: float, weight: float, n: float) -> float:
    """Weight of a contributor: the mean over its records by size, the plain one if all are zero."""
    return float(weighted_size / size) if size > 0 else float(weight / n)


@compiled
def _reach(
    leaf: np.uint32, leaf_shape: Smalls, above: Integers, above_start: Integers, reached: Integers
) -> int:
    """Write the cells above a leaf to ``reached``; return how many."""
    base = np.int64(leaf_shape.sum())
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


@compiled
def _visit(
    flat: Floats, width: int, reached: Integers, n_reached: int, number: int, x: float, absolute: bool
) -> None:
    """Add a contributor's amount to some cells; who was pending there before is ranked first.

    The same as ``_visit_weighted`` without weights, written out: this loop is where the time goes.
    """
    for r in range(n_reached):
        row = reached[r] * width
        if flat[row + PENDING] == number:
            flat[row + PENDING + 1] += x
            continue
        if flat[row + PENDING] > 0:
            amount = flat[row + PENDING + 1]
            flat[row + COUNT] += 1.0
            flat[row + SQUARES] += amount * amount
            if absolute:
                amount = abs(amount)
                flat[row + SIZES] += amount
            place = row + width - 1
            if place >= row + FIRST and amount > flat[place]:
                while place > row + FIRST and flat[place - 1] < amount:
                    flat[place] = flat[place - 1]
                    place -= 1
                flat[place] = amount
        flat[row + PENDING] = number
        flat[row + PENDING + 1] = x


@compiled
def _visit_weighted(cells: Floats, at: int, number: int, part: Floats, absolute: bool) -> bool:
    """Add a contributor's part to a cell; who was pending there before is ranked first."""
    short = False
    if cells[at, PENDING] != number:
        if cells[at, PENDING] > 0:
            short = _settle(cells, at, True, absolute)
        cells[at, PENDING] = number
        for p in range(5):
            cells[at, PENDING + 1 + p] = part[p]
    else:
        for p in range(5):
            cells[at, PENDING + 1 + p] += part[p]
    return short


@compiled
def _settle(cells: Floats, at: int, weighted: bool, absolute: bool) -> bool:
    """Rank the pending contributor."""
    cells[at, PENDING] = 0.0
    weight = 1.0
    if weighted:
        first = PENDING + 1
        weight = _mean_weight(
            cells[at, first + 1], cells[at, first + 2], cells[at, first + 3], cells[at, first + 4]
        )
    return bool(_enter(cells, at, cells[at, PENDING + 1], weight, weighted, absolute))


@compiled
def _enter(cells: Floats, at: int, x: float, w: float, weighted: bool, absolute: bool) -> bool:
    """Enter one contributor's final amount in a cell."""
    cells[at, COUNT] += 1.0
    cells[at, SQUARES] += w * x * x
    if absolute:
        x = abs(x)
        cells[at, SIZES] += w * x
    if x <= 0.0 or w <= 0.0:
        return False
    if weighted:
        return bool(_insert_weighted(cells, at, x, w))
    _insert(cells, at, x)
    return False


@compiled
def _insert(cells: Floats, at: int, x: float) -> None:
    place = cells.shape[1] - 1
    if place < FIRST or x <= cells[at, place]:
        return
    while place > FIRST and cells[at, place - 1] < x:
        cells[at, place] = cells[at, place - 1]
        place -= 1
    cells[at, place] = x


@compiled
def _insert_weighted(cells: Floats, at: int, x: float, w: float) -> bool:
    """Insert a pair; True when one had to go although the weights kept do not fill the ranks.

    The ranks to fill stand in the last column, behind the pairs.
    """
    end = cells.shape[1] - 1
    place = end - 2
    if place < FIRST_WEIGHTED:
        return False
    dropped = cells[at, place + 1] > 0.0
    if x > cells[at, place]:
        while place > FIRST_WEIGHTED and cells[at, place - 2] < x:
            cells[at, place] = cells[at, place - 2]
            cells[at, place + 1] = cells[at, place - 1]
            place -= 2
        cells[at, place] = x
        cells[at, place + 1] = w
    if not dropped:
        return False
    kept = 0.0
    for p in range(FIRST_WEIGHTED + 1, end, 2):
        kept += cells[at, p]
    return bool(kept < cells[at, end])


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
) -> bool:
    """Merge the leaves of one variable into its codes; rows run over (before, leaf or code, after).

    Right only where no contributor is in two of the leaves.
    """
    short = False
    n_codes = len(indptr) - 1
    for b in range(before):
        for code in range(n_codes):
            for entry in range(indptr[code], indptr[code + 1]):
                for a in range(after):
                    here = (b * n_leaves + indices[entry]) * after + a
                    if source[here, COUNT] == 0.0:
                        continue
                    there = (b * n_codes + code) * after + a
                    if _merge(source, here, target, there, weighted):
                        short = True
    return short


@compiled
def _merge(source: Floats, here: int, target: Floats, there: int, weighted: bool) -> bool:
    target[there, COUNT] += source[here, COUNT]
    target[there, SQUARES] += source[here, SQUARES]
    target[there, SIZES] += source[here, SIZES]
    short = False
    if weighted:
        for p in range(FIRST_WEIGHTED, source.shape[1] - 1, 2):
            if source[here, p] <= 0.0:
                break
            if _insert_weighted(target, there, source[here, p], source[here, p + 1]):
                short = True
    else:
        for p in range(FIRST, source.shape[1]):
            if source[here, p] <= 0.0:
                break
            _insert(target, there, source[here, p])
    return short


@compiled
def fill_ranks(cells: Floats, largest: Floats) -> None:
    """Turn pairs of amount and weight into ranks: the mean amount of each unit of weight, in order."""
    for cell in range(len(cells)):
        row = cells[cell]
        p, end = FIRST_WEIGHTED, len(row) - 1
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
            largest[cell, rank] = amount
            # Rounding in the last digit must not let a later rank overtake an earlier one.
            if rank > 0 and largest[cell, rank] > largest[cell, rank - 1]:
                largest[cell, rank] = largest[cell, rank - 1]
