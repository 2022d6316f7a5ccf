"""What a method decided: cells withheld, or values published instead; its steps, and moves for the audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import ProtectionError
from hitoku.model.arrays import Floats, Integers, Mask, frozen

if TYPE_CHECKING:
    from hitoku.model.need import Need
    from hitoku.model.table import Table

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

    Examples
    --------
    >>> Step(cell=4, reason=Reason.NARROW, relation=1, protects=3)
    Step(cell 4 for cell 3: its interval is too narrow)
    """

    cell: int
    """Position of the cell that was withheld, or published again."""
    reason: Reason
    """Why."""
    relation: int = -1
    """Position of the relation in which the cell was looked for; -1 where there was none."""
    protects: int = -1
    """Position of the unsafe cell that was to be protected; -1 where there was none."""
    before: tuple[float, float] = NOT_COMPUTED
    after: tuple[float, float] = NOT_COMPUTED
    """What an outsider could infer about the protected cell: both ends, before and after the step. NaN where
    it was not computed. Confidential: an interval before a step may be a single value."""

    def __repr__(self) -> str:
        whom = f" for cell {self.protects}" if self.protects >= 0 else ""
        return f"Step(cell {self.cell}{whom}: {self.reason})"


@dataclass(frozen=True, eq=False, repr=False)
class Deviations(Sequence[Mapping[int, int]]):
    """Changes one after the other, each a mapping from cells to whole numbers.

    Examples
    --------
    >>> deviations = Deviations(np.array([0, 2]), np.array([4, 7]), np.array([1, -1]), scale=1)
    >>> deviations, dict(deviations[0])
    (Deviations(1 changes of 2 cells), {4: 1, 7: -1})
    """

    begins: Integers
    """Where each change begins in the other two, and where the last one ends."""
    cells: Integers
    """The cells it changes."""
    amounts: Integers
    """By how much."""
    scale: int
    """How many of these are one unit of the table's values. The table changed by just so much is a witness.
    """

    @classmethod
    def of(cls, changes: Sequence[tuple[Integers, Integers]], scale: int) -> Deviations:
        """Write changes, each given by its cells and amounts, one after the other."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(
            np.cumsum([0, *(len(cells) for cells, _ in changes)]).astype(np.int64),
            np.concatenate([nothing, *(cells for cells, _ in changes)]),
            np.concatenate([nothing, *(amounts for _, amounts in changes)]),
            scale,
        )

    def and_then(self, others: Deviations) -> Deviations:
        """Return these changes and others of the same scale after them."""
        return Deviations(
            np.concatenate([self.begins, self.begins[-1] + others.begins[1:]]),
            np.concatenate([self.cells, others.cells]),
            np.concatenate([self.amounts, others.amounts]),
            self.scale,
        )

    def __len__(self) -> int:
        return len(self.begins) - 1

    @overload
    def __getitem__(self, number: int) -> Mapping[int, int]: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Mapping[int, int]]: ...
    def __getitem__(self, number: int | slice) -> Mapping[int, int] | Sequence[Mapping[int, int]]:
        if isinstance(number, slice):
            return [self[place] for place in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(number)
        place = number % len(self)
        part = slice(self.begins[place], self.begins[place + 1])
        return dict(zip(self.cells[part].tolist(), self.amounts[part].tolist(), strict=True))

    def __iter__(self) -> Iterator[Mapping[int, int]]:
        return (self[number] for number in range(len(self)))

    def __repr__(self) -> str:
        return f"Deviations({len(self)} changes of {len(np.unique(self.cells)):_} cells)"


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
    deviations
        Ways to change withheld cells, whole numbers by cell, that keep every sum: the audit may use them.
    known_method
        What the method claims about an attacker who knows it, as a certificate states it; None: nothing.
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
    deviations: Sequence[Mapping[int, int]] = ()
    caution: str = ""
    known_method: Mapping[str, Any] | None = None
    note: str = ""
    trace: tuple[tuple[int, float, float], ...] = ()

    def __post_init__(self) -> None:
        n = len(np.atleast_1d(self.withheld))
        withheld = frozen(self.withheld, np.bool_, shape=(n,), what="withheld")
        secondary = frozen(self.secondary, np.bool_, shape=(n,), what="secondary")
        value = frozen(self.value, np.float64, shape=(n,), what="published values")
        if np.any(secondary & ~withheld):
            raise ProtectionError(
                "secondary_not_withheld",
                "a secondary cell is not withheld",
                fix="secondary is part of withheld",
            )
        if not np.isfinite(value[~withheld]).all():
            raise ProtectionError("published_value_not_finite", "a published value is not a finite number")
        for name, array in (("withheld", withheld), ("secondary", secondary), ("value", value)):
            object.__setattr__(self, name, array)

    @classmethod
    def withhold(cls, table: Table, mask: ArrayLike, need: Need | None = None) -> Protection:
        """Withhold the cells of a mask: a pattern that somebody else chose.

        Examples
        --------
        >>> from hitoku.model import Table
        >>> table = Table.from_array([[20, 15], [72, 1]])
        >>> Protection.withhold(table, table.value == 1)
        Protection(1 of 9 cells withheld, 1 of them secondary, by given)
        """
        withheld = frozen(mask, np.bool_, shape=(table.n_cells,), what="withheld")
        if table.fixed is not None and np.any(withheld & table.fixed):
            places = np.flatnonzero(withheld & table.fixed)
            raise ProtectionError(
                "published_cells_withheld",
                "{n} cell(s) are withheld that must stay published",
                where="first cell {cell}",
                fix="take them out of the mask, or free them in the table",
                n=len(places),
                cell=table.describe(int(places[0])),
            )
        secondary = withheld if need is None else withheld & ~need.unsafe
        return cls(withheld=withheld, value=table.value, secondary=secondary, cost=float(withheld.sum()))

    def __repr__(self) -> str:
        return (
            f"Protection({int(self.withheld.sum()):_} of {len(self.withheld):_} cells withheld, "
            f"{int(self.secondary.sum()):_} of them secondary, by {self.method})"
        )
