"""Presolve kernels: singleton relations, bound propagation, components with network signs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled, inlined

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
# CSR arrays, or CSC arrays by column: start of each line, indices, coefficients.
Lines = tuple[Integers, Integers, Floats]


@inlined
def _places(mask: Mask, places: Integers) -> int:
    """Write the indices at which a mask holds; return their number."""
    n = 0
    for place in range(len(mask)):
        if mask[place]:
            places[n] = place
            n += 1
    return n


@compiled
def peel(
    rows: Lines,
    columns: Lines,
    rhs: Floats,
    value: Floats,
    known: Mask,
    row_of: Integers,
) -> Integers:
    """Determine cells that are alone in a relation until there are none, in place.

    Returns the known cells in the order in which they became known, starting with those known before.

    Parameters
    ----------
    rows, columns
        The matrix by rows and by columns.
    rhs
        Right-hand sides, from which known terms are subtracted.
    value, known
        Values of known columns; those known before have not been subtracted yet.
    row_of
        The relation that determined a column; unchanged for the others.
    """
    indptr, indices, data = rows
    t_indptr, t_indices, t_data = columns
    n_rows, n_columns = len(indptr) - 1, len(t_indptr) - 1
    n_open = indptr[1:] - indptr[:-1]
    alone = np.empty(n_rows, dtype=np.int64)  # rows with a single open cell, each at most once
    last = _places(n_open == 1, alone)
    cells = np.empty(n_columns, dtype=np.int64)
    n_cells = _places(known, cells)
    moved, first = 0, 0
    while True:
        while moved < n_cells:
            j = cells[moved]
            moved += 1
            for k in range(t_indptr[j], t_indptr[j + 1]):
                i = t_indices[k]
                rhs[i] -= t_data[k] * value[j]
                n_open[i] -= 1
                if n_open[i] == 1:
                    alone[last] = i
                    last += 1
        if first == last:
            return cells[:n_cells]
        i = alone[first]
        first += 1
        k = indptr[i]
        while k < indptr[i + 1] and known[indices[k]]:
            k += 1
        if k < indptr[i + 1]:
            j = indices[k]
            value[j] = rhs[i] / data[k]
            known[j] = True
            row_of[j] = i
            cells[n_cells] = j
            n_cells += 1


@inlined
def _span(a: float, low: float, high: float) -> tuple[float, float]:
    """Return the bounds of ``a * x`` for x between two bounds."""
    return (a * low, a * high) if a > 0 else (a * high, a * low)


@inlined
def _others(total: float, n_open: int, own: float) -> float:
    """Return the bound of the other terms' sum, from the finite sum and the number of infinite terms."""
    if n_open == 0:
        return total - own
    return total if n_open == 1 and np.isinf(own) else np.inf


@inlined
def _narrow(j: int, low: float, high: float, lower: Floats, upper: Floats, slack: Floats) -> int:
    """Narrow the bounds of one cell; return 1 if they changed, 0 if not, -1 if they cross by more than slack.

    Bounds that cross by rounding are made equal: otherwise they would push their neighbours further apart in
    every round.
    """
    if low > upper[j] + slack[j] or high < lower[j] - slack[j]:
        return -1
    low, high = min(low, upper[j]), max(high, lower[j])
    changed = low > lower[j] or high < upper[j]
    lower[j] = max(lower[j], low)
    if high < upper[j]:
        upper[j] = max(high, lower[j])
    return int(changed)


@inlined
def _tighten(
    row: tuple[Integers, Floats],
    rhs: float,
    lower: Floats,
    upper: Floats,
    slack: Floats,
    rounding: float,
    news: Mask,
) -> int:
    """Tighten the bounds of the cells of one relation and mark changed cells; returns as :func:`_narrow`."""
    indices, data = row
    least, most, open_least, open_most = 0.0, 0.0, 0, 0
    for k in range(len(indices)):
        low, high = _span(data[k], lower[indices[k]], upper[indices[k]])
        if np.isinf(low):
            open_least += 1
        else:
            least += low
        if np.isinf(high):
            open_most += 1
        else:
            most += high
    changed = 0
    # Subtracting a large term from a sum leaves the rounding error of the large one.
    error = rounding * max(abs(least), abs(most))
    for k in range(len(indices)):
        j = indices[k]
        low, high = _span(data[k], lower[j], upper[j])
        ceiling = rhs - _others(least, open_least, low) + error  # minus infinity stands for unknown
        floor = rhs - _others(most, open_most, high) - error
        ceiling = np.inf if np.isinf(ceiling) else ceiling
        new_low, new_high = _span(1.0 / data[k], floor, ceiling)
        answer = _narrow(j, new_low, new_high, lower, upper, slack)
        if answer < 0:
            return -1
        if answer > 0:
            changed, news[j] = 1, True
    return changed


