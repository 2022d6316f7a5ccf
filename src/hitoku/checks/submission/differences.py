"""What the outputs of a submission give away together, as far as a checker can tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from hitoku.checks.ledger import Measure
from hitoku.checks.ledger.settings import settings_of, tested
from hitoku.checks.ledger.store import LedgerStore
from hitoku.checks.outputs import complete_cases
from hitoku.checks.outputs.output import Output
from hitoku.checks.policies.policy import Policy
from hitoku.checks.principles.verdict import Clearance, Principle, PrincipleVerdict, worst
from hitoku.checks.records import Records
from hitoku.checks.submission.draft_ledger import DraftLedger
from hitoku.checks.submission.submission import Submission

UNSOUND = "its evidence is not to be trusted"


class Candidate(NamedTuple):
    """An output as it would leave.

    Parameters
    ----------
    output
        The output.
    sound
        Its evidence is to be trusted.
    stays
        It does not leave, whatever is found here, or it has left before.
    excused
        Somebody decided that it leaves in spite of differences.
    """

    output: Output
    sound: bool
    stays: bool
    excused: bool = False


def by_units(
    submission: Submission,
    policy: Policy,
    candidates: Sequence[Candidate],
    ledger: str | Path | None,
    records: Records,
    store: LedgerStore | None,
    begin: Callable[[int], None],
) -> list[tuple[PrincipleVerdict, ...]]:
    """Test every output for differences with those before it, by who is in its cells; begin tells which."""
    fixed = None if store is None else settings_of(store)
    word = "unit" if fixed is None else fixed.unit_word
    draft = DraftLedger(submission.name, records, policy, ledger, word, store)
    found: list[tuple[PrincipleVerdict, ...]] = []
    for place, each in enumerate(candidates):
        begin(place)
        if each.stays:
            found.append(())  # what does not leave gives nothing away
        elif not each.sound:
            found.append((not_tested(UNSOUND),))
        else:
            placed, measures = place_units(each.output, records)
            leaves = partial(_leaves, each)
            found.append(draft.compare(placed, measures, leaves))
    return found


def _leaves(candidate: Candidate, verdicts: Sequence[PrincipleVerdict]) -> bool:
    return candidate.excused or worst(verdicts) is not Clearance.FAIL


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


def scope(ledger: bool, records: Records | None, depth: int) -> str:
    """Say how far differences were tested; never "safe"."""
    before = "this submission and the ledger" if ledger else "this submission only"
    if records is None:
        return f"tested through codes, {before}; what only the data tell was not tested"
    return f"{tested(depth)}, {before}"
