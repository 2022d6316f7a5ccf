"""Order of candidates: the most important to publish come first.

Ties are broken as in the R package GaussSuppression: among equal counts, cells whose inner cells lie in many
and large cells come first. Remaining ties follow the order of the table, where R uses its own order of cells.
"""

from __future__ import annotations

import numpy as np

from hitoku.errors import ParameterError
from hitoku.methods.tuning import GAUSS
from hitoku.model import Floats, Integers, Table, add_up


def by_frequency(table: Table, *, zeros_first: bool = True) -> Integers:
    """Return cells ordered by number of respondents, largest first (R: ``CandidatesDefault``).

    Parameters
    ----------
    table
        The table.
    zeros_first
        Empty cells come before all others: they are published whenever possible.

    Examples
    --------
    >>> by_frequency(Table.from_array([[4, 0], [3, 9]])).tolist()
    [1, 8, 5, 7, 4, 6, 2, 0, 3]
    """
    frequency = frequency_of(table).astype(np.float64)
    return _falling(_key(table, frequency + 1.0, frequency == 0, zeros_first=zeros_first))


def by_value(table: Table, *, zeros_first: bool = True) -> Integers:
    """Return cells ordered by size, largest first (R: ``CandidatesNum``).

    Examples
    --------
    >>> by_value(Table.from_array([[4.0, -9.0], [3.0, 1.0]])).tolist()
    [1, 7, 6, 2, 5, 0, 3, 8, 4]
    """
    size = np.abs(table.value)
    if np.any(size == 0):
        # As in R: a size of zero takes part in the ties, with a negligible amount.
        size = size + size.max() * 1e-20
    empty = size == 0 if table.frequency is None else table.frequency == 0
    return _falling(_key(table, size, empty, zeros_first=zeros_first))


def by_coalition(table: Table, k: int = 1) -> Integers:
    """Return cells ordered by respondents, but zeros after all cells with more than k people.

    Suppressing an empty cell next to the cell with everyone else prevents a coalition of k from being
    certain (R: ``DirectDisclosureCandidates``). With k = 0 zeros come first, as in :func:`by_frequency`.

    Examples
    --------
    >>> by_coalition(Table.from_array([[17, 0], [1, 12]]), k=1).tolist()
    [8, 6, 2, 0, 5, 7, 4, 1, 3]
    """
    frequency = frequency_of(table).astype(np.float64)
    key = np.where(frequency == 0, float(k), np.where(frequency <= k, frequency - 1.0, frequency))
    if k == 0:
        key[frequency == 0] = frequency.max() + 1.0
    return _falling(key + GAUSS.tie_weight * _company(table, frequency + 1.0))


def frequency_of(table: Table) -> Integers:
    """Return respondents per cell, or raise an error."""
    if table.frequency is None:
        raise ParameterError(
            "respondents_unknown",
            "the table does not say how many respondents are in its cells",
            where="order",
            fix='order by "value", or give the table a frequency',
        )
    return table.frequency


def _key(table: Table, weight: Floats, empty: Floats, *, zeros_first: bool) -> Floats:
    key = np.abs(weight) + GAUSS.tie_weight * _company(table, weight)
    if zeros_first and np.any(empty):
        key[empty] += key.max() + 1.0
    return key


def _company(table: Table, weight: Floats) -> Floats:
    """Return the weight of all cells that contain a cell's inner cells, as a share of the largest."""
    if not table.dimensions:
        return np.zeros(table.n_cells)
    leaves = np.asarray(weight, dtype=np.float64).reshape(table.shape)
    for axis, dimension in enumerate(table.dimensions):
        moved = np.moveaxis(leaves, axis, 0)
        down = dimension.closure.T @ moved.reshape(len(dimension), -1)
        leaves = np.moveaxis(down.reshape(-1, *moved.shape[1:]), 0, axis)
    company = np.abs(add_up(leaves, table.dimensions))
    return np.asarray(company / company.max()) if company.max() > 0 else company


def _falling(key: Floats) -> Integers:
    return np.argsort(-key, kind="stable")
