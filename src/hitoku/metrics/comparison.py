"""Several protections of one table side by side: the price of each, and the verdict of the audit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import narwhals as nw


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What one method came to: its price, and the verdict of the audit."""

    method: str
    """Its name."""
    withheld: int
    secondary: int
    """Cells withheld; those among them that are not unsafe."""
    cost: float
    """Sum of the absolute values withheld; of an adjusted release, of the absolute changes."""
    lost: float
    """The same as a share of the sum of all absolute values."""
    reached: float
    """How many times its requirement the median unsafe cell has: 1 is just enough."""
    least: float
    """The same for the worst protected cell."""
    proven: bool
    """No cheaper pattern exists."""
    safe: bool
    recomputable: int
    """Verdict of the audit; unsafe cells that can be worked out exactly."""
    known: str = "not asked"
    """Against a reader who knows the method: "proved", "leaks 3 cells", "unknown", or "not asked"."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison:
    """The methods of one :func:`hitoku.compare`, in the order in which they were given."""

    rows: tuple[Compared, ...]
    backend: str = "pandas"

    def __iter__(self) -> Iterator[Compared]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def frame(self) -> Any:
        """One row per method, as a frame of the table's kind. Confidential: costs are sums of values."""
        names = [field.name for field in fields(Compared)]
        columns = {name: [getattr(row, name) for row in self.rows] for name in names}
        backend: Any = self.backend
        return nw.from_dict(columns, backend=backend).to_native()

    def __repr__(self) -> str:
        words = (
            f"{row.method}: {row.withheld:_} withheld, {'safe' if row.safe else 'NOT safe'}" for row in self
        )
        return f"Comparison({'; '.join(words)})"
