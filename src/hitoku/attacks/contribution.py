"""What insiders know: their own contributions, cell by cell."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hitoku.errors import ParameterError
from hitoku.model.frames import numbers, opened, texts, whole_numbers


@dataclass(frozen=True, slots=True, repr=False)
class Contribution:
    """One contributor's own amount in one cell.

    Parameters
    ----------
    contributor
        Who; the same name in several cells is the same respondent.
    cell
        Position of the cell in the release.
    amount
        What the contributor added to the cell, and so knows.
    sole
        Nobody else contributed to the cell, and the contributor knows that.
    among
        How many contributed to the cell, where that is public; a coalition of all of them knows its value.
    """

    contributor: Hashable
    cell: int
    amount: float
    sole: bool = False
    among: int | None = None

    def __post_init__(self) -> None:
        if self.cell < 0 or int(self.cell) != self.cell:
            raise ParameterError(
                "a contribution names no cell", where="cell", fix="give the position of a cell, from 0"
            )
        if not np.isfinite(self.amount):
            raise ParameterError("a contribution is not a finite number", where="amount")
        if self.among is not None and (self.among < 1 or (self.sole and self.among != 1)):
            raise ParameterError(
                "the number of contributors contradicts the contribution",
                where="among",
                fix="among counts all contributors of the cell: 1 for a sole one",
            )

    def __repr__(self) -> str:
        # Neither the contributor nor the amount: a repr is safe to paste into a mail.
        return f"Contribution(cell {self.cell}{', sole' if self.sole else ''})"


def contributions_of(given: Any) -> tuple[Contribution, ...]:
    """Read contributions from a list of them or from a frame with a column per field.

    The frame has the columns ``contributor``, ``cell`` and ``amount``, and may have ``sole`` (0 or 1) and
    ``among`` (0 where it is not public).
    """
    if isinstance(given, Iterable) and not hasattr(given, "columns"):
        listed = tuple(given)
        if not all(isinstance(item, Contribution) for item in listed):
            raise ParameterError(
                "contributions hold something else",
                where="Insider(contributions=...)",
                fix="give Contribution objects, or a data frame",
            )
        return listed
    frame = opened(given)
    who = texts(frame, "contributor", "contributions")
    cell = whole_numbers(frame, "cell", "contributions")
    amount = numbers(frame, "amount", "contributions")
    sole = frame["sole"].to_numpy() if "sole" in frame.columns else np.zeros(len(cell))
    among = (
        whole_numbers(frame, "among", "contributions") if "among" in frame.columns else np.zeros(len(cell))
    )
    return tuple(
        Contribution(str(w), int(c), float(a), bool(s), int(n) or None)
        for w, c, a, s, n in zip(who, cell, amount, sole, among, strict=True)
    )
