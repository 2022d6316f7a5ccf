"""How far an attack is held off, as a multiple of what was asked for."""

from __future__ import annotations

import numpy as np

from hitoku.errors import NeedError
from hitoku.model.arrays import Floats
from hitoku.model.bounds import Bounds
from hitoku.model.need import Need
from hitoku.model.table import Table


def reached(table: Table, need: Need, bounds: Bounds) -> Floats:
    """Return, for each unsafe cell, how many times its requirement the bounds leave open.

    The smallest of three quotients counts: room below the value, room above it, length. One is just enough,
    zero is a cell that is known on a side that had to stay open. A cell of which nothing was asked has
    infinity, unless it is known exactly: then zero. A measure, not a verdict: whether the need is met, up to
    rounding, is for :meth:`Need.met` to say.

    Examples
    --------
    >>> table = Table.from_array([20, 4, 6])
    >>> need = Need(unsafe=table.value < 20, width=4.0)
    >>> reached(table, need, Bounds(lower=[20, 0, 4, 30], upper=[20, 6, 6, 30]))
    array([1.5, 0.5])
    """
    if len(need) != table.n_cells or len(bounds.lower) != table.n_cells:
        raise NeedError(
            f"a table of {table.n_cells} cells, a need of {len(need)}, bounds of {len(bounds.lower)}",
            fix="give the need and the bounds of this very table",
        )
    cells = need.unsafe
    value, low, high = table.value[cells], bounds.lower[cells], bounds.upper[cells]
    found = np.where(high > low, np.inf, 0.0)
    for room, asked in (
        (value - low, need.lower[cells]),
        (high - value, need.upper[cells]),
        (high - low, need.width[cells]),
    ):
        quotient = np.divide(np.maximum(room, 0.0), asked, out=np.full(len(asked), np.inf), where=asked > 0)
        found = np.minimum(found, quotient)
    return found
