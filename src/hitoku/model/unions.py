"""Cells of one table that are sums of cells of another.

A cell with records is such a sum when its records are those of some leaf cells there. An empty cell has no
records to be known by. But its codes have, in other cells: where every code stands for the same records as
some codes of a variable there, the cell is the sum of the cells that these codes cross in. That matters: who
reads in one table that nobody works in section A of a town knows it of every division of A.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy import sparse

from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.model.dimension import Dimension
from hitoku.model.record_sets import RecordSets, leaves_of


def unions(
    one: RecordSets, other: RecordSets, cell: Integers, there: Integers
) -> Iterator[tuple[Integers, Floats]]:
    """Find cells with records of one table that are sums of leaf cells of another."""
    both = one.inside & other.inside
    n_leaves, n_other = (int(np.prod([len(d.leaves) for d in s.dimensions])) for s in (one, other))
    met = sparse.coo_array(
        (one.placement.records[both].astype(np.float64), (one.leaf[both], other.leaf[both])),
        shape=(n_leaves, n_other),
    ).tocsr()
    shared = sparse.csr_array(one.closure @ met)
    whole = np.zeros(n_other)
    np.add.at(whole, other.leaf[other.inside], other.placement.records[other.inside].astype(np.float64))
    contained = np.asarray(shared.data == whole[shared.indices])
    leaf_cells = _leaf_cells(other.dimensions)
    for place in np.flatnonzero(~np.isin(cell, there) & (one.records > 0)):
        entries = slice(shared.indptr[place], shared.indptr[place + 1])
        if contained[entries].all() and shared.data[entries].sum() == one.records[place]:
            parts = there[leaf_cells[_box(shared.indices[entries], other, whole)]]
            yield np.append(parts, cell[place]), np.append(np.ones(len(parts)), -1.0)


def empty_unions(
    one: RecordSets, other: RecordSets, cell: Integers, there: Integers
) -> Iterator[tuple[Integers, Floats]]:
    """Find empty cells of one table that are sums of cells of another, by what their codes stand for."""
    shape = tuple(len(d) for d in one.dimensions)
    wanted = (one.records == 0) & ~np.isin(cell, there)
    # Where a table has no place for some records, its codes and totals do not tell what they seem to.
    if not wanted.any() or any(np.any(sets.placement.leaves < 0) for sets in (one, other)):
        return
    sides = [[_side(one, axis, place, other) for place in range(n)] for axis, n in enumerate(shape)]
    filters = _filter_sides(one, other)
    if filters is None:
        return
    for places in np.argwhere(wanted.reshape(shape) & _able(one, other, sides)).tolist():
        given = [*filters, *(side for own, place in zip(sides, places, strict=True) if (side := own[place]))]
        parts = there[_crossing(other, given)]
        if len(parts):
            number = cell[np.ravel_multi_index(places, shape)]
            yield np.append(parts, number), np.append(np.ones(len(parts)), -1.0)


# A variable of another table, and which of its leaves a code stands for.
Side = tuple[int, Mask]
ANYWHERE: Side = (-1, np.zeros(0, dtype=bool))


def _members(one: RecordSets, axis: int, place: int) -> Mask:
    """Tell which atoms have a code, filtered or not."""
    dimension = one.dimensions[axis]
    below = np.zeros(len(dimension.leaves) + 1, dtype=bool)  # the last stands for nowhere
    below[leaves_of(dimension, place)] = True
    return np.asarray(below[one.placement.leaves[:, axis]])


def _side(one: RecordSets, axis: int, place: int, other: RecordSets) -> Side | None:
    """Find what a code is in another table; None where that is unknown."""
    dimension = one.dimensions[axis]
    if place == len(dimension) - 1:
        return ANYWHERE
    members = _members(one, axis, place)
    return _leaves_with(members, other) if members.any() else None


def _leaves_with(members: Mask, other: RecordSets) -> Side | None:
    """Find a variable some of whose leaves have just these atoms."""
    for axis, dimension in enumerate(other.dimensions):
        leaf, n_leaves = other.placement.leaves[:, axis], len(dimension.leaves)
        if np.all(leaf[members] >= 0):
            met = np.bincount(leaf[members], minlength=n_leaves)
            every = np.bincount(leaf[leaf >= 0], minlength=n_leaves)
            if np.all((met == 0) | (met == every)):
                return axis, _with_empty(dimension, met > 0, every == 0)
    return None


def _with_empty(dimension: Dimension, met: Mask, empty: Mask) -> Mask:
    """Add the codes without records that stand under the widest group of these leaves."""
    closure = dimension.closure
    outside = closure @ (~met & ~empty) + (len(met) + 1) * (closure @ met < met.sum())
    widest = np.where(outside == 0, np.diff(closure.indptr), 0)
    found = met.copy()
    if widest.any():
        found[leaves_of(dimension, int(np.argmax(widest)))] = True
    return found


def _filter_sides(one: RecordSets, other: RecordSets) -> list[Side] | None:
    """Find what the filter of a table is in another; None where that is unknown."""
    found = []
    for mask in one.placement.filters.values():
        if not any(np.array_equal(mask, its) for its in other.placement.filters.values()):
            side = _leaves_with(mask, other)
            if side is None:
                return None
            found.append(side)
    return found


def _able(one: RecordSets, other: RecordSets, sides: Sequence[Sequence[Side | None]]) -> Mask:
    """Tell which cells another table has: their codes are known there, and its filter keeps all of them."""
    shape = tuple(len(own) for own in sides)
    able = np.ones(shape, dtype=bool)
    for axis, own in enumerate(sides):
        able &= _along([side is not None for side in own], axis, len(shape))
    for kept in other.placement.filters.values():
        inside = np.full(shape, any(np.all(kept[mask]) for mask in one.placement.filters.values()))
        for axis, own in enumerate(sides):
            narrow = [
                side is not ANYWHERE and bool(np.all(kept[_members(one, axis, place)]))
                for place, side in enumerate(own)
            ]
            inside |= _along(narrow, axis, len(shape))
        able &= inside
    return able


def _along(values: Sequence[bool], axis: int, n_axes: int) -> Mask:
    return np.array(values, dtype=bool).reshape([-1 if place == axis else 1 for place in range(n_axes)])


def _crossing(other: RecordSets, sides: Sequence[Side]) -> Integers:
    """Return the cells in which leaves of some variables cross; a whole group is taken as one code."""
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
    """Return the positions of the leaf cells among all cells of a table."""
    shape = [len(d) for d in dimensions]
    leaves = np.meshgrid(*[np.arange(len(d.leaves)) for d in dimensions], indexing="ij")
    return np.asarray(np.ravel_multi_index(leaves, shape), dtype=np.int64).ravel()


def _box(met: Integers, other: RecordSets, whole: Floats) -> Integers:
    """Add the empty leaf cells between those that a union is made of, where no others are among them."""
    shape = tuple(len(d.leaves) for d in other.dimensions)
    sides = [np.unique(places) for places in np.unravel_index(met, shape)]
    box = np.ravel_multi_index(np.meshgrid(*sides, indexing="ij"), shape).ravel()
    strangers = box[~np.isin(box, met)]
    return met if np.any(whole[strangers] > 0) else np.asarray(box, dtype=np.int64)