@compiled
def propagate(
    indptr: Integers,
    indices: Integers,
    data: Floats,
    rhs: Floats,
    lower: Floats,
    upper: Floats,
    slack: Floats,
    rounding: float,
    rounds: int,
) -> bool:
    """Tighten bounds, in place, by one relation at a time.

    ``rounding`` is the share of each sum allowed for rounding; zero for whole numbers. Returns False if the
    bounds of a cell cross by more than its slack: then no point is feasible.
    """
    news = np.zeros(len(lower), dtype=np.bool_)
    for _ in range(rounds):
        changed = 0
        for i in range(len(indptr) - 1):
            row = (indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]])
            answer = _tighten(row, rhs[i], lower, upper, slack, rounding, news)
            if answer < 0:
                return False
            changed = max(changed, answer)
        if changed == 0:
            break
    return True


@compiled
def propagate_from(
    rows: Lines,
    columns: Lines,
    changed: Integers,
    lower: Floats,
    upper: Floats,
    slack: Floats,
    rounding: float,
    rounds: int,
) -> Integers:
    """Tighten bounds, in place, by the relations of changed cells, round by round.

    Right-hand sides are zero. Returns the cells that changed, sorted.
    """
    indptr, indices, data = rows
    begins, users, _ = columns
    news, learnt = np.zeros(len(lower), dtype=np.bool_), np.zeros(len(lower), dtype=np.bool_)
    listed = np.zeros(len(indptr) - 1, dtype=np.bool_)
    now = np.empty(len(listed), dtype=np.int64)
    for _ in range(rounds):
        n = 0
        for j in changed:
            for k in range(begins[j], begins[j + 1]):
                if not listed[users[k]]:
                    listed[users[k]], now[n] = True, users[k]
                    n += 1
        for i in now[:n]:
            listed[i] = False
            part = slice(indptr[i], indptr[i + 1])
            _tighten((indices[part], data[part]), 0.0, lower, upper, slack, rounding, news)
        changed = np.flatnonzero(news)
        if len(changed) == 0:
            break
        learnt[changed] = True
        news[:] = False
    return np.flatnonzero(learnt)


@compiled
def _root(parent: Integers, turn: Integers, row: int) -> tuple[int, int]:
    """Return the root of a row and its sign relative to it; compresses the path."""
    root, sign = row, 1
    while parent[root] != root:
        sign *= turn[root]
        root = parent[root]
    node, left = row, sign
    while parent[node] != root and node != root:
        above, own = parent[node], turn[node]
        parent[node], turn[node] = root, left
        node, left = above, left * own
    return root, sign


@compiled
def _label_components(parent: Integers, turn: Integers, odd: Mask, columns: Lines) -> Any:
    """Label components by their first relation, then cells without one; signs are relative to the first."""
    indptr, indices, _ = columns
    n_rows, n_cells = len(parent), len(indptr) - 1
    label, first = np.full(n_rows, -1), np.ones(n_rows, dtype=np.int64)
    of_row, of_cell = np.empty(n_rows, dtype=np.int64), np.empty(n_cells, dtype=np.int64)
    signs, network = np.empty(n_rows), np.ones(n_rows + n_cells, dtype=np.bool_)
    n = 0
    for i in range(n_rows):
        root, sign = _root(parent, turn, i)
        if label[root] < 0:
            label[root], first[root], network[n] = n, sign, not odd[root]
            n += 1
        of_row[i], signs[i] = label[root], sign * first[root]
    for j in range(n_cells):
        if indptr[j] < indptr[j + 1]:
            of_cell[j] = of_row[indices[indptr[j]]]
        else:
            of_cell[j] = n
            n += 1
    return n, of_row, of_cell, network[:n], signs


@compiled
def signed_parts(n_rows: int, columns: Lines) -> Any:
    """Find connected components, and which of them are networks, by union-find with parity.

    A component is a network when signs of its relations give every cell one entry +1 and one -1, or a single
    one: two relations that share a cell with equal coefficients need opposite signs, with opposite
    coefficients equal ones.

    Returns
    -------
    The number of components; the component of each relation and of each cell (cells without a relation are
    components of their own, numbered last); which components are networks; a sign per relation, positive for
    the first of its component.
    """
    indptr, indices, data = columns
    n_cells = len(indptr) - 1
    parent, turn = np.arange(n_rows), np.ones(n_rows, dtype=np.int64)
    odd = np.zeros(n_rows, dtype=np.bool_)
    for j in range(n_cells):
        begin, end = indptr[j], indptr[j + 1]
        if begin == end:
            continue
        plain = end - begin <= 2 and abs(data[begin]) == 1 and abs(data[end - 1]) == 1
        opposite = -1 if data[begin] * data[end - 1] > 0 else 1
        for k in range(begin + 1, end):
            one, sign = _root(parent, turn, indices[begin])
            other, own = _root(parent, turn, indices[k])
            if one != other:
                parent[other], turn[other] = one, opposite * sign * own
                odd[one] |= odd[other]
            elif plain and opposite * sign != own:
                odd[one] = True
        if not plain:
            odd[_root(parent, turn, indices[begin])[0]] = True
    return _label_components(parent, turn, odd, columns)
