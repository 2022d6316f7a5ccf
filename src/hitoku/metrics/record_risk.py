"""Risk per record: how close a release comes to each contributor, for the checker's eyes only.

Rules judge cells. This looks at the same release from the side of those behind the cells: for every
contributor, the cell of the release that tells most about them.

* In sums, nobody's amount is above what its cell can be at most, so a reader's estimate of an amount is the
  upper end of the cell's interval, and the other contributor with most in the cell can take off the own
  amount first: the estimate of the p% rule, read from the release instead of the table. How far it lies above
  the truth, in percent, is the distance; 0 means that the amount is known.
* In counts, it is how many people stand in the smallest group that everybody can count, and which codes
  everybody can tell of somebody whose other codes they know: all other cells of a sum are certainly empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from hitoku.errors import DataError, ScopeError
from hitoku.model import ADDITIVITY, Bounds, Floats, Integers, Mask, Shares, Table, slack


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RecordRisk:
    """What a release says about every contributor; confidential.

    Parameters
    ----------
    table
        What was released.
    names
        Names of the contributors.
    cells, known
        Cells that each contributed to, and how many of them everybody knows: published, or recomputable.
    fewest
        Contributors in the smallest of the known ones; 0 where there is none.
    outsider, insider
        Sums: how far above the own amount the estimate of an outsider lies, and that of the other contributor
        with most, in percent of the amount and where it is closest. NaN for somebody without a positive
        amount. None for counts.
    closest
        Sums: the cell in which the insider comes closest; -1 where nobody has an estimate. None for counts.
    told
        Counts: by variable, whether everybody can tell the code from the other codes. Empty for sums.
    """

    table: Table
    names: tuple[str, ...]
    cells: Integers
    known: Integers
    fewest: Integers
    outsider: Floats | None = None
    insider: Floats | None = None
    closest: Integers | None = None
    told: Mapping[str, Mask]

    @property
    def columns(self) -> dict[str, list[Any]]:
        """One entry per contributor, as a file or frame has it; nothing where there is nothing to say."""
        found: dict[str, list[Any]] = {
            "contributor": list(self.names),
            "cells": self.cells.tolist(),
            "known": self.known.tolist(),
            "fewest": [n or None for n in self.fewest.tolist()],
        }
        if self.outsider is not None and self.insider is not None and self.closest is not None:
            for name, far in (("outsider", self.outsider), ("insider", self.insider)):
                found[f"{name}_percent"] = [None if np.isnan(f) else round(f, 4) for f in far.tolist()]
            found["cell"] = [self.table.describe(cell) if cell >= 0 else "" for cell in self.closest.tolist()]
        else:
            listed = [np.flatnonzero(mask) for mask in self.told.values()]
            words: list[list[str]] = [[] for _ in self.names]
            for name, places in zip(self.told, listed, strict=True):
                for place in places.tolist():
                    words[place].append(name)
            found["told"] = ["; ".join(each) for each in words]
        return found

    @property
    def frame(self) -> Any:
        """The same as a frame, in the kind of the table's."""
        kind: Any = self.table.backend
        return nw.from_dict(self.columns, backend=kind).to_native()

    @property
    def summary(self) -> dict[str, int]:
        """Counts that name nobody."""
        found = {"contributors": len(self.names), "alone": int((self.fewest == 1).sum())}
        if self.outsider is not None and self.insider is not None:
            for name, far in (("outsider", self.outsider), ("insider", self.insider)):
                found[f"known_to_{name}"] = int((far == 0).sum())
                found[f"within_10_percent_of_{name}"] = int((far < 10).sum())
        for name, mask in self.told.items():
            found[f"told_{name}"] = int(mask.sum())
        return found

    def __repr__(self) -> str:
        return f"RecordRisk({len(self.names):_} contributors)"


