"""Secondary suppression by Gaussian elimination: two passes over the candidates, modulo a prime.

A hidden cell is exposed if its column of the relations is independent of the other hidden columns.
*Backward*, from the last candidate to the first, a basis of the hidden columns grows until every unsafe cell
is part of a dependency of some other column: all candidates before that point can be published. *Forward*
from there, a basis of the remaining null space shows for each candidate whether publishing it would expose an
unsafe cell. Randomised tests are wrong with a probability of about 2**-61 each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.basis import (
    dot,
    express_column,
    extend_basis,
    less,
    longer,
    propagate_changes,
    push,
    reduce_column,
    subtract_column,
    update_products,
)
from hitoku.kernels.compiled import compiled
from hitoku.kernels.residues import _mix, inverse, multiply

Integers = NDArray[np.int64]
Residues = NDArray[np.uint64]
Mask = NDArray[np.bool_]

_61 = np.uint64(61)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_NONE = np.int64(0)  # not a literal 0: see basis.py


@compiled
def _cover_watched(pos: int, n: int, opened: Any, last: Integers, space: Any, sums: Any, c: Any) -> Any:
    """Mark the watched cells of a dependency as covered; return their number, and the heap of changes."""
    prime = (_ONE << _61) - c
    _, _, heap, found, _, _ = space
    total, mark = sums
    closed, size = _NONE, _NONE
    for k in range(n):
        j = found[k]
        if opened[j] != _ZERO:
            total[j] = prime - opened[j]
            mark[j] = True
            size = push(heap, size, j)
            opened[j] = _ZERO
            last[j] = pos
            closed += 1
    return closed, size


@compiled
def backward(
    columns: Any,
    spread: Integers,
    order: Integers,
    moves: int,
    start: Any,
    opened: Residues,
    free: int,
    space: Any,
    c: Any,
    seed: Any,
) -> Any:
    """Grow the basis from the last candidate to the first until every watched cell is covered.

    ``start`` is the result of :func:`fixed_basis`; ``opened`` has a random number for each watched basis
    column and zero elsewhere; ``free`` counts dependent columns so far. Returns the index in the order from
    which candidates have to be tested, the basis, and the index at which each watched column was covered
    (-1: not covered).
    """
    n, basis, number, crowd, _ = start
    prime = (_ONE << _61) - c
    limit = len(basis[3])
    sums = (np.zeros(limit, dtype=np.uint64), np.zeros(limit, dtype=np.bool_))
    changes = np.zeros((limit, 2), dtype=np.uint64)
    last = np.full(limit, -1, dtype=np.int64)
    weights = np.zeros((limit, 1), dtype=np.uint64)
    # Over the rows: a random vector orthogonal to the basis, and therefore to dependent columns; and a vector
    # whose product with a dependent column is nonzero if that column covers a watched one.
    vectors = np.zeros((len(spread), 2), dtype=np.uint64)
    for row in range(len(spread)):
        vectors[row, 0] = _mix(np.uint64(row + 1) ^ ((seed + _ONE) << np.uint64(32))) % prime
    n_open = _NONE
    for j in range(n):
        n_open += opened[j] != _ZERO
        weights[j, 0] = multiply(subtract_column(basis[2], j, weights, 0, opened[j], c), basis[3][j], c)
    for j in range(n - 1, -1, -1):
        row = basis[0][0][j]
        vectors[row, 0] = subtract_column(basis[1], j, vectors, 0, _ZERO, c)
        vectors[row, 1] = subtract_column(basis[1], j, vectors, 1, weights[j, 0], c)
    stop = len(order)
    while stop > 0 and (n_open > 0 or free < moves):
        stop -= 1
        element = order[stop]
        if dot(element, columns, vectors, 0, c) != _ZERO:
            n_found, n_rest = reduce_column(element, columns, basis[0], basis[1], space, c)
            basis = extend_basis(n, n_found, n_rest, basis, (crowd, spread), space, c)
            number[element] = n
            row = basis[0][0][n]
            weights[n, 0] = multiply(subtract_column(basis[2], n, weights, 0, _ZERO, c), basis[3][n], c)
            changes[n, 0] = less(subtract_column(basis[1], n, vectors, 0, _ZERO, c), vectors[row, 0], prime)
            changes[n, 1] = weights[n, 0]
            size = push(space[2], _NONE, -n)
            propagate_changes(vectors, size, basis[0][0], basis[1], changes, sums[1], space, c)
            n += 1
            continue
        free += 1
        if dot(element, columns, vectors, 1, c) != _ZERO:
            n_found, _ = reduce_column(element, columns, basis[0], basis[1], space, c)
            n_found = express_column(n_found, basis[2], basis[3], sums, space, c)
            closed, size = _cover_watched(stop, n_found, opened, last, space, sums, c)
            n_open -= closed
            size = update_products(size, weights, basis[2], basis[3], sums, changes, space, c)
            propagate_changes(vectors, size, basis[0][0], basis[1], changes, sums[1], space, c)
    return stop, n, basis, last, free


@compiled
def _enter(slot: int, j: int, value: Any, freedom: Any, chains: Any, n_chained: int, end: int) -> Any:
    """Add an entry to row j of the null-space basis; a full row moves behind the others."""
    start, length, capacity, slots, values = freedom
    head, count, following, row_of = chains
    if length[j] == capacity[j]:
        wanted = 2 * capacity[j] + 2
        if end + wanted > len(slots):
            slots, values = longer(slots, 2 * (end + wanted)), longer(values, 2 * (end + wanted))
        for k in range(length[j]):
            slots[end + k] = slots[start[j] + k]
            values[end + k] = values[start[j] + k]
        start[j], capacity[j] = end, wanted
        end += wanted
    slots[start[j] + length[j]] = slot
    values[start[j] + length[j]] = value
    length[j] += 1
    if n_chained == len(following):
        following, row_of = longer(following, 2 * n_chained), longer(row_of, 2 * n_chained)
    following[n_chained] = head[slot]
    row_of[n_chained] = j
    head[slot] = n_chained
    count[slot] += 1
    return (start, length, capacity, slots, values), (head, count, following, row_of), n_chained + 1, end


@compiled
def _entry(j: int, slot: int, freedom: Any) -> Any:
    """Return the entry of row j in a slot; zero if it has none."""
    start, length, _, slots, values = freedom
    for k in range(start[j], start[j] + length[j]):
        if slots[k] == slot:
            return values[k]
    return _ZERO


@compiled
def _exposes(
    j: int, slot: int, pos: int, freedom: Any, chains: Any, last: Integers, dense: Residues, c: Any
) -> bool:
    """Return whether publishing j would expose a watched cell, whose row is a multiple of row j.

    ``dense`` holds row j, divided by its entry in ``slot``.
    """
    start, length, _, slots, values = freedom
    head, _, following, row_of = chains
    chained = head[slot]
    while chained >= 0:
        i = row_of[chained]
        chained = following[chained]
        if i == j or last[i] < 0 or last[i] > pos or length[i] != length[j]:
            continue
        factor = _entry(i, slot, freedom)
        if factor == _ZERO:
            continue
        same = True
        for k in range(start[i], start[i] + length[i]):
            if values[k] != multiply(factor, dense[slots[k]], c):
                same = False
                break
        if same:
            return True
    return False


@compiled
def _subtract(
    i: int, factor: Any, freedom: Any, count: Integers, dense: Residues, seen: Integers, c: Any
) -> None:
    """Subtract a multiple of ``dense`` from row i in the slots that both have; mark those slots with i."""
    prime = (_ONE << _61) - c
    start, length, _, slots, values = freedom
    to = start[i]
    for k in range(start[i], start[i] + length[i]):
        place, value = slots[k], values[k]
        if dense[place] != _ZERO:
            seen[place] = i
            value = less(value, multiply(factor, dense[place], c), prime)
        if value == _ZERO:
            count[place] -= 1
        else:
            slots[to] = place
            values[to] = value
            to += 1
    length[i] = to - start[i]


@compiled
def _publish(j: int, slot: int, own: Integers, state: Any, dense: Residues, seen: Integers, c: Any) -> Any:
    """Publish row j: eliminate one of its slots from all other rows."""
    prime = (_ONE << _61) - c
    freedom, chains, n_chained, end = state
    chained = chains[0][slot]
    while chained >= 0:
        i = chains[3][chained]
        chained = chains[2][chained]
        factor = _ZERO if i == j else _entry(i, slot, freedom)
        if factor == _ZERO:
            continue
        _subtract(i, factor, freedom, chains[1], dense, seen, c)
        for place in own:
            if seen[place] != i:
                value = less(_ZERO, multiply(factor, dense[place], c), prime)
                freedom, chains, n_chained, end = _enter(place, i, value, freedom, chains, n_chained, end)
    for place in own:
        seen[place] = -1
    return freedom, chains, n_chained, end


@compiled
def _test_candidate(
    j: int, pos: int, spare: bool, state: Any, last: Integers, dense: Residues, seen: Integers, c: Any
) -> Any:
    """Publish basis column j unless that exposes a watched cell; return whether, and the new state."""
    freedom, chains, _, _ = state
    start, length, _, slots, values = freedom
    own = slots[start[j] : start[j] + length[j]].copy()
    best = own[0]
    for place in own:
        if chains[1][place] < chains[1][best]:
            best = place
    scale = inverse(_entry(j, best, freedom), c)
    for k in range(start[j], start[j] + length[j]):
        dense[slots[k]] = multiply(values[k], scale, c)
    given = spare and not _exposes(j, best, pos, freedom, chains, last, dense, c)
    if given:
        state = _publish(j, best, own, state, dense, seen, c)
    for place in own:
        dense[place] = _ZERO
        chains[1][place] -= 1
    length[j] = 0
    return given, state


@compiled
def _rows_needed(order: Integers, stop: int, n: int, number: Integers, last: Integers) -> Any:
    """Return which basis columns need a row, and lists of watched ones by where they were covered."""
    relevant = np.zeros(n, dtype=np.bool_)
    due = np.full(len(order) - stop + 1, -1, dtype=np.int64)
    next_due = np.empty(n, dtype=np.int64)
    for j in range(n):
        if last[j] >= 0:
            relevant[j] = True
            next_due[j] = due[last[j] - stop]
            due[last[j] - stop] = j
    n_slots = 1
    for pos in range(stop, len(order)):
        if number[order[pos]] >= 0:
            relevant[number[order[pos]]] = True
        else:
            n_slots += 1
    return relevant, due, next_due, n_slots


@compiled
def _empty_state(n: int, n_slots: int) -> Any:
    """Return empty rows: start, length, capacity, slots, values; and by slot head, count, next, row."""
    n_entries = 4 * n + 16
    freedom = (
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.empty(n_entries, dtype=np.int64),
        np.empty(n_entries, dtype=np.uint64),
    )
    chains = (
        np.full(n_slots, -1, dtype=np.int64),
        np.zeros(n_slots, dtype=np.int64),
        np.empty(n_entries, dtype=np.int64),
        np.empty(n_entries, dtype=np.int64),
    )
    return freedom, chains, _NONE, _NONE


@compiled
def forward(
    columns: Any,
    order: Integers,
    stop: int,
    moves: int,
    n: int,
    basis: Any,
    number: Integers,
    last: Integers,
    free: int,
    space: Any,
    c: Any,
) -> tuple[Mask, int]:
    """Test the remaining candidates; return which stay hidden, and the remaining null-space dimension.

    ``number`` is the number of each element in the basis. The null space is spanned by the dependencies of
    hidden columns outside the basis, one slot each; every watched or untested basis column has a row.
    """
    sums = (np.zeros(len(basis[3]), dtype=np.uint64), np.zeros(len(basis[3]), dtype=np.bool_))
    hidden = np.zeros(len(order), dtype=np.bool_)
    relevant, due, next_due, n_slots = _rows_needed(order, stop, n, number, last)
    state = _empty_state(n, n_slots)
    dense = np.zeros(n_slots, dtype=np.uint64)
    seen = np.full(n_slots, -1, dtype=np.int64)
    slot = _NONE
    for pos in range(stop, len(order)):
        j = number[order[pos]]
        if j >= 0:
            relevant[j] = False
            if state[0][1][j] > 0:  # otherwise it follows from published cells
                given, state = _test_candidate(j, pos, free > moves, state, last, dense, seen, c)
                hidden[pos] = not given
                free -= given
            continue
        needed = free <= moves
        watched = due[pos - stop]
        while watched >= 0 and not needed:
            needed = state[0][1][watched] == 0
            watched = next_due[watched]
        if not needed:
            free -= 1
            continue
        hidden[pos] = True
        n_found, _ = reduce_column(order[pos], columns, basis[0], basis[1], space, c)
        n_found = express_column(n_found, basis[2], basis[3], sums, space, c)
        for k in range(n_found):
            i = space[3][k]
            if relevant[i]:
                state = _enter(slot, i, space[4][k], state[0], state[1], state[2], state[3])
        slot += 1
    return hidden, free
