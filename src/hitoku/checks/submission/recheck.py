"""Check of a submission by a checker, from the evidence; verdicts of the session are not trusted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hitoku.checks.decisions import Decision, decisions_by, excused_principles, open_cells, person
from hitoku.checks.evidence import Unreadable
from hitoku.checks.ledger import DEPTH, LedgerStore, Settings, read_store, settings_of
from hitoku.checks.outputs import Output
from hitoku.checks.policies import Policy
from hitoku.checks.policies import policy as policy_named
from hitoku.checks.principles import Clearance, Principle, PrincipleVerdict
from hitoku.checks.submission import differencing
from hitoku.checks.submission.differencing import by_codes
from hitoku.checks.submission.judge_output import disagreements, judge_again
from hitoku.checks.submission.rechecked import Recheck, Rechecked, fault
from hitoku.checks.submission.submission import Submission, read_submission
from hitoku.checks.unit_records import Records
from hitoku.errors import DataError, ParameterError
from hitoku.messages import Text
from hitoku.model import Finding, Severity

# Verdicts about an output by itself, and findings about its submission.
Judged = tuple[tuple[PrincipleVerdict, ...], tuple[Finding, ...]]
# Called with the number of finished steps, of all steps, and a description of the next one.
Progress = Callable[[int, int, str], None]


def _silent(_done: int, _total: int, _said: str) -> None:
    """Ignore progress."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Centre:
    """Inputs of the checker, none of them taken from the submission."""

    policy: Policy  # Policy applied to all outputs.
    settings: Settings | None = None  # Settings of the ledger; None without a ledger or settings.
    store: LedgerStore | None = None  # Store of the ledger; None without a ledger.
    path: Path | None = None  # Path of the ledger.
    records: Records | None = None  # The data; None if not available.

    @property
    def depth(self) -> int:
        """Number of outputs tested together."""
        return DEPTH if self.store is None else self.store.depth


def recheck(
    path: str | Path,
    *,
    policy: str | Path | Policy | None = None,
    ledger: str | Path | None = None,
    data: Any = None,
    unit: str | None = None,
    decisions: Sequence[Decision] = (),
    today: date | None = None,
    progress: Progress = _silent,
) -> Recheck:
    """Judge a submission again.

    Parameters
    ----------
    path
        Folder of the submission. Raises DataError if it was modified.
    policy
        Policy of the checker. Default: the ledger's policy, or the bundled one named in the submission.
    ledger
        Ledger of released outputs; it is not written. Its policy and unit override those of the submission.
    data
        The data, if available: evidence is collected again, and differences are tested by units. Otherwise
        outputs are compared through their codes, and outputs without codes are not testable.
    unit
        Column that names the unit, if no ledger defines it.
    decisions
        Decisions about outputs.
    today
        Date at which decisions must be valid. Default: today.
    progress
        Called before every step; each output is judged, then compared with the others.
    """
    submission = read_submission(path)
    if ledger is not None and not Path(ledger).exists() and data is None:
        raise DataError(
            "no_ledger", "no ledger {path!r}", where=str(ledger), fix="check the path", path=Path(ledger).name
        )
    # With the data, this check may start a new ledger.
    store = None if ledger is None or not Path(ledger).exists() else read_store(Path(ledger))
    centre = open_centre(submission, store, ledger, policy=policy, data=data, unit=unit)
    return judge(submission, centre, decisions, today=today, progress=progress)


def open_centre(
    submission: Submission,
    store: LedgerStore | None,
    ledger: str | Path | None,
    *,
    policy: str | Path | Policy | None = None,
    data: Any = None,
    unit: str | None = None,
) -> Centre:
    """Open the inputs of a check. Parameters as in :func:`recheck`."""
    fixed = None if store is None else settings_of(store)
    if store is not None:
        _require_same_data(store, submission)
    own = _own_policy(submission, policy, fixed)
    if fixed is not None and unit is not None and unit != fixed.unit:
        raise ParameterError(
            "ledger_counts_other_unit",
            "the ledger counts by {ledger_unit}, not by {unit}",
            where="unit",
            fix="leave it out: the ledger says what a unit is",
            ledger_unit=fixed.unit or "records",
            unit=unit,
        )
    by = unit if fixed is None else fixed.unit
    records = None if data is None else _open_data(data, by, submission)
    path = None if ledger is None else Path(ledger)
    return Centre(policy=own, settings=fixed, store=store, path=path, records=records)


