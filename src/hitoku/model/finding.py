"""One remark for a human: how serious, where, why, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters, from nothing to a stop."""

    PASS = "pass"  # noqa: S105 - a verdict
    NOTE = "note"
    LOOK = "look"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A remark about a table or an output; it names codes and rules, never a confidential value.

    Examples
    --------
    >>> print(Finding(severity=Severity.FAIL, place="region=R03", reason="two persons", advice="merge it"))
    fail: region=R03: two persons (merge it)
    """

    severity: Severity
    place: str
    reason: str
    advice: str = ""

    def __str__(self) -> str:
        advice = f" ({self.advice})" if self.advice else ""
        return f"{self.severity}: {self.place}: {self.reason}{advice}"