def risk_per_record(table: Table, bounds: Bounds, leaves: Shares, *, counts: bool) -> RecordRisk:
    """Work out what a release says about every contributor.

    Parameters
    ----------
    table
        The true values; a cross of variables.
    bounds
        What an outsider can infer from the release about each cell.
    leaves
        Who has how much in which leaf cell.
    counts
        The table counts the records behind it; otherwise it adds up what they have.

    Examples
    --------
    All inner cells are withheld, the totals are not. The firms a and b are alone in theirs, and the total of
    both is 18: each can tell what the other has. So can a of c, by the other total.

    >>> table = Table.from_array([[7.0, 11.0], [30.0, 60.0]])
    >>> amounts = np.array([7.0, 11.0, 30.0, 10.0, 50.0])
    >>> shares = Shares(list("abcde"), np.arange(5), np.array([0, 1, 2, 3, 3]), amounts)
    >>> low, high = (np.where(table.inner, end, table.value) for end in (0, 80))
    >>> risk_per_record(table, Bounds(lower=low, upper=high), shares, counts=False).insider.tolist()
    [0.0, 0.0, 0.0, 110.0, 20.0]
    """
    _refuse_others(table, bounds, leaves, counts=counts)
    every = leaves.in_all_cells(table.dimensions)
    n, who, cell, amount = len(leaves.names), every.who, every.cell, every.amount
    people = np.bincount(cell, minlength=table.n_cells)
    exact = (bounds.width <= slack(table.value)) & ~bounds.unknown
    fewest = np.full(n, table.n_cells + len(who), dtype=np.int64)
    np.minimum.at(fewest, who[exact[cell]], people[cell[exact[cell]]])
    found: dict[str, Any] = {
        "table": table,
        "names": tuple(leaves.names),
        "cells": np.bincount(who, minlength=n),
        "known": np.bincount(who[exact[cell]], minlength=n),
        "fewest": np.where(fewest > len(who), 0, fewest),
    }
    if counts:
        told = {}
        for axis, dimension in enumerate(table.dimensions):
            mine = who[_only_place(table, bounds, axis)[cell]]
            told[dimension.name] = np.isin(np.arange(n), mine)
        return RecordRisk(**found, told=told)
    positive = amount > 0
    who, cell, amount = who[positive], cell[positive], amount[positive]
    upper = np.maximum(bounds.upper[cell], amount)
    outsider = _percent(upper, amount)
    insider = _percent(np.maximum(upper - _largest_other(cell, amount), amount), amount)
    order = np.lexsort((cell, insider, who))
    first = order[np.r_[True, np.diff(who[order]) > 0]] if len(order) else order
    closest, far, near = np.full(n, -1, dtype=np.int64), np.full(n, np.nan), np.full(n, np.nan)
    closest[who[first]], near[who[first]] = cell[first], insider[first]
    far[who[first]] = np.inf
    np.fmin.at(far, who, outsider)
    return RecordRisk(**found, told={}, outsider=far, insider=near, closest=closest)


def _percent(estimate: Floats, amount: Floats) -> Floats:
    """How far estimates lie above amounts; what rounding makes of nothing is nothing."""
    above = estimate - amount
    # The rounding is that of a bound; where there is none, nothing is known.
    near = np.isfinite(estimate) & (above <= slack(estimate))
    return np.where(near, 0.0, 100 * above / amount)


def _largest_other(cell: Integers, amount: Floats) -> Floats:
    """For every share the largest other one in the same cell; zero where there is none."""
    order = np.lexsort((-amount, cell))
    cells, amounts = cell[order], amount[order]
    begins = np.r_[True, np.diff(cells) > 0] if len(cells) else np.zeros(0, dtype=np.bool_)
    start = np.maximum.accumulate(np.where(begins, np.arange(len(cells)), 0))
    second = np.minimum(start + 1, max(len(cells) - 1, 0))
    runner_up = np.where((cells[second] == cells) & (second > start), amounts[second], 0.0)
    found = np.empty(len(cells))
    found[order] = np.where(begins, runner_up, amounts[start])
    return found


def _only_place(table: Table, bounds: Bounds, axis: int) -> Mask:
    """Cells that are all there is of some sum along a variable: the other parts are certainly empty."""
    dimension = table.dimensions[axis]
    possible = ((bounds.upper > 0) | bounds.unknown).reshape(table.shape)
    moved = np.moveaxis(possible, axis, 0).reshape(len(dimension), -1)
    parts = dimension.sums > 0
    alone = np.zeros(moved.shape, dtype=np.bool_)
    for group in np.flatnonzero(np.diff(parts.indptr) > 1):
        own = parts.indices[parts.indptr[group] : parts.indptr[group + 1]]
        alone[own] |= moved[own] & (moved[own].sum(axis=0) == 1)
    back = alone.reshape(len(dimension), *np.delete(table.shape, axis))
    return np.ascontiguousarray(np.moveaxis(back, 0, axis)).ravel()


def _refuse_others(table: Table, bounds: Bounds, leaves: Shares, *, counts: bool) -> None:
    """Raise unless the shares are those behind the table, and amounts bound each other."""
    if not table.dimensions or len(bounds.lower) != table.n_cells:
        raise ScopeError(
            "record_risk_needs_one_table",
            "risk per record is worked out for one table at a time, a cross of variables",
            where="risk per record",
            fix="give the release of a single table; of linked tables, one after the other",
        )
    if not counts and np.any(leaves.amount < 0):
        raise ScopeError(
            "record_risk_needs_positive_amounts",
            "some amounts are below zero: then no sum bounds its parts",
            where="risk per record",
            fix="look at amounts that are not negative",
        )
    inner = np.flatnonzero(table.inner)
    found = np.bincount(leaves.cell, weights=leaves.amount, minlength=len(inner))
    if np.any(np.abs(found - table.value[inner]) > ADDITIVITY * np.maximum(1.0, np.abs(found))):
        raise DataError(
            "records_do_not_add_up",
            "the records do not add up to the table",
            where="risk per record",
            fix="give the records from which the table was made, with the same columns and filter",
        )
