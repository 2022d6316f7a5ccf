"""Parts of a table, from an array of inner cells or from a data frame with one row per cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from hitoku.errors import DataError, ParameterError, TableError, did_you_mean, some
from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.model.contributors import Contributors, Magnitude
from hitoku.model.dimension import Dimension, Labels, dimensions_of
from hitoku.model.frames import (
    backend_of,
    code_list,
    numbers,
    open_frame,
    refuse_similar,
    require_columns,
    texts,
    unseen_codes,
    whole_numbers,
)
from hitoku.model.hierarchy import TOTAL, Hierarchy
from hitoku.model.relations import add_up, refuse_too_large


def array_parts(
    array: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    codes: Sequence[Sequence[Any]] | None = None,
    frequency: ArrayLike | None = None,
    total: str = TOTAL,
    **parts: Any,
) -> dict[str, Any]:
    """Return the parts of a table from an array of inner cells, with all totals.

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
            "names_and_codes_shape",
            "names and codes do not fit an array of shape {shape}",
            fix="give one name and one list of codes per dimension, as long as the dimension",
            shape=inner.shape,
        )
    _refuse_not_finite(inner, names, codes)
    # Variables with more codes are not cached.
    if numbered and max(inner.shape) <= 1_000 and all(isinstance(name, str) for name in names):
        dimensions = _numbered_variables(tuple(names), inner.shape, total)
    else:
        dimensions = dimensions_of(names, codes, total)
    refuse_too_large(dimensions)
    whole = inner.dtype.kind in "iu"
    if frequency is not None:
        counts = np.asarray(frequency)
        if counts.shape != inner.shape:
            raise TableError(
                "frequency_shape",
                "frequency has shape {shape}, the array {expected}",
                where="frequency",
                shape=counts.shape,
                expected=inner.shape,
            )
        parts["frequency"] = add_up(counts, dimensions)
    elif whole and inner.min() >= 0:
        parts["frequency"] = add_up(inner, dimensions)
        parts.setdefault("measure", "count")
    parts.setdefault("integer", whole)
    return {"value": add_up(inner, dimensions), "dimensions": dimensions, **parts}


@lru_cache(maxsize=64)
def _numbered_variables(names: tuple[str, ...], shape: tuple[int, ...], total: str) -> tuple[Dimension, ...]:
    """Return variables with the codes 1, 2, ... Cached for simulations with many tables of one shape."""
    return dimensions_of(names, [[str(i + 1) for i in range(side)] for side in shape], total)


def _numbers(array: ArrayLike) -> NDArray[Any]:
    inner = np.asarray(array)
    if inner.dtype.kind not in "iuf":
        raise DataError(
            "array_not_numeric",
            "the array contains {dtype}, not numbers",
            where="array",
            fix="convert it to int or float",
            dtype=inner.dtype.name,
        )
    if inner.ndim == 0 or inner.size == 0:
        raise DataError(
            "array_empty",
            "the array is empty",
            where="array",
            fix="give at least two cells per dimension",
        )
    return inner


def _refuse_not_finite(inner: NDArray[Any], names: Sequence[str], codes: Sequence[Sequence[Any]]) -> None:
    bad = np.argwhere(~np.isfinite(inner)) if inner.dtype.kind == "f" else np.empty((0, 0))
    if len(bad):
        first = ", ".join(f"{n}={c[i]}" for n, c, i in zip(names, codes, bad[0], strict=True))
        raise DataError(
            "array_not_finite",
            "{n} cell(s) of the array are NaN or infinite",
            where="first at {first}",
            fix="fill them first",
            n=len(bad),
            first=first,
        )


Hierarchies = Mapping[str, Hierarchy | Sequence[Hierarchy]]


