"""What came of protecting a table: the decision, what a reader sees, what an attack infers, the verdict."""

from __future__ import annotations

from dataclasses import dataclass

from hitoku.evidence.audit_result import Audit
from hitoku.model.bounds import Bounds
from hitoku.model.need import Need
from hitoku.model.protection import Protection
from hitoku.model.release import Release
from hitoku.model.table import Table


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """Everything that came out of one run; ``audit.safe`` is the verdict."""

    table: Table
    need: Need
    protection: Protection
    release: Release
    bounds: Bounds
    audit: Audit

    def __repr__(self) -> str:
        verdict = "safe" if self.audit.safe else "NOT safe"
        return f"Outcome({verdict}: {self.protection!r})"
