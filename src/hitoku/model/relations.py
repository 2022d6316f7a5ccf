"""Relations of a table as a sparse matrix, totals of leaf cells, and their memory requirements."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hitoku.errors import TableError
from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.model.dimension import Dimension, Labels
from hitoku.model.tolerance import ADDITIVITY


def cross_relations(dimensions: Sequence[Dimension]) -> sparse.csr_array:
    """Return the relations of a cross of dimensions.

    There is one relation, parts minus total, for every group of codes of a dimension and every combination of
    codes of the others. The CSR arrays are filled one dimension at a time: its matrix of groups is repeated
    for every combination, with shifted columns.
    """
    shape = tuple(len(d) for d in dimensions)
    n_cells = int(np.prod(shape, dtype=np.int64))
    if not dimensions:
        return sparse.csr_array((0, n_cells), dtype=np.float64)
    n_entries = sum(d.sums.nnz * (n_cells // len(d)) for d in dimensions)
    index: Any = np.int32 if max(n_entries, n_cells) < np.iinfo(np.int32).max else np.int64
    indices = np.empty(n_entries, dtype=index)
    data = np.empty(n_entries, dtype=np.float64)
    lengths: list[NDArray[np.int64]] = []
    filled = 0
    for axis, dimension in enumerate(dimensions):
        sums = dimension.sums
        before = int(np.prod(shape[:axis], dtype=np.int64))
        after = int(np.prod(shape[axis + 1 :], dtype=np.int64))
        # A cell is (combination before, code, combination after): column = (b * size + code) * after + a.
        own = sums.indices.astype(index) * index(after)
        first = np.arange(before, dtype=index) * index(after * shape[axis])
        last = np.arange(after, dtype=index)
        per_row = np.diff(sums.indptr)
        block = slice(filled, filled + before * sums.nnz * after)
        filled = block.stop
        # Rows run over (before, group, after); within a row over the entries of the group.
        columns, coefficients = indices[block], data[block]
        place = 0
        for group, length in enumerate(per_row):
            entries = slice(sums.indptr[group], sums.indptr[group + 1])
            size = before * after * int(length)
            part = columns[place : place + size].reshape(before, after, int(length))
            np.add(first[:, None, None] + last[None, :, None], own[entries], out=part)
            coefficients[place : place + size].reshape(before * after, int(length))[:] = sums.data[entries]
            place += size
        lengths.append(np.repeat(per_row.astype(np.int64), before * after))
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(index)
    return sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, n_cells))


def add_up(leaves: NDArray[np.generic], dimensions: Sequence[Dimension]) -> Floats:
    """Return the array of all cells from that of leaf cells, summing one axis at a time."""
    cells = np.asarray(leaves)
    for axis, dimension in enumerate(dimensions):
        moved = np.moveaxis(cells, axis, 0)
        added = dimension.closure @ moved.reshape(len(dimension.leaves), -1)
        cells = np.moveaxis(added.reshape(len(dimension), *moved.shape[1:]), 0, axis)
    return np.ascontiguousarray(cells, dtype=np.float64).ravel()


def broken(relations: sparse.csr_array, value: Floats, tolerance: float = ADDITIVITY) -> Integers:
    """Return the relations that do not hold, up to a share of the absolute sum of their terms."""
    residual = relations @ value
    sizes = sparse.csr_array((np.abs(relations.data), relations.indices, relations.indptr), relations.shape)
    return np.flatnonzero(np.abs(residual) > tolerance * (sizes @ np.abs(value)))


def variable_of_relation(relations: Any, labels: Labels) -> Integers:
    """Return the variable of each relation: the only one in which its cells differ.

    It is -1 if the cells differ in several variables: such a relation links cells of different tables.

    Examples
    --------
    >>> labels = Labels(("a", "b"), (("x", "y", "Total"), ("z", "Total")), [[0, 1], [1, 1], [2, 1], [2, 0]])
    >>> variable_of_relation(sparse.csr_array([[1, 1, -1, 0], [0, 0, -1, 1], [1, 1, 0, -1]]), labels).tolist()
    [0, 1, -1]
    """
    n_rows = relations.shape[0]
    row = np.repeat(np.arange(n_rows), np.diff(relations.indptr))
    first = relations.indices[np.minimum(relations.indptr[row], max(relations.nnz - 1, 0))]
    found, several = np.full(n_rows, -1, dtype=np.int64), np.zeros(n_rows, dtype=np.bool_)
    for place in range(len(labels.names)):
        code = labels.column(place)
        differs = np.zeros(n_rows, dtype=np.bool_)
        differs[row[code[relations.indices] != code[first]]] = True
        several |= differs & (found >= 0)
        found[differs] = place
    return np.where(several, -1, found)


def only_categories(relations: Any, tree: Integers) -> Mask:
    """Return the relations in which the total of a variable has a single category.

    All units have this category, so the attribute of each is disclosed. A group with a single child inside a
    hierarchy is different: child and group are the same by definition, which discloses nothing. Therefore the
    part must not be a total of the variable, and the total must not be a part of another group.

    Parameters
    ----------
    relations
        Relations of the table.
    tree
        Variable of each relation, as returned by :func:`variable_of_relation`.

    Examples
    --------
    >>> relations = sparse.csr_array([[1.0, -1, 0, 0], [0, 0, 1, -1], [0, -1, 0, 1]])
    >>> only_categories(relations, np.array([0, 1, 1])).tolist()
    [True, False, False]
    """
    size = np.diff(relations.indptr)
    row = np.repeat(np.arange(relations.shape[0]), size)
    below, known = relations.data < 0, tree[row] >= 0
    key = relations.indices.astype(np.int64) * (int(tree.max(initial=-1)) + 1) + tree[row]
    pair = (size == 2) & (np.bincount(row, weights=below, minlength=len(size)) == 1) & (tree >= 0)
    again = np.where(below, np.isin(key, key[known & ~below]), np.isin(key, key[known & below]))
    return np.asarray(pair & (np.bincount(row, weights=again, minlength=len(size)) == 0))


# Bytes per cell: value, bounds, frequency and a few working copies.
PER_CELL = 100


def memory_available() -> int:
    """Return the bytes of free memory, or a large number if the system does not report it."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:  # noqa: PTH123 - a pseudo file, Linux only
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 62


def refuse_too_large(
    dimensions: Sequence[Dimension], *, per_cell: int = PER_CELL, allowed: int | None = None
) -> None:
    """Raise if the cross of some dimensions does not fit into memory.

    Parameters
    ----------
    dimensions
        Variables of the table.
    per_cell
        Bytes per cell, without relations.
    allowed
        Bytes that may be used. Default: free memory.
    """
    n_cells = 1
    for dimension in dimensions:
        n_cells *= len(dimension)
    entries = sum(int(d.sums.nnz) * (n_cells // len(d)) for d in dimensions)
    # Bytes per entry: a coefficient and a column index, built, copied and checked once each.
    needed = n_cells * per_cell + entries * 36
    limit = memory_available() if allowed is None else allowed
    if needed > limit:
        sizes = " x ".join(f"{d.name} {len(d):,}" for d in dimensions)
        raise TableError(
            "table_too_large",
            "a table of {n:,} cells needs about {needed:,.1f} GiB of memory, {limit:,.1f} GiB may be used",
            where=sizes,
            fix="use fewer variables or coarser codes, or make several tables and link them",
            n=n_cells,
            needed=needed / 2**30,
            limit=limit / 2**30,
        )
