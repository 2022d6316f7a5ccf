"""Tables that are networks: every withheld cell in at most two relations, once on either side.

A two-dimensional table is one: an inner cell leaves its row and enters its column. Ends of all intervals are
then maximum flows, and whole numbers come out whole.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from hitoku.feasibility.deadline import Deadline
from hitoku.feasibility.problem import Equations, contradiction, parts
from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.model.tolerance import ADDITIVITY

# Room below this share of the largest number is rounding, where numbers are not whole.
TINY = 1e-13
# Cells between two looks at the clock, where a time limit is given.
CHUNK = 256


def sides(matrix: sparse.csr_array, group: Integers, n_groups: int) -> tuple[Mask, Floats]:
    """Find the groups of relations that are networks, and a sign per relation that shows it.

    With every relation times its sign, each cell has one entry +1 and one -1, or a single one. Two relations
    that share a cell with equal coefficients need opposite signs, with opposite ones equal signs. Each
    relation stands twice in a graph, once per sign; it fits when its two copies are not connected.
    """
    n_rows = matrix.shape[0]
    columns = matrix.T.tocsr()
    entries = np.diff(columns.indptr)
    fits = np.ones(n_groups, dtype=np.bool_)
    rows = np.repeat(np.arange(n_rows), np.diff(matrix.indptr))
    odd = (entries[matrix.indices] > 2) | (np.abs(matrix.data) != 1)
    fits[group[rows[odd]]] = False
    pairs = columns.indptr[:-1][entries == 2]
    one, other = columns.indices[pairs], columns.indices[pairs + 1]
    crossed = np.where(columns.data[pairs] == columns.data[pairs + 1], n_rows, 0)
    source = np.concatenate([one, one + n_rows])
    target = np.concatenate([other + crossed, other + n_rows - crossed])
    graph = sparse.coo_array((np.ones(len(source)), (source, target)), shape=(2 * n_rows, 2 * n_rows))
    _, copies = sparse.csgraph.connected_components(graph, directed=False)
    fits[group[copies[:n_rows] == copies[n_rows:]]] = False
    _, first = np.unique(group, return_index=True)
    root = np.zeros(n_groups, dtype=np.int64)
    root[group[first]] = first
    sign = np.where(copies[:n_rows] == copies[root[group]], 1.0, -1.0)
    return fits, sign


def stretch_network(
    equations: Equations,
    group: Integers,
    sign: Floats,
    implied: tuple[Floats, Floats],
    goals: tuple[Floats, Floats],
    deadline: Deadline,
) -> tuple[Floats, Floats, Mask]:
    """Push every cell down to its low goal and up to its high goal, or as far as it goes, by flows.

    Returns the least and largest values met, and the cells that were not reached in time.
    """
    from hitoku.kernels.flow import balance, graph_of, stretch  # noqa: PLC0415 - loads numba

    tail, head, outside = arcs(equations.matrix, group, sign)
    supply = np.zeros(len(sign) + outside.max(initial=-1) + 1)
    supply[: len(sign)] = sign * equations.rhs
    np.subtract.at(supply, len(sign) + outside, supply[: len(sign)])
    lower, upper = implied
    x = np.clip(np.zeros(len(lower)), lower, upper)
    largest = float(equations.size.max(initial=0.0))
    tiny = 0.0 if equations.exact else TINY * largest
    if equations.exact:
        # Ends are whole then, and so flows stay: a part of a unit would be lost beside a giant.
        goals = np.floor(goals[0]), np.ceil(goals[1])
    left = balance(tail, head, x, lower, upper, supply, tiny)
    if np.any(left > ADDITIVITY * largest + 2 * tiny):
        raise contradiction()
    graph = graph_of(tail, head, len(supply))
    state = (x, lower, upper, np.full(len(x), np.inf), np.full(len(x), -np.inf))
    unknown = np.zeros(len(x), dtype=np.bool_)
    step = len(x) if deadline.time_limit_s is None else CHUNK
    for first in range(0, len(x), max(step, 1)):
        last = min(first + step, len(x))
        if deadline.over:
            unknown[first:] = True
            break
        reached, looked = stretch(graph, state, *goals, first, last, tiny, deadline.work.left)
        deadline.work.add(looked)
        if reached < last:
            unknown[reached:] = True
            break
    return state[3], state[4], unknown


def arcs(matrix: sparse.csr_array, group: Integers, sign: Floats) -> tuple[Integers, Integers, Integers]:
    """Turn the cells of networks into arcs between relations, from tail to head.

    A cell in a single relation runs to a node that its group has for that. These nodes come after the
    relations; the third array tells, for every relation, which of them is its group's.
    """
    indptr, rows, coefficients = parts(matrix.T.tocsr())
    n_rows = matrix.shape[0]
    _, outside = np.unique(group, return_inverse=True)
    signed = coefficients * sign[rows]
    single = np.diff(indptr) == 1
    first, second = indptr[:-1], np.where(single, indptr[:-1], indptr[1:] - 1)
    there = np.where(single, n_rows + outside[rows[first]], rows[second])
    leaves = signed[first] > 0
    tail = np.where(leaves, rows[first], there)
    head = np.where(leaves, there, rows[first])
    return tail, head, outside
