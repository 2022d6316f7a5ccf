"""Costs of suppressed cells, and a bound on how far the cost of a pattern is above the least.

An unsafe cell must be able to move, so every relation that contains it has another cell that moves and is
therefore suppressed. A relation with a single unsafe cell thus requires a secondary cell. The least cost of
such a choice is a covering problem, and any feasible solution of its dual is a bound. It needs no linear
program, so it is available for tables of any size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import ParameterError, did_you_mean
from hitoku.methods.method import COSTS, traits_of
from hitoku.model import MAX_DECIMALS, SOLVED, SUM_ROUNDING, Floats, Mask, Need, Protection, Table

# Integer costs whose sum stays below this are exact in doubles.
MAX_SUM = 2.0**46


def costs(table: Table, cost: str | ArrayLike, power: float | None = None) -> Floats:
    """Return the cost of every cell.

    Parameters
    ----------
    table
        Provides values, frequencies, own costs.
    cost
        "unit": 1; "value": its size, whatever the sign; "frequency": its respondents; "own": the table's cost
        column; "log": log(1 + value); or one number per cell.
    power
        Exponent of the cost; zero stands for log(1 + cost), as in a Box-Cox transformation.

    Examples
    --------
    >>> table = Table.from_array([[4, 9], [16, 25]])
    >>> costs(table, "value", power=0.5)[:2]
    array([2., 3.])
    """
    named = isinstance(cost, str)
    chosen = _standard_cost(table, str(cost)) if named else _checked_array(table, cost)
    if power == 0 or (named and cost == "log"):
        chosen = np.log1p(chosen)
    elif power is not None:
        chosen = chosen**power
    if table.hidden is not None:
        chosen = np.where(table.hidden, 0.0, chosen)
    chosen.setflags(write=False)
    return chosen


def _standard_cost(table: Table, name: str) -> Floats:
    if name == "unit":
        return np.ones(table.n_cells)
    if name in {"value", "log"}:
        return np.abs(table.value)
    column = {"frequency": table.frequency, "own": table.cost}
    if name not in column:
        raise ParameterError(
            "unknown_cost", "no cost named {name!r}", where="cost", fix=did_you_mean(name, COSTS), name=name
        )
    found = column[name]
    if found is None:
        raise ParameterError(
            "cost_column_missing",
            "cost is {name!r}, but the table came without that column",
            where="cost",
            fix="give the table that column, or use cost='value' or an array",
            name=name,
        )
    return found.astype(np.float64)


def _checked_array(table: Table, cost: ArrayLike) -> Floats:
    try:
        array = np.array(cost, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            "cost_wrong_kind",
            "cost is neither a word nor numbers",
            where="cost",
            fix="use one of: {costs}",
            costs=", ".join(COSTS),
        ) from error
    if array.shape != (table.n_cells,):
        raise ParameterError(
            "cost_shape",
            "cost has shape {shape}, the table {n_cells} cells",
            where="cost",
            fix="give one number per cell in the order of table.cells",
            shape=array.shape,
            n_cells=table.n_cells,
        )
    if not np.isfinite(array).all() or np.any(array < 0):
        raise ParameterError(
            "cost_not_finite", "a cost is negative or not finite", where="cost", fix="costs start at zero"
        )
    return array


@dataclass(frozen=True, slots=True, eq=False)
class CostScale:
    """Costs for the search: integers if they lie on a grid, otherwise unchanged."""

    weight: Floats  # The costs, divided by ``unit``.
    unit: float  # Cost of one unit of weight.
    # Whether the weights are integers: two patterns then cost the same or differ by at least one.
    whole: bool

    @classmethod
    def of(cls, cost: Floats) -> CostScale:
        """Find the coarsest grid of decimals.

        Examples
        --------
        >>> grid = CostScale.of(np.array([0.5, 1.5, 3.0]))
        >>> grid.weight, grid.unit
        (array([1., 3., 6.]), 0.5)
        """
        largest = float(cost.max(initial=0.0))
        if largest == 0:
            return cls(cost, 1.0, whole=True)
        for decimals in range(MAX_DECIMALS + 1):
            scaled = cost * 10.0**decimals
            if scaled.sum() >= MAX_SUM:
                break
            whole = np.rint(scaled)
            if np.all(np.abs(scaled - whole) <= SUM_ROUNDING * np.maximum(1.0, scaled)):
                divisor = int(np.gcd.reduce(whole.astype(np.int64)))
                return cls(whole / divisor, divisor / 10.0**decimals, whole=True)
        unit = largest
        return cls(cost / unit, unit, whole=False)


def prices_of(table: Table, method: Any) -> Floats:
    """Return the cost of every cell in a method's own terms; one each if it has no prices."""
    given = [getattr(method, name) for name in traits_of(method).prices]
    return costs(table, *(given or ["unit"]))


