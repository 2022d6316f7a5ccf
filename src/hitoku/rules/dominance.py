"""The dominance rule, also called (n, k).

A cell in which a few contributors hold nearly everything reveals their contributions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hitoku.model import LIMIT, Need, Table
from hitoku.parameters import Count, Percent
from hitoku.rules.levels import from_distance, need_of_rule, ranked_at
from hitoku.rules.rule import Level, check_rule


@dataclass(frozen=True, slots=True)
class Dominance:
    """Flag cells whose n largest contributors hold more than k percent of the total.

    Parameters
    ----------
    n
        Number of the largest contributors taken together.
    k
        Maximum share of the n largest, in percent of the total; 0 < k <= 100. Exactly k percent is safe.
    level
        "holding" ranks holdings where the table knows them and units elsewhere; "unit" ranks units.

    Examples
    --------
    >>> from hitoku.testing import one_cell
    >>> need = Dominance(n=1, k=75).assess(one_cell(90, 6, 4))  # a total of 120 would make 90 safe
    >>> bool(need.unsafe[0]), float(need.upper[0])
    (True, 20.0)
    """

    name: ClassVar[str] = "dominance"

    n: Count
    k: Percent
    level: Level = "holding"

    def __post_init__(self) -> None:
        check_rule(self)

    def assess(self, table: Table) -> Need:
        """Flag cells with x1 + ... + xn > k% of X; the level is what X lacks for that share to be k%."""
        ranked = ranked_at(table, self.level, self.n, self.name)
        top, total = ranked.largest[:, : self.n].sum(axis=1), ranked.total
        # Not >=: exactly k percent is safe, as in the published definition.
        unsafe = top - self.k / 100 * total > LIMIT * np.abs(total)
        level = from_distance(table, ranked, 100 / self.k * top - total)
        return need_of_rule(table, self.name, unsafe, level, level)
