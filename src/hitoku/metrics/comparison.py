"""Comparison of several methods on one table: cost, protection and audit verdict of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import narwhals as nw


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Result of one method: its cost, the protection it achieves, and the verdict of the audit."""

    method: str
    """Name of the method."""
    withheld: int
    secondary: int
    """Number of suppressed cells, and of secondary suppressions among them."""
    cost: float
    """Sum of the absolute suppressed values; for an adjusted release, sum of the absolute changes."""
    lost: float
    """Cost as a share of the sum of all absolute values."""
    reached: float
    """Protection of the median unsafe cell, as a multiple of its requirement; 1 is just sufficient."""
    least: float
    """Protection of the least protected unsafe cell, as a multiple of its requirement."""
    proven: bool
    """Whether no cheaper pattern is proved to exist."""
    safe: bool
    recomputable: int
    """Verdict of the audit, and number of unsafe cells that can be recomputed exactly."""
    known: str = "not asked"
    """Verdict for attackers who know the method: "proved", "leaks 3 cells", "unknown" or "not asked"."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison:
    """Result of :func:`hitoku.compare`: one row for each method, in the order in which they were given."""

    rows: tuple[Compared, ...]
    backend: str = "pandas"

    def __iter__(self) -> Iterator[Compared]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def frame(self) -> Any:
        """Data frame with one row for each method, of the same kind as the table's data.

        The frame is confidential, because costs are sums of suppressed values.
        """
        names = [field.name for field in fields(Compared)]
        columns = {name: [getattr(row, name) for row in self.rows] for name in names}
        backend: Any = self.backend
        return nw.from_dict(columns, backend=backend).to_native()

    def __repr__(self) -> str:
        words = (
            f"{row.method}: {row.withheld:_} withheld, {'safe' if row.safe else 'NOT safe'}" for row in self
        )
        return f"Comparison({'; '.join(words)})"
