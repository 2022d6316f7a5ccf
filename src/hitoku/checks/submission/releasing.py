"""Release of outputs: decisions, ledger, receipt and files in one step.

The ledger is locked from before the check until everything is on disk. The folder is complete under a
temporary name before the ledger is written, and is renamed afterwards. If the program is killed in between,
the next call finds the receipt in the ledger and restores the folder from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from hitoku.checks.decisions import Decision, person
from hitoku.checks.ledger import (
    LedgerStore,
    Left,
    Receipt,
    Settings,
    locked_store,
    read_store,
    receipts_of,
    settings_of,
)
from hitoku.checks.principles import Principle, PrincipleVerdict
from hitoku.checks.submission.differencing import place_units
from hitoku.checks.submission.draft_ledger import definition_of, open_ledger, remembered_parts
from hitoku.checks.submission.recheck import Centre, judge, open_centre
from hitoku.checks.submission.rechecked import OutputState, Recheck, Rechecked
from hitoku.checks.submission.same_variable import measured_alike, said_by
from hitoku.checks.submission.submission import MAX_BYTES, Submission, leaving, read_submission
from hitoku.errors import DataError, ParameterError, some
from hitoku.files import new_folder, read_file, sha256

RECEIPT, LETTER = "receipt.json", "receipt.txt"


@dataclass(frozen=True, eq=False, kw_only=True)
class Released:
    """Result of a release."""

    check: Recheck  # Check on which the release is based.
    # Receipt of this release; if nothing was released now, the last one of this submission, or None.
    receipt: Receipt | None
    folder: Path | None  # Folder of the released files and the receipt; None without a receipt.
    again: bool = False  # Whether everything had been released before.
    blocked: str = ""  # Reason why nothing was released; empty otherwise.


def release(
    path: str | Path,
    *,
    ledger: str | Path,
    data: Any,
    checkers: Sequence[str],
    decisions: Sequence[Decision] = (),
    partial: bool = False,
    out: str | Path | None = None,
    disarmed: bool = True,
    now: datetime | None = None,
    wait_s: float = 60.0,
) -> Released:
    """Release outputs of a submission and store them in the ledger, all or nothing.

    Outputs are released if they pass, or if decisions answer every principle that does not. While an output
    is undecided nothing is released, unless ``partial`` is set. Earlier releases are unchanged: the call is
    idempotent.

    Parameters
    ----------
    path
        Folder of the submission.
    ledger
        Ledger created by :func:`hitoku.checks.ledger.init`.
    data
        The data; the ledger stores the members of each cell.
    checkers
        Names of the checkers who sign: as many different people as the ledger requires, without the
        researcher.
    decisions
        Decisions about outputs.
    partial
        Whether to release decided outputs while others are pending. Default: False.
    out
        Folder for the released files. Default: beside the submission, with the suffix "-released".
    disarmed
        Whether CSV files quote codes that a spreadsheet would run as formulas. Default: True.
    now
        Time of the release. Default: now.
    wait_s
        Time to wait for the ledger's lock, in seconds. Default: 60.
    """
    submission, place = read_submission(path), Path(ledger)
    if not place.exists():
        raise DataError(
            "no_ledger",
            "no ledger {path!r}",
            where=str(place),
            fix="begin one: hitoku ledger init LEDGER --policy NAME --unit COLUMN",
            path=place.name,
        )
    when = now or datetime.now(UTC)
    # The folder is renamed after the ledger is on disk, because the lock is released first.
    with ExitStack() as afterwards, locked_store(place, wait_s) as store:
        fixed = _require_settings(store)
        names = _signatories(checkers, submission, fixed)
        centre = open_centre(submission, store, place, data=data)
        check = _judge_submission(submission, centre, decisions, when.date(), partial=partial)
        blocked = _blocking_reason(check, partial=partial)
        if blocked:
            return Released(check=check, receipt=None, folder=None, blocked=blocked)
        leaves = [each for each in check.outputs if each.state is OutputState.RELEASABLE]
        known = [each for each in receipts_of(store) if each.submission_sha256 == submission.sha256]
        files: dict[str, bytes] = {}
        if leaves:
            receipt, files = _remember(store, centre, check, leaves, names, when, disarmed=disarmed)
            known.append(receipt)
        if not known:
            return Released(check=check, receipt=None, folder=None)
        receipt = known[-1]
        folder = Path(out) if out else _beside(submission, len(known))
        if leaves or not _complete(folder, receipt):
            _fill(afterwards.enter_context(new_folder(folder, shared=True)), receipt, files, store)
    return Released(check=check, receipt=receipt, folder=folder, again=not leaves)


def write_released(ledger: str | Path, number: int, out: str | Path) -> Receipt:
    """Write the released files of a receipt into a new folder, from the ledger alone."""
    store = read_store(Path(ledger))
    found = [each for each in receipts_of(store) if each.number == number]
    if not found:
        raise ParameterError(
            "unknown_receipt",
            "no receipt {number}",
            where=str(ledger),
            fix="hitoku ledger show LEDGER",
            number=number,
        )
    with new_folder(Path(out), shared=True) as draft:
        _fill(draft, found[0], {}, store)
    return found[0]


def _require_settings(store: LedgerStore) -> Settings:
    fixed = settings_of(store)
    if fixed is None:
        raise DataError(
            "ledger_not_set_up",
            "the ledger has no fixed policy and unit",
            where=str(store.path),
            fix="hitoku ledger init LEDGER --policy NAME --unit COLUMN",
        )
    return fixed


def _signatories(checkers: Sequence[str], submission: Submission, fixed: Settings) -> tuple[str, ...]:
    """Return the names of the signing checkers.

    Raise ParameterError if they are too few, or include the researcher.
    """
    names = tuple(dict.fromkeys(" ".join(name.split()) for name in checkers if name.strip()))
    different = {person(name) for name in names} - {()}
    if len(different) < fixed.checkers:
        raise ParameterError(
            "too_few_checkers",
            "{n_needed} people must sign a release, {n_signed} did",
            where="checkers",
            fix="name each of them: --checker NAME --checker NAME",
            n_needed=fixed.checkers,
            n_signed=len(different),
        )
    if submission.researcher and person(submission.researcher) in different:
        raise ParameterError(
            "submitter_cannot_release",
            "{person} submitted the outputs, and cannot release them",
            where="checkers",
            fix="have another person sign",
            person=submission.researcher,
        )
    return names


def _judge_submission(
    submission: Submission, centre: Centre, decisions: Sequence[Decision], today: date, *, partial: bool
) -> Recheck:
    """Judge a submission by the outputs that would be released."""
    staying: dict[str, tuple[PrincipleVerdict, ...]] = {}
    while True:
        check = judge(submission, centre, decisions, staying=staying, today=today)
        # Outputs that are not released disclose nothing, so the others are judged without them.
        undecided = [each for each in _open(check) if "review" in each.row.values()]
        more = [each for each in undecided if each.output.name not in staying]
        if not more or not partial:
            return check
        for each in more:
            staying[each.output.name] = tuple(
                verdict for verdict in each.verdicts if verdict.principle is Principle.DIFFERENCING
            )


def _open(check: Recheck) -> list[Rechecked]:
    return [each for each in check.outputs if each.state in {OutputState.UNDECIDED, OutputState.BROKEN}]


def _blocking_reason(check: Recheck, *, partial: bool) -> str:
    """Return the reason why nothing of a submission is released; empty if something may be."""
    if check.findings:
        return check.findings[0].reason
    undecided = _open(check)
    if not undecided or partial:
        return ""
    open_outputs = some((f"{each.output.name} ({_why(each)})" for each in undecided), 10)
    remedy = "decide about each, or let them stay behind (--partial)"
    return f"{len(undecided)} output(s) are undecided: {open_outputs}; {remedy}"


def _why(each: Rechecked) -> str:
    if each.state is OutputState.BROKEN:
        return "what was submitted is wrong"
    if each.state is OutputState.REFUSED:
        return next(str(decision) for decision in each.decisions if decision.decision == "refuse")
    row = each.row
    return ", ".join(f"{principle} {row[principle]}" for principle in each.undecided)


def _remember(
    store: LedgerStore,
    centre: Centre,
    check: Recheck,
    leaves: Sequence[Rechecked],
    names: tuple[str, ...],
    when: datetime,
    *,
    disarmed: bool,
) -> tuple[Receipt, dict[str, bytes]]:
    """Store the released outputs and the receipt in the ledger; return the receipt and the files."""
    submission, records = check.submission, centre.records
    if records is None:
        raise ParameterError(
            "ledger_required_for_release",
            "outputs are stored with the units of their cells",
            where="data",
            fix="give the data",
        )
    book = open_ledger(submission.name, records, centre.policy, store.path, store=store)
    files: dict[str, bytes] = {}
    left = []
    stems = dict(zip((each.name for each in submission.outputs), submission.stems, strict=True))
    for each in leaves:
        placed, measures = place_units(each.output, records)
        name, published = book.unused(placed.name), dict(placed.published)
        parts, amounts = remembered_parts(placed, records), measured_alike(measures, records)
        said = said_by(placed, records)
        book.remember(name, parts, definition_of(placed), amounts, published=published, said=said)
        own = leaving(stems[each.output.name], each.output, disarmed=disarmed)
        files |= own
        left.append(
            Left(
                name=each.output.name,
                kind=each.output.kind,
                files={file: sha256(content) for file, content in own.items()},
                decisions=tuple(map(str, each.decisions)),
            )
        )
    receipt = Receipt(
        number=len(store.of("release")) + 1,
        submission=submission.name,
        submission_sha256=submission.sha256,
        researcher=submission.researcher,
        checkers=names,
        released=when.isoformat(timespec="seconds"),
        policy={"name": check.policy.name, "version": check.policy.version, "hash": check.policy.hash},
        data=records.hash,
        unit=records.unit_column,
        outputs=tuple(left),
        stayed={
            each.output.name: _why(each)
            for each in check.outputs
            if each.state not in {OutputState.RELEASABLE, OutputState.RELEASED}
        },
        previous=store.head,
    )
    body = {name: value for name, value in receipt.to_dict().items() if name != "head"}
    return replace(receipt, head=store.append("release", body, files=files)), files


def _fill(draft: Path, receipt: Receipt, files: Mapping[str, bytes], store: LedgerStore) -> None:
    """Write the released files into a folder; missing ones are taken from the ledger."""
    for each in receipt.outputs:
        for name, digest in each.files.items():
            content = files.get(name) or store.release_file(receipt.number, name)
            if sha256(content) != digest:
                raise DataError(
                    "receipt_file_changed",
                    "file {file} of receipt {receipt} differs from the released one",
                    where=str(store.path),
                    fix="restore the ledger from a copy",
                    file=name,
                    receipt=receipt.number,
                )
            (draft / name).write_bytes(content)
    (draft / RECEIPT).write_text(json.dumps(receipt.to_dict(), indent=1) + "\n", "utf-8")
    (draft / LETTER).write_text(receipt.text, "utf-8")


def _complete(folder: Path, receipt: Receipt) -> bool:
    """Return whether a folder contains the release of a receipt; it is named only when complete."""
    try:
        plain = json.loads(read_file(folder / RECEIPT, MAX_BYTES))
    except (DataError, ValueError):
        return False
    return isinstance(plain, dict) and plain.get("head") == receipt.head


def _beside(submission: Submission, number: int) -> Path:
    place = submission.path.resolve()
    return place.with_name(f"{place.name}-released{'' if number == 1 else f'-{number}'}")
