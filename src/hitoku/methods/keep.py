"""Cells that stay published in any case."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import NeedError, ParameterError, ProtectionError, did_you_mean, some
from hitoku.methods.method import traits_of
from hitoku.model import Mask, Need, Protection, Table, frozen

Keep = Literal["margins"]


def kept(table: Table, keep: Keep | ArrayLike | None) -> Mask:
    """Return the cells that must not be suppressed: the table's fixed ones and those named by the caller.

    Parameters
    ----------
    table
        The table.
    keep
        A mask; or "margins": every cell that is the total of some relation; or None.

    Examples
    --------
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> kept(table, "margins").reshape(3, 3).astype(int)
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
        The table.
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
    stay = kept(table, method.keep if "keep" in keeps else None)
    forced = np.asarray(method.forced if "forced" in keeps else ())
    if forced.size:
        stay = stay.copy()
        stay[forced] = True
    if "zeros" in keeps and method.zeros == "structural":
        stay = stay | (table.value == 0)
    return stay


def refuse_unsafe(table: Table, need: Need, stay: Mask) -> None:
    """Raise if a need is not for this table, or an unsafe cell is among those that stay published."""
    if len(need) != table.n_cells:
        raise NeedError(
            "need_of_other_table",
            "a need of {n_need} cells for a table of {n_table}",
            fix="assess this very table",
            n_need=len(need),
            n_table=table.n_cells,
        )
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
