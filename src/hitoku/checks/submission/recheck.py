"""The checker's side: judge a submission again from its evidence; the session's verdicts are not believed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.checks.evidence.evidence import Unreadable
from hitoku.checks.ledger.entry import read as read_ledger
from hitoku.checks.outputs.output import Output
from hitoku.checks.policies.policy import Policy
from hitoku.checks.policies.policy import policy as policy_named
from hitoku.checks.principles.verdict import Clearance, Principle, PrincipleVerdict, worst
from hitoku.checks.records import Records
from hitoku.checks.submission import differences
from hitoku.checks.submission.agreement import disagreements
from hitoku.checks.submission.code_differences import by_codes
from hitoku.checks.submission.exceptions import Granted
from hitoku.checks.submission.submission import (
    Submission,
    certificate_of,
    claim_of,
    csv_text,
    read_submission,
)
from hitoku.errors import DataError, HitokuError, ParameterError
from hitoku.evidence import verify as proof
from hitoku.evidence.certificate import is_about
from hitoku.model.finding import Finding, Severity

EXCEPTED, NOT_ASKED = "excepted", "-"
# What can go wrong when numbers are not of the kind or length that an output type writes.
MALFORMED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, HitokuError)


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
        if self.findings:
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


def recheck(
    path: str | Path,
    *,
    policy: str | Path | Policy | None = None,
    ledger: str | Path | None = None,
    data: Any = None,
    unit: str | None = None,
    exceptions: Sequence[Granted] = (),
) -> Recheck:
    """Judge a submission again.

    Parameters
    ----------
    path
        The folder; one that is not as it was written is refused.
    policy
        The checker's own policy; left out, the one of that name that comes with hitoku.
    ledger
        Everything released before; it is read, not written.
    data
        The data, when the checker has them: evidence is collected again, and differences are tested by who
        is in the cells. Without them, outputs are compared through their codes, as any reader can, and what
        has no codes is not testable.
    unit
        Column that names the unit, as in the session.
    exceptions
        Decisions about outputs.
    """
    submission = read_submission(path)
    own = _own_policy(submission, policy)
    findings = []
    if own.hash != submission.policy.hash:
        reason = (
            f"the session worked under another policy than {own.name} {own.version} as the checker has it"
        )
        findings.append(_wrong("policy", reason, "the verdicts here are by the checker's copy"))
    if ledger is not None and (data is None or Path(ledger).exists()):
        # With the data at hand a ledger may be begun by what is checked now.
        _same_data(Path(ledger), submission)
    records = None if data is None else Records.open(data, unit)
    if records is not None and records.hash != submission.data:
        raise DataError(
            "the data are not those of the submission", where="data", fix="give the data set of the session"
        )
    again = _agreeing(
        submission,
        [judged_again(submission, place, own, records) for place in range(len(submission.outputs))],
    )
    sound = [not found for _, found in again]
    failed = [worst(verdicts) is Clearance.FAIL for verdicts, _ in again]
    compared = (
        by_codes(submission, own, sound, failed, ledger)
        if records is None
        else differences.by_units(submission, own, sound, failed, ledger, records)
    )
    checked = []
    used: set[int] = set()
    for output, (judged, found), with_others in zip(submission.outputs, again, compared, strict=True):
        known = {verdict.text for verdict in with_others}
        tested = records is not None and all(verdict.reason != "not_testable" for verdict in with_others)
        warned = () if tested else differences.warned(output)
        verdicts = (*judged, *with_others, *(verdict for verdict in warned if verdict.text not in known))
        stopped = [verdict for verdict in verdicts if verdict.status is not Clearance.PASS]
        granted = [
            n for n, e in enumerate(exceptions) if e.output == output.name and any(map(e.answers, stopped))
        ]
        used |= set(granted)
        checked.append(
            Rechecked(
                output=output,
                verdicts=verdicts,
                findings=found,
                exceptions=tuple(exceptions[n] for n in granted),
            )
        )
    return Recheck(
        submission=submission,
        policy=own,
        outputs=tuple(checked),
        findings=tuple(findings),
        unused=tuple(each for n, each in enumerate(exceptions) if n not in used),
        scope=differences.scope(ledger, records),
    )


def judged_again(
    submission: Submission, place: int, policy: Policy, records: Records | None = None
) -> tuple[tuple[PrincipleVerdict, ...], tuple[Finding, ...]]:
    """Apply the principles to the evidence of one output, and compare it with everything else submitted."""
    output = submission.outputs[place]
    if isinstance(output.evidence, Unreadable):
        reason = f"the evidence cannot be judged: {output.evidence.reason}"
        return (), (_wrong(output.name, reason, "have it made again"),)
    findings: list[Finding] = []
    asked = output.asked
    try:
        verdicts = asked.judge(output.evidence, policy)
        again = asked.publish(output.evidence)
        findings += [
            _wrong(output.name, f"evidence contradicts itself: {text}", "have it made again")
            for text in asked.contradictions(output.evidence)
        ]
        findings += _proof(submission, place)
        if records is not None:
            findings += _collected(output, policy, records)
    except MALFORMED as error:
        # Our own errors name codes and counts; others may show a value.
        why = error.what if isinstance(error, HitokuError) else type(error).__name__
        reason = f"the evidence cannot be judged: {why}"
        return (), (_wrong(output.name, reason, "have it made again"),)
    if not _same(output.published, again):
        reason = "what would leave is not what the evidence gives: a value was altered, or is not withheld"
        findings.append(_wrong(output.name, reason, "do not release it"))
    if submission.public_csv(place) != csv_text(output.published):
        findings.append(
            _wrong(output.name, "the CSV file and the JSON file that would leave differ", "do not release it")
        )
    if output.policy.get("hash") != submission.policy.hash:
        findings.append(
            _wrong(output.name, "it was judged by another policy than submitted", "have it made again")
        )
    findings += _lies(output, verdicts)
    return verdicts, tuple(findings)


def _agreeing(
    submission: Submission, judged: Sequence[tuple[tuple[PrincipleVerdict, ...], tuple[Finding, ...]]]
) -> list[tuple[tuple[PrincipleVerdict, ...], tuple[Finding, ...]]]:
    """Compare the outputs that are sound with one another."""
    sound = [place for place, (_, found) in enumerate(judged) if not found]
    again = list(judged)
    for place, texts in zip(sound, disagreements([submission.outputs[p] for p in sound]), strict=True):
        name, advice = submission.outputs[place].name, "have both made again"
        again[place] = judged[place][0], tuple(_wrong(name, text, advice) for text in texts)
    return again


def _proof(submission: Submission, place: int) -> list[Finding]:
    """Check a table's certificate: by the verifier that trusts nobody, and that it is about this table."""
    output, path = submission.outputs[place], submission.certificate(place)
    if path is None:
        reason = "the proof of its intervals is missing"
        due = certificate_of(output, submission.policy) is not None
        return [_wrong(output.name, reason, "have it made again")] if due else []
    answer = proof.verify(path)
    if not answer.ok:
        return [_wrong(output.name, f"the certificate is refuted: {answer.reason}", "do not release it")]
    due_claim = claim_of(output, submission.policy)
    if due_claim is None:
        return [_wrong(output.name, "it has a certificate and cannot have one", "do not release it")]
    # Which witnesses prove it does not matter: another version of the program may find others.
    if not is_about(proof.read(path), due_claim):
        return [_wrong(output.name, "the certificate is about another table or policy", "do not release it")]
    return []