def judge(
    submission: Submission,
    centre: Centre,
    decisions: Sequence[Decision] = (),
    *,
    staying: Mapping[str, tuple[PrincipleVerdict, ...]] = MappingProxyType({}),
    today: date | None = None,
    progress: Progress = _silent,
) -> Recheck:
    """Judge a submission with opened inputs.

    Parameters
    ----------
    submission, centre, decisions, today, progress
        As in :func:`recheck`.
    staying
        Verdicts on differences of outputs that are not released; they still hold, and other outputs are not
        compared with these.
    """
    policy, records = centre.policy, centre.records
    day = today or datetime.now(UTC).date()
    _refuse_own(submission, decisions)
    n = len(submission.outputs)
    alone = []
    for place, output in enumerate(submission.outputs):
        progress(place, 2 * n, f"judging {output.name}")
        alone.append(judge_again(submission, place, policy, records))
    judged = _compare_facts(submission, alone)
    left = _released_outputs(submission, centre.store)
    drafts = [
        _open_cells(
            output, found, decisions_by(decisions, output.name, day), policy, left.get(output.name, 0)
        )
        for output, found in zip(submission.outputs, judged, strict=True)
    ]
    in_spite = {
        each.output
        for each in decisions
        if each.decision == "release" and each.principle in {None, Principle.DIFFERENCING} and each.holds(day)
    }
    compared = _compare_units(submission, centre, drafts, staying, in_spite, progress)
    checked = tuple(
        _conclude(
            each,
            staying.get(each.output.name, with_others),
            records,
            decisions_by(decisions, each.output.name, day),
            policy,
        )
        for each, with_others in zip(drafts, compared, strict=True)
    )
    used = {id(each) for one in checked for each in one.decisions}
    ledger = centre.store is not None or centre.path is not None
    return Recheck(
        submission=submission,
        policy=policy,
        outputs=checked,
        findings=(*_other_policy(submission, policy), *_other_unit(submission, centre)),
        unused=tuple(each for each in decisions if id(each) not in used),
        scope=differencing.scope(ledger, records, centre.depth),
        unit=_unit_words(submission, centre),
        released=_named_before(checked, centre.store, submission.name),
        ledger=ledger,
        units=records is not None,
    )


def _open_cells(
    output: Output, judged: Judged, decided: Sequence[Decision], policy: Policy, receipt: int
) -> Rechecked:
    """Open the cells that decisions name, and judge the output again."""
    verdicts, findings = judged
    broken = any(each.severity is Severity.FAIL for each in findings)
    if broken or isinstance(output.evidence, Unreadable):
        return Rechecked(output=output, verdicts=verdicts, findings=findings, receipt=receipt)
    released = [each for each in decided if each.decision == "release"]
    made = open_cells(output, released)
    if made is not output:
        verdicts = made.asked.judge(made.evidence, policy)
    # Not yet compared with others; rejected outputs are already known.
    return Rechecked(
        output=made,
        verdicts=verdicts,
        findings=findings,
        decisions=tuple(each for each in decided if each.decision == "refuse"),
        excused=excused_principles(made, verdicts, released, policy),
        receipt=receipt,
        opened=int((output.evidence.withheld & ~made.evidence.withheld).sum()),
    )


def _named_before(
    checked: Sequence[Rechecked], store: LedgerStore | None, project: str
) -> dict[str, Mapping[str, list[Any]]]:
    """Return the released outputs that are named in a difference."""
    named = {name for each in checked for verdict in each.verdicts for name in verdict.outputs}
    found: dict[str, Mapping[str, list[Any]]] = {}
    for body in [] if store is None else store.of("output"):
        known = f"{body['name']} (project {body['project'] or 'without a name'})"
        name = body["name"] if body["project"] == project else known
        for shown in {name, known} & named:
            if isinstance(body["published"], dict):
                found[shown] = body["published"]
    return found


def _released_outputs(submission: Submission, store: LedgerStore | None) -> dict[str, int]:
    """Return the released outputs of this submission, with the number of their receipt."""
    receipts = [] if store is None else store.of("release")
    return {
        output["name"]: receipt["number"]
        for receipt in receipts
        if submission.sha256 and receipt["submission_sha256"] == submission.sha256
        for output in receipt["outputs"]
    }


def _refuse_own(submission: Submission, decisions: Sequence[Decision]) -> None:
    """Raise ParameterError if researchers decide about their own outputs."""
    for each in decisions:
        if submission.researcher and person(each.who) == person(submission.researcher):
            raise ParameterError(
                "submitter_cannot_decide",
                "{person} submitted the outputs, and cannot decide about them",
                where="decision about {output}",
                fix="have another person decide",
                person=each.who,
                output=each.output,
            )


def _other_policy(submission: Submission, own: Policy) -> tuple[Finding, ...]:
    """Return a finding if the session used another policy than the checker's."""
    if own.hash == submission.policy.hash:
        return ()
    reason = Text(
        "the session worked under another policy than {name} {version} as the checker has it",
        name=own.name,
        version=own.version,
    )
    return (fault("policy", reason, "the verdicts here are by the checker's copy"),)


def _other_unit(submission: Submission, centre: Centre) -> tuple[Finding, ...]:
    """Return a finding if the session used another unit than the centre's."""
    found: list[Finding] = []
    records, fixed = centre.records, centre.settings
    if fixed is not None and submission.unit != fixed.unit:
        own, centres = _by(submission.unit), _by(fixed.unit)
        reason = Text("the session counted {own}, the centre counts {centres}", own=own, centres=centres)
        found.append(fault("unit", reason, "create it again with the centre's unit"))
    if records is not None and submission.n_records is not None:
        theirs, ours = (submission.n_units, submission.n_records), (records.n_units, len(records))
        if theirs != ours:
            reason = Text(
                "it says {units} units and {records} records, the data have {n_units} and {n_records}",
                units=theirs[0],
                records=theirs[1],
                n_units=ours[0],
                n_records=ours[1],
            )
            found.append(fault("unit", reason, "ask how this came about"))
    return tuple(found)


