"""What a check found: for each output, and for the submission as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hitoku.checks.outputs.output import Output
from hitoku.checks.policies.policy import Policy
from hitoku.checks.principles.verdict import Clearance, Principle, PrincipleVerdict, worst
from hitoku.checks.submission.exceptions import Granted
from hitoku.checks.submission.submission import Submission
from hitoku.model.finding import Finding, Severity

EXCEPTED, NOT_ASKED = "excepted", "-"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Rechecked:
    """One output, judged again.

    Parameters
    ----------
    output
        As submitted.
    verdicts
        What the principles say now.
    findings
        What is wrong with the submission itself: values, proofs, verdicts that are not what they should be.
    exceptions
        Decisions about this output.
    """

    output: Output
    verdicts: tuple[PrincipleVerdict, ...]
    findings: tuple[Finding, ...] = ()
    exceptions: tuple[Granted, ...] = ()

    @property
    def row(self) -> dict[Principle, str]:
        """For every principle what is said about this output; "-" where it does not apply."""
        row: dict[Principle, str] = {}
        for principle in Principle:
            own = [verdict for verdict in self.verdicts if verdict.principle is principle]
            status = str(worst(own)) if own else NOT_ASKED
            excepted = any(each.principle is principle for each in self.exceptions)
            row[principle] = EXCEPTED if excepted and status in {Clearance.FAIL, Clearance.LOOK} else status
        return row

    @property
    def status(self) -> str:
        """The worst of the row, and "fail" when the submission itself is wrong."""
        if any(finding.severity is Severity.FAIL for finding in self.findings):
            return str(Clearance.FAIL)
        found = set(self.row.values())
        order = (str(Clearance.FAIL), str(Clearance.LOOK), EXCEPTED)
        return next((status for status in order if status in found), str(Clearance.PASS))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {
            "name": self.output.name,
            "kind": self.output.kind,
            "status": self.status,
            "principles": {str(principle): status for principle, status in self.row.items()},
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
            "findings": [str(finding) for finding in self.findings],
            "exceptions": [str(each) for each in self.exceptions],
        }

    def __repr__(self) -> str:
        return f"Rechecked({self.output.name!r}, {self.status})"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Recheck:
    """A submission, judged again.

    Parameters
    ----------
    submission, policy
        What was checked, by the checker's own copy of the policy.
    outputs
        One for each output.
    findings
        About the submission as a whole.
    unused
        Exceptions that match no output, or nothing that failed.
    scope
        How far differencing was tested.
    """

    submission: Submission
    policy: Policy
    outputs: tuple[Rechecked, ...]
    findings: tuple[Finding, ...] = ()
    unused: tuple[Granted, ...] = field(default=())
    scope: str = ""

    @property
    def ok(self) -> bool:
        """Nothing fails; what needs a look is for a person."""
        return not self.findings and all(each.status != Clearance.FAIL for each in self.outputs)

    @property
    def matrix(self) -> dict[str, dict[str, str]]:
        """Outputs by principles."""
        return {
            each.output.name: {str(principle): status for principle, status in each.row.items()}
            for each in self.outputs
        }

    @property
    def tally(self) -> dict[str, int]:
        """How many outputs have each status."""
        found = [each.status for each in self.outputs]
        return {status: found.count(status) for status in (*map(str, Clearance), EXCEPTED)}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {
            "submission": self.submission.name,
            "written_by": f"hitoku {self.submission.version}",
            "data": self.submission.data,
            "policy": {"name": self.policy.name, "version": self.policy.version, "hash": self.policy.hash},
            "ok": self.ok,
            "tally": self.tally,
            "differencing": self.scope,
            "findings": [str(finding) for finding in self.findings],
            "unused_exceptions": [str(each) for each in self.unused],
            "outputs": [each.to_dict() for each in self.outputs],
        }

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {status}" for status, n in self.tally.items() if n)
        return f"Recheck({self.submission.name!r}: {counts})"


def fault(place: str, reason: str, advice: str) -> Finding:
    """Return the finding that something is wrong with what was submitted."""
    return Finding(severity=Severity.FAIL, place=place, reason=reason, advice=advice)