def _lies(output: Output, verdicts: Sequence[PrincipleVerdict]) -> list[Finding]:
    """Compare with the session's own verdicts, which nothing here rests on."""
    findings = []
    for principle in Principle:
        if principle is Principle.DIFFERENCING:
            continue
        said = worst(v for v in output.verdicts if v.principle is principle)
        asked = any(v.principle is principle for v in output.verdicts)
        now = worst(v for v in verdicts if v.principle is principle)
        due = any(v.principle is principle for v in verdicts)
        if (asked, said) != (due, now):
            claim = str(said) if asked else "nothing"
            reason = f"{principle}: the session says {claim}, its evidence {now if due else 'nothing'}"
            findings.append(_wrong(output.name, reason, "trust the evidence, and ask how this came about"))
    return findings


def _collected(output: Output, policy: Policy, records: Records) -> list[Finding]:
    """Collect the evidence again from the data."""
    asked = output.asked
    if not asked.repeatable:
        return []
    fresh = asked.protect(asked.collect(records.where(output.where)), policy).to_dict()
    said = output.evidence.to_dict()
    differing = sorted(
        name
        for name in {*fresh, *said}
        if name not in {"withheld", "counts_withheld"} and not _close(fresh.get(name), said.get(name))
    )
    if not differing:
        return []
    reason = f"the data give other evidence: {', '.join(differing)}"
    return [_wrong(output.name, reason, "do not release it")]


def _own_policy(submission: Submission, policy: str | Path | Policy | None) -> Policy:
    if policy is not None:
        return policy_named(policy)
    try:
        return policy_named(submission.policy.name)
    except ParameterError as error:
        raise ParameterError(
            f"the submission's policy {submission.policy.name!r} does not come with hitoku",
            where="policy",
            fix="give the centre's own copy of it with --policy",
        ) from error


def _same_data(ledger: Path, submission: Submission) -> None:
    if not ledger.exists():
        raise DataError(f"no ledger {ledger.name!r}", where=str(ledger), fix="check the path")
    body, _ = read_ledger(ledger)
    # A ledger that knows its units by name serves other extracts of the data, too.
    if "units" not in body and body["data_hash"] != submission.data:
        raise DataError(
            "the ledger is about other data than the submission",
            where=str(ledger),
            fix="give the ledger of this data set",
        )


def _wrong(place: str, reason: str, advice: str) -> Finding:
    return Finding(severity=Severity.FAIL, place=place, reason=reason, advice=advice)


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Tell whether two published outputs are the same text, NaN included."""
    return json.dumps(dict(one), default=str) == json.dumps(dict(other), default=str)


def _close(one: Any, other: Any) -> bool:
    """Tell whether two pieces of evidence agree, up to the order of adding up."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_close, one, other))
    if isinstance(one, float) or isinstance(other, float):
        return (
            isinstance(one, int | float)
            and isinstance(other, int | float)
            and bool(np.isclose(one, other, rtol=1e-9, atol=1e-9, equal_nan=True))
        )
    return bool(one == other)
