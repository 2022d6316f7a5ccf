"""Refuse a table that would not fit into memory, before any work is done."""

from __future__ import annotations

from hitoku.model import relations
from hitoku.tabulation.cube import Cube

# Values, frequencies, bounds, measures and copies of them while the table is checked.
TABLE_BYTES = 8 * 24


def refuse_too_large(cube: Cube, width: int, allowed: int) -> None:
    """Raise when ranks of this width and the finished table need more memory than is allowed, in bytes."""
    ranks = 3 * width * 8  # per cell: while leaves are ranked, while they are merged, and the answer
    relations.refuse_too_large(cube.dimensions, per_cell=TABLE_BYTES + ranks, allowed=allowed)