def _by(unit: str | None) -> Text:
    return Text("every record as a unit") if unit is None else Text("by {unit}", unit=unit)


def _unit_words(submission: Submission, centre: Centre) -> str:
    """Describe the unit, and who defined it."""
    if centre.settings is not None:
        return Text("{unit}, as the centre fixed it", unit=_by(centre.settings.unit))
    if centre.records is not None:
        return Text("{unit}, as the checker said", unit=_by(centre.records.unit_column))
    template = "{unit}, as the session says; the centre has not fixed it"
    return Text(template, unit=_by(submission.unit))


def _open_data(data: Any, unit: str | None, submission: Submission) -> Records:
    records = Records.open(data, unit)
    if records.hash != submission.data:
        raise DataError(
            "data_not_of_submission",
            "the data are not those of the submission",
            where="data",
            fix="give the data set of the session",
        )
    return records


def _compare_units(
    submission: Submission,
    centre: Centre,
    drafts: Sequence[Rechecked],
    staying: Collection[str],
    in_spite: Collection[str],
    progress: Progress,
) -> list[tuple[PrincipleVerdict, ...]]:
    """Find differences between outputs by units, or by codes without the data."""
    n = len(drafts)

    def compared(place: int) -> None:
        progress(n + place, 2 * n, f"comparing {drafts[place].output.name} with everything released")

    candidates = [
        differencing.Candidate(
            output=each.output,
            sound=not any(finding.severity is Severity.FAIL for finding in each.findings),
            # Unreleased outputs disclose nothing; released ones are in the ledger.
            stays=str(Clearance.FAIL) in each.row.values()
            or bool(each.decisions)
            or each.output.name in staying
            or each.receipt > 0,
            excused=each.output.name in in_spite,
        )
        for each in drafts
    ]
    if centre.records is None:
        return by_codes(submission, centre.policy, candidates, centre.store, compared)
    return differencing.by_units(
        submission, centre.policy, candidates, centre.path, centre.records, centre.store, compared
    )


def _conclude(
    draft: Rechecked,
    with_others: Sequence[PrincipleVerdict],
    records: Records | None,
    decided: Sequence[Decision],
    policy: Policy,
) -> Rechecked:
    """Combine the verdicts about an output with the decisions that answer them."""
    tested = records is not None and all(verdict.reason != "not_testable" for verdict in with_others)
    known = {verdict.text for verdict in with_others}
    warned = () if tested or draft.receipt else differencing.session_warnings(draft.output)
    verdicts = (*draft.verdicts, *with_others, *(verdict for verdict in warned if verdict.text not in known))
    if any(each.severity is Severity.FAIL for each in draft.findings):
        return replace(draft, verdicts=verdicts)
    released = [each for each in decided if each.decision == "release"]
    answers = excused_principles(draft.output, verdicts, released, policy)
    used = {id(each): each for found in answers.values() for each in found}
    opening = [each for each in released if each.cells and draft.opened and id(each) not in used]
    return replace(
        draft, verdicts=verdicts, excused=answers, decisions=(*draft.decisions, *used.values(), *opening)
    )


def _compare_facts(submission: Submission, judged: Sequence[Judged]) -> list[Judged]:
    """Compare the facts of the sound outputs."""
    sound = [place for place, (_, found) in enumerate(judged) if not found]
    again = list(judged)
    for place, texts in zip(sound, disagreements([submission.outputs[p] for p in sound]), strict=True):
        name, advice = submission.outputs[place].name, "have both made again"
        again[place] = judged[place][0], tuple(fault(name, text, advice) for text in texts)
    return again


def _own_policy(submission: Submission, policy: str | Path | Policy | None, fixed: Settings | None) -> Policy:
    if fixed is not None:
        if policy is not None and policy_named(policy).hash != fixed.policy.hash:
            raise ParameterError(
                "policy_not_of_ledger",
                "the ledger's policy is {policy} {version}, and this is another",
                where="policy",
                fix="leave it out: the centre's policy is in the ledger",
                policy=fixed.policy.name,
                version=fixed.policy.version,
            )
        return fixed.policy
    if policy is not None:
        return policy_named(policy)
    try:
        return policy_named(submission.policy.name)
    except ParameterError as error:
        raise ParameterError(
            "policy_not_built_in",
            "the submission's policy {policy!r} does not come with hitoku",
            where="policy",
            fix="give the centre's own copy of it with --policy",
            policy=submission.policy.name,
        ) from error


def _require_same_data(store: LedgerStore, submission: Submission) -> None:
    # A ledger with unit names serves other extracts of the data as well.
    if not store.by_name and store.lines[0].body["data_hash"] != submission.data:
        raise DataError(
            "ledger_not_of_submission",
            "the ledger is about other data than the submission",
            where=str(store.path),
            fix="give the ledger of this data set",
        )
