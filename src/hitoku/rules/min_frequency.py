"""The minimum frequency rule.

A cell with very few respondents may identify them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hitoku.errors import RuleError
from hitoku.messages import Arguments
from hitoku.model import Need, Table
from hitoku.parameters import Count
from hitoku.rules.levels import need_of_rule, percent_of_value, respondents_of
from hitoku.rules.rule import Range, check_rule

WEIGHTED_COUNT = "weighted_count"


@dataclass(frozen=True, slots=True)
class MinFrequency:
    """Flag cells with fewer than n respondents.

    Parameters
    ----------
    n
        Minimum frequency that may be published; a cell with exactly n is safe.
    weighted
        Compare the weighted number of respondents, ``table.measures["weighted_count"]``.
    zeros
        Flag empty cells too, except structural zeros (empty cells that may not be suppressed).
    percent
        Range that protects a cell, in percent of its value, at least one unit. Default: set by
        :func:`hitoku.rules.assess`.

    Examples
    --------
    >>> table = Table.from_array([[0, 1, 4], [5, 6, 20]])
    >>> MinFrequency(5).assess(table).unsafe[:3].tolist()
    [False, True, True]
    """

    name: ClassVar[str] = "min_frequency"

    n: Count
    weighted: bool = False
    zeros: bool = False
    percent: Range | None = None

    def __post_init__(self) -> None:
        check_rule(self)

    def assess(self, table: Table) -> Need:
        """Flag cells with 0 < frequency < n; with ``zeros`` also those with frequency 0."""
        frequency = self.counted(table)
        unsafe = frequency < self.n
        if not self.zeros:
            unsafe &= frequency > 0
        level = 0.0 if self.percent is None else percent_of_value(table, self.percent)
        return need_of_rule(table, self.name, unsafe, level, level)

    def counted(self, table: Table) -> NDArray[Any]:
        """Return the numbers that are compared with n: respondents in every cell, or their weights."""
        if self.weighted:
            if WEIGHTED_COUNT not in table.measures:
                raise RuleError(
                    "weighted_frequency_missing",
                    "the table has no weighted frequency",
                    where="rule {rule}, weighted=True",
                    fix="{arguments}, or give the table the measure {weighted_count!r}",
                    arguments=Arguments("tabulate", weight=...),
                    rule=self.name,
                    weighted_count=WEIGHTED_COUNT,
                )
            return np.asarray(table.measures[WEIGHTED_COUNT])
        return respondents_of(table, self.name)
