"""The checker's side: judge a submission again from its evidence; the session's verdicts are not believed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hitoku.checks.ledger.entry import read as read_ledger
from hitoku.checks.outputs.output import Output
from hitoku.checks.policies.policy import Policy
from hitoku.checks.policies.policy import policy as policy_named
from hitoku.checks.principles.verdict import Clearance, PrincipleVerdict, worst
from hitoku.checks.records import Records
from hitoku.checks.submission import differences
from hitoku.checks.submission.agreement import disagreements
from hitoku.checks.submission.code_differences import by_codes
from hitoku.checks.submission.exceptions import Granted
from hitoku.checks.submission.rechecked import Recheck, Rechecked, fault
from hitoku.checks.submission.rejudge import judge_again
from hitoku.checks.submission.submission import Submission, read_submission
from hitoku.errors import DataError, ParameterError
from hitoku.model.finding import Finding, Severity

# What the principles say about an output by itself, and what is wrong with it.
Judged = tuple[tuple[PrincipleVerdict, ...], tuple[Finding, ...]]


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
    if ledger is not None and (data is None or Path(ledger).exists()):
        # With the data at hand a ledger may be begun by what is checked now.
        _require_same_data(Path(ledger), submission)
    records = None if data is None else _open_data(data, unit, submission)
    places = range(len(submission.outputs))
    judged = _compare_facts(submission, [judge_again(submission, at, own, records) for at in places])
    compared = _compare_units(submission, own, judged, ledger, records)
    checked = [
        _conclude(output, found, with_others, records, exceptions)
        for output, found, with_others in zip(submission.outputs, judged, compared, strict=True)
    ]
    used = {id(each) for one in checked for each in one.exceptions}
    return Recheck(
        submission=submission,
        policy=own,
        outputs=tuple(checked),
        findings=_other_policy(submission, own),
        unused=tuple(each for each in exceptions if id(each) not in used),
        scope=differences.scope(ledger, records),
    )


def _other_policy(submission: Submission, own: Policy) -> tuple[Finding, ...]:
    """Say so when the session worked under another policy than the checker's."""
    if own.hash == submission.policy.hash:
        return ()
    reason = f"the session worked under another policy than {own.name} {own.version} as the checker has it"
    return (fault("policy", reason, "the verdicts here are by the checker's copy"),)


def _open_data(data: Any, unit: str | None, submission: Submission) -> Records:
    records = Records.open(data, unit)
    if records.hash != submission.data:
        raise DataError(
            "the data are not those of the submission", where="data", fix="give the data set of the session"
        )
    return records


def _compare_units(
    submission: Submission,
    policy: Policy,
    judged: Sequence[Judged],
    ledger: str | Path | None,
    records: Records | None,
) -> list[tuple[PrincipleVerdict, ...]]:
    """Find differences between outputs: by who is in their cells, or by codes where there are no data."""
    sound = [not any(each.severity is Severity.FAIL for each in found) for _, found in judged]
    failed = [worst(verdicts) is Clearance.FAIL for verdicts, _ in judged]
    if records is None:
        return by_codes(submission, policy, sound, failed, ledger)
    return differences.by_units(submission, policy, sound, failed, ledger, records)


def _conclude(
    output: Output,
    judged: Judged,
    with_others: Sequence[PrincipleVerdict],
    records: Records | None,
    exceptions: Sequence[Granted],
) -> Rechecked:
    """Put together what was found about an output, and the decisions that answer it."""
    own, findings = judged
    tested = records is not None and all(verdict.reason != "not_testable" for verdict in with_others)
    known = {verdict.text for verdict in with_others}
    warned = () if tested else differences.warned(output)
    verdicts = (*own, *with_others, *(verdict for verdict in warned if verdict.text not in known))
    stopped = [verdict for verdict in verdicts if verdict.status is not Clearance.PASS]
    granted = (each for each in exceptions if each.output == output.name and any(map(each.answers, stopped)))
    return Rechecked(output=output, verdicts=verdicts, findings=findings, exceptions=tuple(granted))


def _compare_facts(submission: Submission, judged: Sequence[Judged]) -> list[Judged]:
    """Compare the outputs that are sound with one another."""
    sound = [place for place, (_, found) in enumerate(judged) if not found]
    again = list(judged)
    for place, texts in zip(sound, disagreements([submission.outputs[p] for p in sound]), strict=True):
        name, advice = submission.outputs[place].name, "have both made again"
        again[place] = judged[place][0], tuple(fault(name, text, advice) for text in texts)
    return again


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


def _require_same_data(ledger: Path, submission: Submission) -> None:
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
