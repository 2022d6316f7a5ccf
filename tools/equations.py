"""Equations that released statistics are, solved for what they are about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import optimize, stats
from tools.released import CLOSE, EXACT


def percent_of(name: str) -> float | None:
    """Return which percentile a statistic is; None if it is another."""
    found = re.fullmatch(r"p(\d+(?:\.\d+)?)", name)
    return float(found[1]) if found else None


def order_statistics(percentiles: Mapping[float, float], n: int) -> dict[int, float]:
    """Return the values of people, by their rank from below, that follow from percentiles.

    A percentile lies between two people next to each other: an equation with two unknowns, or with one.
    """
    matrix, numbers = np.zeros((len(percentiles), n)), np.array(list(percentiles.values()))
    for row, percent in enumerate(percentiles):
        place = (n - 1) * percent / 100
        below = int(np.floor(place + EXACT))
        part = place - below if place - below > CLOSE else 0.0
        matrix[row, below] += 1 - part
        if part:
            matrix[row, below + 1] += part
    inverse = np.linalg.pinv(matrix, rcond=1e-8)
    sure = np.diag(inverse @ matrix)
    values = inverse @ numbers
    return {int(k): float(values[k]) for k in np.flatnonzero(sure > 1 - 1e-7)}


def sum_over(
    target: np.ndarray[Any, Any], rows: Sequence[np.ndarray[Any, Any]], sums: Sequence[float]
) -> float | None:
    """Return the sum over a set of people that follows from sums over others, or None."""
    if not rows:
        return None
    # People whom no row distinguishes are one unknown.
    matrix = np.array(rows)
    patterns, place = np.unique(np.vstack([matrix, target]).T, axis=0, return_inverse=True)
    sizes = np.bincount(place.ravel())
    small = patterns[:, :-1].T * sizes
    wanted = patterns[:, -1] * sizes
    weights, *_ = np.linalg.lstsq(small.T, wanted, rcond=None)
    if np.abs(small.T @ weights - wanted).max() > EXACT * max(1, sizes.max()):
        return None
    return float(weights @ np.array(sums))


def linear_basis(
    columns: Mapping[str, np.ndarray[Any, Any]],
) -> tuple[list[str], dict[str, np.ndarray[Any, Any]]]:
    """Return the columns that are not sums of others, and every column as a constant and factors of these."""
    basis: list[str] = []
    found: dict[str, np.ndarray[Any, Any]] = {}
    for name, own in columns.items():
        rows = np.column_stack([np.ones(len(own)), *(columns[each] for each in basis)])
        factors = np.linalg.lstsq(rows, own, rcond=None)[0]
        if not np.allclose(rows @ factors, own, rtol=EXACT, atol=EXACT * np.abs(own).max()):
            basis.append(name)
            factors = np.eye(1, len(basis) + 1, len(basis))[0]
        found[name] = np.where(np.abs(factors) < CLOSE, 0, factors)
    return basis, {name: np.pad(own, (0, len(basis) + 1 - len(own))) for name, own in found.items()}


def sum_without(
    left: int, shapes: np.ndarray[Any, Any], factors: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
    """Return weights of sums that cancel for all atoms but one, and the factors of its amounts, or None.

    ``shapes`` has a row for each sum and a column for each atom, ``factors`` a column for each variable.
    """
    others = np.delete(shapes, left, axis=1)
    outside = (others[:, :, None] * factors[:, None]).reshape(len(shapes), -1)
    turned, sizes, _ = np.linalg.svd(outside, full_matrices=True)
    free = turned[:, int((sizes > CLOSE).sum()) :]
    inside = free.T @ (shapes[:, [left]] * factors)
    if np.abs(inside).max(initial=0) < CLOSE:
        return None
    best = int(np.abs(inside).max(axis=1).argmax())
    return free[:, best], inside[best]


def count_solutions(values: np.ndarray[Any, Any], n: int, agrees: Any) -> list[tuple[int, ...]]:
    """List the counts of each value that agree with what is known; nothing where nothing is known."""
    first = np.arange(n + 1)
    if len(values) == 2:
        counts = np.column_stack([first, n - first])
    else:
        pairs = np.array([(i, j) for i in range(n + 1) for j in range(n + 1 - i)])
        counts = np.column_stack([pairs, n - pairs.sum(axis=1)])
    kept = agrees(counts)
    return [] if kept is None else [tuple(int(k) for k in each) for each in counts[kept]]


def welch_groups(
    t: float, p: float, n_1: int, n_2: int, mean: float, variance: float
) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Return mean and variance of both groups of Welch's test that agree with those of all together."""
    n = n_1 + n_2
    if not 0 < p < 1 or min(n_1, n_2) < 2:
        return []

    def gap(freedom: float) -> float:
        return float(2 * stats.t.sf(abs(t), freedom) - p)

    low, high = 1 - 1e-6, n - 2 + 1e-6
    if gap(low) * gap(high) > 0:
        return []
    freedom = float(optimize.brentq(gap, low, high, xtol=1e-13))
    found = []
    # share = A / (A + B) with A = s1^2 / n1 and B = s2^2 / n2.
    for root in np.roots([1 / (n_1 - 1) + 1 / (n_2 - 1), -2 / (n_2 - 1), 1 / (n_2 - 1) - 1 / freedom]):
        if abs(root.imag) > 1e-4 or not -1e-9 <= root.real <= 1 + 1e-9:
            continue
        share = float(np.clip(root.real, 0, 1))
        within = n_1 * (n_1 - 1) * share + n_2 * (n_2 - 1) * (1 - share)
        both = variance * (n - 1) / (within + n_1 * n_2 / n * t * t)
        apart = t * np.sqrt(both)
        means = mean + apart * n_2 / n, mean - apart * n_1 / n
        found.append(((means[0], n_1 * share * both), (means[1], n_2 * (1 - share) * both)))
    return found


def f_test_groups(
    f: float, n_1: int, n_2: int, mean: float, variance: float
) -> list[tuple[tuple[float], tuple[float]]]:
    """Return the means of two groups of an F test that agree with the moments of all: one of two signs."""
    n = n_1 + n_2
    if not np.isfinite(f) or n < 4:
        return []
    between = variance * (n - 1) * f / (f + n - 2)
    apart = np.sqrt(between * n / (n_1 * n_2))
    return [((mean + s * apart * n_2 / n,), (mean - s * apart * n_1 / n,)) for s in (1, -1)]
