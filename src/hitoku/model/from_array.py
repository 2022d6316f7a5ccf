"""The parts of a table from an array of inner cells."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hitoku.errors import DataError, TableError
from hitoku.model.dimension import Dimension, dimensions_of
from hitoku.model.hierarchy import TOTAL
from hitoku.model.relations import add_up
from hitoku.model.size import refuse_too_large

# Variables with more codes are made anew for every table, and forgotten with it.
LARGEST_KEPT = 1_000


def array_parts(
    array: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    codes: Sequence[Sequence[Any]] | None = None,
    frequency: ArrayLike | None = None,
    total: str = TOTAL,
    **parts: Any,
) -> dict[str, Any]:
    """Add every margin to an array of inner cells; return what the table is made of.

    Parameters are those of :meth:`hitoku.Table.from_array`.
    """
    inner = _numbers(array)
    if names is None:
        names = ("row", "column") if inner.ndim == 2 else tuple(f"axis{i + 1}" for i in range(inner.ndim))
    numbered = codes is None
    if codes is None:
        codes = [[str(i + 1) for i in range(side)] for side in inner.shape]
    if len(names) != inner.ndim or [len(c) for c in codes] != list(inner.shape):
        raise TableError(
            f"names and codes do not fit an array of shape {inner.shape}",
            fix="give one name and one list of codes per dimension, as long as the dimension",
        )
    _refuse_not_finite(inner, names, codes)
    if numbered and max(inner.shape) <= LARGEST_KEPT and all(isinstance(name, str) for name in names):
        dimensions = _numbered(tuple(names), inner.shape, total)
    else:
        dimensions = dimensions_of(names, codes, total)
    refuse_too_large(dimensions)
    whole = inner.dtype.kind in "iu"
    if frequency is not None:
        counts = np.asarray(frequency)
        if counts.shape != inner.shape:
            raise TableError(
                f"frequency has shape {counts.shape}, the array {inner.shape}", where="frequency"
            )
        parts["frequency"] = add_up(counts, dimensions)
    elif whole and inner.min() >= 0:
        parts["frequency"] = add_up(inner, dimensions)
        parts.setdefault("measure", "count")
    parts.setdefault("integer", whole)
    return {"value": add_up(inner, dimensions), "dimensions": dimensions, **parts}


@lru_cache(maxsize=64)
def _numbered(names: tuple[str, ...], shape: tuple[int, ...], total: str) -> tuple[Dimension, ...]:
    """Return variables whose codes are 1, 2, ...; made once, for studies draw many tables of one shape."""
    return dimensions_of(names, [[str(i + 1) for i in range(side)] for side in shape], total)


def _numbers(array: ArrayLike) -> NDArray[Any]:
    inner = np.asarray(array)
    if inner.dtype.kind not in "iuf":
        raise DataError(
            f"the array holds {inner.dtype.name}, not numbers",
            where="array",
            fix="convert it to int or float",
        )
    if inner.ndim == 0 or inner.size == 0:
        raise DataError(
            "the array holds no cells", where="array", fix="give at least two cells per dimension"
        )
    return inner


def _refuse_not_finite(inner: NDArray[Any], names: Sequence[str], codes: Sequence[Sequence[Any]]) -> None:
    bad = np.argwhere(~np.isfinite(inner)) if inner.dtype.kind == "f" else np.empty((0, 0))
    if len(bad):
        first = ", ".join(f"{n}={c[i]}" for n, c, i in zip(names, codes, bad[0], strict=True))
        raise DataError(
            f"{len(bad)} cell(s) of the array are NaN or infinite",
            where=f"first at {first}",
            fix="fill them first",
        )
