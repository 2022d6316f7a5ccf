"""Outcome of protecting a table: the pattern, the release, the inferable intervals and the verdict."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from hitoku.attacks import Interval
from hitoku.evidence.adjusted import AdjustedAudit
from hitoku.evidence.audit_result import Audit
from hitoku.evidence.derivable_groups import DerivableGroups
from hitoku.evidence.grid import texts
from hitoku.evidence.verdict import UNKNOWN_METHOD, judge
from hitoku.metrics import loss
from hitoku.model import (
    MEASURE,
    TABLE,
    Bounds,
    Finding,
    Need,
    Protection,
    Release,
    Row,
    Severity,
    Table,
    Verdict,
    parse_scope,
)
from hitoku.rules import Rule
from hitoku.solver.solution import SECONDS

LOGGER = logging.getLogger(__name__)
# With less than this share of the value published in single cells, the outcome warns.
LITTLE = 0.05


# Largest connected group of suppressed cells for which intervals are computed.
LARGEST_GROUP = 8_000


@dataclass(frozen=True, eq=False, repr=False)
class Outcome:
    """Result of one run; ``verdict`` has one row per attacker.

    Parameters
    ----------
    protection
        The pattern or adjustment.
    audit
        Audit of the release, with table, need and release.
    attacked
        Inferable bounds of every cell. Default: computed on first use.
    insiders
        Insiders that were considered, as a text for a summary.
    remarks
        Remarks about the table itself, such as how linked tables share records.
    against
        Attackers that determine the verdict. Default: the default scope.
    secret
        Whether the method stays secret; otherwise attackers who know it are in the default scope.
    tables
        Why disclosure by several tables together is undecided; empty for a single table.
    atoms
        The table has the atoms of its tables, so that sets of records that follow from several of them are
        among its cells.
    groups
        Result for groups derivable from published cells. None: rules are not
        known.
    rules
        Rules by which cells are unsafe, for the checker; empty if they are not known.

    Examples
    --------
    >>> from hitoku.evidence import audit
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> need = Need(unsafe=table.value == 1, lower=1.0, upper=1.0)
    >>> protection = Protection.withhold(table, table.inner, need)
    >>> outcome = Outcome(protection, audit(table, need, Release.of(table, protection)))
    >>> outcome.audit.safe, float(outcome.bounds.upper[4])
    (True, 16.0)
    >>> outcome.frame["status"].tolist()[:3], outcome.confidential_frame["status"].tolist()[:5:4]
    (['withheld', 'withheld', 'published'], ['secondary', 'primary'])
    """

    protection: Protection
    audit: Audit
    attacked: Bounds | None = None
    insiders: str = "none"
    remarks: tuple[Finding, ...] = ()
    against: tuple[str, ...] | None = None
    secret: bool = True
    tables: str = ""
    atoms: bool = False
    groups: DerivableGroups | None = None
    rules: tuple[Rule, ...] = ()

    @property
    def left_open(self) -> tuple[Finding, ...]:
        """Remarks on points that the audit could not cover, such as records shared without a relation."""
        return tuple(remark for remark in self.remarks if remark.severity is Severity.REVIEW)

    @property
    def known_method(self) -> Row:
        """Row of the verdict about an attacker who knows the method; filled by the pipeline."""
        return UNKNOWN_METHOD

    @cached_property
    def verdict(self) -> Verdict:
        """One row per attacker: proved, audited or not considered, with a headline and its scope."""
        return judge(
            self.audit,
            self.scope,
            insiders=self.insiders,
            groups=self.groups,
            method=self.known_method,
            tables=self.tables,
            atoms=self.atoms,
        )

    @property
    def scope(self) -> tuple[str, ...]:
        """Attackers that determine the verdict: those of ``against``, or the default ones.

        The default ones include large contributors if ``insiders`` names them, or if contributors come too
        close according to the audit.
        """
        chosen = parse_scope(self.against, secret=self.secret)
        word, tried = self.insiders.partition(",")[0], self.audit.insiders
        close = word != "singletons" and tried is not None and bool(tried.cells)
        if self.against is None and (close or word not in {"none", "singletons"}):
            return parse_scope([*chosen, "contributors"])
        return chosen

    @property
    def table(self) -> Table:
        """The true table."""
        return self.audit.table

    @property
    def need(self) -> Need:
        """Unsafe cells and their required protection."""
        return self.audit.need

    @property
    def release(self) -> Release:
        """The release."""
        return self.audit.release

    @property
    def public(self) -> Release:
        """The release without the cells that no table shows."""
        if self.table.shown.all():
            return self.release
        shown = self.release.only(self.table.shown)
        variables = {d.name for part, _ in self.table.linked for d in part.dimensions}
        return replace(shown, labels=shown.labels.by({*variables, MEASURE, TABLE})) if variables else shown

    @property
    def adjusted(self) -> bool:
        """Whether values were changed for confidentiality; the changed cells are not published."""
        decided = self.protection
        return bool(np.any(~decided.withheld & (decided.value != self.table.value)))

    @property
    def warning(self) -> str:
        """Warning about a safe release of little use; empty otherwise."""
        left = 1.0 - loss(self.table, self.protection).inner_value_share
        if not self.protection.withheld.any() or left >= LITTLE:
            return ""
        return (
            f"{left:.0%} of the value is published in single cells: merge codes, require less, "
            "or protect from fewer insiders"
        )

    @property
    def frame(self) -> Any:
        """The publication as a frame of the caller's type: codes, ``value``, ``status``.

        The numbers are those of the public files, missing for suppressed cells. It does not distinguish
        primary and secondary suppressions; :attr:`confidential_frame` does.
        """
        shown = self.public
        numbers = np.array([float(text) if text else np.nan for text in texts(shown.published)])
        return shown.framed(numbers, "adjusted" if self.adjusted else "published")

    @property
    def confidential_frame(self) -> Any:
        """Codes, true value, status, inferable interval and rules, for the checker; not to be published.

        ``status`` is ``published``, ``primary`` (unsafe itself), ``secondary`` (suppressed to protect those),
        ``adjusted``, or ``hidden`` if no linked table shows the cell; ``low`` and ``high`` are the inferable
        bounds, NaN if they were not computed; ``rules`` names the violated rules.
        """
        decided, table, need = self.protection, self.table, self.need
        status = np.where(decided.secondary, "secondary", np.where(decided.withheld, "primary", "published"))
        status = np.where(~decided.withheld & (decided.value != table.value), "adjusted", status)
        status = np.where(table.shown, status, "hidden")
        further = {
            "value": [int(x) if table.integer and x.is_integer() else x for x in table.value.tolist()],
            "status": status.tolist(),
            "low": np.where(self.bounds.unknown, np.nan, self.bounds.lower).tolist(),
            "high": np.where(self.bounds.unknown, np.nan, self.bounds.upper).tolist(),
            "rules": ["; ".join(need.why(cell)) if need.unsafe[cell] else "" for cell in range(len(need))],
        }
        return table.labels.frame(table.backend, further)

    @cached_property
    def bounds(self) -> Bounds:
        """Bounds of every cell that can be inferred from the release."""
        if self.attacked is not None:
            return self.attacked
        return inferable(self.release, adjusted=isinstance(self.audit, AdjustedAudit))

    def __repr__(self) -> str:
        said = "safe against outsiders" if self.audit.safe else "NOT safe"
        warned = f"; {self.warning}" if self.warning else ""
        return f"Outcome({said}: {self.protection!r}{warned})"


def inferable(release: Release, *, adjusted: bool) -> Bounds:
    """Return the bounds that can be inferred about every cell, by arithmetic alone.

    Adjusted values are not the true ones, so they prove nothing: only prior knowledge remains. In large
    tables some or all intervals are ``unknown``: thousands of linear programs would take hours,
    and safety is proved by the audit. After an interruption all are ``unknown``, and the audited pattern is
    kept.
    """
    if adjusted:
        return Bounds(lower=release.lower, upper=release.upper)
    try:
        return Interval(most_cells=LARGEST_GROUP, work_limit=SECONDS / 3).bounds(release)
    except KeyboardInterrupt:
        LOGGER.warning("interrupted: the pattern is kept as audited, and no intervals are reported")
        withheld = release.withheld
        lower, upper = (np.where(withheld, end, release.published) for end in (release.lower, release.upper))
        return Bounds(lower=lower, upper=upper, unknown=withheld)
