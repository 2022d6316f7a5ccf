"""Records behind the cells of a table, and cells of one table that are sums of cells of another.

A cell with records is such a sum if its records are those of some leaf cells of the other table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hitoku.errors import TableError
from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.model.dimension import Dimension
from hitoku.model.table import Table

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Placement:
    """Cells of the atoms of a publication in one of its tables."""

    leaves: Integers
    """Index of the atom's code among the leaves, atoms by variables; -1 if it is not in the table."""
    records: Integers
    """Number of records of each atom."""
    filters: Mapping[str, Mask] = field(default_factory=dict)
    """For each variable with a filter, the atoms that it keeps."""

    @cached_property
    def kept(self) -> Mask:
        """Atoms that are kept by all filters."""
        every = np.ones(len(self.records), dtype=np.bool_)
        return np.asarray(np.logical_and.reduce([every, *self.filters.values()]), dtype=np.bool_)

    @property
    def inside(self) -> Mask:
        """Atoms that are in the table."""
        return np.asarray(self.kept & np.all(self.leaves >= 0, axis=1), dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class RecordSets:
    """Sets of records behind the cells of a table."""

    dimensions: tuple[Dimension, ...]
    placement: Placement
    """Variables of the table."""
    inside: Mask
    leaf: Integers
    """Leaf cell of each atom; -1 for atoms that are not in the table."""
    hashes: Hashes
    """Two hashes for each cell: sums of random numbers over its atoms. Different sets have equal hashes with
    probability 2**-128."""
    records: Integers
    """Number of records of each cell."""
    extent: Integers
    """Number of leaf cells of each cell, including empty ones."""

    @classmethod
    def of(cls, table: Table, placement: Placement) -> RecordSets:
        if not table.dimensions:
            raise TableError(
                "joined_table_without_dimensions",
                "a table without dimensions cannot be linked by records, because its cells have no codes",
                fix="tabulate it from the records of the other tables",
            )
        inside, dimensions = placement.inside, table.dimensions
        shape = tuple(len(d.leaves) for d in dimensions)
        leaf = np.full(len(inside), -1, dtype=np.int64)
        leaf[inside] = np.ravel_multi_index(tuple(placement.leaves[inside].T), shape)
        hashes = np.stack(
            [add_up_atoms(leaf, inside, column, dimensions) for column in _random_numbers(len(inside)).T],
            axis=1,
        )
        records = add_up_atoms(leaf, inside, placement.records.astype(np.uint64), dimensions).astype(np.int64)
        extent = np.ones(1, dtype=np.int64)
        for dimension in dimensions:
            extent = np.multiply.outer(extent, np.diff(dimension.closure.indptr)).ravel()
        return cls(dimensions, placement, inside, leaf, hashes, records, extent)

    @cached_property
    def widest(self) -> Mask:
        """Mask of cells that are the widest among those with the same records."""
        _, alike = np.unique(self.hashes, axis=0, return_inverse=True)
        most = np.zeros(int(alike.max(initial=-1)) + 1, dtype=np.int64)
        np.maximum.at(most, alike.ravel(), self.extent)
        return np.asarray(self.extent == most[alike.ravel()])

    @cached_property
    def closure(self) -> sparse.csr_array:
        """Matrix of cells by leaf cells, one where the leaf belongs to the cell."""
        closure = sparse.csr_array(np.ones((1, 1)))
        for dimension in self.dimensions:
            closure = sparse.csr_array(sparse.kron(closure, dimension.closure, format="csr"))
        return closure

    def members(self, cell: int) -> Mask:
        """Return the mask of atoms in a cell."""
        found = self.inside.copy()
        places = np.unravel_index(cell, [len(d) for d in self.dimensions])
        for axis, (dimension, place) in enumerate(zip(self.dimensions, places, strict=True)):
            below = np.zeros(
                len(dimension.leaves) + 1, dtype=bool
            )  # the last entry is for atoms outside the table
            below[leaves_of(dimension, int(place))] = True
            found &= below[self.placement.leaves[:, axis]]
        return found


def leaves_of(dimension: Dimension, place: int) -> NDArray[np.int32]:
    closure = dimension.closure
    leaves: NDArray[np.int32] = closure.indices[closure.indptr[place] : closure.indptr[place + 1]]
    return leaves


def _random_numbers(n: int) -> Hashes:
    """Return two random numbers for each atom, the same in every run."""
    return np.random.default_rng(20_170_601).integers(0, 2**64, size=(n, 2), dtype=np.uint64)


def add_up_atoms(leaf: Integers, inside: Mask, amount: Hashes, dimensions: Sequence[Dimension]) -> Hashes:
    """Sum numbers of atoms over every cell, modulo 2**64."""
    shape = tuple(len(d.leaves) for d in dimensions)
    cells = np.zeros(int(np.prod(shape, dtype=np.int64)), dtype=np.uint64)
    np.add.at(cells, leaf[inside], amount[inside])
    cells = cells.reshape(shape)
    for axis, dimension in enumerate(dimensions):
        moved = np.moveaxis(cells, axis, 0)
        added = dimension.closure.astype(np.uint64) @ moved.reshape(len(dimension.leaves), -1)
        cells = np.moveaxis(added.reshape(len(dimension), *moved.shape[1:]), 0, axis)
    return np.ascontiguousarray(cells).ravel()


def unions(
    one: RecordSets, other: RecordSets, cell: Integers, there: Integers
) -> Iterator[tuple[Integers, Floats]]:
    """Find non-empty cells of one table that are sums of leaf cells of another.

    Of several cells with the same records, only the widest is considered. The others are linked to it by the
    relations of their own table, provided that the attacker knows which cells are empty.
    """
    wanted = np.flatnonzero(~np.isin(cell, there) & (one.records > 0) & one.widest)
    both = one.inside & other.inside
    if not len(wanted) or not both.any():
        return
    n_leaves, n_other = (int(np.prod([len(d.leaves) for d in s.dimensions])) for s in (one, other))
    met = sparse.coo_array(
        (one.placement.records[both].astype(np.float64), (one.leaf[both], other.leaf[both])),
        shape=(n_leaves, n_other),
    ).tocsr()
    shared = sparse.csr_array(one.closure[wanted] @ met)
    whole = np.zeros(n_other)
    np.add.at(whole, other.leaf[other.inside], other.placement.records[other.inside].astype(np.float64))
    contained = np.asarray(shared.data == whole[shared.indices])
    cells_there = leaf_cells(other.dimensions)
    row_of = np.repeat(np.arange(len(wanted)), np.diff(shared.indptr))
    n_met, n_strange = (
        np.bincount(row_of, amount, minlength=len(wanted)) for amount in (shared.data, ~contained)
    )
    for row in np.flatnonzero((n_strange == 0) & (n_met == one.records[wanted])):
        met_there = shared.indices[shared.indptr[row] : shared.indptr[row + 1]]
        parts = there[cells_there[_box(met_there, other, whole)]]
        yield np.append(parts, cell[wanted[row]]), np.append(np.ones(len(parts)), -1.0)


def leaf_cells(dimensions: Sequence[Dimension]) -> Integers:
    """Return the indices of the leaf cells among all cells of a table."""
    shape = [len(d) for d in dimensions]
    leaves = np.meshgrid(*[np.arange(len(d.leaves)) for d in dimensions], indexing="ij")
    return np.asarray(np.ravel_multi_index(leaves, shape), dtype=np.int64).ravel()


def _box(met: Integers, other: RecordSets, whole: Floats) -> Integers:
    """Add the empty leaf cells of the cross of a union if all others of the cross belong to it."""
    shape = tuple(len(d.leaves) for d in other.dimensions)
    sides = [np.unique(places) for places in np.unravel_index(met, shape)]
    box = np.ravel_multi_index(np.meshgrid(*sides, indexing="ij"), shape).ravel()
    strangers = box[~np.isin(box, met)]
    return met if np.any(whole[strangers] > 0) else np.asarray(box, dtype=np.int64)
