"""Whether groups that can be derived from a release have as many units as rules require.

An attacker adds and subtracts published cells and gets the total of a group of units that no table shows. No
such group has fewer than n units if every cell with fewer can contain n in a table that agrees with all
published cells (:mod:`hitoku.rules.group_size`). Which groups can be derived depends on the published cells
alone, so the units behind magnitudes are examined with the same cells suppressed. How the pattern was chosen
does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np

from hitoku.evidence.adjusted import AdjustedAudit
from hitoku.evidence.audit import audit
from hitoku.evidence.audit_result import Audit, CellOutcome
from hitoku.evidence.derivable_totals import TotalsFound, examine_totals
from hitoku.evidence.grid import Grid
from hitoku.messages import join
from hitoku.model import WORST_LAST, Protection, Release, Status, Table
from hitoku.rules import GroupSize, Rule, group_sizes, group_totals

NO_RULE = "no rule requires a number of units"
NO_COMPARISON = "no rule compares contributions"
SWITCHED_OFF = "groups=False"
TOO_MANY = "too many sets of cells may break a rule, so they were not all examined"
ADJUSTED = "values were adjusted, so that sums of published cells are not true totals"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DerivableGroups:
    """Result of :func:`derivable_groups`; the repr shows counts only.

    Parameters
    ----------
    status
        The result; the worst of all rules that require a number of units.
    reason
        Why groups were not considered, or not as the rule counts them; empty otherwise.
    required
        Whether some rule requires a number of units.
    audits
        Audits of the units, where the audit of the table itself does not cover them: one for each such rule.
    own
        Cells of the table whose own audit covers them.
    totals
        The same for rules that compare contributions, with sets of cells in place of cells; None: not known.
    """

    status: Status
    reason: str = ""
    required: bool = True
    audits: tuple[Audit, ...] = ()
    own: int = 0
    totals: DerivableGroups | None = None

    @property
    def safe(self) -> bool:
        """Whether no derivable group is too small."""
        return self.status in {Status.PROVED, Status.PASSED}

    @property
    def n_examined(self) -> int:
        """Number of cells with too few units that were examined."""
        return self.own + sum(len(each.outcomes) for each in self.audits)

    @cached_property
    def failing(self) -> Mapping[int, str]:
        """Cells that lie in a group of too few units, with the arithmetic that shows it. Confidential.

        The numbers in it are units. For magnitudes, they are not published; only the cells of the sum are
        known.
        """
        return MappingProxyType(
            {
                cell: each.why(cell)
                for each in self.audits
                for cell, outcome in each.outcomes.items()
                if outcome not in {CellOutcome.SAFE, CellOutcome.UNDECIDED}
            }
        )

    def __repr__(self) -> str:
        reason = f", {self.reason}" if self.reason else ""
        return f"DerivableGroups({self.status}: {len(self.failing)} of {self.n_examined} cells fail{reason})"


def not_considered(reason: str, *, required: bool = True) -> DerivableGroups:
    """Return the result if groups are not considered."""
    return DerivableGroups(status=Status.NOT_CONSIDERED, reason=reason, required=required)


def derivable_groups(
    table: Table,
    rules: Sequence[Rule],
    release: Release,
    *,
    own: Audit | None = None,
    groups: bool = True,
    deviations: Sequence[Mapping[int, int]] = (),
) -> DerivableGroups:
    """Examine the groups of units whose totals follow from the published cells of a release.

    Parameters
    ----------
    table
        True values, with the units behind them.
    rules
        Rules of the table; ``min_frequency`` and ``few_contributors`` require a number of units, others
        compare contributions.
    release
        Release of the table, with any pattern.
    own
        Audit of the release, if there is one. If its need requires that small counts can contain n
        units, it is the proof, and no further audit is run.
    groups
        False: derivable groups are not considered.
    deviations
        Deviations of numbers of units that an audit tries first as witnesses; the result does not depend on
        them.

    Returns
    -------
    DerivableGroups
        Status, and the small cells that fail; "not considered" if no rule requires a number of units.

    Examples
    --------
    Two people and one are suppressed, and the total of three can be derived.

    >>> from hitoku.rules import MinFrequency
    >>> table = Table.from_array([2, 1, 40, 9])
    >>> small = Release.of(table, Protection.withhold(table, table.value < 5))
    >>> found = derivable_groups(table, [MinFrequency(5)], small)
    >>> found
    DerivableGroups(failed: 2 of 2 cells fail)
    >>> found.failing[0]
    'at most 3 by [axis1=Total], with [axis1=2] at its lower bound: 52 - 0 - 40 - 9 = 3'
    >>> more = Release.of(table, Protection.withhold(table, table.value < 10))
    >>> derivable_groups(table, [MinFrequency(5)], more)
    DerivableGroups(passed: 0 of 2 cells fail)
    """
    sizes, totals = group_sizes(table, rules), group_totals(table, rules)
    adjusted = isinstance(own, AdjustedAudit) or not np.all(
        Grid.of(table.value).same(release.published)[~release.withheld]
    )
    why_not = SWITCHED_OFF if not groups else ADJUSTED if adjusted else ""
    of_totals = not_considered(why_not or NO_COMPARISON, required=bool(totals))
    if totals and not why_not:
        of_totals = _worst(
            not_considered(each.why_not)
            if each.why_not
            else _of_totals(examine_totals(table, each, release, own))
            for each in totals
        )
    of_units = not_considered(why_not if sizes and why_not else NO_RULE, required=bool(sizes))
    if sizes and not why_not:
        of_units = _worst(_examine(table, size, release, own, deviations) for size in sizes)
    return replace(of_units, totals=of_totals)


def _worst(results: Iterable[DerivableGroups]) -> DerivableGroups:
    """Return the results of several rules as one: the worst."""
    found = list(results)
    return DerivableGroups(
        status=max((each.status for each in found), key=WORST_LAST.index),
        reason=join(dict.fromkeys(each.reason for each in found)),
        audits=tuple(audited for each in found for audited in each.audits),
        own=sum(each.own for each in found),
    )


def _of_totals(found: TotalsFound) -> DerivableGroups:
    """Return the result of one rule that compares contributions."""
    if found.too_many:
        return DerivableGroups(status=Status.NOT_DECIDED, reason=TOO_MANY, own=found.n_sets)
    audited = found.audited
    n_audited = 0 if audited is None else len(audited.outcomes)
    return DerivableGroups(
        status=Status.PASSED if audited is None else _status(audited),
        audits=() if audited is None else (audited,),
        own=found.n_sets - n_audited,
    )


def _status(found: Audit) -> Status:
    """Return the result of an audit without a certificate."""
    if found.safe:
        return Status.PASSED
    failed = set(found.outcomes.values()) - {CellOutcome.SAFE, CellOutcome.UNDECIDED}
    return Status.FAILED if failed else Status.NOT_DECIDED


def _examine(
    table: Table,
    size: GroupSize,
    release: Release,
    own: Audit | None,
    deviations: Sequence[Mapping[int, int]],
) -> DerivableGroups:
    """Examine the requirement of one rule."""
    small = np.flatnonzero(size.small)
    if len(small) == 0:
        return DerivableGroups(status=Status.PROVED, reason=size.note if size.adds_up else "")
    if not size.adds_up:
        return not_considered(size.note)
    if own is not None and _covers(own, table, size):
        proved = own.certificate is not None
        status = Status.PROVED if proved else Status.PASSED
        return DerivableGroups(status=status, reason=size.note, own=len(small))
    units = size.units(table)
    need = size.need()
    withheld = Protection.withhold(units, release.withheld & table.shown, need)
    found = audit(units, need, Release.of(units, withheld), deviations=deviations)
    return DerivableGroups(status=_status(found), reason=size.note, audits=(found,))


def _covers(own: Audit, table: Table, size: GroupSize) -> bool:
    """Return whether an audit of the table shows that every small cell can hold n units."""
    within = size.within(table, own.need)
    if not np.array_equal(within, size.small):
        return False
    return all(own.outcomes.get(cell) is CellOutcome.SAFE for cell in np.flatnonzero(within).tolist())
