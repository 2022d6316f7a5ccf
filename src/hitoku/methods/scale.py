"""Small levels beside large values: where a solver gives up, the scale is named, not the solver."""

from __future__ import annotations

import numpy as np

from hitoku.errors import NeedError, SolverError
from hitoku.model.need import Need
from hitoku.model.table import Table

# Values and levels that are further apart than this are out of scale.
DIGITS = 12


def orders_apart(table: Table, need: Need) -> float:
    """Return how many times the smallest level asked for goes into the largest value; 0 where none is.

    Examples
    --------
    >>> table = Table.from_array([[3.0, 5.0], [1e15, 4.0]])
    >>> unsafe = table.value == 3
    >>> f"{orders_apart(table, Need(unsafe=unsafe, upper=2.0 * unsafe)):.0e}"
    '5e+14'
    """
    asked = np.maximum(np.maximum(need.lower, need.upper), need.width)[need.unsafe]
    positive = asked[asked > 0]
    return float(np.abs(table.value).max() / positive.min()) if len(positive) else 0.0


def out_of_scale(table: Table, need: Need, error: SolverError) -> NeedError | SolverError:
    """Return the error for a solver that gave up: the scale, where that is to blame."""
    apart = orders_apart(table, need)
    if apart <= 10.0**DIGITS:
        return error
    return NeedError(
        f"levels and values are {np.log10(apart):.0f} orders of magnitude apart: solvers tell fewer apart",
        where=f"{int(need.unsafe.sum()):,} unsafe cells of {table.n_cells:,}",
        fix="protect small and large units apart, publish in larger units, or try the method circulation",
    )
