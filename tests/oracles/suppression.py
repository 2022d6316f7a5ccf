"""Least-cost suppression by an integer program over an explicit Benders closure, all of scipy's making.

Every attacker's problem is one ``linprog``; what its dual says about a pattern becomes a row of a ``milp``
over patterns, which is solved from scratch until its answer is safe.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize, sparse


def attacker(relations, low, high, cell, sense):
    """How far a cell can move, and the most that each cell contributes to it per unit of its room."""
    cost = np.zeros(relations.shape[1])
    cost[cell] = -sense
    problem = {"A_eq": relations, "b_eq": np.zeros(relations.shape[0]), "bounds": np.c_[-low, high]}
    answer = optimize.linprog(cost, **problem)
    if answer.status == 2:
        # Standing still is a solution: with some fractional rooms the presolve of HiGHS denies it.
        answer = optimize.linprog(cost, **problem, options={"presolve": False})
    assert answer.status == 0, answer.message
    # sense * d[cell] = -(cost - relations.T @ y) @ d for every y.
    return -answer.fun, relations.T @ answer.eqlin.marginals - cost


def shortfalls(table, need, withheld):
    """Rows ``c @ x >= level`` that a pattern, whole or not, violates: one per level it does not reach."""
    up, down = table.upper - table.value, table.value - table.lower
    alive = np.clip(withheld.astype(float), 0.0, 1.0)
    # A cell with a huge room satisfies everything at a tiny share, unless it is cut down to the level.
    far_enough = 1e4 if withheld.dtype == bool else 1.0
    rows = []
    for cell in np.flatnonzero(need.unsafe):
        for sense, level in ((1, need.upper[cell]), (-1, need.lower[cell])):
            if level <= 0:
                continue
            reach = np.minimum(down, far_enough * level) * alive, np.minimum(up, far_enough * level) * alive
            far, g = attacker(table.relations, *reach, cell, sense)
            if far < level * (1 - 1e-7):
                g = np.where(np.abs(g) < 1e-9, 0.0, g)
                with np.errstate(invalid="ignore"):
                    c = np.where(g > 0, up * g, np.where(g < 0, -down * g, 0.0))
                rows.append(np.minimum(c, level) / level)
    return rows


def least_cost(table, need, cost):
    """Return the least cost of a safe pattern; levels up and down only."""
    n = table.n_cells
    lower = need.unsafe.astype(float)
    upper = np.ones(n) if table.fixed is None else np.where(table.fixed & ~need.unsafe, 0.0, 1.0)
    rows = []
    # Points of the linear relaxation first: their rows cost no integer program.
    whole = False
    while True:
        constraints = (
            [optimize.LinearConstraint(sparse.csr_array(np.array(rows)), lb=1 - 1e-7)] if rows else []
        )
        answer = optimize.milp(
            cost, constraints=constraints, integrality=np.full(n, int(whole)),
            bounds=optimize.Bounds(lower, upper), options={"mip_rel_gap": 0.0},
        )  # fmt: skip
        assert answer.status == 0, answer.message
        withheld = answer.x > 0.5 if whole else answer.x
        new = shortfalls(table, need, withheld)
        if not whole:
            new = [row for row in new if row @ withheld < 1 - 1e-4]
            whole = not new
        elif not new:
            return float(cost[withheld].sum())
        rows += new


def costs_less(table, need, cost, than):
    """Tell whether some safe pattern costs less than this; levels up and down only, costs whole numbers.

    One integer program with a witness for every level: cells move as far as they have room where they are
    withheld, and nowhere else. Rows of the closure make it quick, and say nothing that it does not.
    """
    n, relations = table.n_cells, table.relations.tocsr()
    lower = need.unsafe.astype(float)
    upper = np.ones(n) if table.fixed is None else np.where(table.fixed & ~need.unsafe, 0.0, 1.0)
    rows, right = _nothing_alone(relations)
    while True:
        relaxed = optimize.linprog(
            cost, A_ub=-sparse.csr_array(rows), b_ub=1e-9 - right, bounds=np.c_[lower, upper]
        )
        assert relaxed.status == 0, relaxed.message
        if relaxed.fun > than - 1 + 1e-6:
            return False
        new = [row for row in shortfalls(table, need, relaxed.x) if row @ relaxed.x < 1 - 1e-4]
        if not new:
            break
        rows, right = np.vstack([rows, *new]), np.concatenate([right, np.full(len(new), 1 - 1e-7)])
    levels = [
        (cell, sense, level)
        for cell in np.flatnonzero(need.unsafe)
        for sense, level in ((1, need.upper[cell]), (-1, need.lower[cell]))
        if level > 0
    ]
    up, down = table.upper - table.value, table.value - table.lower
    low, high = np.tile(-down, (len(levels), 1)), np.tile(up, (len(levels), 1))
    for own, (cell, sense, level) in enumerate(levels):
        if sense > 0:
            low[own, cell], high[own, cell] = level, max(up[cell], level)
        else:
            high[own, cell] = -level
    every = sparse.identity(len(levels), format="csr")
    one, moves = np.ones((len(levels), 1)), n * len(levels)
    answer = optimize.milp(
        np.concatenate([cost, np.zeros(moves)]),
        constraints=[
            optimize.LinearConstraint(_beside(rows, moves), right, np.inf),
            optimize.LinearConstraint(_beside(cost[None, :], moves), ub=than - 0.5),
            optimize.LinearConstraint(_after(sparse.kron(every, relations), n), 0.0, 0.0),
            optimize.LinearConstraint(
                sparse.hstack([sparse.kron(one, -sparse.diags(up)), sparse.identity(moves)]), ub=0.0
            ),
            optimize.LinearConstraint(
                sparse.hstack([sparse.kron(one, sparse.diags(down)), sparse.identity(moves)]), lb=0.0
            ),
        ],
        integrality=np.concatenate([np.ones(n), np.zeros(moves)]),
        bounds=optimize.Bounds(np.concatenate([lower, low.ravel()]), np.concatenate([upper, high.ravel()])),
        options={"mip_rel_gap": 0.0},
    )
    assert answer.status in (0, 2), answer.message
    return answer.status == 0


def _nothing_alone(relations):
    """Rows: a cell is withheld in a sum only with another one."""
    rows = []
    for members in np.split(relations.indices, relations.indptr[1:-1]):
        for cell in members:
            row = np.zeros(relations.shape[1])
            row[members], row[cell] = 1.0, -1.0
            rows.append(row)
    return np.array(rows), np.zeros(len(rows))


def _beside(rows, moves):
    """Say something of patterns alone."""
    return sparse.hstack([sparse.csr_array(rows), sparse.csr_array((len(rows), moves))], format="csr")


def _after(rows, n):
    """Say something of witnesses alone."""
    return sparse.hstack([sparse.csr_array((rows.shape[0], n)), rows], format="csr")
