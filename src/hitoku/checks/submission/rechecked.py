"""Results of a check: for each output, for the submission, and compared with an earlier submission."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from hitoku.checks.decisions import Decision
from hitoku.checks.outputs import Output
from hitoku.checks.policies import Policy
from hitoku.checks.principles import Clearance, Principle, PrincipleVerdict, output_verdict, worst
from hitoku.checks.submission.submission import Submission
from hitoku.model import Finding, Severity, Verdict

EXCEPTION_GRANTED, NOT_ASKED = "exception granted", "-"


class OutputState(StrEnum):
    """State of an output when its submission is released."""

    RELEASABLE = "releasable"
    UNDECIDED = "undecided"  # a person must decide: a principle fails or needs review
    REFUSED = "refused"
    BROKEN = "broken"  # forged, damaged or contradictory: cannot be released by a decision
    RELEASED = "released"  # released before


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Rechecked:
    """Output judged again."""

    output: Output  # The output as it would be released, with the cells that decisions open.
    verdicts: tuple[PrincipleVerdict, ...]  # Verdicts of the principles.
    # Problems of the submission itself: inconsistent values, certificates or verdicts.
    findings: tuple[Finding, ...] = ()
    decisions: tuple[Decision, ...] = ()  # Decisions about this output that answer a verdict.
    # Decisions that excuse each principle.
    excused: Mapping[Principle, tuple[Decision, ...]] = field(default_factory=dict)
    receipt: int = 0  # Number of its receipt; 0 if it was not released.
    opened: int = 0  # Number of suppressed cells that decisions open.

    @property
    def row(self) -> dict[Principle, str]:
        """Status of each principle; "-" if it does not apply."""
        row: dict[Principle, str] = {}
        for principle in Principle:
            own = [verdict for verdict in self.verdicts if verdict.principle is principle]
            status = str(worst(own)) if own else NOT_ASKED
            stopped = status in {Clearance.FAIL, Clearance.REVIEW}
            row[principle] = EXCEPTION_GRANTED if stopped and principle in self.excused else status
        return row

    @property
    def status(self) -> str:
        """Worst status of the row; "fail" if the submission itself has a problem."""
        if any(finding.severity is Severity.FAIL for finding in self.findings):
            return str(Clearance.FAIL)
        found = set(self.row.values())
        order = (str(Clearance.FAIL), str(Clearance.REVIEW), EXCEPTION_GRANTED)
        return next((status for status in order if status in found), str(Clearance.PASS))

    @property
    def undecided(self) -> tuple[Principle, ...]:
        """Principles that fail or need review, without a decision."""
        return tuple(principle for principle, status in self.row.items() if status in {"fail", "review"})

    @property
    def state(self) -> OutputState:
        """State when the submission is released."""
        if self.receipt:
            return OutputState.RELEASED
        if any(finding.severity is Severity.FAIL for finding in self.findings):
            return OutputState.BROKEN
        if any(each.decision == "refuse" for each in self.decisions):
            return OutputState.REFUSED
        return OutputState.UNDECIDED if self.undecided else OutputState.RELEASABLE

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {
            "name": self.output.name,
            "kind": self.output.kind,
            "status": self.status,
            "state": str(self.state),
            "undecided": [str(principle) for principle in self.undecided],
            "principles": {str(principle): status for principle, status in self.row.items()},
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
            "findings": [str(finding) for finding in self.findings],
            "decisions": [each.to_dict() for each in self.decisions],
            "receipt": self.receipt,
        }

    def __repr__(self) -> str:
        return f"Rechecked({self.output.name!r}, {self.status})"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Recheck:
    """Submission judged again."""

    # submission, policy: the submission, and the checker's policy.
    submission: Submission
    policy: Policy
    outputs: tuple[Rechecked, ...]  # Results for each output.
    findings: tuple[Finding, ...] = ()  # Findings about the whole submission.
    # Decisions that match no output or no failing principle, and expired ones.
    unused: tuple[Decision, ...] = field(default=())
    scope: str = ""  # Scope of the differencing test.
    unit: str = ""  # Description of the unit and of who defined it.
    # Released outputs named in a difference: columns and entries, by displayed name.
    released: Mapping[str, Mapping[str, list[Any]]] = field(default_factory=dict)
    ledger: bool = False  # Whether outputs were compared with the ledger.
    units: bool = False  # Whether the data were available, so that outputs were compared by units.

    def verdict_of(self, each: Rechecked) -> Verdict:
        """Return the verdict on an output, with one row per attacker; empty for a broken output."""
        if each.state is OutputState.BROKEN:
            return Verdict(())
        return output_verdict(
            each.verdicts, ledger=self.ledger, units=self.units, against=self.policy.against
        )

    def other_sides(self, each: Rechecked) -> dict[str, Mapping[str, list[Any]]]:
        """Return the released outputs with which an output discloses something, by name.

        Released outputs that it cannot be tested against are included; outputs of the same submission are
        shown in their own place.
        """
        verdicts = [v for v in each.verdicts if v.principle is Principle.DIFFERENCING and v.status != "pass"]
        every = {name for v in verdicts for name in v.outputs}
        compared = {name for v in verdicts if v.reason != "not_testable" for name in v.outputs}
        beside = {other.output.name: other.output.published for other in self.outputs if other is not each}
        return {
            name: published
            for name, published in {**self.released, **beside}.items()
            if name in (compared if name in beside else every)
        }

    @property
    def ok(self) -> bool:
        """Whether nothing fails; reviews are left to a person."""
        return not self.findings and all(each.status != Clearance.FAIL for each in self.outputs)

    @property
    def undecided(self) -> tuple[str, ...]:
        """Names of the outputs that a person must decide about."""
        return tuple(each.output.name for each in self.outputs if each.state is OutputState.UNDECIDED)

    @property
    def matrix(self) -> dict[str, dict[str, str]]:
        """Status of each principle for each output."""
        return {
            each.output.name: {str(principle): status for principle, status in each.row.items()}
            for each in self.outputs
        }

    @property
    def tally(self) -> dict[str, int]:
        """Number of outputs with each status."""
        found = [each.status for each in self.outputs]
        return {status: found.count(status) for status in (*map(str, Clearance), EXCEPTION_GRANTED)}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {
            "submission": self.submission.name,
            "sha256": self.submission.sha256,
            "researcher": self.submission.researcher,
            "written": self.submission.written,
            "unit": self.unit,
            "n_units": self.submission.n_units,
            "n_records": self.submission.n_records,
            "written_by": f"hitoku {self.submission.version}",
            "data": self.submission.data,
            "policy": {"name": self.policy.name, "version": self.policy.version, "hash": self.policy.hash},
            "ok": self.ok,
            "undecided": list(self.undecided),
            "tally": self.tally,
            "differencing": self.scope,
            "findings": [str(finding) for finding in self.findings],
            "unused_decisions": [str(each) for each in self.unused],
            "outputs": [
                {**each.to_dict(), "verdict": self.verdict_of(each).as_dict()} for each in self.outputs
            ],
        }

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {status}" for status, n in self.tally.items() if n)
        return f"Recheck({self.submission.name!r}: {counts})"


def fault(place: str, reason: str, advice: str) -> Finding:
    """Return a finding about a problem of the submission."""
    return Finding(severity=Severity.FAIL, place=place, reason=reason, advice=advice)


def changes(now: Sequence[Output], before: Sequence[Output]) -> dict[str, str]:
    """Compare the outputs of two submissions by name; describe each difference.

    Parameters
    ----------
    now, before
        Outputs of both submissions; removed outputs are listed, too.
    """
    known = {each.name: each for each in before}
    compared = {each.name: _compare_outputs(each, known.pop(each.name, None)) for each in now}
    return compared | dict.fromkeys(known, "gone: it was in the last submission")


def _compare_outputs(now: Output, before: Output | None) -> str:
    if before is None:
        return "new"
    asked = (now.kind, dict(now.definition), dict(now.where))
    if asked != (before.kind, dict(before.definition), dict(before.where)):
        return "other definition"
    different = count_different(now.published, before.published)
    if different is None:
        return "other rows or columns"
    differing = (
        [f"{different} entr{'y' if different == 1 else 'ies'} of the released part differ"]
        if different
        else []
    )
    if now.evidence.to_dict() != before.evidence.to_dict():
        differing.append("other evidence")
    return "; ".join(differing) or "the same"


def count_different(one: Mapping[str, Sequence[Any]], other: Mapping[str, Sequence[Any]]) -> int | None:
    """Return the number of different entries of two tables; None if rows or columns differ."""
    same_rows = {len(column) for column in (*one.values(), *other.values())}
    if list(one) != list(other) or len(same_rows) > 1:
        return None
    return sum(bool(a != b) for name in one for a, b in zip(one[name], other[name], strict=True))
