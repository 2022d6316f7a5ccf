"""Records behind the cells of a table, and cells of one table that are sums of cells of another.

A cell with records is such a sum if its records are those of some leaf cells of the other table. An empty
cell has no records, but its codes have records in other cells: if every code stands for the same records as
some codes of a variable of the other table, the cell is the sum of the cells in which these codes cross. An
attacker who learns from one table that section A of a town has no workers then knows the same of every
division of A.
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
    leaf_cells = _leaf_cells(other.dimensions)
    row_of = np.repeat(np.arange(len(wanted)), np.diff(shared.indptr))
    n_met, n_strange = (
        np.bincount(row_of, amount, minlength=len(wanted)) for amount in (shared.data, ~contained)
    )
    for row in np.flatnonzero((n_strange == 0) & (n_met == one.records[wanted])):
        met_there = shared.indices[shared.indptr[row] : shared.indptr[row + 1]]
        parts = there[leaf_cells[_box(met_there, other, whole)]]
        yield np.append(parts, cell[wanted[row]]), np.append(np.ones(len(parts)), -1.0)


def empty_unions(
    one: RecordSets, other: RecordSets, cell: Integers, there: Integers
) -> Iterator[tuple[Integers, Floats]]:
    """Find empty cells of one table that are sums of cells of another, by the records of their codes."""
    shape = tuple(len(d) for d in one.dimensions)
    wanted = (one.records == 0) & ~np.isin(cell, there)
    # If a table does not contain some records, its codes and totals may mean something else.
    if not wanted.any() or any(np.any(sets.placement.leaves < 0) for sets in (one, other)):
        return
    sides = [_sides(one, axis, other) for axis in range(len(shape))]
    filters = _filter_sides(one, other)
    if filters is None:
        return
    for places in np.argwhere(wanted.reshape(shape) & _able(one, other, sides)).tolist():
        given = [*filters, *(side for own, place in zip(sides, places, strict=True) if (side := own[place]))]
        parts = there[_crossing(other, given)]
        if len(parts):
            number = cell[np.ravel_multi_index(places, shape)]
            yield np.append(parts, number), np.append(np.ones(len(parts)), -1.0)


# A variable of another table, and the leaves that a code stands for.
Side = tuple[int, Mask]
ANYWHERE: Side = (-1, np.zeros(0, dtype=bool))


def _sides(one: RecordSets, axis: int, other: RecordSets) -> list[Side | None]:
    """Return the equivalent of each code of a variable in another table, or None if unknown."""
    dimension, leaf = one.dimensions[axis], one.placement.leaves[:, axis]
    n_leaves = len(dimension.leaves)
    found: list[Side | None] = [None] * len(dimension)
    unknown = np.array(dimension.closure @ np.bincount(leaf, minlength=n_leaves) > 0)
    for where, its in enumerate(other.dimensions):
        there, n_there = other.placement.leaves[:, where], len(its.leaves)
        every = np.bincount(there, minlength=n_there)
        met = sparse.coo_array((np.ones(len(leaf)), (leaf, there)), shape=(n_leaves, n_there)).tocsr()
        own = sparse.csr_array(dimension.closure @ met)
        row_of = np.repeat(np.arange(len(dimension)), np.diff(own.indptr))
        cut = np.bincount(row_of, own.data != every[own.indices], minlength=len(dimension)) > 0
        for place in np.flatnonzero(unknown & ~cut):
            with_it = np.zeros(n_there, dtype=bool)
            with_it[own.indices[own.indptr[place] : own.indptr[place + 1]]] = True
            found[place] = where, _with_empty(its, with_it, every == 0)
            unknown[place] = False
    found[-1] = ANYWHERE
    return found


def _leaves_with(members: Mask, other: RecordSets) -> Side | None:
    """Return a variable and leaves that have exactly these atoms."""
    for axis, dimension in enumerate(other.dimensions):
        leaf, n_leaves = other.placement.leaves[:, axis], len(dimension.leaves)
        if np.all(leaf[members] >= 0):
            met = np.bincount(leaf[members], minlength=n_leaves)
            every = np.bincount(leaf[leaf >= 0], minlength=n_leaves)
            if np.all((met == 0) | (met == every)):
                return axis, _with_empty(dimension, met > 0, every == 0)
    return None


def _with_empty(dimension: Dimension, met: Mask, empty: Mask) -> Mask:
    """Add the codes without records that belong to the widest group of these leaves."""
    closure = dimension.closure
    outside = closure @ (~met & ~empty) + (len(met) + 1) * (closure @ met < met.sum())
    widest = np.where(outside == 0, np.diff(closure.indptr), 0)
    found = met.copy()
    if widest.any():
        found[leaves_of(dimension, int(np.argmax(widest)))] = True
    return found


def _filter_sides(one: RecordSets, other: RecordSets) -> list[Side] | None:
    """Return the equivalent of a table's filter in another table, or None if unknown."""
    found = []
    for mask in one.placement.filters.values():
        if not any(np.array_equal(mask, its) for its in other.placement.filters.values()):
            side = _leaves_with(mask, other)
            if side is None:
                return None
            found.append(side)
    return found


def _able(one: RecordSets, other: RecordSets, sides: Sequence[Sequence[Side | None]]) -> Mask:
    """Return the cells contained in another table: their codes are known and its filter keeps them."""
    shape = tuple(len(own) for own in sides)
    able = np.ones(shape, dtype=bool)
    for axis, own in enumerate(sides):
        able &= _along([side is not None for side in own], axis, len(shape))
    for kept in other.placement.filters.values():
        inside = np.full(shape, any(np.all(kept[mask]) for mask in one.placement.filters.values()))
        for axis, own in enumerate(sides):
            leaf, closure = one.placement.leaves[:, axis], one.dimensions[axis].closure
            outside = closure @ np.bincount(leaf[~kept], minlength=closure.shape[1])
            narrow = [side is not ANYWHERE and n == 0 for side, n in zip(own, outside, strict=True)]
            inside |= _along(narrow, axis, len(shape))
        able &= inside
    return able


def _along(values: Sequence[bool], axis: int, n_axes: int) -> Mask:
    return np.array(values, dtype=bool).reshape([-1 if place == axis else 1 for place in range(n_axes)])


def _crossing(other: RecordSets, sides: Sequence[Side]) -> Integers:
    """Return the cells in which leaves of some variables cross. A complete group is one code."""
    listed = []
    for axis, dimension in enumerate(other.dimensions):
        kept = np.ones(len(dimension.leaves), dtype=bool)
        for where, leaves in sides:
            if where == axis:
                kept &= leaves
        closure = dimension.closure
        same = (closure @ kept == kept.sum()) & (np.diff(closure.indptr) == kept.sum())
        listed.append(np.flatnonzero(same)[-1:] if same.any() and kept.any() else np.flatnonzero(kept))
    shape = [len(d) for d in other.dimensions]
    return np.asarray(np.ravel_multi_index(np.meshgrid(*listed, indexing="ij"), shape), np.int64).ravel()


def _leaf_cells(dimensions: Sequence[Dimension]) -> Integers:
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
