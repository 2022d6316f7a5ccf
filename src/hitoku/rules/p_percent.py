"""The p% rule for magnitude tables.

A cell is unsafe if its second largest contributor, subtracting their own contribution from the total, can
estimate the largest contribution to within p percent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from hitoku.model import LEVEL, LIMIT, Need, Table
from hitoku.parameters import Count, Percent
from hitoku.rules.levels import from_distance, need_of_rule, ranked_at
from hitoku.rules.rule import Level, check_rule


@dataclass(frozen=True, slots=True)
class PPercent:
    """Flag cells whose remainder is smaller than p percent of the largest value.

    Parameters
    ----------
    p
        Required uncertainty, in percent of the largest contribution; 0 < p <= 100.
    n
        Size of the coalition that shares its knowledge: the second largest contributor alone (1), or with the
        next ones.
    level
        "holding" ranks holdings where the table knows them and units elsewhere; "unit" ranks units.
    at_limit
        Status of a cell with a remainder of exactly p percent: "safe", as in the published definition of the
        rule, or "unsafe", as in Kikuchi and Minami (2017).

    Examples
    --------
    >>> from hitoku.testing import one_cell
    >>> need = PPercent(p=10).assess(one_cell(80, 15, 5))  # total 100, remainder 5
    >>> bool(need.unsafe[0]), float(need.upper[0])
    (True, 3.0)
    """

    name: ClassVar[str] = "p_percent"

    p: Percent
    n: Count = 1
    level: Level = "holding"
    at_limit: Literal["safe", "unsafe"] = "safe"

    def __post_init__(self) -> None:
        check_rule(self)

    def assess(self, table: Table) -> Need:
        """Flag cells with X - x1 - ... - x(n+1) < p% of x1; the level is what the remainder lacks."""
        strict = self.at_limit == "unsafe"
        return small_remainder(table, self.p / 100, self.n, self.level, self.name, strict=strict)


def small_remainder(
    table: Table, fraction: float, coalition: int, level: Level, rule: str, *, strict: bool = False
) -> Need:
    """Flag cells whose remainder, as known to a coalition, is below a fraction of the largest contribution.

    ``strict`` also flags those whose remainder is exactly that fraction.
    """
    ranked = ranked_at(table, level, coalition + 1, rule)
    first, known = ranked.largest[:, 0], ranked.largest[:, : coalition + 1].sum(axis=1)
    # Amount by which the remainder falls short of the fraction of `first`; negative means safe.
    lacking = fraction * first + (known - ranked.total)
    # Not >=: a remainder of exactly p percent is safe, as in the published definition.
    rounding = LIMIT * np.abs(ranked.total)
    unsafe = lacking > rounding
    if strict:
        unsafe = (lacking >= -rounding) & (first > 0)
        # At the limit, the shortfall is small but positive, and large enough for a solver to see.
        lacking = np.where(unsafe, np.maximum(lacking, LEVEL * np.abs(ranked.total)), lacking)
    distance = from_distance(table, ranked, lacking)
    return need_of_rule(table, rule, unsafe, distance, distance)
