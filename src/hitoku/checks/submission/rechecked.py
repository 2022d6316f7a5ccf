"""What a check found: for each output, for the submission as a whole, and since the last submission."""

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
    """What becomes of an output when its submission is released."""

    LEAVES = "leaves"
    UNDECIDED = "undecided"  # a person has to decide: something fails, or needs review
    REFUSED = "refused"
    BROKEN = "broken"  # forged, damaged or contradictory: no decision helps
    RELEASED = "released"  # it has left already


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Rechecked:
    """One output, judged again.

    Parameters
    ----------
    output
        As it would leave: the numbers that decisions name are in it.
    verdicts
        What the principles say now.
    findings
        What is wrong with the submission itself: values, proofs, verdicts that are not what they should be.
    decisions
        What was decided about this output, and answers something.
    excused
        For every principle that a decision answers which ones do.
    receipt
        The number of the receipt it left with; 0 while it has not.
    opened
        How many numbers leave that were withheld.
    """

    output: Output
    verdicts: tuple[PrincipleVerdict, ...]
    findings: tuple[Finding, ...] = ()
    decisions: tuple[Decision, ...] = ()
    excused: Mapping[Principle, tuple[Decision, ...]] = field(default_factory=dict)
    receipt: int = 0
    opened: int = 0

    @property
    def row(self) -> dict[Principle, str]:
        """For every principle what is said about this output; "-" where it does not apply."""
        row: dict[Principle, str] = {}
        for principle in Principle:
            own = [verdict for verdict in self.verdicts if verdict.principle is principle]
            status = str(worst(own)) if own else NOT_ASKED
            stopped = status in {Clearance.FAIL, Clearance.REVIEW}
            row[principle] = EXCEPTION_GRANTED if stopped and principle in self.excused else status
        return row

    @property
    def status(self) -> str:
        """The worst of the row, and "fail" when the submission itself is wrong."""
        if any(finding.severity is Severity.FAIL for finding in self.findings):
            return str(Clearance.FAIL)
        found = set(self.row.values())
        order = (str(Clearance.FAIL), str(Clearance.REVIEW), EXCEPTION_GRANTED)
        return next((status for status in order if status in found), str(Clearance.PASS))

    @property
    def undecided(self) -> tuple[Principle, ...]:
        """The principles that fail or need review, and that nobody has decided about."""
        return tuple(principle for principle, status in self.row.items() if status in {"fail", "review"})

    @property
    def state(self) -> OutputState:
        """What becomes of it when the submission is released."""
        if self.receipt:
            return OutputState.RELEASED
        if any(finding.severity is Severity.FAIL for finding in self.findings):
            return OutputState.BROKEN
        if any(each.decision == "refuse" for each in self.decisions):
            return OutputState.REFUSED
        return OutputState.UNDECIDED if self.undecided else OutputState.LEAVES

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
        Decisions that match no output, or nothing that fails or needs review; and those that have expired.
    scope
        How far differencing was tested.
    unit
        What counted as a unit, and who says so, in words.
    released
        What left before and is named in a difference: columns and their entries, by the name in the text.
    ledger
        Whether outputs were compared with everything released before.
    units
        Whether the data were there, and outputs were compared by who is in their cells.
    """

    submission: Submission
    policy: Policy
    outputs: tuple[Rechecked, ...]
    findings: tuple[Finding, ...] = ()
    unused: tuple[Decision, ...] = field(default=())
    scope: str = ""
    unit: str = ""
    released: Mapping[str, Mapping[str, list[Any]]] = field(default_factory=dict)
    ledger: bool = False
    units: bool = False

    def verdict_of(self, each: Rechecked) -> Verdict:
        """Return the verdict on an output, one row per attacker; of one that is broken nothing is claimed."""
        if each.state is OutputState.BROKEN:
            return Verdict(())
        return output_verdict(
            each.verdicts, ledger=self.ledger, units=self.units, against=self.policy.against
        )

    def other_sides(self, each: Rechecked) -> dict[str, Mapping[str, list[Any]]]:
        """Return what an output is compared with where that gives somebody away, by name.

        What it cannot be tested against is listed where it was released before; what is submitted with it
        stands in its own place.
        """
        told = [v for v in each.verdicts if v.principle is Principle.DIFFERENCING and v.status != "pass"]
        every = {name for v in told for name in v.outputs}
        compared = {name for v in told if v.reason != "not_testable" for name in v.outputs}
        beside = {other.output.name: other.output.published for other in self.outputs if other is not each}
        return {
            name: published
            for name, published in {**self.released, **beside}.items()
            if name in (compared if name in beside else every)
        }

    @property
    def ok(self) -> bool:
        """Nothing fails; what needs review is for a person."""
        return not self.findings and all(each.status != Clearance.FAIL for each in self.outputs)

    @property
    def undecided(self) -> tuple[str, ...]:
        """The outputs that a person has to decide about."""
        return tuple(each.output.name for each in self.outputs if each.state is OutputState.UNDECIDED)

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
    """Return the finding that something is wrong with what was submitted."""
    return Finding(severity=Severity.FAIL, place=place, reason=reason, advice=advice)


def changes(now: Sequence[Output], before: Sequence[Output]) -> dict[str, str]:
    """Compare the outputs of two submissions by their names; say about each what is different.

    Parameters
    ----------
    now, before
        Their outputs; what is gone is named, too.
    """
    known = {each.name: each for each in before}
    told = {each.name: _compared(each, known.pop(each.name, None)) for each in now}
    return told | dict.fromkeys(known, "gone: it was in the last submission")


def _compared(now: Output, before: Output | None) -> str:
    if before is None:
        return "new"
    asked = (now.kind, dict(now.definition), dict(now.where))
    if asked != (before.kind, dict(before.definition), dict(before.where)):
        return "asked otherwise"
    different = count_different(now.published, before.published)
    if different is None:
        return "other rows or columns leave"
    told = [f"{different} entr{'y' if different == 1 else 'ies'} of what leaves differ"] if different else []
    if now.evidence.to_dict() != before.evidence.to_dict():
        told.append("other evidence")
    return "; ".join(told) or "the same"


def count_different(one: Mapping[str, Sequence[Any]], other: Mapping[str, Sequence[Any]]) -> int | None:
    """Count the entries that differ between two tables; None when rows or columns are not the same."""
    same_rows = {len(column) for column in (*one.values(), *other.values())}
    if list(one) != list(other) or len(same_rows) > 1:
        return None
    return sum(bool(a != b) for name in one for a, b in zip(one[name], other[name], strict=True))
