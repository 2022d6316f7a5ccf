"""Refuse a table that would not fit into memory, before any work is done."""

from __future__ import annotations

from hitoku.model import size
from hitoku.tabulation.cube import Cube
from hitoku.tabulation.source import Source

UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
# Values, frequencies, bounds, measures and copies of them while the table is checked.
TABLE_BYTES = 8 * 24


def allowed_bytes(source: Source) -> int:
    """Memory that DuckDB may use: its limit, by default most of what the machine or container has."""
    text = str(source.rows("SELECT current_setting('memory_limit')")[0][0])
    amount, _, unit = text.partition(" ")
    return int(float(amount) * UNITS[unit])


def refuse_too_large(source: Source, cube: Cube, width: int) -> None:
    """Raise when ranks of this width and the finished table need more memory than is allowed."""
    ranks = 3 * width * 8  # per cell: while leaves are ranked, while they are merged, and the answer
    size.refuse_too_large(cube.dimensions, per_cell=TABLE_BYTES + ranks, allowed=allowed_bytes(source))