def frame_parts(
    frame: Any,
    by: Sequence[str],
    value: str,
    *,
    frequency: str | None = None,
    hierarchies: Hierarchies | None = None,
    total: str | Mapping[str, str] = TOTAL,
    largest: Sequence[str] = (),
    cost: str | None = None,
    lower: str | None = None,
    upper: str | None = None,
    fixed: str | None = None,
    integer: bool | None = None,
    measure: str | None = None,
    magnitude: Magnitude | None = None,
    totals: str = "check",
) -> dict[str, Any]:
    """Return the parts of a table from a data frame with one row per cell, for ``Table.from_frame``.

    Parameters
    ----------
    frame, by, value
        Data frame, columns with the codes, and column with the values.
    frequency
        Column with the number of contributors.
    hierarchies
        Hierarchies by variable. A variable without one is flat.
    total
        Code of the total, one for all variables or one for each.
    largest
        Columns with the largest contributions in descending order. They cannot be derived for totals, so the
        totals must be in the frame.
    cost, lower, upper, fixed
        Columns with costs, known bounds, and marks of cells that may not be suppressed. Cells that are not in
        the frame cost their value and have the default bounds.
    integer
        Whether values are whole numbers and an outsider knows it. Default: from the type of the column.
    measure
        Name of the quantity. Default: name of the value column.
    magnitude
        Treatment of negative values among the largest contributions; see :class:`Contributors`.
    totals
        "check": totals in the frame must be the sums of their parts. "recompute": values and contributors of
        totals are computed again.
    """
    if totals not in {"check", "recompute"}:
        raise ParameterError(
            "totals_option_invalid",
            "totals must be 'check' or 'recompute', got {totals!r}",
            where="totals",
            fix="use 'check' or 'recompute'",
            totals=totals,
        )
    data = open_frame(frame)
    if not by:
        raise ParameterError(
            "no_variables", "no variables to tabulate by", where="by", fix="name at least one column"
        )
    require_columns(data, [*by, value])
    if len(data) == 0:
        raise DataError(
            "data_empty", "the data are empty", where="data", fix="check the file or the filter before it"
        )
    dimensions, cell = _locate(data, by, hierarchies or {}, total)
    labels = Labels.cross(dimensions)
    given = np.zeros(len(labels), dtype=bool)
    given[cell] = True
    leaf = _leaf_mask(dimensions)

    def spread(column: Floats | Integers) -> Floats:
        """Return the value of every cell: from the frame, or the sum of its parts."""
        cells = np.zeros(len(labels))
        cells[cell] = column
        added = add_up(cells[leaf].reshape([len(d.leaves) for d in dimensions]), dimensions)
        return np.where(given & leaf if totals == "recompute" else given, cells, added)

    def chosen(name: str | None, default: Any) -> Any:
        if name is None:
            return None
        cells = np.broadcast_to(np.asarray(default, dtype=np.float64), len(labels)).copy()
        cells[cell] = _marks(data, name) if name == fixed else numbers(data, name)
        return cells

    values = spread(numbers(data, value))
    counts = None if frequency is None else spread(whole_numbers(data, frequency))
    units = None
    if largest:
        # A total of empty parts has no contributors.
        amounts = [np.abs(numbers(data, column)) for column in (value, *largest)]
        empty = ~given & (spread(np.sum(amounts, axis=0)) == 0)
        units = _units(data, largest, cell, given | leaf | empty, values, counts, labels, magnitude)
    return {
        "value": values,
        "dimensions": dimensions,
        "frequency": None if counts is None else counts.astype(np.int64),
        "units": units,
        "integer": data[value].dtype.is_integer() if integer is None else integer,
        "lower": chosen(lower, -np.inf if np.any(values < 0) else 0.0),
        "upper": chosen(upper, np.inf),
        "cost": chosen(cost, np.abs(values)),
        "fixed": chosen(fixed, 0.0),
        "measure": measure or value,
        "backend": backend_of(data),
    }


def require_hierarchies(hierarchies: Hierarchies, by: Sequence[str]) -> None:
    """Raise unless every hierarchy is one, or a list of them, for a variable of the table."""
    for name, given in hierarchies.items():
        if name not in by:
            raise ParameterError(
                "hierarchy_of_unknown_variable",
                "a hierarchy for {variable!r}, which is not a variable of the table",
                where="hierarchies",
                fix=did_you_mean(name, by),
                variable=name,
            )
        groupings = given if isinstance(given, list | tuple) else [given]
        if not groupings or not all(isinstance(grouping, Hierarchy) for grouping in groupings):
            raise ParameterError(
                "not_a_hierarchy",
                "the hierarchy of {variable!r} is not a Hierarchy, nor a list of them",
                where="hierarchies",
                fix="make one with Hierarchy.from_tree, from_parents, from_levels or flat",
                variable=name,
            )


