"""Largest contributions, number of contributors and sums of squares of every marginal, exactly.

A contributor that occurs in one leaf cell only adds the same amount to every marginal above that leaf, so
such contributors are collected per leaf and merged upward. All others are followed to every cell above any of
their leaves, where their amounts are added before they are ranked.

The state of a cell is a row of :mod:`hitoku.kernels.cell_rows`. ``fine`` are the powers of two by which
numbers are multiplied before they are added, as named below.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.cell_rows import COUNT, FIRST, PENDING, SQUARES, insert, insert_weighted
from hitoku.kernels.compiled import compiled, inlined
from hitoku.kernels.fixed_point import plus, plus_square, round_to_double

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]
Integers = NDArray[np.int64]
Smalls = NDArray[np.uint32]

# Parts of a contributor that has a weight.
AMOUNT, WEIGHTED_SIZE, SIZE, WEIGHT, RECORDS = range(5)
N_PARTS = RECORDS + 1
# Indices of ``fine``: amounts, weight * size, sizes, weights; the square root of that of squares (0: amounts
# are integers and their squares exact); and sums of weight * |amount|.
FINE_AMOUNT, FINE_WEIGHTED, FINE_SIZE, FINE_WEIGHT, FINE_ROOT, FINE_SIZES = range(6)


@compiled
def add_up(key: Keys, x: Floats, w: Floats, fine: Floats, parts: Floats) -> int:
    """Add up adjacent rows of equal key; write sums and keys to the front of the arrays, return their count.

    The sums do not depend on the order of rows with the same key.

    Parameters
    ----------
    parts
        Output: a number each for sums of amounts (may be ``x``), or with weights a row of ``N_PARTS``.
    """
    n = len(key)
    start, n_runs = 0, 0
    while start < n:
        stop = start + 1
        while stop < n and key[stop] == key[start]:
            stop += 1
        if parts.ndim == 1:
            parts[n_runs] = _sum(x, start, stop, fine) if stop > start + 1 else x[start]
        else:
            _add_weighted(x, w, start, stop, fine, parts[n_runs])
        key[n_runs] = key[start]
        n_runs += 1
        start = stop
    return n_runs


@inlined
def _sum(x: Floats, start: int, stop: int, fine: Floats) -> float:
    high, low = np.int64(0), np.int64(0)
    for i in range(start, stop):
        high, low = plus(high, low, x[i] * fine[FINE_AMOUNT])
    return float(round_to_double(high, low) / fine[FINE_AMOUNT])


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
        part[which] = round_to_double(high, low) / fine[which]
    part[4] = stop - start


@compiled
def rank_records(key: Keys, x: Floats, w: Floats, absolute: bool, fine: Floats, leaves: Floats) -> None:
    """Enter records, each of which is a contributor; keys are leaves."""
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
    """Enter contributors, one sorted row for each of their leaves: key = contributor << leaf_bits | leaf.

    Contributors of one leaf are entered in ``leaves``, all others in every cell of ``cells`` above one of
    their leaves. Threads may share ``cells`` if each has different codes in ``above``; one of them gets
    ``leaves``, the others an empty array.

    Parameters
    ----------
    parts
        Output of :func:`add_up`: an amount each, or with weights a row.
    above, above_start
        For every leaf of every variable, the codes above it, including itself, as strides through the cells.
    """
    n = len(key)
    shift, mask = np.uint64(leaf_bits), np.uint64((1 << leaf_bits) - 1)
    reached = np.empty(_most_reached(leaf_shape, above_start), dtype=np.int64)
    touched = np.empty(len(reached))
    flat, flat_leaves = cells.reshape(-1), leaves.reshape(-1)
    flat_words, flat_leaf_words = flat.view(np.int64), flat_leaves.view(np.int64)
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
                leaf = np.int64(key[start] & mask)
                if parts.ndim == 1:
                    row = leaf * leaves.shape[1]
                    _rank(flat_leaves, flat_leaf_words, row, leaves.shape[1], parts[start], absolute, fine)
                else:
                    weight = _mean_weight(parts[start], 1)
                    _enter(leaves, leaf_words, leaf, parts[start, 0], weight, True, absolute, fine)
            start = stop
            continue
        for i in range(start, stop):
            n_reached = _reach(np.uint32(key[i] & mask), leaf_shape, above, above_start, reached)
            # Cells are far apart in memory: reading all of them first lets the processor prefetch them.
            for r in range(n_reached):
                touched[r] = flat[reached[r] * cells.shape[1]]
            if parts.ndim == 1:
                _visit(flat, flat_words, cells.shape[1], reached, n_reached, number, parts[i], absolute, fine)
            else:
                for r in range(n_reached):
                    _visit_weighted(cells, cell_words, reached[r], number, parts[i], absolute, fine)
        start = stop


@compiled
def settle(cells: Floats, parts: Floats, absolute: bool, fine: Floats) -> None:
    """Rank all pending contributors; called after each batch, because numbers of contributors start again.

    ``parts`` are those of the batch; their dimension shows whether there are weights.
    """
    words = cells.view(np.int64)
    flat, width = cells.reshape(-1), cells.shape[1]
    flat_words = flat.view(np.int64)
    for cell in range(len(cells)):
        if cells[cell, PENDING] > 0:
            if parts.ndim == 1:
                cells[cell, PENDING] = 0.0
                _rank(flat, flat_words, cell * width, width, cells[cell, PENDING + 1], absolute, fine)
            else:
                _settle(cells, words, cell, absolute, fine)


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
    """Return the weight of a contributor: the mean over its records by size, unweighted if all are zero.

    From ``first`` on the row holds weight * size, size, weight and number of records.
    """
    size = row[first + 1]
    return float(row[first] / size) if size > 0 else float(row[first + 2] / row[first + 3])


@inlined
def _reach(
    leaf: np.uint32, leaf_shape: Smalls, above: Integers, above_start: Integers, reached: Integers
) -> int:
    """Write the cells above a leaf to ``reached``; return their number."""
    base = np.int64(0)
    for d in range(len(leaf_shape)):
        base += leaf_shape[d]
    reached[0] = 0
    n_reached = 1
    for d in range(len(leaf_shape) - 1, -1, -1):
        base -= leaf_shape[d]
        rest = leaf // leaf_shape[d]  # in 32 bits: a 64-bit division takes twice as long
        own = base + leaf - rest * leaf_shape[d]
        leaf = rest
        start, stop = above_start[own], above_start[own + 1]
        # In reverse, so that the first block is overwritten last.
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
    """Add a contributor's amount to some cells; other pending contributors are ranked first.

    The same as ``_visit_weighted`` without weights, written separately because most time is spent here.
    """
    for r in range(n_reached):
        row = reached[r] * width
        if flat[row + PENDING] == number:
            flat[row + PENDING + 1] += x
            continue
        if flat[row + PENDING] > 0:
            _rank(flat, words, row, width, flat[row + PENDING + 1], absolute, fine)
        flat[row + PENDING] = number
        flat[row + PENDING + 1] = x


@inlined
def _rank(
    flat: Floats, words: Integers, row: int, width: int, x: float, absolute: bool, fine: Floats
) -> None:
    """Enter one contributor's final amount, without weights, in the cell whose row starts at an index."""
    flat[row + COUNT] += 1.0
    _add_square(words, row + SQUARES, x, 1.0, fine[FINE_ROOT])
    end = row + width
    if absolute:
        x = abs(x)
        end -= 2
        _add(words, end, x * fine[FINE_SIZES])
    place = end - 1
    if place >= row + FIRST and x > flat[place]:
        while place > row + FIRST and flat[place - 1] < x:
            flat[place] = flat[place - 1]
            place -= 1
        flat[place] = x


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
    """Add a contributor's part to a cell; another pending contributor is ranked first."""
    if cells[at, PENDING] != number:
        if cells[at, PENDING] > 0:
            _settle(cells, words, at, absolute, fine)
        cells[at, PENDING] = number
        for p in range(N_PARTS):
            cells[at, PENDING + 1 + p] = part[p]
    else:
        for p in range(N_PARTS):
            cells[at, PENDING + 1 + p] += part[p]


@inlined
def _settle(cells: Floats, words: Integers, at: int, absolute: bool, fine: Floats) -> None:
    """Rank the pending contributor, with weights."""
    cells[at, PENDING] = 0.0
    weight = _mean_weight(cells[at], PENDING + 2)
    _enter(cells, words, at, cells[at, PENDING + 1], weight, True, absolute, fine)


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
        insert_weighted(cells[at], end, x, w)
    else:
        insert(cells[at], end, x)
