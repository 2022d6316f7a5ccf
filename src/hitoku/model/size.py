"""Whether a table fits into memory, told before it is built."""

from __future__ import annotations

import os
from collections.abc import Sequence

from hitoku.errors import TableError
from hitoku.model.dimension import Dimension

# Value, bounds, frequency and a few working copies of each, in bytes.
PER_CELL = 100
# One coefficient and one column index, built once, copied once and checked once.
PER_ENTRY = 36


def memory_available() -> int:
    """Bytes of free memory, or a large number where the system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:  # noqa: PTH123 - a pseudo file, Linux only
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 62


def refuse_too_large(
    dimensions: Sequence[Dimension], *, per_cell: int = PER_CELL, allowed: int | None = None
) -> None:
    """Raise when the full cross of some dimensions would not fit into memory.

    Parameters
    ----------
    dimensions
        The variables.
    per_cell
        Bytes needed for every cell beside its relations.
    allowed
        Bytes that may be used; default what is free.
    """
    n_cells = 1
    for dimension in dimensions:
        n_cells *= len(dimension)
    entries = sum(int(d.sums.nnz) * (n_cells // len(d)) for d in dimensions)
    needed = n_cells * per_cell + entries * PER_ENTRY
    limit = memory_available() if allowed is None else allowed
    if needed > limit:
        sizes = " x ".join(f"{d.name} {len(d):,}" for d in dimensions)
        raise TableError(
            f"a table of {n_cells:,} cells needs about {needed / 2**30:,.1f} GiB of memory, "
            f"{limit / 2**30:,.1f} GiB may be used",
            where=sizes,
            fix="use fewer variables or coarser codes, or make several tables and link them",
        )
