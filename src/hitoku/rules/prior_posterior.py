"""The prior-posterior rule, also called pq.

Before publication everyone can estimate every contribution to within q percent; afterwards it must not be
possible to within p percent. With q = 100 (only the sign is known) it is the p% rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hitoku.errors import RuleError
from hitoku.model import Need, Table
from hitoku.parameters import Count, Percent
from hitoku.rules.p_percent import small_remainder
from hitoku.rules.rule import Level, check_rule


@dataclass(frozen=True, slots=True)
class PriorPosterior:
    """Flag cells whose remainder, known to q percent, does not protect the largest value by p percent.

    Parameters
    ----------
    p
        Required uncertainty after publication, in percent of the largest contribution.
    q
        Uncertainty before publication, in percent of any contribution; p < q <= 100. Only p / q matters.
    n
        Size of the coalition that shares its knowledge: the second largest contributor alone (1), or with the
        next ones.
    level
        "holding" ranks holdings where the table knows them and units elsewhere; "unit" ranks units.

    Examples
    --------
    >>> from hitoku.testing import one_cell
    >>> need = PriorPosterior(p=10, q=50).assess(one_cell(80, 15, 5))  # 10% of 80 against 50% of 5
    >>> bool(need.unsafe[0]), float(need.upper[0])
    (True, 11.0)
    """

    name: ClassVar[str] = "prior_posterior"

    p: Percent
    q: Percent
    n: Count = 1
    level: Level = "holding"

    def __post_init__(self) -> None:
        check_rule(self)
        if not self.p < self.q:
            raise RuleError(
                "p_not_below_q",
                "p must be smaller than q, got p={p} and q={q}",
                where="rule {rule}",
                fix="p is what must stay unknown after publication, q what is unknown before it",
                p=self.p,
                q=self.q,
                rule=self.name,
            )

    def assess(self, table: Table) -> Need:
        """Flag cells with q% of (X - x1 - ... - x(n+1)) < p% of x1; the level is what that lacks."""
        return small_remainder(table, self.p / self.q, self.n, self.level, self.name)
