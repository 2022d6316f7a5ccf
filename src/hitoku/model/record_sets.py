"""The records behind the cells of a table, as sums that do not depend on their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hitoku.errors import TableError
from hitoku.model.arrays import Integers, Mask
from hitoku.model.dimension import Dimension
from hitoku.model.table import Table

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Placement:
    """Where the atoms of a publication stand in one of its tables.

    Parameters
    ----------
    leaves
        Atoms by variables of the table: the position of the atom's code among the leaves, -1 for a code that
        the table has no place for.
    records
        Records of each atom.
    filters
        For each variable by which the table was filtered, the atoms that are kept.
    """

    leaves: Integers
    records: Integers
    filters: Mapping[str, Mask] = field(default_factory=dict)

    @cached_property
    def kept(self) -> Mask:
        """Atoms that the filters keep."""
        every = np.ones(len(self.records), dtype=np.bool_)
        return np.asarray(np.logical_and.reduce([every, *self.filters.values()]), dtype=np.bool_)

    @property
    def inside(self) -> Mask:
        """Atoms that are in the table."""
        return np.asarray(self.kept & np.all(self.leaves >= 0, axis=1), dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class RecordSets:
    """The set of records behind every cell of a table.

    Parameters
    ----------
    dimensions, placement
        Of the table.
    inside, leaf
        Atoms that are in it, and the leaf cell of each; -1 outside.
    hashes
        Cells by two: sums of random numbers over their atoms. Equal sums mean equal sets, but for a chance of
        one in 2**128.
    records
        Records of each cell.
    extent
        Leaf cells that each cell is made of, empty ones too.
    """

    dimensions: tuple[Dimension, ...]
    placement: Placement
    inside: Mask
    leaf: Integers
    hashes: Hashes
    records: Integers
    extent: Integers

    @classmethod
    def of(cls, table: Table, placement: Placement) -> RecordSets:
        if not table.dimensions:
            raise TableError(
                "a table without dimensions cannot be joined with others: its cells have no codes",
                fix="make it with tabulate from the records of the other tables",
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
        """Cells than which no other with the same records is wider."""
        _, alike = np.unique(self.hashes, axis=0, return_inverse=True)
        most = np.zeros(int(alike.max(initial=-1)) + 1, dtype=np.int64)
        np.maximum.at(most, alike.ravel(), self.extent)
        return np.asarray(self.extent == most[alike.ravel()])

    @cached_property
    def closure(self) -> sparse.csr_array:
        """Cells by leaf cells, one where the leaf belongs to the cell."""
        closure = sparse.csr_array(np.ones((1, 1)))
        for dimension in self.dimensions:
            closure = sparse.csr_array(sparse.kron(closure, dimension.closure, format="csr"))
        return closure

    def members(self, cell: int) -> Mask:
        """Tell which atoms are in a cell."""
        found = self.inside.copy()
        places = np.unravel_index(cell, [len(d) for d in self.dimensions])
        for axis, (dimension, place) in enumerate(zip(self.dimensions, places, strict=True)):
            below = np.zeros(len(dimension.leaves) + 1, dtype=bool)  # the last stands for nowhere
            below[leaves_of(dimension, int(place))] = True
            found &= below[self.placement.leaves[:, axis]]
        return found


def leaves_of(dimension: Dimension, place: int) -> NDArray[np.int32]:
    closure = dimension.closure
    leaves: NDArray[np.int32] = closure.indices[closure.indptr[place] : closure.indptr[place + 1]]
    return leaves


def _random_numbers(n: int) -> Hashes:
    """Give every atom two random numbers, the same in every run: equal sums of both mean equal sets."""
    return np.random.default_rng(20_170_601).integers(0, 2**64, size=(n, 2), dtype=np.uint64)


def add_up_atoms(leaf: Integers, inside: Mask, amount: Hashes, dimensions: Sequence[Dimension]) -> Hashes:
    """Add atoms up to every cell, modulo 2**64."""
    shape = tuple(len(d.leaves) for d in dimensions)
    cells = np.zeros(int(np.prod(shape, dtype=np.int64)), dtype=np.uint64)
    np.add.at(cells, leaf[inside], amount[inside])
    cells = cells.reshape(shape)
    for axis, dimension in enumerate(dimensions):
        moved = np.moveaxis(cells, axis, 0)
        added = dimension.closure.astype(np.uint64) @ moved.reshape(len(dimension.leaves), -1)
        cells = np.moveaxis(added.reshape(len(dimension), *moved.shape[1:]), 0, axis)
    return np.ascontiguousarray(cells).ravel()
