"""The rule of few contributors, for magnitude tables.

Like the minimum frequency, but it counts contributors: units, or holdings of several units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hitoku.model import Integers, Need, Table
from hitoku.parameters import Count
from hitoku.rules.levels import contributors_at, need_of_rule, percent_of_value
from hitoku.rules.rule import Level, Range, check_rule


@dataclass(frozen=True, slots=True)
class FewContributors:
    """Flag cells with fewer than n contributors.

    Parameters
    ----------
    n
        Minimum number of contributors; a cell with exactly n is safe, and so is one with none.
    level
        "holding" counts holdings where the table knows them and units elsewhere; "unit" counts units.
    percent
        Range that protects a cell, in percent of its value, at least one unit. Default: set by
        :func:`hitoku.rules.assess`.

    Examples
    --------
    >>> from hitoku.testing import one_cell
    >>> [bool(FewContributors(3).assess(one_cell(*c)).unsafe[0]) for c in ((), (9, 1), (5, 3, 2))]
    [False, True, False]
    """

    name: ClassVar[str] = "few_contributors"

    n: Count
    level: Level = "holding"
    percent: Range | None = None

    def __post_init__(self) -> None:
        check_rule(self)

    def assess(self, table: Table) -> Need:
        """Flag cells with 0 < contributors < n."""
        count = self.counted(table)
        level = 0.0 if self.percent is None else percent_of_value(table, self.percent)
        return need_of_rule(table, self.name, (count > 0) & (count < self.n), level, level)

    def counted(self, table: Table) -> Integers:
        """Return the numbers that are compared with n: contributors of every cell."""
        return contributors_at(table, self.level, self.name).count
