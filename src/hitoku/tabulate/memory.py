"""Refuse a table that would not fit into memory, before any work is done."""

from __future__ import annotations

from hitoku.errors import TableError
from hitoku.tabulate.cube import Cube
from hitoku.tabulate.source import Source

UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
# Values, frequencies, bounds, measures and copies of them while the table is checked.
TABLE_BYTES = 8 * 24
RELATION_BYTES = 3 * 12


def needed_bytes(cube: Cube, width: int) -> int:
    """Estimate the memory for the kernel's state and the finished table."""
    rows = cube.n_leaves + 2 * cube.n_cells
    entries = sum(d.sums.nnz * (cube.n_cells // len(d)) for d in cube.dimensions)
    return rows * width * 8 + cube.n_cells * TABLE_BYTES + entries * RELATION_BYTES


def allowed_bytes(source: Source) -> int:
    """Memory that DuckDB may use: its limit, by default most of what the machine or container has."""
    text = str(source.rows("SELECT current_setting('memory_limit')")[0][0])
    amount, _, unit = text.partition(" ")
    return int(float(amount) * UNITS[unit])


def refuse_too_large(source: Source, cube: Cube, width: int) -> None:
    """Raise when the table would need more memory than is allowed."""
    needed, allowed = needed_bytes(cube, width), allowed_bytes(source)
    if needed <= allowed:
        return
    sizes = " x ".join(f"{len(d):,}" for d in cube.dimensions)
    widest = max(cube.dimensions, key=len)
    raise TableError(
        f"a table of {cube.n_cells:,} cells needs about {needed / 2**30:.1f} GiB, "
        f"{allowed / 2**30:.1f} GiB are allowed",
        where=f"{sizes} codes of {', '.join(d.name for d in cube.dimensions)}",
        fix=f"leave out a variable or use fewer levels of {widest.name!r}; memory_limit raises the limit",
    )
