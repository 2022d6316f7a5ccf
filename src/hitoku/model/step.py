"""One decision of a method that decides cell by cell, kept for whoever checks the release."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

NOT_COMPUTED = (float("nan"), float("nan"))


class Reason(StrEnum):
    """Why a cell was withheld, or published again; "it" is the cell that was to be protected."""

    ALONE = "it is the only withheld cell of a relation"
    TIED = "a cell that it hangs together with is the only withheld one of a relation"
    NARROW = "its interval is too narrow"
    FURTHER = "its interval is too narrow, and its own relations have no cell left to withhold"
    GROUP = "a group would be given away: too few of its people could be elsewhere"
    WHOLE = "its interval is too narrow over whole numbers"
    POINT = "everybody can tell the cell all the same: published again"
    UNNECESSARY = "every need is met without the cell: published again"


@dataclass(frozen=True, slots=True, repr=False)
class Step:
    """A cell that changed sides, for whose sake, and what that did.

    Parameters
    ----------
    cell
        Position of the cell that was withheld, or published again.
    reason
        Why.
    relation
        Position of the relation in which the cell was looked for; -1 where there was none.
    protects
        Position of the unsafe cell that was to be protected; -1 where there was none.
    before, after
        What an outsider could infer about the protected cell: both ends, before and after the step. NaN
        where it was not computed. Confidential: an interval before a step may be a single value.

    Examples
    --------
    >>> Step(cell=4, reason=Reason.NARROW, relation=1, protects=3)
    Step(cell 4 for cell 3: its interval is too narrow)
    """

    cell: int
    reason: Reason
    relation: int = -1
    protects: int = -1
    before: tuple[float, float] = NOT_COMPUTED
    after: tuple[float, float] = NOT_COMPUTED

    def __repr__(self) -> str:
        whom = f" for cell {self.protects}" if self.protects >= 0 else ""
        return f"Step(cell {self.cell}{whom}: {self.reason})"
