"""Cross tables as researchers print them: counts without totals, or percentages of rows, columns or all.

They are protected as the frequency table they come from, totals included: these leave with some other output,
or are known anyway. What is printed follows from the protected counts.

A percentage and the count it is of give what it is a percentage of. So a total of which percentages leave
counts as published, and of a total that is withheld no percentage leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from hitoku.checks.evidence import Evidence, TableEvidence
from hitoku.checks.outputs.coded_table import CodedTable
from hitoku.checks.outputs.group_statistic import own_name, refuse_decimals
from hitoku.checks.outputs.output_type import TableClaim
from hitoku.checks.policies import Policy
from hitoku.checks.principles import Applied, Principle, PrincipleTest, tables, verdicts
from hitoku.checks.records import COMPLETE
from hitoku.errors import ParameterError, did_you_mean
from hitoku.model import Integers, Mask

# What a percentage is of: nothing for counts.
OF = ("count", "all", "row", "column")


@dataclass(frozen=True)
class CrossTable(CodedTable[TableEvidence]):
    """Counts without totals, or percentages.

    Parameters
    ----------
    by
        The variables. Rows are the codes of the first, columns those of the last.
    of
        "count" for counts; "all", "row" or "column" for percentages of all records, of those in the same row,
        or in the same column.
    missing
        "complete": records without a code are left out, and counted. "error", or "code": they go under
        "missing".
    decimals
        Percentages are rounded to so many.
    period
        One of the variables whose codes are periods in which the same units come back: shares are judged
        within each. A session that knows its period says so itself.
    """

    kind: ClassVar[str] = "cross_table"
    evidence: ClassVar[type[Evidence]] = TableEvidence

    by: tuple[str, ...]
    of: str = "count"
    missing: str = COMPLETE
    decimals: int | None = None
    period: str | None = None

    def __post_init__(self) -> None:
        refuse_decimals(self.decimals)
        if self.of not in OF:
            raise ParameterError(
                "unknown_percentage",
                "no percentage of {of!r}",
                where="of",
                fix=did_you_mean(self.of, OF),
                of=self.of,
            )
        if self.of in {"row", "column"} and len(self.by) < 2:
            raise ParameterError(
                "percentages_need_two_variables",
                "percentages of a {of} need two variables",
                where="by",
                fix='use of="all" for one',
                of=self.of,
            )

    def protect(self, evidence: TableEvidence, policy: Policy) -> TableEvidence:
        """Withhold what a frequency table withholds, and percentages of what it withholds.

        Totals are not printed; those of which percentages are count as published, the others as withheld.
        """
        withheld = tables.withhold_counts(evidence, policy)
        if self.of != "count":
            withheld = withheld | withheld[self._denominators(evidence)]
        return replace(evidence, withheld=withheld | ~self._told(evidence))

    def _told(self, evidence: TableEvidence) -> Mask:
        """Return the cells of which something is told: those inside, and what percentages are of."""
        told = _inner(evidence).copy()
        if self.of != "count":
            told[self._denominators(evidence)[told]] = True
        return told

    def tests(self, evidence: TableEvidence, policy: Policy) -> Iterator[Applied]:
        """Judge it as a frequency table of which readers know the totals that are not withheld for a cell.

        No percentage leaves of a total that is withheld.
        """
        known = self._known(evidence, policy)
        yield from verdicts(super().tests(known, policy), known)
        if self.of != "count":
            yield PrincipleTest(
                principle=Principle.INTERVAL,
                reason="share_of_withheld",
                unsafe=_inner(evidence)
                & evidence.withheld[self._denominators(evidence)]
                & ~evidence.withheld,
                rule="no percentage of a total that is withheld",
                remedy="withhold the percentages of this total, or merge categories until it need not be "
                "withheld",
            )

    def _known(self, evidence: TableEvidence, policy: Policy) -> TableEvidence:
        """Return what a reader is taken to know: other totals are those that a frequency table publishes."""
        own = tables.withhold_counts(evidence, policy)
        return replace(evidence, withheld=np.where(self._told(evidence), evidence.withheld, own))

    def claim(self, evidence: TableEvidence, policy: Policy) -> TableClaim | None:
        """Return what the certificate is about: the table with the totals that readers may know."""
        return super().claim(self._known(evidence, policy), policy)

    def publish(self, evidence: TableEvidence) -> dict[str, list[Any]]:
        """Return what leaves: codes and counts or percentages, None where withheld."""
        labels, shown = evidence.table.labels, np.flatnonzero(_inner(evidence)).tolist()
        columns: dict[str, list[Any]] = {
            name: [labels.codes[v][int(labels.column(v)[cell])] for cell in shown]
            for v, name in enumerate(labels.names)
        }
        counts, gone = evidence.value.tolist(), evidence.withheld.tolist()
        if self.of == "count":
            columns[own_name("count", columns)] = [None if gone[at] else int(counts[at]) for at in shown]
            return columns
        wholes = self._denominators(evidence)
        whole = evidence.value[wholes].tolist()
        gone = (evidence.withheld | evidence.withheld[wholes]).tolist()
        columns[own_name("percent", columns)] = [
            None if gone[at] else self._rounded(100 * counts[at] / whole[at]) if whole[at] else 0.0
            for at in shown
        ]
        return columns

    def _rounded(self, percent: float) -> float:
        return percent if self.decimals is None else round(percent, self.decimals)

    def _denominators(self, evidence: TableEvidence) -> Integers:
        """Return for every cell the cell that its percentage is of."""
        sides = [len(d) for d in evidence.dimensions]
        at = list(np.unravel_index(np.arange(evidence.n_parts), sides))
        # A row is all that has the same codes but for the last variable; a column has the same last code.
        summed = {"all": range(len(sides)), "row": [len(sides) - 1], "column": range(len(sides) - 1)}[self.of]
        for axis in summed:
            at[axis] = np.full(evidence.n_parts, sides[axis] - 1)
        return np.ravel_multi_index(at, sides)

    def contradictions(self, evidence: TableEvidence) -> Iterator[str]:
        """Name what cannot be true together in the evidence."""
        yield from super().contradictions(evidence)
        if not evidence.withheld[~self._told(evidence)].all():
            yield "a total of a table without totals leaves"


def _inner(evidence: TableEvidence) -> Mask:
    """Tell which cells are no totals."""
    sides = [len(d) for d in evidence.dimensions]
    at = np.unravel_index(np.arange(evidence.n_parts), sides)
    inner: Mask = np.logical_and.reduce([place < side - 1 for place, side in zip(at, sides, strict=True)])
    return inner
