"""What came of protecting a table: the decision, what a reader sees, what an attack infers, the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hitoku.attacks.interval import Interval
from hitoku.evidence.adjusted import AdjustedAudit
from hitoku.evidence.audit_result import Audit
from hitoku.model.bounds import Bounds
from hitoku.model.need import Need
from hitoku.model.protection import Protection
from hitoku.model.release import Release
from hitoku.model.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Outcome:
    """Everything that came out of one run; ``audit.safe`` is the verdict.

    Parameters
    ----------
    protection
        The decision.
    audit
        The verdict on it, with table, need and release that were audited.
    attacked
        What an attack infers about every cell; worked out when it is asked for, where left out.

    Examples
    --------
    >>> from hitoku.evidence.audit import audit
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> need = Need(unsafe=table.value == 1, lower=1.0, upper=1.0)
    >>> protection = Protection.withhold(table, table.inner, need)
    >>> outcome = Outcome(protection, audit(table, need, Release.of(table, protection)))
    >>> outcome, float(outcome.bounds.upper[4])
    (Outcome(safe: Protection(4 of 9 cells withheld, 3 of them secondary, by given)), 16.0)
    """

    protection: Protection
    audit: Audit
    attacked: Bounds | None = None

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

    @cached_property
    def bounds(self) -> Bounds:
        """What a reader can infer about every cell."""
        if self.attacked is not None:
            return self.attacked
        return inferable(self.release, adjusted=isinstance(self.audit, AdjustedAudit))

    def __repr__(self) -> str:
        verdict = "safe" if self.audit.safe else "NOT safe"
        return f"Outcome({verdict}: {self.protection!r})"


def inferable(release: Release, *, adjusted: bool) -> Bounds:
    """Return what a reader can infer about every cell, by arithmetic alone.

    Adjusted values are not the true ones, so they prove nothing: only what was known before is left.
    """
    if adjusted:
        return Bounds(lower=release.lower, upper=release.upper)
    return Interval().bounds(release)
