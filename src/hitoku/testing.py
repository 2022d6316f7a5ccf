"""Small tables and checks, for tests, documentation and plug-ins."""

from __future__ import annotations

import numpy as np

from hitoku.model import BOUND, Bounds, Contributors, Need, Table


def one_cell(*contributions: float, top: int = 3) -> Table:
    """Return a table with a single cell and these contributions.

    Examples
    --------
    >>> one_cell(80, 15, 5).largest
    array([[80., 15.,  5.]])
    """
    ranked = sorted((float(c) for c in contributions), reverse=True)
    negative = any(c < 0 for c in ranked)
    largest = ([max(c, 0.0) for c in ranked] + [0.0] * top)[: max(top, 1)]
    units = Contributors(
        count=np.array([len(ranked)]),
        largest=np.array([largest]),
        total=np.array([sum(ranked)]),
        negative=negative,
    )
    return Table(value=units.total, relations=np.zeros((0, 1)), frequency=units.count, units=units)


def covers(bounds: Bounds, table: Table, need: Need, tolerance: float = BOUND) -> bool:
    """Return whether every unsafe cell meets its requirement, up to rounding: :meth:`Need.met`.

    Examples
    --------
    >>> table = one_cell(80, 15, 5)
    >>> need = Need(unsafe=[True], lower=[10], upper=[10], width=[30])
    >>> [covers(Bounds(lower=[low], upper=[110]), table, need) for low in (90, 80)]
    [False, True]
    """
    return bool(need.met(table.value, bounds, tolerance=tolerance).all())
