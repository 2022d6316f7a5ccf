"""What came of protecting a table: the decision, what a reader sees, what an attack infers, the verdict."""

from __future__ import annotations

import logging
from dataclasses import dataclass
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

LOGGER = logging.getLogger(__name__)
# A release that shows less than this share of the value in single cells is hardly worth publishing.
LITTLE = 0.05


# Withheld cells that hang together: intervals of more of them take longer than anybody waits.
LARGEST_GROUP = 8_000
# What flows and programs for intervals may look at: some ten seconds.
MAX_INTERVAL_WORK = 1e9


@dataclass(frozen=True, eq=False, repr=False)
class Outcome:
    """Everything that came out of one run; ``verdict`` has one row per attacker.

    Parameters
    ----------
    protection
        The decision.
    audit
        Its audit, with table, need and release.
    attacked
        What an attack infers about every cell; worked out when it is asked for, where left out.
    insiders
        Whom it was protected from beside outsiders, in words for a summary.
    remarks
        What a person should know about the table itself, such as how linked tables share their records.
    against
        Attackers that the verdict depends on; None for the default ones.
    secret
        Whether the method is meant to stay secret; otherwise attackers who know it are in the default scope.
    tables
        Why it is not decided what this table shows together with others; empty for a single table.
    groups
        Whether groups that can be derived from published cells have enough units; None where no rules are
        known.
    rules
        Rules by which cells are unsafe, for whoever checks the release; empty where they are not known.

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
    groups: DerivableGroups | None = None
    rules: tuple[Rule, ...] = ()

    @property
    def left_open(self) -> tuple[Finding, ...]:
        """Remarks on what the audit could not look at: records that tables share in ways no sum expresses."""
        return tuple(remark for remark in self.remarks if remark.severity is Severity.REVIEW)

    @property
    def known_method(self) -> Row:
        """Row of the verdict about an attacker who knows the method; the pipeline, which has it, fills it."""
        return UNKNOWN_METHOD

    @cached_property
    def verdict(self) -> Verdict:
        """One row per attacker: what was proved, audited or left out, under a headline with its scope."""
        return judge(
            self.audit,
            self.scope,
            insiders=self.insiders,
            groups=self.groups,
            method=self.known_method,
            tables=self.tables,
        )

    @property
    def scope(self) -> tuple[str, ...]:
        """Attackers that the verdict depends on: those of ``against``, or the default ones.

        The default ones include large contributors where ``insiders`` names them, or the audit found that
        contributors come too close.
        """
        chosen = parse_scope(self.against, secret=self.secret)
        word, tried = self.insiders.partition(",")[0], self.audit.insiders
        close = word != "singletons" and tried is not None and bool(tried.cells)
        if self.against is None and (close or word not in {"none", "singletons"}):
            return parse_scope([*chosen, "contributors"])
        return chosen

    @property
    def table(self) -> Table:
        """What was to be published."""
        return self.audit.table

    @property
    def need(self) -> Need:
        """What must be blurred, and how far."""
        return self.audit.need

    @property
    def release(self) -> Release:
        """What a reader sees."""
        return self.audit.release

    @property
    def public(self) -> Release:
        """The same without the cells that no table shows."""
        return self.release if self.table.shown.all() else self.release.only(self.table.shown)

    @property
    def adjusted(self) -> bool:
        """Values were changed for confidentiality; which ones is not published."""
        decided = self.protection
        return bool(np.any(~decided.withheld & (decided.value != self.table.value)))

    @property
    def warning(self) -> str:
        """What somebody should know before publishing though the audit is content; empty otherwise."""
        left = 1.0 - loss(self.table, self.protection).inner_value_share
        if not self.protection.withheld.any() or left >= LITTLE:
            return ""
        return (
            f"{left:.0%} of the value is published in single cells: merge codes, ask for less, "
            "or protect from fewer insiders"
        )

    @property
    def frame(self) -> Any:
        """What is published, as a frame of the caller's kind: codes, ``value``, ``status``.

        The numbers are those of the public files, missing where a cell is withheld. Which cells are unsafe
        and which were withheld only with them is not in it; :attr:`confidential_frame` tells.
        """
        shown = self.public
        numbers = np.array([float(text) if text else np.nan for text in texts(shown.published)])
        return shown.framed(numbers, "adjusted" if self.adjusted else "published")

    @property
    def confidential_frame(self) -> Any:
        """Codes, true value, status, inferable interval and rules, for the checker; not to be published.

        ``status`` is ``published``, ``primary`` (unsafe itself) or ``secondary`` (withheld with those),
        ``adjusted``, or ``hidden`` where no linked table shows the cell; ``low`` and ``high`` are what a
        reader can infer, NaN where that was not worked out; ``rules`` name what was hit.
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
        """What a reader can infer about every cell."""
        if self.attacked is not None:
            return self.attacked
        return inferable(self.release, adjusted=isinstance(self.audit, AdjustedAudit))

    def __repr__(self) -> str:
        said = "safe against outsiders" if self.audit.safe else "NOT safe"
        warned = f"; {self.warning}" if self.warning else ""
        return f"Outcome({said}: {self.protection!r}{warned})"


def inferable(release: Release, *, adjusted: bool) -> Bounds:
    """Return what a reader can infer about every cell, by arithmetic alone.

    Adjusted values are not the true ones, so they prove nothing: only what was known before is left. In large
    tables intervals are left ``unknown``, some or all of them: thousands of linear programs would take hours,
    and whether the release is safe is for the audit to prove. Nor are they needed where somebody interrupts:
    then all are left ``unknown``, and what was protected and audited stands.
    """
    if adjusted:
        return Bounds(lower=release.lower, upper=release.upper)
    try:
        return Interval(most_cells=LARGEST_GROUP, work_limit=MAX_INTERVAL_WORK).bounds(release)
    except KeyboardInterrupt:
        LOGGER.warning("interrupted: the pattern is kept as audited, and no intervals are reported")
        withheld = release.withheld
        lower, upper = (np.where(withheld, end, release.published) for end in (release.lower, release.upper))
        return Bounds(lower=lower, upper=upper, unknown=withheld)
