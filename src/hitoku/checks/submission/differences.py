"""What the outputs of a submission give away together, as far as a checker can tell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hitoku.checks.ledger import Measure
from hitoku.checks.outputs import complete_cases
from hitoku.checks.outputs.output import Output
from hitoku.checks.policies.policy import Policy
from hitoku.checks.principles.verdict import Clearance, Principle, PrincipleVerdict
from hitoku.checks.records import Records
from hitoku.checks.submission.draft_ledger import DraftLedger
from hitoku.checks.submission.submission import Submission

UNSOUND = "its evidence is not to be trusted"


def by_units(
    submission: Submission,
    policy: Policy,
    sound: Sequence[bool],
    failed: Sequence[bool],
    ledger: str | Path | None,
    records: Records,
) -> list[tuple[PrincipleVerdict, ...]]:
    """Test every output for differences with those before it, by who is in its cells."""
    draft = DraftLedger(submission.name, records, policy, ledger)
    found: list[tuple[PrincipleVerdict, ...]] = []
    for output, trusted, failing in zip(submission.outputs, sound, failed, strict=True):
        if failing:
            found.append(())  # what does not leave gives nothing away
        elif not trusted:
            found.append((not_tested(UNSOUND),))
        else:
            found.append(draft.compare(*place_units(output, records)))
    return found


def place_units(output: Output, records: Records) -> tuple[Output, dict[str, Measure]]:
    """Find out who is in the cells of an output, and the amounts it is about.

    A formula is fitted again. Of a model that was handed over fitted, the records are not known.
    """
    member = complete_cases.place(output.asked, records.where(output.where), output.evidence)
    return output.placed(member), output.asked.measures(records)


def warned(output: Output) -> tuple[PrincipleVerdict, ...]:
    """Return what the session found by who is in the cells: bad news is taken from anybody."""
    return tuple(
        verdict
        for verdict in output.verdicts
        if verdict.principle is Principle.DIFFERENCING and verdict.status is not Clearance.PASS
    )


def not_tested(text: str) -> PrincipleVerdict:
    """Say that something was not tested: a person has to look."""
    return PrincipleVerdict(
        principle=Principle.DIFFERENCING,
        status=Clearance.LOOK,
        reason="not_testable",
        text=f"not testable: {text}",
        remedy="check again with the data, or have a person compare it with everything released",
    )


def scope(ledger: str | Path | None, records: Records | None) -> str:
    """Say how far differences were tested; never "safe"."""
    before = "this submission only" if ledger is None else "this submission and the ledger"
    if records is None:
        return f"tested through codes, {before}; what only the data tell was not tested"
    return f"tested up to three outputs together, {before}"
