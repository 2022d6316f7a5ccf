"""Information lost by a release, and protection gained as a multiple of the requirement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hitoku.errors import NeedError, ProtectionError
from hitoku.model import Bounds, Floats, Need, Protection, Release, Table


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Loss:
    """How much of a table is not published, or not as it was.

    Parameters
    ----------
    n_cells, n_withheld
        Cells of the table; cells withheld.
    n_inner, n_inner_withheld
        The same for cells that are no sum of others.
    value_share, inner_value_share
        Share of the sum of absolute values that is withheld, over all cells and over inner cells. With few
        cells withheld it gives their value away: for the checker, not for readers.
    n_changed, distance
        Published cells that differ from the table, and the sum of the absolute differences.
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
        """Share of cells withheld."""
        return self.n_withheld / self.n_cells

    def __repr__(self) -> str:
        changed = f", {self.n_changed:_} changed" if self.n_changed else ""
        return f"Loss({self.n_withheld:_} of {self.n_cells:_} cells withheld ({self.share:.1%}){changed})"


def loss(table: Table, decision: Protection | Release) -> Loss:
    """Measure what a protection or release takes away from a table.

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
            fix="measure the loss of this very table",
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


def reached(table: Table, need: Need, bounds: Bounds) -> Floats:
    """Return, for each unsafe cell, how many times its requirement the bounds leave open.

    The smallest of three quotients counts: room below the value, room above it, length. One is just enough,
    zero is a cell that is known on a side that had to stay open. A cell of which nothing was asked has
    infinity, unless it is known exactly: then zero. A measure, not a verdict: whether the need is met, up to
    rounding, is for :meth:`Need.met` to say.

    Examples
    --------
    >>> table = Table.from_array([20, 4, 6])
    >>> need = Need(unsafe=table.value < 20, width=4.0)
    >>> reached(table, need, Bounds(lower=[20, 0, 4, 30], upper=[20, 6, 6, 30]))
    array([1.5, 0.5])
    """
    if len(need) != table.n_cells or len(bounds.lower) != table.n_cells:
        raise NeedError(
            "bounds_size",
            "a table of {n_cells} cells, a need of {n_need}, bounds of {n_bounds}",
            fix="give the need and the bounds of this very table",
            n_cells=table.n_cells,
            n_need=len(need),
            n_bounds=len(bounds.lower),
        )
    cells = need.unsafe
    value, low, high = table.value[cells], bounds.lower[cells], bounds.upper[cells]
    found = np.where(high > low, np.inf, 0.0)
    for room, asked in (
        (value - low, need.lower[cells]),
        (high - value, need.upper[cells]),
        (high - low, need.width[cells]),
    ):
        quotient = np.divide(np.maximum(room, 0.0), asked, out=np.full(len(asked), np.inf), where=asked > 0)
        found = np.minimum(found, quotient)
    return found


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0
