"""Adjustment, slowly: every choice of senses, every whole-number table, optimality conditions by hand."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import linprog

from hitoku.model import add_up


def closest_l1(relations, weight, lower, upper):
    """Least weighted L1 distance by scipy on rises and falls; None when there is no table."""
    n = len(weight)
    relations = np.asarray(relations.todense() if hasattr(relations, "todense") else relations)
    ends = [*zip(lower, upper, strict=True)]
    bounds = [(max(low, 0), None if np.isinf(high) else max(high, 0)) for low, high in ends]
    bounds += [(max(-high, 0), None if np.isinf(low) else max(-low, 0)) for low, high in ends]
    found = linprog(
        np.tile(weight, 2),
        A_eq=np.hstack([relations, -relations]),
        b_eq=np.zeros(len(relations)),
        bounds=bounds,
    )
    if found.status != 0:
        return None
    return found.fun, found.x[:n] - found.x[n:]


def every_sense(unsafe):
    """All ways to send unsafe cells up (1) or down (-1)."""
    cells = np.flatnonzero(unsafe)
    for choice in itertools.product([1.0, -1.0], repeat=len(cells)):
        sense = np.zeros(len(unsafe))
        sense[cells] = choice
        yield sense


def within(table, need, sense):
    """Formula (5) of Castro (2012)."""
    lower, upper = table.lower - table.value, table.upper - table.value
    lower = np.where(sense > 0, need.upper, lower)
    upper = np.where(sense < 0, -need.lower, upper)
    return lower, upper


def whole_tables(table, reach):
    """All additive whole-number tables whose inner cells differ by at most ``reach``, as differences."""
    shape = [len(d.leaves) for d in table.dimensions]
    for moves in itertools.product(range(-reach, reach + 1), repeat=int(np.prod(shape))):
        yield add_up(np.array(moves).reshape(shape), table.dimensions)


def kkt_violation(relations, weight, lower, upper, deviation, duals, norm):
    """Largest violation of the optimality conditions, each relative to its own size.

    Stationarity: the slope of the distance less the pull of the relations is carried by a bound that holds
    the cell. At a corner of |z| every slope between minus and plus the weight will do.
    """
    pull = relations.T @ duals
    at_lower = deviation <= lower + 1e-7 * np.maximum(1, np.abs(deviation))
    at_upper = deviation >= upper - 1e-7 * np.maximum(1, np.abs(deviation))
    if norm == "l2":
        least = most = 2 * weight * deviation - pull
    else:
        zero = np.abs(deviation) <= 1e-9
        least = np.where(zero, -weight, weight * np.sign(deviation)) - pull
        most = np.where(zero, weight, weight * np.sign(deviation)) - pull
    # A bound below carries what is positive, one above what is negative, nothing else carries anything.
    wrong = np.maximum(np.where(at_lower, 0, least), np.where(at_upper, 0, -most))
    scale = np.abs(pull) + weight * (np.abs(deviation) if norm == "l2" else 1) + 1e-12
    # A row in which nothing moves has no size of its own: a millionth of the largest move stands for it.
    size = abs(relations) @ np.abs(deviation) + 1e-6 * np.abs(deviation).max(initial=1e-12)
    sums = np.abs(relations @ deviation) / size
    outside = np.maximum(lower - deviation, deviation - upper) / np.maximum(1, np.abs(deviation))
    # Conditions weigh with how far the cell could go: they bound what could be gained.
    gain = np.maximum(wrong, 0) / scale.max()
    return max(gain.max(initial=0), sums.max(initial=0), outside.max(initial=0))


def closest_linf(relations, weight, lower, upper):
    """Least largest weighted move by scipy, in the moves themselves; None when there is no table."""
    n = len(weight)
    relations = np.asarray(relations.todense() if hasattr(relations, "todense") else relations)
    move, one = np.diag(weight), np.ones((n, 1))
    found = linprog(
        np.append(np.zeros(n), 1.0),
        A_ub=np.vstack([np.hstack([move, -one]), np.hstack([-move, -one])]),
        b_ub=np.zeros(2 * n),
        A_eq=np.hstack([relations, np.zeros((len(relations), 1))]),
        b_eq=np.zeros(len(relations)),
        bounds=[*zip(lower, np.where(np.isinf(upper), None, upper), strict=True), (0, None)],
    )
    return found.fun if found.status == 0 else None
