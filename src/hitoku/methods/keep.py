"""Cells that stay published in any case, and redundant suppressions, which are published again.

A suppressed cell that has the same value in every feasible table protects nothing. Publishing it excludes no
feasible table, so no interval narrows and no group is disclosed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from hitoku.attacks import Interval
from hitoku.errors import NeedError, ParameterError, ProtectionError, did_you_mean, some
from hitoku.methods.method import traits_of
from hitoku.model import BOUND, Floats, Mask, Need, Protection, Reason, Release, Step, Table, frozen

Keep = Literal["margins"]


def kept_cells(table: Table, keep: Keep | ArrayLike | None) -> Mask:
    """Return the cells that must not be suppressed: the table's fixed ones and those named by the caller.

    Parameters
    ----------
    table
        Table to protect.
    keep
        A mask; or "margins": every cell that is the total of some relation; or None.

    Examples
    --------
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> kept_cells(table, "margins").reshape(3, 3).astype(int)
    array([[0, 0, 1],
           [0, 0, 1],
           [1, 1, 1]])
    """
    if isinstance(keep, str):
        if keep != "margins":
            raise ParameterError(
                "unknown_keep",
                "no cells named {keep!r} to keep",
                where="keep",
                fix=did_you_mean(keep, ["margins"]),
                keep=keep,
            )
        stay = ~table.inner & table.shown
    elif keep is None:
        stay = np.zeros(table.n_cells, dtype=bool)
    else:
        stay = np.array(frozen(keep, np.bool_, shape=(table.n_cells,), what="keep"))
    return stay if table.fixed is None else stay | table.fixed


def by_hand(table: Table, start: ArrayLike | Protection | None, stay: Mask) -> Mask:
    """Return the cells suppressed by the caller; none of them may be among those that stay published.

    Parameters
    ----------
    table
        Table to protect.
    start
        A mask, or the protection of an earlier method; or None.
    stay
        Cells that stay published.
    """
    if start is None:
        return np.zeros(table.n_cells, dtype=bool)
    given = start.withheld if isinstance(start, Protection) else start
    withheld: Mask = frozen(given, np.bool_, shape=(table.n_cells,), what="start")
    places = np.flatnonzero(withheld & stay)
    if len(places):
        raise ProtectionError(
            "withheld_cells_must_be_published",
            "{n} cell(s) withheld by hand must stay published",
            where="cells {cells}",
            fix="take them out of start, or out of keep or fixed",
            n=len(places),
            cells=some((table.describe(int(p)) for p in places[:4]), 3),
        )
    return withheld


def staying(table: Table, method: Any) -> Mask:
    """Return the cells that a method never suppresses, by any of its parameters."""
    keeps = traits_of(method).keeps
    stay = kept_cells(table, method.keep if "keep" in keeps else None)
    forced = np.asarray(method.forced if "forced" in keeps else ())
    if forced.size:
        stay = stay.copy()
        stay[forced] = True
    if "zeros" in keeps and method.zeros == "structural":
        stay = stay | (table.value == 0)
    return stay


def refuse_unsafe(table: Table, need: Need, stay: Mask) -> None:
    """Raise if a need is not for this table, or an unsafe cell is among those that stay published."""
    need.require_size(table.n_cells)
    places = np.flatnonzero(need.unsafe & stay)
    if len(places):
        raise NeedError(
            "unsafe_cells_must_be_kept",
            "{n} unsafe cell(s) may not be withheld",
            where="cells {cells}",
            fix="take them out of keep or fixed, or merge their codes until they are safe",
            n=len(places),
            cells=some((table.describe(int(p)) for p in places[:4]), 3),
        )


# Minimum movement of a cell, as a share of the smallest requirement (or of one, if that is smaller). A
# hundred times the rounding tolerance of the attack. The cell's own size does not matter: next to a count of
# three, a million that can move by two is not redundant.
STIR = 100 * BOUND


def redundant_suppressions(table: Table, withheld: Mask, among: Mask, least: float = 1.0) -> Mask:
    """Return which suppressed cells have only one possible value.

    Parameters
    ----------
    table, withheld
        Table, and its suppressed cells.
    among
        Cells to test.
    least
        Smallest required movement of an unsafe cell.

    Examples
    --------
    >>> table = Table.from_array([[7, 11], [10, 60], [5, 8]])
    >>> withheld = np.isin(np.arange(12), [0, 1, 3, 4, 6])  # the 5 follows from its row
    >>> redundant_suppressions(table, withheld, withheld).nonzero()[0].tolist()
    [6]
    """
    asked = withheld & among
    if not asked.any():
        return asked
    # Deviations from the true table: values of any size cause no rounding.
    differences = Table(
        value=np.zeros(table.n_cells),
        relations=table.relations,
        labels=table.labels,
        lower=table.lower - table.value,
        upper=table.upper - table.value,
    )
    stir = np.where(asked, STIR * min(1.0, least), np.nan)
    release = Release.of(differences, Protection.withhold(differences, withheld))
    down, up = Interval().meets(release, -stir, stir)
    return np.asarray(asked & ~down & ~up)


def publish_redundant(table: Table, need: Need, found: Protection, cost: Floats, stay: Mask) -> Protection:
    """Publish secondary cells that can be derived, except those that must stay suppressed.

    Parameters
    ----------
    table, need, found
        Problem, and the pattern of a method.
    cost
        Cost of suppressing each cell.
    stay
        Cells that stay suppressed, such as those in ``start``.
    """
    level = np.maximum(np.maximum(need.lower, need.upper), need.width)
    least = float(level[level > 0].min(initial=1.0))
    redundant = redundant_suppressions(table, found.withheld, found.secondary & ~stay, least)
    if not redundant.any():
        return found
    withheld = found.withheld & ~redundant
    return replace(
        found,
        withheld=withheld,
        secondary=withheld & ~need.unsafe,
        cost=float(cost[withheld].sum()),
        steps=(*found.steps, *(Step(int(cell), Reason.POINT) for cell in np.flatnonzero(redundant))),
    )
