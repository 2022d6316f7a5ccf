"""Decision of a method: suppressed cells or adjusted values, with steps and deviations for the audit."""

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
    """Reason for suppressing a cell or publishing it again; "it" is the protected cell."""

    ALONE = "it is the only withheld cell of a relation"
    TIED = "a cell that it hangs together with is the only withheld one of a relation"
    NARROW = "its interval is too narrow"
    FURTHER = "its interval is too narrow, and its own relations have no cell left to withhold"
    GROUP = "a group would be given away: too few of its people could be elsewhere"
    WHOLE = "its interval is too narrow over whole numbers"
    POINT = "redundant: published again, because everyone can derive its value"
    UNNECESSARY = "every need is met without the cell: published again"


@dataclass(frozen=True, slots=True, repr=False)
class Step:
    """One cell suppressed or published again, with its reason and effect.

    Examples
    --------
    >>> Step(cell=4, reason=Reason.NARROW, relation=1, protects=3)
    Step(cell 4 for cell 3: its interval is too narrow)
    """

    cell: int
    """Position of the cell."""
    reason: Reason
    """Reason."""
    relation: int = -1
    """Position of the relation in which the cell was chosen; -1 without one."""
    protects: int = -1
    """Position of the unsafe cell to be protected; -1 without one."""
    before: tuple[float, float] = NOT_COMPUTED
    after: tuple[float, float] = NOT_COMPUTED
    """Interval of the protected cell for an outsider, before and after the step. NaN if
    it was not computed. Confidential: an interval before a step may be a single value."""

    def __repr__(self) -> str:
        whom = f" for cell {self.protects}" if self.protects >= 0 else ""
        return f"Step(cell {self.cell}{whom}: {self.reason})"


@dataclass(frozen=True, eq=False, repr=False)
class Deviations(Sequence[Mapping[int, int]]):
    """Deviations that keep all relations, stored as arrays; each is a mapping from cells to integers.

    Examples
    --------
    >>> deviations = Deviations(np.array([0, 2]), np.array([4, 7]), np.array([1, -1]), scale=1)
    >>> deviations, dict(deviations[0])
    (Deviations(1 changes of 2 cells), {4: 1, 7: -1})
    """

    begins: Integers
    """Start of each deviation in the other two arrays, and the end of the last one."""
    cells: Integers
    """Changed cells."""
    amounts: Integers
    """Change of each cell, in units of 1/``scale``."""
    scale: int
    """Units of ``amounts`` per unit of the table's values. The table plus a deviation is a witness."""

    @classmethod
    def of(cls, changes: Sequence[tuple[Integers, Integers]], scale: int) -> Deviations:
        """Return deviations, each given by its cells and amounts."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(
            np.cumsum([0, *(len(cells) for cells, _ in changes)]).astype(np.int64),
            np.concatenate([nothing, *(cells for cells, _ in changes)]),
            np.concatenate([nothing, *(amounts for _, amounts in changes)]),
            scale,
        )

    def and_then(self, others: Deviations) -> Deviations:
        """Return these deviations followed by others of the same scale."""
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
        Suppressed cells.
    value
        Published values of the other cells; the table's own values unless a method adjusted them.
    secondary
        Suppressed cells that are not unsafe themselves.
    cost
        Total cost of suppressed or changed cells, in the method's own terms.
    proven
        Whether the cost is proven to be the least possible.
    gap
        Otherwise: maximum share of the cost by which a better decision may be cheaper.
    canonical
        Whether this is, of all decisions of the least cost, the one selected by the method's tie-break, so
        that the same table gives the same decision everywhere. False if a limit ended that search.
    method
        Name of the method.
    steps
        Steps of a method that decides cell by cell; confidential.
    deviations
        Deviations of suppressed cells, integers by cell, that keep every relation; candidate witnesses of the
        audit.
    known_method
        Claim of the method about an attacker who knows it, for the certificate. None: no claim.
    caution
        Why such a release must not be published even if an audit finds it safe; empty otherwise.
    note
        One line about the result: which method was chosen and why, or that a limit ended the search.
    trace
        Course of a search: work done, bound, and cost of the best known decision, from first to last;
        :func:`hitoku.plots.bound_and_cost` draws it.
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
        """Return the protection that suppresses the cells of a mask.

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
