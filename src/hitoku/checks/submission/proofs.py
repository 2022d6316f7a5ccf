"""The proof of a protected table in a submission, and what it must be about."""

from __future__ import annotations

from typing import Any

from hitoku.checks.outputs.output import Output
from hitoku.checks.policies.policy import Policy
from hitoku.evidence.attributed import open_groups, required_of
from hitoku.evidence.audit import audit
from hitoku.evidence.certificate import Certificate, claim
from hitoku.evidence.grid import Grid
from hitoku.evidence.problem import AuditProblem


def certificate_of(output: Output, policy: Policy) -> Certificate | None:
    """Return the proof that a protected table leaves its unsafe cells uncertain; None where there is none."""
    claimed = output.asked.claim(output.evidence, policy)
    return None if claimed is None else audit(*claimed).certificate


def claim_of(output: Output, policy: Policy) -> dict[str, Any] | None:
    """Return what the certificate of a table must be about; None for what can have none."""
    claimed = output.asked.claim(output.evidence, policy)
    if claimed is None:
        return None
    grid = Grid.of(claimed.table.value)
    groups = required_of(*open_groups(*claimed))
    return claim(claimed.release, grid, AuditProblem.of(grid, claimed.need, claimed.release), groups)
