"""What the outputs of a submission give away together, as far as a checker can tell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hitoku.attacks.differencing.joined import differencing
from hitoku.checks import table_evidence as tables
from hitoku.checks.desk import Desk, measures_of
from hitoku.checks.ledger import Measure
from hitoku.checks.membership import group_membership, table_membership
from hitoku.checks.output import Output
from hitoku.checks.policy import Policy
from hitoku.checks.records import Records
from hitoku.checks.submission import Submission
from hitoku.checks.verdict import Principle, Status, Verdict
from hitoku.errors import HitokuError
from hitoku.model.protection import Protection
from hitoku.model.release import Release

UNSOUND = "its evidence is not to be trusted"


def by_units(
    submission: Submission,
    policy: Policy,
    sound: Sequence[bool],
    failed: Sequence[bool],
    ledger: str | Path | None,
    records: Records,
) -> list[tuple[Verdict, ...]]:
    """Test every output for differences with those before it, by who is in its cells."""
    desk = Desk(submission.name, records, policy, ledger)
    found: list[tuple[Verdict, ...]] = []
    for output, trusted, failing in zip(submission.outputs, sound, failed, strict=True):
        if failing:
            found.append(())  # what does not leave gives nothing away
        elif not trusted:
            found.append((_not_tested(UNSOUND),))
        elif output.kind == "regression":
            found.append((_not_tested("the units behind a model's dummies are known to the session only"),))
        else:
            found.append(desk.compare(*placed(output, records)))
    return found


def placed(output: Output, records: Records) -> tuple[Output, dict[str, Measure]]:
    """Find out who is in the cells of an output, and the amounts it is about."""
    kept = records.where(output.where)
    place = table_membership if "codes" in output.evidence else group_membership
    member = place(kept, output.evidence, output.definition["missing"])
    return output.placed(member), measures_of(kept, output)


def by_codes(
    submission: Submission, policy: Policy, sound: Sequence[bool], ledger: str | Path | None
) -> list[tuple[Verdict, ...]]:
    """Join the tables of counts of a submission through their codes; all else is not testable."""
    joined: list[Release] = []
    names: list[str] = []
    found: list[tuple[Verdict, ...]] = []
    before = "" if ledger is None else "; against the ledger only with the data"
    for output, trusted in zip(submission.outputs, sound, strict=True):
        if not trusted:
            found.append((_not_tested(UNSOUND),))
            continue
        if output.kind != "frequency_table" or output.where:
            found.append((_not_tested(f"not a table of counts of all units{before}"),))
            continue
        table = tables.table_of(output.evidence)
        withheld = np.asarray(output.evidence["withheld"], dtype=np.bool_)
        need = tables.count_need(output.evidence, policy)
        release = Release.of(table, Protection.withhold(table, withheld, need))
        try:
            known = differencing([*joined, release], threshold=policy.units.minimum).found
        except HitokuError:
            found.append((_not_tested(f"its codes cannot be joined with the others{before}"),))
            continue
        n_before = len(joined)
        joined.append(release)
        names.append(output.name)
        new = [each for each in known if n_before in each.releases and len(each.releases) > 1]
        text = f"tested through codes with {n_before} table(s) of this submission{before}"
        if new:
            found.append(tuple(_disclosed(str(each), names) for each in new[:3]))
        else:
            found.append((_passed(text, n_before) if ledger is None else _not_tested(text),))
    return found


def warned(output: Output) -> tuple[Verdict, ...]:
    """Return what the session found by who is in the cells: bad news is taken from anybody."""
    return tuple(
        verdict
        for verdict in output.verdicts
        if verdict.principle is Principle.DIFFERENCING and verdict.status is not Status.PASS
    )


def _disclosed(text: str, names: Sequence[str]) -> Verdict:
    return Verdict(
        principle=Principle.DIFFERENCING,
        status=Status.FAIL,
        reason="small_group",
        text=f"{text} (outputs: {', '.join(f'{n} {name}' for n, name in enumerate(names, start=1))})",
        remedy="reuse the groups of the earlier table",
    )


def _passed(text: str, n: int) -> Verdict:
    return Verdict(
        principle=Principle.DIFFERENCING,
        status=Status.PASS,
        reason="nothing_found",
        text=text,
        numbers={"outputs": n},
    )


def _not_tested(text: str) -> Verdict:
    return Verdict(
        principle=Principle.DIFFERENCING,
        status=Status.LOOK,
        reason="not_testable",
        text=f"not testable: {text}",
        remedy="check again with the data, or have a person compare it with everything released",
    )


def scope(ledger: str | Path | None, records: Records | None) -> str:
    """Say how far differences were tested; never "safe"."""
    if records is None:
        return "tested through codes, within this submission only"
    before = "this submission only" if ledger is None else "this submission and the ledger"
    return f"tested up to three outputs together, {before}"
