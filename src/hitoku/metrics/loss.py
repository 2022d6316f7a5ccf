"""Information loss of a release, its protection as a multiple of what is required, and methods compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import narwhals as nw
import numpy as np

from hitoku.errors import NeedError, ProtectionError
from hitoku.model import Bounds, Floats, Need, Protection, Release, Table


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Loss:
    """Information loss: the cells and values of a table that are suppressed or changed.

    Parameters
    ----------
    n_cells, n_withheld
        Number of cells of the table, and of suppressed cells.
    n_inner, n_inner_withheld
        The same for inner cells, which are not totals of other cells.
    value_share, inner_value_share
        Suppressed share of the sum of absolute values, over all cells and over inner cells. Confidential: if
        few cells are suppressed, their value can be computed from it.
    n_changed, distance
        Number of published cells whose value was changed, and the sum of the absolute changes.
    """

    n_cells: int
    n_withheld: int
    n_inner: int
    n_inner_withheld: int
    value_share: float
    inner_value_share: float
    n_changed: int
    distance: float

    @property
    def share(self) -> float:
        """Share of cells that are suppressed."""
        return self.n_withheld / self.n_cells

    def __repr__(self) -> str:
        changed = f", {self.n_changed:_} changed" if self.n_changed else ""
        return f"Loss({self.n_withheld:_} of {self.n_cells:_} cells withheld ({self.share:.1%}){changed})"


def loss(table: Table, decision: Protection | Release) -> Loss:
    """Compute the information loss of a protection or release.

    Parameters
    ----------
    table
        True values.
    decision
        Protection or release of this table.

    Returns
    -------
    Loss
        Numbers of suppressed cells, and shares of the suppressed value; for adjusted values, their changes.

    Raises
    ------
    ProtectionError
        If the decision belongs to a table of another size.

    Examples
    --------
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> lost = loss(table, Protection.withhold(table, table.value < 20))
    >>> lost, lost.n_inner_withheld, round(lost.inner_value_share, 3)
    (Loss(3 of 9 cells withheld (33.3%)), 2, 0.148)
    """
    shown = decision.published if isinstance(decision, Release) else decision.value
    withheld = decision.withheld
    if len(withheld) != table.n_cells:
        raise ProtectionError(
            "decision_size",
            "a decision about {n_decisions} cells for a table of {n_cells}",
            fix="give the decision that belongs to this table",
            n_decisions=len(withheld),
            n_cells=table.n_cells,
        )
    withheld = withheld & table.shown
    inner, size = table.inner & table.shown, np.where(table.shown, np.abs(table.value), 0.0)
    change = np.where(withheld | ~table.shown, 0.0, np.abs(shown - table.value))
    return Loss(
        n_cells=int(table.shown.sum()),
        n_withheld=int(withheld.sum()),
        n_inner=int(inner.sum()),
        n_inner_withheld=int((withheld & inner).sum()),
        value_share=_share(size[withheld].sum(), size.sum()),
        inner_value_share=_share(size[withheld & inner].sum(), size[inner].sum()),
        n_changed=int(np.count_nonzero(change)),
        distance=float(change.sum()),
    )


def protection_ratio(table: Table, need: Need, bounds: Bounds) -> Floats:
    """Return the protection of each unsafe cell as a multiple of its requirement.

    It is the smallest of three quotients of attained and required protection: below the value, above it, and
    of the width of the interval. One is just sufficient; zero means that a side is known exactly although
    protection was required. A cell without requirements has infinity, or zero if it is known exactly. Whether
    the requirements are met, up to rounding, is decided by :meth:`Need.met`.

    Parameters
    ----------
    table, need
        True values and protection requirements.
    bounds
        Feasibility intervals of all cells.

    Raises
    ------
    NeedError
        If the three differ in their number of cells.

    Examples
    --------
    >>> table = Table.from_array([20, 4, 6])
    >>> need = Need(unsafe=table.value < 20, width=4.0)
    >>> protection_ratio(table, need, Bounds(lower=[20, 0, 4, 30], upper=[20, 6, 6, 30]))
    array([1.5, 0.5])
    """
    if len(need) != table.n_cells or len(bounds.lower) != table.n_cells:
        raise NeedError(
            "bounds_size",
            "a table of {n_cells} cells, a need of {n_need}, bounds of {n_bounds}",
            fix="give the need and the bounds that belong to this table",
            n_cells=table.n_cells,
            n_need=len(need),
            n_bounds=len(bounds.lower),
        )
    cells = need.unsafe
    value, low, high = table.value[cells], bounds.lower[cells], bounds.upper[cells]
    found = np.where(high > low, np.inf, 0.0)
    for slack, asked in (
        (value - low, need.lower[cells]),
        (high - value, need.upper[cells]),
        (high - low, need.width[cells]),
    ):
        quotient = np.divide(np.maximum(slack, 0.0), asked, out=np.full(len(asked), np.inf), where=asked > 0)
        found = np.minimum(found, quotient)
    return found


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0


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
