"""Cells of a magnitude table whose count is suppressed: their magnitude would reveal the count."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hitoku.model import Mask, Need, Table

# Reason recorded in a need.
FROM_COUNTS = "frequency_table"


def merge_withheld(table: Table, need: Need, withheld: Mask, share: ArrayLike) -> Need:
    """Add the cells whose count is suppressed to a need; the required width is a share of their size.

    Examples
    --------
    >>> table = Table.from_array([[30.5, 8.0], [4.0, 61.0]])
    >>> merged = merge_withheld(table, Need(unsafe=table.value < 0), table.value == 8.0, 0.5)
    >>> int(merged.unsafe.sum()), float(merged.width.max())
    (1, 4.0)
    """
    width = np.where(withheld, np.asarray(share) * np.abs(table.value), 0.0)
    return Need.merge([need, Need(unsafe=withheld, width=width, rules={FROM_COUNTS: withheld})])
