"""Tables that are networks: every withheld cell in at most two relations, once on either side.

A two-dimensional table is one: an inner cell leaves its row and enters its column. Ends of all intervals are
then maximum flows, and whole numbers come out whole.
"""

from __future__ import annotations

import numpy as np

from hitoku.feasibility.incidence import Incidence
from hitoku.feasibility.problem import Problem, contradiction
from hitoku.model import ADDITIVITY, ROUNDING, Floats, Integers, Mask
from hitoku.solver.work import Deadline


def stretch_network(
    equations: Problem,
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

    tail, head, outside = arcs(Incidence.of(equations.matrix), group, sign)
    supply = np.zeros(len(sign) + outside.max(initial=-1) + 1)
    supply[: len(sign)] = sign * equations.rhs
    np.subtract.at(supply, len(sign) + outside, supply[: len(sign)])
    lower, upper = implied
    x = np.clip(np.zeros(len(lower)), lower, upper)
    largest = float(equations.size.max(initial=0.0))
    tiny = 0.0 if equations.exact else ROUNDING * largest
    if equations.exact:
        # Ends are whole then, and so flows stay: a part of a unit would be lost beside a giant.
        goals = np.floor(goals[0]), np.ceil(goals[1])
    left = balance(tail, head, x, lower, upper, supply, tiny)
    if np.any(left > ADDITIVITY * largest + 2 * tiny):
        raise contradiction()
    graph = graph_of(tail, head, len(supply))
    state = (x, lower, upper, np.full(len(x), np.inf), np.full(len(x), -np.inf))
    unknown = np.zeros(len(x), dtype=np.bool_)
    # With a time limit the clock is read after every 256 cells.
    step = len(x) if deadline.time_limit_s is None else 256
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


def arcs(relations: Incidence, group: Integers, sign: Floats) -> tuple[Integers, Integers, Integers]:
    """Turn the cells of networks into arcs between relations, from tail to head.

    A cell in a single relation runs to a node that its group has for that. These nodes come after the
    relations; the third array tells, for every relation, which of them is its group's.
    """
    indptr, rows, coefficients = relations.by_cell
    n_rows = relations.n_rows
    _, outside = np.unique(group, return_inverse=True)
    signed = coefficients * sign[rows]
    single = np.diff(indptr) == 1
    first, second = indptr[:-1], np.where(single, indptr[:-1], indptr[1:] - 1)
    there = np.where(single, n_rows + outside[rows[first]], rows[second])
    leaves = signed[first] > 0
    tail = np.where(leaves, rows[first], there)
    head = np.where(leaves, there, rows[first])
    return tail, head, outside
