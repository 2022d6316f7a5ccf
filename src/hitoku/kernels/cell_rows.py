"""State of the contributors of a cell in one row of numbers, so that a visit costs one cache line.

====================  =========================================================================
``row[COUNT]``        number of contributors
``row[SQUARES:]``     sum of weight * amount**2 over them: an integer of two words, see fixed_point
``row[PENDING:]``     the contributor being added up: its number, then its parts, see topk
                      (number and amount only, when there are no weights)
then                  the largest amounts, descending; each followed by its weight if there are weights
at the end            sum of weight * |amount|, two words, kept only when amounts are ranked by size
====================  =========================================================================

The state does not depend on the order of contributors: sums are integers, and equal pairs do not differ.
States of parts of the records, each contributor in one part, may therefore be merged in any order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled, inlined
from hitoku.kernels.fixed_point import BITS, LOW

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

COUNT, SQUARES = range(2)
PENDING = SQUARES + 2
# Where the largest amounts start: after a number and an amount, or a number and N_PARTS parts.
FIRST, FIRST_WEIGHTED = PENDING + 2, PENDING + 6


@inlined
def insert(row: Floats, end: int, x: float) -> None:
    place = end - 1
    if place < FIRST or x <= row[place]:
        return
    while place > FIRST and row[place - 1] < x:
        row[place] = row[place - 1]
        place -= 1
    row[place] = x


@inlined
def insert_weighted(row: Floats, end: int, x: float, w: float) -> None:
    """Insert a pair; equal amounts are sorted by weight, so that the order of arrival does not matter."""
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

    No contributor may be in two of the leaves.
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
    """Merge rows of one state into given rows of another; no contributor may be pending.

    No contributor may be in both.
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
            insert_weighted(target, end, source[p], source[p + 1])
    else:
        for p in range(FIRST, end):
            if source[p] <= 0.0:
                break
            insert(target, end, source[p])


@inlined
def _merge_words(source: Integers, target: Integers, at: int) -> None:
    low = target[at + 1] + source[at + 1]
    target[at] += source[at] + (low >> BITS)
    target[at + 1] = low & LOW


@compiled
def fill_ranks(cells: Floats, end: int, largest: Floats) -> bool:
    """Turn pairs of amount and weight into ranks: the mean amount of each unit of weight, in order.

    The last pair fills no rank; it shows that there are more. Returns whether ranks before it remain open.
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
