"""The least number of units that rules allow in a group whose total follows from published cells.

If every cell with units, but fewer than n, can hold n in a table that agrees with all published cells, then
no group whose total can be derived from these has fewer than n units: the group contains a cell with units,
its total is the same in both tables, and that cell alone holds n in one of them. See
``docs/explanation/derivable-groups.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.errors import NeedError, some
from hitoku.model import Mask, Need, Table, adds_up, are_units, counted_table
from hitoku.rules.rule import Rule

SEVERAL_CELLS = "units are in several cells, so that their numbers do not add up"
# What hidden cells are flagged by, beside the rules.
ATOMS = "derivable_groups"
AS_UNITS = "holdings are counted by their units: a group of one holding with several units counts as several"


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupSize:
    """The requirement of one rule."""

    n: int  # Least number of units of a group.
    counted: NDArray[Any]  # Units in every cell.
    # The units are what the table publishes, so that levels around its values express the requirement.
    own: bool
    # The numbers of units satisfy the relations of the table; otherwise nothing is known about groups.
    adds_up: bool = True
    note: str = ""  # How the units differ from those that the rule counts; empty where they do not.

    @property
    def small(self) -> Mask:
        """Cells with units, but fewer than n; hidden ones too, because they are sets of records."""
        return np.asarray((self.counted > 0) & (self.counted < self.n))

    def need(self) -> Need:
        """Return the requirement that every small cell can hold n units."""
        small = self.small
        return Need(unsafe=small, upper=np.where(small, self.n - self.counted, 0.0), rules={"groups": small})

    def units(self, table: Table) -> Table:
        """Return the table whose cells must be able to hold n units.

        Numbers that are published must be able to do so in whole numbers, because readers know that they are
        whole. For numbers that are not published fractions are enough: the total of a derivable group is the
        same in every solution, and nothing can be concluded from the numbers themselves.
        """
        if self.own:
            return table
        units = counted_table(table, self.counted)
        published = np.array_equal(self.counted, table.value)
        return replace(units, integer=units.integer and published)

    def within(self, table: Table, need: Need) -> Mask:
        """Return the small cells that can hold n units in every release that meets a need for the table."""
        far = self.counted + need.upper >= self.n
        wide = table.lower + need.width >= self.n
        return np.asarray(self.own & self.small & need.unsafe & (far | wide))


def group_sizes(table: Table, rules: Sequence[Rule]) -> list[GroupSize]:
    """Return the requirements on group sizes of rules that count units; other rules have none.

    Examples
    --------
    >>> from hitoku.rules import MinFrequency, PPercent
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> [(size.n, size.own, int(size.small.sum())) for size in group_sizes(table, [MinFrequency(5)])]
    [(5, True, 1)]
    """
    counts: list[tuple[int, NDArray[Any]]] = [
        (rule.n, rule.counted(table)) for rule in rules if hasattr(rule, "counted") and hasattr(rule, "n")
    ]
    return [_group_size(table, n, counted) for n, counted in counts]


def _group_size(table: Table, n: int, counted: NDArray[Any]) -> GroupSize:
    if are_units(table, counted):
        return GroupSize(n=n, counted=counted, own=True)
    if adds_up(table, counted):
        return GroupSize(n=n, counted=counted, own=False)
    of_holdings = table.holdings is not None and np.array_equal(counted, table.holdings.count)
    if of_holdings and table.units is not None and adds_up(table, table.units.count):
        return GroupSize(n=n, counted=table.units.count, own=False, note=AS_UNITS)
    return GroupSize(n=n, counted=counted, own=False, adds_up=False, note=SEVERAL_CELLS)


def require_groups(table: Table, rules: Sequence[Rule], need: Need) -> Need:
    """Add to a need that every unsafe count can hold n units, if the rules require n.

    Rules do not apply to hidden cells, but those with too few units become part of the need here. A width of
    at least n implies it, because counts are nonnegative; such cells keep their levels.

    Raises
    ------
    NeedError
        If publicly known upper bounds are below n.
    """
    for size in group_sizes(table, rules):
        if not size.own:
            continue
        small = size.small
        cells = small & (need.unsafe | ~table.shown)
        short = np.flatnonzero(cells & (table.upper < size.n))
        if len(short):
            raise NeedError(
                "group_sizes_known",
                "{n} unsafe cell(s) cannot be protected: readers know upper bounds below the "
                "number of units that the rule requires",
                where="cells {cells}",
                fix="widen the upper bounds of the table if readers do not know them, merge codes, or "
                "leave derivable groups out with groups=False",
                n=len(short),
                cells=some((table.describe(int(p)) for p in short[:4]), 3),
            )
        level = np.where(cells & ~size.within(table, need), size.n - size.counted, 0.0)
        atoms = {ATOMS: cells & ~table.shown} if np.any(cells & ~table.shown) else {}
        need = replace(
            need,
            unsafe=need.unsafe | cells,
            upper=np.maximum(need.upper, level),
            rules={**need.rules, **atoms},
        )
    return need
