"""What a method decided: cells withheld, or values published instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import ProtectionError
from hitoku.model.arrays import Floats, Mask, frozen
from hitoku.model.step import Step

if TYPE_CHECKING:
    from hitoku.model.need import Need
    from hitoku.model.table import Table


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Protection:
    """A decision about every cell of a table.

    Parameters
    ----------
    withheld
        Cells whose value is not published.
    value
        What is published in the others; the table's own values unless a method adjusted them.
    secondary
        Withheld cells that are not unsafe themselves.
    cost
        Total cost of what was withheld or changed, in the method's own terms.
    proven
        The cost is proven to be the least possible.
    gap
        Otherwise: by how much, as a share of the cost, a better decision may be cheaper at most.
    canonical
        Of all decisions of this cost, proven to be the least, it is the one that the method's rule for ties
        names: the same table gives the same decision everywhere. False when a limit ended that search.
    method
        Who decided.
    steps
        How, from a method that decides cell by cell; confidential.
    moves
        Ways to change withheld cells, whole numbers by cell, that keep every sum: the audit may use them.
    reader
        What the method claims about a reader who knows it, as a certificate states it; None: nothing.
    caution
        Why a release made like this must not be published, though an audit may find it safe; empty otherwise.
    note
        One line for whoever reads the result: which way was chosen and why, or that a limit ended the search.
    trace
        How a search came to its end: work done, what no decision can cost less than, the cost of the best one
        known, from the first to the last; :func:`hitoku.plots.bound_and_cost` draws it.
    """

    withheld: Mask
    value: Floats
    secondary: Mask
    cost: float = 0.0
    proven: bool = False
    gap: float = float("nan")
    canonical: bool = False
    method: str = "given"
    steps: tuple[Step, ...] = ()
    moves: Sequence[Mapping[int, int]] = ()
    caution: str = ""
    reader: Mapping[str, Any] | None = None
    note: str = ""
    trace: tuple[tuple[int, float, float], ...] = ()

    def __post_init__(self) -> None:
        n = len(np.atleast_1d(self.withheld))
        withheld = frozen(self.withheld, np.bool_, shape=(n,), what="withheld")
        secondary = frozen(self.secondary, np.bool_, shape=(n,), what="secondary")
        value = frozen(self.value, np.float64, shape=(n,), what="published values")
        if np.any(secondary & ~withheld):
            raise ProtectionError("a secondary cell is not withheld", fix="secondary is part of withheld")
        if not np.isfinite(value[~withheld]).all():
            raise ProtectionError("a published value is not a finite number")
        for name, array in (("withheld", withheld), ("secondary", secondary), ("value", value)):
            object.__setattr__(self, name, array)

    @classmethod
    def withhold(cls, table: Table, mask: ArrayLike, need: Need | None = None) -> Protection:
        """Withhold the cells of a mask: a pattern that somebody else chose.

        Examples
        --------
        >>> from hitoku.model.table import Table
        >>> table = Table.from_array([[20, 15], [72, 1]])
        >>> Protection.withhold(table, table.value == 1)
        Protection(1 of 9 cells withheld, 1 of them secondary, by given)
        """
        withheld = frozen(mask, np.bool_, shape=(table.n_cells,), what="withheld")
        if table.fixed is not None and np.any(withheld & table.fixed):
            places = np.flatnonzero(withheld & table.fixed)
            raise ProtectionError(
                f"{len(places)} cell(s) are withheld that must stay published",
                where=f"first cell {table.describe(int(places[0]))}",
                fix="take them out of the mask, or free them in the table",
            )
        secondary = withheld if need is None else withheld & ~need.unsafe
        return cls(withheld=withheld, value=table.value, secondary=secondary, cost=float(withheld.sum()))

    def __repr__(self) -> str:
        return (
            f"Protection({int(self.withheld.sum()):_} of {len(self.withheld):_} cells withheld, "
            f"{int(self.secondary.sum()):_} of them secondary, by {self.method})"
        )