def least_cost(table: Table, need: Need, cost: Floats, stay: Mask, first: Mask) -> float:
    """Return a lower bound on the cost of every safe pattern.

    Parameters
    ----------
    table, need
        Table, and its requirements.
    cost
        Cost of each cell.
    stay
        Cells that stay published.
    first
        Cells that are suppressed in any case, including unsafe ones.

    Examples
    --------
    Rows and columns through the unsafe cell need a second suppression each, for 10 and for 20.

    >>> table = Table.from_array([[1, 10, 30], [20, 40, 90], [50, 60, 70]])
    >>> need = Need(unsafe=table.value == 1)
    >>> nothing = np.zeros(16, dtype=bool)
    >>> least_cost(table, need, table.value, nothing, need.unsafe)
    31.0
    """
    relations = table.relations
    held = first & (table.upper > table.lower)
    row = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    count = np.bincount(row[held[relations.indices]], minlength=relations.shape[0])
    asks = np.bincount(row[need.unsafe[relations.indices]], minlength=relations.shape[0])
    # Suppressed in any case, such a cell may already satisfy the relation.
    asking = np.flatnonzero((asks == 1) & (count == 1))
    free = ~(stay | first) & (table.upper > table.lower)
    left = np.where(free, cost, np.inf)
    begins, ends = relations.indptr[asking], relations.indptr[asking + 1]
    cheapest = np.array(
        [left[relations.indices[i:j]].min(initial=np.inf) for i, j in zip(begins, ends, strict=True)]
    )
    total = float(cost[first].sum())
    # Expensive relations first: a cheap one that shares their cells would use up what they can charge.
    for number in np.argsort(-cheapest, kind="stable"):
        cells = relations.indices[begins[number] : ends[number]]
        price = float(left[cells].min(initial=np.inf))
        if 0 < price < np.inf:
            total += price
            left[cells] -= price
    return total


def least_known(protection: Protection) -> float:
    """Return the lower bound on cost that a protection implies; zero if nothing is known.

    Examples
    --------
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> from dataclasses import replace
    >>> by_hand = Protection.withhold(table, table.inner)
    >>> least_known(replace(by_hand, cost=80.0, gap=0.25)), least_known(by_hand)
    (60.0, 0.0)
    """
    if protection.proven:
        return protection.cost
    return 0.0 if np.isnan(protection.gap) else (1.0 - protection.gap) * protection.cost


def above(cost: float, least: float) -> str:
    """Describe how far a cost may be above the least safe one.

    Examples
    --------
    >>> above(110.0, 100.0)
    'at most 10% above the least cost that is safe'
    >>> above(100.2, 100.0)
    'at most 1% above the least cost that is safe'
    >>> above(400.0, 100.0)
    'at most 4.0 times the least cost that is safe'
    """
    if cost <= least:
        return "nothing cheaper is safe"
    if not least > 0:
        return "nothing is proven about cheaper patterns"
    # Rounded up: the sentence is a promise. Subtracted before, so that floating-point error adds no percent.
    if cost < 2 * least:
        return (
            f"at most {math.ceil(100 * (cost - least) / least - SOLVED)}% above the least cost that is safe"
        )
    return f"at most {math.ceil(10 * cost / least - SOLVED) / 10:.1f} times the least cost that is safe"
