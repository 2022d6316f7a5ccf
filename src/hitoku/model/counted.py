"""The table of units behind another table: same cells, same relations, numbers of units as values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.model.relations import broken
from hitoku.model.table import Table


def adds_up(table: Table, counted: NDArray[Any]) -> bool:
    """Return whether the numbers of units satisfy every relation of a table.

    They do when every unit is in exactly one inner cell.
    """
    return len(broken(table.relations, counted.astype(np.float64))) == 0


def counted_table(table: Table, counted: NDArray[Any]) -> Table:
    """Return the table whose values are the numbers of units behind the cells of another one.

    A number of units is never negative, whatever the values of the table are. Cells that readers know to be
    zero have no units.

    Examples
    --------
    >>> table = Table.from_array([[30.5, 8.0], [4.0, 61.0]], frequency=[[5, 1], [2, 9]])
    >>> counted_table(table, table.frequency).value.reshape(3, 3)[-1].tolist()
    [7.0, 10.0, 17.0]
    """
    known = (table.upper == 0) & (table.lower == 0) & (counted == 0)
    whole = bool(np.all(counted == np.rint(counted)))
    return replace(
        table,
        value=counted.astype(np.float64),
        frequency=counted.astype(np.int64) if whole else None,
        units=None,
        holdings=None,
        integer=whole,
        lower=np.zeros(table.n_cells),
        upper=np.where(known, 0.0, np.inf),
        cost=None,
        measure="count",
        additive=True,
    )
