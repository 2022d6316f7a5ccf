"""Knowledge of insiders: their own contributions, cell by cell."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hitoku.errors import ParameterError
from hitoku.model import numbers, open_frame, texts, whole_numbers

# Contribution to a cell, whether it is the only one, and the public number of contributors, if known.
Share = tuple[float, bool, int | None]
# Contributors by number, in the order in which they are first named.
Coalition = tuple[int, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Contribution:
    """One contributor's own contribution to one cell.

    Parameters
    ----------
    contributor
        Identity; the same name in several cells is the same respondent.
    cell
        Position of the cell in the release.
    amount
        The contribution, known to the contributor.
    sole
        Whether it is the only contribution to the cell, and the contributor knows that.
    among
        Number of contributors of the cell, if public; a coalition of all of them knows its value.
    """

    contributor: Hashable
    cell: int
    amount: float
    sole: bool = False
    among: int | None = None

    def __post_init__(self) -> None:
        if self.cell < 0 or int(self.cell) != self.cell:
            raise ParameterError(
                "contribution_without_cell",
                "a contribution names no cell",
                where="cell",
                fix="give the position of a cell, from 0",
            )
        if not np.isfinite(self.amount):
            raise ParameterError(
                "contribution_not_finite", "a contribution is not a finite number", where="amount"
            )
        if self.among is not None and (self.among < 1 or (self.sole and self.among != 1)):
            raise ParameterError(
                "contributors_contradict_contribution",
                "the number of contributors contradicts the contribution",
                where="among",
                fix="among counts all contributors of the cell: 1 for a sole one",
            )

    def __repr__(self) -> str:
        # Neither the contributor nor the amount, so that a repr reveals nothing.
        return f"Contribution(cell {self.cell}{', sole' if self.sole else ''})"


def contributions_of(given: Any) -> tuple[Contribution, ...]:
    """Read contributions from a list of them or from a frame with a column per field.

    The frame has the columns ``contributor``, ``cell`` and ``amount``, and optionally ``sole`` (0 or 1) and
    ``among`` (0 if it is not public).
    """
    if isinstance(given, Iterable) and not hasattr(given, "columns"):
        listed = tuple(given)
        if not all(isinstance(item, Contribution) for item in listed):
            raise ParameterError(
                "contributions_wrong_kind",
                "contributions must be Contribution objects",
                where="Insider(contributions=...)",
                fix="give Contribution objects, or a data frame",
            )
        return listed
    frame = open_frame(given)
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


def shares_of(contributions: Sequence[Contribution], n_cells: int) -> list[dict[int, Share]]:
    """Return the contributions by cell of each contributor, in the order of first appearance."""
    numbers: dict[object, int] = {}
    shares: list[dict[int, Share]] = []
    for item in contributions:
        if item.cell >= n_cells:
            raise ParameterError(
                "contribution_cell_range",
                "a contribution to cell {cell}, but the release has {n_cells} cells",
                where="contributions",
                fix="cells are numbered as in release.cells, from 0",
                cell=item.cell,
                n_cells=n_cells,
            )
        member = numbers.setdefault(item.contributor, len(numbers))
        if member == len(shares):
            shares.append({})
        amount, sole, among = shares[member].get(item.cell, (0.0, False, None))
        shares[member][item.cell] = (amount + item.amount, sole or item.sole, among or item.among)
    return shares


def pool_contributions(shares: Sequence[Mapping[int, Share]]) -> Iterator[tuple[int, float, bool]]:
    """Return the cells of several contributors, their joint contribution, and whether it is the whole cell.

    Examples
    --------
    >>> list(pool_contributions([{3: (5.0, False, 2)}, {3: (2.0, False, 2), 7: (1.0, False, None)}]))
    [(3, 7.0, True), (7, 1.0, False)]
    """
    for cell in sorted({cell for share in shares for cell in share}):
        here = [share[cell] for share in shares if cell in share]
        sole = [amount for amount, alone, _ in here if alone]
        among = next((n for _, _, n in here if n is not None), None)
        yield (
            cell,
            sole[0] if sole else sum(amount for amount, _, _ in here),
            bool(sole) or among == len(here),
        )
