"""Differencing of the outputs of a submission, with or without the data.

With the data, outputs are compared by the units of their cells. Without the data, an output by groups is
known by its codes and the unit counts in its evidence; it is joined with all earlier outputs, including those
of the ledger that have definitions. Outputs that cannot be joined are named, because nothing is claimed about
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hitoku.attacks.differencing import Defined, Disclosed, defined_differences
from hitoku.checks.ledger import (
    OF_LARGEST,
    Entry,
    LedgerStore,
    Measure,
    amounts_in,
    describe_tests,
    next_to,
    settings_of,
    suggest_remedy,
)
from hitoku.checks.outputs import Output, find_membership
from hitoku.checks.policies import Policy
from hitoku.checks.principles import Clearance, Principle, PrincipleVerdict, Said, SumTerm, worst
from hitoku.checks.submission.draft_ledger import DraftLedger, describe
from hitoku.checks.submission.same_variable import judge_together, said_by
from hitoku.checks.submission.submission import Submission
from hitoku.checks.unit_records import Records
from hitoku.errors import HitokuError, some
from hitoku.messages import Text, join

UNSOUND = "its evidence cannot be trusted"


class Candidate(NamedTuple):
    """Output to be compared."""

    output: Output
    sound: bool  # Whether its evidence can be trusted.
    stays: bool  # Whether it is not released now: rejected, or released before.
    excused: bool = False  # Whether a decision releases it in spite of differences.


def by_units(
    submission: Submission,
    policy: Policy,
    candidates: Sequence[Candidate],
    ledger: str | Path | None,
    records: Records,
    store: LedgerStore | None,
    begin: Callable[[int], None],
) -> list[tuple[PrincipleVerdict, ...]]:
    """Test every output for differences with earlier ones by the units of its cells.

    ``begin`` is called with the index of each output before its test.
    """
    fixed = None if store is None else settings_of(store)
    word = "unit" if fixed is None else fixed.unit_word
    draft = DraftLedger(submission.name, records, policy, ledger, word, store)
    found: list[tuple[PrincipleVerdict, ...]] = []
    for place, each in enumerate(candidates):
        begin(place)
        if each.stays:
            found.append(())  # an unreleased output discloses nothing
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
    """Find the units in the cells of an output, and its amounts.

    A formula is fitted again. The records of a model fitted elsewhere are unknown.
    """
    member = find_membership(output.asked, records.where(output.where), output.evidence)
    return output.placed(member), output.asked.measures(records)


def session_warnings(output: Output) -> tuple[PrincipleVerdict, ...]:
    """Return the failures and reviews that the session itself found by units."""
    return tuple(
        verdict
        for verdict in output.verdicts
        if verdict.principle is Principle.DIFFERENCING and verdict.status is not Clearance.PASS
    )


def not_tested(text: str, outputs: Sequence[str] = ()) -> PrincipleVerdict:
    """Return the verdict that something was not tested, or could not be with these outputs."""
    return PrincipleVerdict(
        principle=Principle.DIFFERENCING,
        status=Clearance.REVIEW,
        reason="not_testable",
        text=Text("not testable: {text}", text=Text(text)),
        outputs=tuple(outputs),
        remedy="check again with the data, or have a person compare it with everything released",
    )


def scope(ledger: bool, records: Records | None, depth: int) -> str:
    """Describe the scope of the differencing test; never "safe"."""
    before = Text("this submission and the ledger" if ledger else "this submission only")
    if records is None:
        return Text("tested through codes, {before}; not tested with the data", before=before)
    return Text("{tested}, {before}", tested=describe_tests(depth), before=before)


# Maximum number of code combinations that all outputs together may distinguish; above it, pairs are compared,
# up to the second number, because the linear programs would take minutes.
MAX_TOGETHER, MAX_OF_TWO = 500, 20_000


def by_codes(
    submission: Submission,
    policy: Policy,
    candidates: Sequence[Candidate],
    store: LedgerStore | None,
    begin: Callable[[int], None],
) -> list[tuple[PrincipleVerdict, ...]]:
    """Join every output with earlier ones and the ledger by their codes.

    ``begin`` is called with the index of each output before its test.
    """
    earlier, unknown = _described_outputs(store, submission.data)
    said_before = _said_before(store, submission.data)
    found: list[tuple[PrincipleVerdict, ...]] = []
    for place, each in enumerate(candidates):
        begin(place)
        if each.stays:
            found.append(())  # an unreleased output discloses nothing
            continue
        if not each.sound:
            found.append((not_tested(UNSOUND),))  # no decision can release it
            continue
        own, said = published_cells(each.output), said_by(each.output)
        together = judge_together(said, said_before, each.output.name, policy)
        if isinstance(own, str):
            if not each.output.evidence.files:
                unknown.append(each.output.name)
            verdicts: tuple[PrincipleVerdict, ...] = (not_tested(own), *together)
        else:
            verdicts = (*_compare(own, earlier, unknown, policy), *together)
        found.append(verdicts)
        if each.excused or worst(verdicts) is not Clearance.FAIL:
            said_before[each.output.name] = tuple(said)
            earlier += [] if isinstance(own, str) else [own]
    return found


def _said_before(store: LedgerStore | None, data: str) -> dict[str, tuple[Said, ...]]:
    """Return the released statistics about the same data, by output."""
    entries = [] if store is None else map(Entry.from_dict, store.of("output"))
    return {
        f"{entry.name} (project {entry.project or 'without a name'})": entry.said
        for entry in entries
        if entry.said and entry.data_hash == data
    }


def published_cells(output: Output) -> Defined | str:
    """Return the published cells of an output with their units, or the reason why they are unknown."""
    cells = output.asked.cells(output.evidence)
    if cells is None:
        return "the units of its parts are known with the data only"
    if not np.array_equal(cells.n_units, cells.n_records):
        return "a unit may be in several cells, which can be tested with the data only"
    kept = np.flatnonzero(~output.evidence.withheld).tolist()
    try:
        definition = describe(output, cells, [[cells.labels[place] for place in kept]])
    except HitokuError as error:
        return Text("its codes cannot be read: {reason}", reason=error.what)
    sizes = tuple(int(cells.n_units[place]) for place in kept)
    return Defined(output.name, definition, (sizes,), output.asked.publishes)


def _described_outputs(store: LedgerStore | None, data: str) -> tuple[list[Defined], list[str]]:
    """Return the described outputs of the ledger, and the names of the others."""
    known: list[Defined] = []
    unknown: list[str] = []
    for plain in [] if store is None else store.of("output"):
        entry = Entry.from_dict(plain)
        if entry.parts == ():
            continue  # a file, checked by a person
        sizes = [part.get("sizes") for part in entry.parts or ()]
        name = f"{entry.name} (project {entry.project or 'without a name'})"
        if entry.definition is None or None in sizes or entry.data_hash != data:
            unknown.append(name)
        else:
            counts = tuple(tuple(part or ()) for part in sizes[: len(entry.definition.parts)])
            known.append(Defined(name, entry.definition, counts, entry.publishes))
    return known, unknown


def _compare(
    own: Defined, earlier: Sequence[Defined], unknown: Sequence[str], policy: Policy
) -> tuple[PrincipleVerdict, ...]:
    threshold, unjoined, how = policy.units.minimum, list(unknown), "all together"
    disclosed: list[tuple[list[Defined], Disclosed]] = []
    # Counts are compared with counts, and amounts with amounts of the same variable.
    alike = {tuple(each for each in earlier if what in each.publishes) for what in sorted(own.publishes)}
    for before in sorted(alike, key=len):
        together, apart = _join_outputs(own, before, threshold)
        disclosed += together
        unjoined += apart or ()
        how = how if apart is None else "two at a time"
    found = (*_next_to_one_another(own, earlier), *(_verdicts(own, disclosed, earlier) if disclosed else ()))
    if found:
        return found
    unjoined += [
        each.name for each in earlier if each.publishes & own.publishes and _are_unrelated(each, own)
    ]
    # Without the data it is not known which variables are sums of others.
    amounts = tuple(each for each in earlier if amounts_in(each.publishes))
    if amounts and amounts_in(own.publishes) and amounts not in alike:
        few = {
            group[place].name
            for group, each in _join_outputs(own, amounts, threshold)[0]
            for place in each.releases
        }
        unjoined += sorted(few - {own.name})
    tested = Text("tested through codes with {n} output(s), {how}", n=len(earlier), how=Text(how))
    if unjoined:
        names = list(dict.fromkeys(unjoined))
        template = "what it discloses with {names} can be tested with the data only; {tested}"
        return (not_tested(Text(template, names=some(names, 20), tested=tested), names),)
    return (_passing_verdict(tested if earlier else "nothing before it", len(earlier)),)


def _join_outputs(
    own: Defined, before: Sequence[Defined], threshold: int
) -> tuple[list[tuple[list[Defined], Disclosed]], list[str] | None]:
    """Join an output with earlier ones, or with each of them where all are too many.

    Returns
    -------
    tuple
        The groups of few units, with the outputs joined; and the names of outputs that are too large for two,
        None if all were joined.
    """
    together = [*before, own]
    try:
        return [(together, each) for each in _new(together, threshold, MAX_TOGETHER)], None
    except HitokuError:
        disclosed, apart = [], []
    for each in before:
        try:
            disclosed += [([each, own], one) for one in _new([each, own], threshold, MAX_OF_TWO)]
        except HitokuError:
            apart.append(each.name)
    return disclosed, apart


def _next_to_one_another(own: Defined, earlier: Sequence[Defined]) -> tuple[PrincipleVerdict, ...]:
    """Find concentration ratios about the same cells whose numbers of contributors are too close."""
    found = []
    mine = {cell for part in own.definition.parts for cell in part}
    for other in earlier:
        close = next_to(own.publishes, other.publishes)
        same = (own.definition.variables, own.definition.filter) == (
            other.definition.variables,
            other.definition.filter,
        )
        cells = mine & {cell for part in other.definition.parts for cell in part}
        if close and same and cells:
            value, n, m = close[0]
            found.append(
                PrincipleVerdict(
                    principle=Principle.DIFFERENCING,
                    status=Clearance.FAIL,
                    reason="small_group",
                    text=Text(
                        "{follow} of the largest contributors to {value} follow(s) in {groups} group(s): "
                        "{more} - {fewer}, from {one} and {other} (by definition)",
                        follow=abs(n - m),
                        value=value,
                        groups=len(cells),
                        more=max(n, m),
                        fewer=min(n, m),
                        one=other.name,
                        other=own.name,
                    ),
                    outputs=(other.name, own.name),
                    numbers={"outputs": 2, "groups": len(cells), "units": abs(n - m)},
                    remedy=OF_LARGEST,
                )
            )
    return tuple(found)


def _are_unrelated(one: Defined, other: Defined) -> bool:
    """Return whether each output has a variable that the other lacks.

    Definitions do not relate such variables: they may be bands of one variable, or equal for almost all
    units.
    """
    mine, its = ({*each.definition.variables, *each.definition.filter} for each in (one, other))
    return bool(mine - its and its - mine)


def _new(group: Sequence[Defined], threshold: int, most: int) -> list[Disclosed]:
    """Find disclosures that need the last output of a group."""
    last = len(group) - 1
    found = [
        each
        for each in defined_differences(group, threshold=threshold, most=most)
        if last in each.releases and len(each.releases) > 1
    ]
    if not found or last == 1:
        return found
    earlier = defined_differences(group[:-1], threshold=threshold, most=most)
    before = {(each.group, each.most) for each in earlier}
    return [each for each in found if (each.group, each.most) not in before]


def _verdicts(
    own: Defined, disclosed: Sequence[tuple[list[Defined], Disclosed]], earlier: Sequence[Defined]
) -> tuple[PrincipleVerdict, ...]:
    """Return one verdict for each set of outputs, with the smallest group and the suggested fix."""
    sets: dict[tuple[str, ...], list[tuple[list[Defined], Disclosed]]] = {}
    for group, each in disclosed:
        sets.setdefault(tuple(group[place].name for place in each.releases), []).append((group, each))
    verdicts = []
    # The first three are enough to see what is wrong.
    for names, own_groups in list(sets.items())[:3]:
        group, worst = min(own_groups, key=lambda each: (each[1].most, each[1].group))
        more = Text("{n} more", n=len(own_groups) - 1) if len(own_groups) > 1 else ""
        text = worst.describe({place: each.name for place, each in enumerate(group)}, units=True)
        involved = [group[place].definition for place in worst.releases if group[place] is not own]
        verdicts.append(
            PrincipleVerdict(
                principle=Principle.DIFFERENCING,
                status=Clearance.FAIL,
                reason="small_group",
                text=join([Text("{text} ({basis})", text=text, basis=Text("by definition")), more]),
                outputs=names,
                numbers={"outputs": len(names), "groups": len(own_groups), "units": worst.most},
                remedy=suggest_remedy(own.definition, involved, [each.definition for each in earlier]),
                terms=_terms(group, worst, own),
            )
        )
    return tuple(verdicts)


def _terms(group: Sequence[Defined], disclosed: Disclosed, own: Defined) -> tuple[SumTerm, ...]:
    """Return the cells of a disclosure with their codes."""
    found = []
    for term in sorted(disclosed.terms, key=lambda each: (each.times < 0, each.release, each.cell)):
        output = group[term.release]
        groups = [cell for part in output.definition.parts for cell in part][term.cell]
        codes = zip(output.definition.variables, groups, strict=True)
        found.append(
            SumTerm(
                output=output.name,
                own=output is own,
                codes={variable: code for variable, code in codes if code is not None},
                times=str(term.times),
                units=int(term.value),
            )
        )
    return tuple(found)


def _passing_verdict(text: str, n: int) -> PrincipleVerdict:
    return PrincipleVerdict(
        principle=Principle.DIFFERENCING,
        status=Clearance.PASS,
        reason="nothing_found",
        text=text,
        numbers={"outputs": n},
    )