def _locate(
    data: nw.DataFrame[Any], by: Sequence[str], hierarchies: Hierarchies, total: str | Mapping[str, str]
) -> tuple[tuple[Dimension, ...], Integers]:
    """Return the dimensions, and the cell of each row."""
    require_hierarchies(hierarchies, by)
    dimensions: list[Dimension] = []
    places: list[Integers] = []
    for name in by:
        codes = texts(data, name)
        top = total if isinstance(total, str) else total.get(name, TOTAL)
        if name in hierarchies:
            dimension = Dimension.of(name, hierarchies[name])
        else:
            found, times = np.unique(codes, return_counts=True)
            refuse_similar(name, {top: 0} | dict(zip(map(str, found), map(int, times), strict=True)), "data")
            listed = [code for code in code_list(codes) if code != top]
            if not listed:
                raise DataError(
                    "column_holds_total_only",
                    "column {column!r} contains only the total",
                    column=name,
                    where="data",
                )
            dimension = Dimension.of(name, Hierarchy.flat(listed, top))
        distinct, inverse = np.unique(codes, return_inverse=True)
        strangers = [str(code) for code in distinct if str(code) not in dimension.position]
        if strangers:
            raise unseen_codes(name, strangers, dimension.codes, "data")
        places.append(np.array([dimension.position[str(code)] for code in distinct], dtype=np.int64)[inverse])
        dimensions.append(dimension)
    refuse_too_large(dimensions)
    shape = tuple(len(d) for d in dimensions)
    cell = np.asarray(np.ravel_multi_index(tuple(places), shape), dtype=np.int64)
    distinct_cells, times = np.unique(cell, return_counts=True)
    twice = distinct_cells[times > 1]
    if len(twice):
        labels = Labels.cross(dimensions)
        raise DataError(
            "cells_in_several_rows",
            "{n} cell(s) occur in more than one row",
            where="cells {cells}",
            fix="give one row per cell, or use hitoku.tabulate for records",
            n=len(twice),
            cells=some((labels.describe(int(c)) for c in twice[:3]), 3),
        )
    return tuple(dimensions), cell


def _leaf_mask(dimensions: Sequence[Dimension]) -> Mask:
    mask = np.zeros([len(d) for d in dimensions], dtype=bool)
    mask[tuple(slice(len(d.leaves)) for d in dimensions)] = True
    return mask.ravel()


def _marks(data: nw.DataFrame[Any], name: str) -> Floats:
    require_columns(data, [name])
    series = data[name]
    if series.dtype == nw.Boolean:
        return np.asarray(series.to_numpy(), dtype=np.float64)
    return numbers(data, name)


def _units(
    data: nw.DataFrame[Any],
    columns: Sequence[str],
    cell: Integers,
    known: Mask,
    values: Floats,
    counts: Floats | None,
    labels: Labels,
    magnitude: Magnitude | None,
) -> Contributors:
    unknown = np.flatnonzero(~known)
    if len(unknown):
        raise DataError(
            "largest_of_totals_missing",
            "the largest contributions of {n} total(s) are missing and cannot be derived from their parts",
            where="cells {cells}",
            fix="add a row for every total, or use hitoku.tabulate on the records",
            n=len(unknown),
            cells=some((labels.describe(int(c)) for c in unknown[:3]), 3),
        )
    ranks = np.zeros((len(labels), len(columns)))
    for rank, column in enumerate(columns):
        ranks[cell, rank] = numbers(data, column)
    count = counts if counts is not None else (ranks > 0).sum(axis=1)
    return Contributors(
        count=np.asarray(count, dtype=np.int64),
        largest=ranks,
        total=np.asarray(values),
        negative=bool(np.any(values < 0)),
        magnitude=magnitude,
    )
