"""The design matrix of a model: who is behind every coefficient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from hitoku.model import Floats, Integers, Mask

# Columns with so few different values are categories, not measurements.
FEW_VALUES = 2
# Singular values below this share of the largest are zero.
RANK = 1e-10


class Crossing(NamedTuple):
    """The combinations of categories that a design has; 0 of them where some regressor is a measurement."""

    categorical: bool
    n_cells: int
    smallest_cell: int


def support(exog: Floats, names: list[str], who: Integers) -> tuple[list[str], list[int]]:
    """Count the units that each coefficient rests on.

    A column rests on the records that differ from its most frequent value; of a dummy both sides count. A
    run of dummies of which at most one is set is one factor, and the records with none set are its reference
    category, which the intercept speaks of.
    """
    labels: list[str] = []
    counts: list[int] = []
    for place, name in enumerate(names):
        column = exog[:, place]
        values, inverse, n = np.unique(column, return_inverse=True, return_counts=True)
        if len(values) == 1:
            continue  # the intercept
        dummy = len(values) == FEW_VALUES
        usual = int(n.argmax())
        sides = [inverse == 0, inverse == 1] if dummy else [inverse != usual]
        labels.append(name)
        counts.append(min(len(np.unique(who[side])) for side in sides))
    for factor in factors(exog):
        rest = ~exog[:, factor].any(axis=1)
        if rest.any() and len(factor) > 1:  # of one dummy both sides are counted already
            labels.append(f"reference of {names[factor[0]]} to {names[factor[-1]]}")
            counts.append(len(np.unique(who[rest])))
    return labels, counts


def factors(exog: Floats) -> list[list[int]]:
    """Find the runs of neighbouring dummies of which at most one is set in every record.

    Examples
    --------
    >>> factors(np.array([[1.0, 0, 0, 3.5], [1, 1, 0, 2], [1, 0, 1, 9]]))
    [[1, 2]]
    """
    found: list[list[int]] = []
    open_run = False
    for place, column in enumerate(exog.T):
        dummy = np.array_equal(np.unique(column), [0.0, 1.0])
        if dummy and open_run and not np.any(column * exog[:, found[-1]].any(axis=1)):
            found[-1].append(place)
        elif dummy:
            found.append([place])
        open_run = dummy
    return found


def categories(exog: Floats, factor: list[int]) -> Integers:
    """Return the category of every record in a factor, 0 for the reference."""
    return np.asarray(exog[:, factor] @ np.arange(1, len(factor) + 1), dtype=np.int64)


def cells(exog: Floats, who: Integers) -> Crossing:
    """Look at a model whose regressors are all categorical as the table it is."""
    categorical = all(len(np.unique(column)) <= FEW_VALUES for column in exog.T)
    if not categorical:
        return Crossing(categorical=False, n_cells=0, smallest_cell=0)
    _, cell = np.unique(exog, axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    smallest = min(len(np.unique(who[cell == place])) for place in range(int(cell.max()) + 1))
    return Crossing(categorical=True, n_cells=int(cell.max()) + 1, smallest_cell=smallest)


def implied_groups(exog: Floats, names: list[str]) -> Iterator[tuple[str, Mask]]:
    """Yield the groups of which a model on categories implies the mean of the outcome.

    The normal equations hold the sum of the outcome over all records and over every dummy; with as many
    parameters as cells, the means of the cells are sums of coefficients.
    """
    every = np.ones(len(exog), dtype=np.bool_)
    yield "all", every
    for place, name in enumerate(names):
        values = np.unique(exog[:, place])
        if len(values) == FEW_VALUES:
            for value in values.tolist():
                yield f"{name} = {value:g}", np.asarray(exog[:, place] == value)
    for factor in factors(exog):
        rest = ~exog[:, factor].any(axis=1)
        if len(factor) > 1 and rest.any():
            yield f"reference of {names[factor[0]]} to {names[factor[-1]]}", np.asarray(rest)
    _, cell = np.unique(exog, axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    if leverage(exog)[1] >= int(cell.max()) + 1:
        for place in range(int(cell.max()) + 1):
            yield f"cell {place + 1}", np.asarray(cell == place)


def leverage(exog: Floats) -> tuple[Floats, int]:
    """Return how much of its own fitted value each record decides, and the rank of the design."""
    scale = np.linalg.norm(exog, axis=0)
    left, singular, _ = np.linalg.svd(exog / np.where(scale > 0, scale, 1.0), full_matrices=False)
    rank = int((singular > RANK * singular.max(initial=0.0)).sum())
    found: Any = (left[:, :rank] ** 2).sum(axis=1)
    return found, rank
