"""Cells that can only be zero, and that everybody knows to be zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hitoku.errors import DataError, ParameterError, some
from hitoku.model.arrays import Integers, Mask
from hitoku.model.dimension import Dimension, Labels
from hitoku.model.frames import opened, require_columns, texts, unseen_codes

WHERE = "structural_zeros"


@dataclass(frozen=True)
class KnownZeros:
    """A mask over the cells."""

    mask: Mask

    def refuse_records(self, records: Integers, dimensions: Sequence[Dimension]) -> None:
        """Raise when one of the cells holds records."""
        held = np.flatnonzero(self.mask & (records > 0))
        if len(held):
            labels = Labels.cross(dimensions)
            raise DataError(
                f"{len(held)} cell(s) declared as structural zeros hold records",
                where=f"cells {some((labels.describe(int(c)) for c in held[:3]), 3)}",
                fix="correct the records, or take these cells from structural_zeros",
            )


def known_zeros(given: Any, by: Sequence[str], dimensions: Sequence[Dimension]) -> KnownZeros:
    """Read a frame of codes, or a mask; everything below a zero group is zero too."""
    shape = tuple(len(d) for d in dimensions)
    if isinstance(given, np.ndarray | list | tuple):
        mask = np.asarray(given)
        if mask.dtype != np.bool_ or mask.size != np.prod(shape, dtype=np.int64):
            raise ParameterError(
                f"a mask of {mask.size} {mask.dtype.name} entries for {np.prod(shape, dtype=np.int64)} cells",
                where=WHERE,
                fix="give one boolean per cell in the order of table.cells, or a frame with the codes",
            )
        mask = mask.reshape(shape).copy()
    else:
        mask = np.zeros(shape, dtype=bool)
        mask[_places(given, by, dimensions)] = True
    return KnownZeros(_with_parts(mask, dimensions).ravel())


def _places(given: Any, by: Sequence[str], dimensions: Sequence[Dimension]) -> tuple[Integers, ...]:
    frame = opened(given)
    require_columns(frame, by, WHERE)
    places = []
    for dimension in dimensions:
        codes = texts(frame, dimension.name, WHERE)
        distinct, inverse = np.unique(codes, return_inverse=True)
        strangers = [str(code) for code in distinct if str(code) not in dimension.position]
        if strangers:
            raise unseen_codes(dimension.name, strangers, dimension.codes, WHERE)
        position = np.array([dimension.position[str(code)] for code in distinct], dtype=np.int64)
        places.append(position[inverse])
    return tuple(places)


def _with_parts(mask: Mask, dimensions: Sequence[Dimension]) -> Mask:
    """Mark the cells below a marked one: records are never negative in number, so these are empty too."""
    for axis, dimension in enumerate(dimensions):
        closure = dimension.closure
        common = (closure @ closure.T).toarray()
        # below[a, b]: all leaves of a are leaves of b.
        below = common == closure.sum(axis=1)[:, None]
        moved = np.moveaxis(mask, axis, 0)
        spread = below.astype(np.float64) @ moved.reshape(len(dimension), -1).astype(np.float64)
        mask = np.moveaxis((spread > 0).reshape(moved.shape), 0, axis)
    return np.ascontiguousarray(mask)
