"""Risk per record: what a release reveals about each contributor. Confidential.

Rules assess cells. This module assesses the same release for each contributor and reports the cell that
reveals most about them.

* Sums: a contribution is at most the upper bound of its cell, so the attacker's estimate is the upper end of
  the feasibility interval. The largest other contributor of the cell can subtract their own contribution
  first, as in the p% rule, but from the release instead of the table. The distance is the difference between
  estimate and contribution in percent of the contribution; 0 means that the contribution is known exactly.
* Counts: the number of contributors in the smallest known group of the contributor, and the variables whose
  code follows from the other codes because all other cells of a sum are certainly empty.
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
    """Risk of every contributor in a release. Confidential.

    Parameters
    ----------
    table
        Table that was released.
    names
        Names of the contributors.
    cells, known
        For each contributor: number of cells contributed to, and number of them with a known value (published
        or recomputable).
    fewest
        Number of contributors in the smallest known cell; 0 if no cell is known.
    outsider, insider
        Sums: distance of the closest estimate by an outsider, and by the largest other contributor of the
        cell, in percent of the contribution. NaN for contributors without a positive contribution. None for
        counts.
    closest
        Sums: index of the cell with the insider's closest estimate; -1 without an estimate. None for counts.
    exposed
        Counts: for each variable, whether the contributor's code follows from their other codes. Empty for
        sums.
    """

    table: Table
    names: tuple[str, ...]
    cells: Integers
    known: Integers
    fewest: Integers
    outsider: Floats | None = None
    insider: Floats | None = None
    closest: Integers | None = None
    exposed: Mapping[str, Mask]

    @property
    def columns(self) -> dict[str, list[Any]]:
        """Columns of the frame, with one entry for each contributor; None where a value does not apply."""
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
            listed = [np.flatnonzero(mask) for mask in self.exposed.values()]
            words: list[list[str]] = [[] for _ in self.names]
            for name, places in zip(self.exposed, listed, strict=True):
                for place in places.tolist():
                    words[place].append(name)
            found["exposed"] = ["; ".join(each) for each in words]
        return found

    @property
    def frame(self) -> Any:
        """Data frame of the columns, of the same kind as the table's data."""
        kind: Any = self.table.backend
        return nw.from_dict(self.columns, backend=kind).to_native()

    @property
    def summary(self) -> dict[str, int]:
        """Numbers of contributors at risk, without names."""
        found = {"contributors": len(self.names), "alone": int((self.fewest == 1).sum())}
        if self.outsider is not None and self.insider is not None:
            for name, far in (("outsider", self.outsider), ("insider", self.insider)):
                found[f"known_to_{name}"] = int((far == 0).sum())
                found[f"within_10_percent_of_{name}"] = int((far < 10).sum())
        for name, mask in self.exposed.items():
            found[f"exposed_{name}"] = int(mask.sum())
        return found

    def __repr__(self) -> str:
        return f"RecordRisk({len(self.names):_} contributors)"


def risk_per_record(table: Table, bounds: Bounds, leaves: Shares, *, counts: bool) -> RecordRisk:
    """Compute the risk of every contributor in a release.

    Parameters
    ----------
    table
        True values of a table that crosses variables.
    bounds
        Feasibility interval of each cell for an outsider.
    leaves
        Contributions of all contributors to the leaf cells.
    counts
        Whether the table counts its contributors. Otherwise it sums their contributions.

    Raises
    ------
    ScopeError
        If the table consists of several linked tables, or contributions are negative.
    DataError
        If the contributions do not add up to the table.

    Examples
    --------
    All inner cells are suppressed and the totals are published. Firms a and b are alone in their cells, whose
    total is 18, so each can compute the other's value. Firm a can compute that of c from the other total.

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
        exposed = {}
        for axis, dimension in enumerate(table.dimensions):
            mine = who[_only_place(table, bounds, axis)[cell]]
            exposed[dimension.name] = np.isin(np.arange(n), mine)
        return RecordRisk(**found, exposed=exposed)
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
    return RecordRisk(**found, exposed={}, outsider=far, insider=near, closest=closest)


def _percent(estimate: Floats, amount: Floats) -> Floats:
    """Return the distances of estimates from contributions, in percent; rounding errors count as zero."""
    above = estimate - amount
    # Only finite bounds have rounding errors.
    near = np.isfinite(estimate) & (above <= slack(estimate))
    return np.where(near, 0.0, 100 * above / amount)


def _largest_other(cell: Integers, amount: Floats) -> Floats:
    """Return the largest other contribution to the cell of each contribution; zero if it is the only one."""
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
    """Return the cells that equal a sum along a variable because its other parts are certainly empty."""
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
    """Raise unless the contributions add up to the table and none of them is negative."""
    if not table.dimensions or len(bounds.lower) != table.n_cells:
        raise ScopeError(
            "record_risk_needs_one_table",
            "risk per record needs a single table that crosses variables",
            where="risk per record",
            fix="give the release of a single table; measure linked tables one after the other",
        )
    if not counts and np.any(leaves.amount < 0):
        raise ScopeError(
            "record_risk_needs_positive_amounts",
            "some contributions are negative, so that a sum is not an upper bound of its parts",
            where="risk per record",
            fix="use a variable without negative values",
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
