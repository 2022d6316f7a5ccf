"""What withholding a cell costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import ParameterError, did_you_mean
from hitoku.methods.method import traits_of
from hitoku.model import MAX_DECIMALS, Floats, Table

COSTS = ("unit", "value", "frequency", "own", "log")

# Whole costs whose sum stays below this are exact in doubles with room to spare.
LARGEST = 2.0**46


def costs(table: Table, cost: str | ArrayLike, power: float | None = None) -> Floats:
    """Return the cost of every cell.

    Parameters
    ----------
    table
        Supplies values, frequencies, own costs.
    cost
        "unit": 1; "value": its size, whatever the sign; "frequency": its respondents; "own": the table's cost
        column; "log": log(1 + value); or one number per cell.
    power
        Raises the cost to this power; zero stands for log(1 + cost), as in a Box-Cox transformation.

    Examples
    --------
    >>> table = Table.from_array([[4, 9], [16, 25]])
    >>> costs(table, "value", power=0.5)[:2]
    array([2., 3.])
    """
    named = isinstance(cost, str)
    chosen = _named(table, str(cost)) if named else _given(table, cost)
    if power == 0 or (named and cost == "log"):
        chosen = np.log1p(chosen)
    elif power is not None:
        chosen = chosen**power
    if table.hidden is not None:
        chosen = np.where(table.hidden, 0.0, chosen)
    chosen.setflags(write=False)
    return chosen


def _named(table: Table, name: str) -> Floats:
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


def _given(table: Table, cost: ArrayLike) -> Floats:
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
    """Costs for the search: whole numbers where they lie on a grid, else as they are.

    Parameters
    ----------
    weight
        The costs, divided by ``unit``.
    unit
        What one of these is worth.
    whole
        They are whole numbers: two patterns cost the same or differ by one at least.
    """

    weight: Floats
    unit: float
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
            if scaled.sum() >= LARGEST:
                break
            whole = np.rint(scaled)
            if np.all(np.abs(scaled - whole) <= 1e-12 * np.maximum(1.0, scaled)):
                divisor = int(np.gcd.reduce(whole.astype(np.int64)))
                return cls(whole / divisor, divisor / 10.0**decimals, whole=True)
        unit = largest
        return cls(cost / unit, unit, whole=False)


def prices_of(table: Table, method: Any) -> Floats:
    """Return the cost of every cell in a method's own terms; one each if it prices no cells."""
    given = [getattr(method, name) for name in traits_of(method).prices]
    return costs(table, *(given or ["unit"]))
