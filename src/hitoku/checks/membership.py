"""In which published cell each unit is: what the ledger compares outputs by."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from hitoku.checks.output import Membership
from hitoku.checks.records import Records
from hitoku.model.arrays import Integers, Mask


def table_membership(records: Records, evidence: Mapping[str, Any], missing: str) -> Membership | None:
    """Divide the units by the cells of a table: inner cells, and every kind of total.

    None when some unit has records in several cells, so that cells do not divide the units.
    """
    positions = []
    for name, codes in zip(evidence["by"], evidence["codes"], strict=True):
        groups = records.groups([name], missing)
        place = {code: number for number, code in enumerate(codes)}
        positions.append(np.array([place[label[0]] for label in groups.labels])[groups.codes])
    shape = [len(codes) + 1 for codes in evidence["codes"]]
    withheld = np.asarray(evidence["withheld"], dtype=np.bool_)
    parts = []
    for summed in product((False, True), repeat=len(shape)):
        at = [
            np.full(len(records), side - 1) if over else position
            for over, side, position in zip(summed, shape, positions, strict=True)
        ]
        cell = np.ravel_multi_index(at, shape)
        names = [
            tuple(
                None if over else codes[place]
                for over, codes, place in zip(summed, evidence["codes"], places, strict=True)
            )
            for places in zip(*np.unravel_index(_occupied(cell), shape), strict=True)
        ]
        parts.append(_part(records, cell, withheld, names))
    return _joined(parts)


def group_membership(records: Records, evidence: Mapping[str, Any], missing: str) -> Membership | None:
    """Divide the units by the groups of a statistic."""
    groups = records.groups(evidence["by"], missing)
    withheld = np.asarray(evidence["withheld"], dtype=np.bool_)
    return _joined([_part(records, groups.codes, withheld, list(groups.labels))])


Part = tuple[np.ndarray[Any, np.dtype[np.int32]], tuple[tuple[str | None, ...], ...]]


def _part(records: Records, cell: Integers, withheld: Mask, names: list[Any]) -> Part | None:
    """Give numbers from 1 to the published cells that somebody is in: one division of the units."""
    present = _occupied(cell)
    published = ~withheld[present]
    number = np.zeros(len(withheld), dtype=np.int32)
    number[present[published]] = np.arange(1, int(published.sum()) + 1)
    codes = np.zeros(records.n_units, dtype=np.int32)
    codes[records.unit] = number[cell]
    if np.any(codes[records.unit] != number[cell]):
        return None
    return codes, tuple(name for name, kept in zip(names, published, strict=True) if kept)


def _occupied(cell: Integers) -> Integers:
    return np.flatnonzero(np.bincount(cell))


def _joined(parts: list[Part | None]) -> Membership | None:
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    return Membership(codes=tuple(codes for codes, _ in found), cells=tuple(cells for _, cells in found))
