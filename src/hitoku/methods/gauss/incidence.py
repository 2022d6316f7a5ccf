"""Conversion between relations of cells and sums of inner cells.

Order of candidates: the most important to publish come first.

Ties are broken as in the R package GaussSuppression: among equal counts, cells whose inner cells lie in many
and large cells come first. Remaining ties follow the order of the table, where R uses its own order of cells.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.errors import ParameterError
from hitoku.methods.gauss.elimination import residue
from hitoku.methods.gauss.span import Column, Span
from hitoku.methods.tuning import GAUSS
from hitoku.model import Floats, Integers, Table, add_up


def incidence_of(table: Table) -> tuple[list[Column], Integers]:
    """Return every cell as a sum of inner cells: a column per cell, and the cell that each row represents.

    For a cross of variables the rows are the inner cells in order. Otherwise each relation
    is solved for one of its cells, totals first; cells that are never solved for are rows.

    Examples
    --------
    >>> columns, inner = incidence_of(Table.from_array([20, 15, 72]))
    >>> columns[3], inner.tolist()
    ({0: 1, 1: 1, 2: 1}, [0, 1, 2])
    """
    if table.dimensions:
        matrix = sparse.csr_array(np.ones((1, 1)))
        for dimension in table.dimensions:
            matrix = sparse.csr_array(sparse.kron(matrix, dimension.closure, format="csr"))
        matrix.sort_indices()
        lengths = np.diff(matrix.indptr)
        alone = np.flatnonzero(lengths == 1)
        # Leaves come before groups in a dimension, so the first cell of only one leaf is the inner one.
        inner = np.full(matrix.shape[1], -1, dtype=np.int64)
        inner[matrix.indices[matrix.indptr[alone[::-1]]]] = alone[::-1]
        indices, ends = matrix.indices.tolist(), matrix.indptr.tolist()
        return [dict.fromkeys(indices[ends[j] : ends[j + 1]], 1) for j in range(table.n_cells)], inner
    return _solve(table)


def _solve(table: Table) -> tuple[list[Column], Integers]:
    # Rows of the span are cells, the last total first, so that a relation is solved for its widest total.
    height = _heights(table)
    place = np.argsort(-height, kind="stable")
    rank = np.empty_like(place)
    rank[place] = np.arange(len(place))
    relations = table.relations
    span = Span(table.n_cells)
    ends = relations.indptr.tolist()
    for row in range(relations.shape[0]):
        part = slice(ends[row], ends[row + 1])
        column: Column = {
            int(rank[cell]): residue(value, 1)
            for cell, value in zip(
                relations.indices[part].tolist(), relations.data[part].tolist(), strict=True
            )
        }
        span.add(column)
    solved = span.led()
    free = [cell for cell in range(table.n_cells) if int(rank[cell]) not in solved]
    number = {int(rank[cell]): row for row, cell in enumerate(free)}
    columns: list[Column] = []
    for cell in range(table.n_cells):
        rest = span.finish({int(rank[cell]): 1})
        columns.append({number[r]: value for r, value in sorted(rest.items(), key=lambda e: number[e[0]])})
    return columns, np.array(free, dtype=np.int64)


def _heights(table: Table) -> Integers:
    """Return how many sums a cell is above its deepest part."""
    relations = table.relations
    row = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    height = np.zeros(table.n_cells, dtype=np.int64)
    below = relations.data > 0
    for _ in range(64):  # deeper towers of sums do not occur; a cycle of relations would never end
        top = np.zeros(relations.shape[0], dtype=np.int64)
        np.maximum.at(top, row[below], height[relations.indices[below]] + 1)
        new = height.copy()
        np.maximum.at(new, relations.indices[~below], top[row[~below]])
        if np.array_equal(new, height):
            break
        height = new
    return height


def columns_of(incidence: Any) -> list[Column]:
    """Return the columns of a matrix with rows for inner cells, as dicts of residues."""
    matrix = sparse.csc_array(incidence)
    matrix.sort_indices()
    ends, rows = matrix.indptr.tolist(), matrix.indices.tolist()
    values = [residue(x, 1) if x != 1 else 1 for x in matrix.data.tolist()]
    return [
        {row: value for row, value in zip(rows[a:b], values[a:b], strict=True) if value}
        for a, b in pairwise(ends)
    ]


def relations_of(incidence: Any) -> tuple[Any, Integers]:
    """Return relations between the columns of an incidence matrix, and the cell that represents each row.

    A row that is a column by itself is represented by that column; any other row is an additional,
    unpublished cell. Each remaining column is the sum of its rows.

    Examples
    --------
    >>> relations, cell_of_row = relations_of([[1, 1], [0, 1]])  # a cell and a total; the other is missing
    >>> relations.toarray().tolist(), cell_of_row.tolist()
    ([[1.0, -1.0, 1.0]], [0, 2])
    """
    matrix = sparse.csc_array(incidence, dtype=np.float64)
    matrix.eliminate_zeros()
    n_rows, n_columns = matrix.shape
    alone = np.flatnonzero(np.diff(matrix.indptr) == 1)
    cell = np.full(n_rows, -1, dtype=np.int64)
    scale = np.ones(n_rows)
    for column in alone[::-1]:
        entry = matrix.indptr[column]
        cell[matrix.indices[entry]] = column
        scale[matrix.indices[entry]] = matrix.data[entry]
    missing = np.flatnonzero(cell < 0)
    cell[missing] = n_columns + np.arange(len(missing))
    sums = np.setdiff1d(np.arange(n_columns), cell)
    parts = sparse.coo_array(matrix[:, sums])
    row = np.concatenate([parts.col, np.arange(len(sums))])
    column = np.concatenate([cell[parts.row], sums])
    data = np.concatenate([parts.data / scale[parts.row], -np.ones(len(sums))])
    shape = (len(sums), n_columns + len(missing))
    return sparse.csr_array((data, (row, column)), shape=shape), cell


def by_frequency(table: Table, *, zeros_first: bool = True) -> Integers:
    """Return cells ordered by number of respondents, largest first (R: ``CandidatesDefault``).

    Parameters
    ----------
    table
        Table to protect.
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
