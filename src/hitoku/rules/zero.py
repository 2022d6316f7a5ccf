"""The zero rule.

A total of zero reveals that each of its contributors has zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from hitoku.model import Need, Table
from hitoku.parameters import real
from hitoku.rules.levels import contributors_at, need_of_rule, ranked_at
from hitoku.rules.rule import Level, check_rule


@dataclass(frozen=True, slots=True)
class Zero:
    """Flag cells that have contributors, all of whom contribute zero.

    Parameters
    ----------
    upper
        How far above zero the inferable range must extend, in units of the value; a percentage of zero
        would be zero.
    level
        "holding" uses holdings where the table knows them and units elsewhere; "unit" uses units.

    Examples
    --------
    >>> from hitoku.testing import one_cell
    >>> need = Zero(upper=10).assess(one_cell(0, 0, 0))
    >>> bool(need.unsafe[0]), float(need.lower[0]), float(need.upper[0])
    (True, 0.0, 10.0)
    """

    name: ClassVar[str] = "zero"

    upper: Annotated[float, real("(0, inf)", "give upper in units of the cell value, such as 10")]
    level: Level = "holding"

    def __post_init__(self) -> None:
        check_rule(self)

    def assess(self, table: Table) -> Need:
        """Flag cells with X = 0 and at least one contributor."""
        contributors = contributors_at(table, self.level, self.name)
        unsafe = (contributors.total == 0) & (contributors.count > 0)
        if contributors.negative:
            # Gains and losses may cancel to zero; then some contribution is positive.
            unsafe &= ranked_at(table, self.level, 1, self.name).largest[:, 0] == 0
        return need_of_rule(table, self.name, unsafe, 0.0, self.upper)
