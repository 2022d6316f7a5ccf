"""Rules about groups, judged in each of several linked tables as if it stood alone, and in all together.

What is a group is said by the trees of a table's own variables. A cell of linked tables is named as one of
them names it, and some sums are in none of them, so some groups are not to be seen in the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hitoku.errors import RuleError
from hitoku.model import Floats, Integers, Need, Table
from hitoku.rules import DirectDisclosure, GroupDisclosure, KDisclosure
from hitoku.rules.assess import name_of
from hitoku.rules.rule import Rule

ABOUT_GROUPS = (DirectDisclosure, GroupDisclosure, KDisclosure)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class InEveryTable:
    """A rule that asks of linked tables what it asks of them together, and of each by itself.

    Parameters
    ----------
    rule
        The rule.
    parts
        The tables, each with the positions of its cells in the whole.
    """

    rule: Rule
    parts: tuple[tuple[Table, Integers], ...]

    @property
    def name(self) -> str:
        return name_of(self.rule)

    @property
    def yields_to_width(self) -> bool:
        return bool(getattr(self.rule, "yields_to_width", False))

    def assess(self, table: Table) -> Need:
        """Return what the rule asks of the whole, or of one of its tables."""
        needs = [self.rule.assess(table)]
        for part, cells in self.parts:
            try:
                own = self.rule.assess(part)
            except RuleError:
                # The whole has the variables and codes that the rule names; this table does not.
                continue
            needs.append(_placed(own, cells, table.n_cells))
        return Need.merge(needs)

    def __repr__(self) -> str:
        return repr(self.rule)


def in_every_table(rules: Sequence[Rule], parts: Iterable[tuple[Table, Integers]]) -> list[Rule]:
    """Let rules about groups judge each of several linked tables, too; other rules stay as they are.

    Examples
    --------
    >>> one = Table.from_array([[5, 0], [3, 9]])
    >>> [rule] = in_every_table([KDisclosure(k=0)], [(one, np.arange(9))])
    >>> rule, rule.assess(one)
    (KDisclosure(k=0, sensitive=None, limit=None), Need(2 of 9 cells unsafe: k_disclosure 2))
    """
    several = tuple(parts)
    if not several:
        return list(rules)
    return [InEveryTable(rule, several) if isinstance(rule, ABOUT_GROUPS) else rule for rule in rules]


def _placed(need: Need, cells: Integers, n_cells: int) -> Need:
    """Ask the same of a larger table, in which the cells have other positions."""

    def spread(part: Floats) -> Floats:
        whole = np.zeros(n_cells)
        np.maximum.at(whole, cells, part)
        return whole

    return Need(
        unsafe=spread(need.unsafe.astype(np.float64)) > 0,
        lower=spread(need.lower),
        upper=spread(need.upper),
        width=spread(need.width),
        rules={name: spread(hits.astype(np.float64)) > 0 for name, hits in need.rules.items()},
        attributions=need.attributions.placed(cells, n_cells),
    )
