"""Judge one output of a submission again, from its evidence, its certificate and the other outputs.

With the data, the evidence is also collected again. Without them, outputs about the same group must agree: a
forger would have to change all of them consistently.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from hitoku.checks.evidence import KNOWN, LeftOut, Unreadable, known_of
from hitoku.checks.outputs import Fact, Kind, Output, collect_complete, find_contradictions, judge_published
from hitoku.checks.policies import Policy
from hitoku.checks.principles import Principle, PrincipleVerdict, worst
from hitoku.checks.submission.rechecked import fault
from hitoku.checks.submission.submission import Submission, csv_text
from hitoku.checks.unit_records import MISSING, Records
from hitoku.errors import HitokuError, some
from hitoku.evidence import (
    AuditProblem,
    Certificate,
    Grid,
    asks_for_less,
    audit,
    claim,
    is_about,
    open_groups,
    required_of,
)
from hitoku.evidence import verify as proof
from hitoku.messages import Text
from hitoku.model import ADDITIVITY, Finding, Severity

# Fields of suppressed parts: they follow from the policy.
WITHHELD = {"withheld", "counts_withheld"}
# Exceptions raised by values of unexpected types or lengths.
MALFORMED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, HitokuError)


def judge_again(
    submission: Submission, place: int, policy: Policy, records: Records | None = None
) -> tuple[tuple[PrincipleVerdict, ...], tuple[Finding, ...]]:
    """Apply the principles to the evidence of one output, and compare it with its files."""
    output = submission.outputs[place]
    if isinstance(output.evidence, Unreadable):
        reason = Text("the evidence cannot be judged: {reason}", reason=output.evidence.reason)
        return (), (fault(output.name, reason, "create it again"),)
    findings: list[Finding] = []
    asked = output.asked
    try:
        verdicts = judge_published(asked, output.evidence, output.where, policy)
        again = asked.publish(output.evidence)
        findings += [
            fault(
                output.name,
                Text("evidence contradicts itself: {contradiction}", contradiction=text),
                "create it again",
            )
            for text in find_contradictions(asked, output.evidence)
        ]
        findings += _proof(submission, place)
        if records is not None:
            findings += _collect_evidence(output, policy, records)
    except MALFORMED as error:
        # HitokuError contains codes and counts only; other messages may contain values.
        why = error.what if isinstance(error, HitokuError) else type(error).__name__
        reason = Text("the evidence cannot be judged: {reason}", reason=why)
        return (), (fault(output.name, reason, "create it again"),)
    if not _same(output.published, again):
        altered = "the output does not follow from the evidence: a value was altered, or is not suppressed"
        findings.append(fault(output.name, altered, "do not release it"))
    findings += _public(submission, place)
    if output.policy.get("hash") != submission.policy.hash:
        findings.append(
            fault(output.name, "it was judged by another policy than submitted", "create it again")
        )
    findings += _lies(output, verdicts)
    return verdicts, tuple(findings)


def _public(submission: Submission, place: int) -> list[Finding]:
    """Compare the public files with the output."""
    output = submission.outputs[place]
    try:
        found = submission.public(place)
    except (ValueError, RecursionError, HitokuError):
        return [fault(output.name, "a file to be released cannot be read", "do not release it")]
    if found is None:
        return []
    text, plain = found
    if text != csv_text(output.published):
        return [
            fault(output.name, "the CSV file to be released differs from the output", "do not release it")
        ]
    if not isinstance(plain, Mapping) or not _same(plain, output.published):
        return [
            fault(output.name, "the JSON file to be released differs from the output", "do not release it")
        ]
    return []


def _proof(submission: Submission, place: int) -> list[Finding]:
    """Verify the certificate of a table, and check that it is about this table."""
    output, path = submission.outputs[place], submission.certificate(place)
    if path is None:
        reason = "the proof of its intervals is missing"
        due = certificate_of(output, submission.policy) is not None
        return [fault(output.name, reason, "create it again")] if due else []
    answer = proof.verify(path)
    if not answer.ok:
        # Exit code 2: not a certificate of this version, so nothing is known about the proof.
        template, advice = (
            ("the certificate cannot be checked: {reason}", "create the output again")
            if answer.code == 2
            else ("the certificate is refuted: {reason}", "do not release it")
        )
        return [fault(output.name, Text(template, reason=answer.reason), advice)]
    due_claim = claim_of(output, submission.policy)
    if due_claim is None:
        return [fault(output.name, "it has a certificate and cannot have one", "do not release it")]
    # The witnesses may differ: another version of the program may find others.
    content = proof.read(path)
    if is_about(content, due_claim):
        return []
    if asks_for_less(content, due_claim):
        reason = "its certificate, as of an earlier version, proves less than is asked now; proved again here"
        return [Finding(severity=Severity.NOTE, place=output.name, reason=reason)]
    return [fault(output.name, "the certificate is about another table or policy", "do not release it")]


def _lies(output: Output, verdicts: Sequence[PrincipleVerdict]) -> list[Finding]:
    """Compare the verdicts with those of the session, which are not trusted."""
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
            reason = Text(
                "{principle}: the session says {claim}, its evidence {found}",
                principle=Text(str(principle).replace("_", " ")),
                claim=Text(claim),
                found=Text(str(now) if due else "nothing"),
            )
            findings.append(fault(output.name, reason, "trust the evidence, and ask how this came about"))
    return findings


def _collect_evidence(output: Output, policy: Policy, records: Records) -> list[Finding]:
    """Collect the evidence again from the data."""
    asked = output.asked
    if not asked.repeatable:
        return []
    collected = collect_complete(asked, records.where(output.where))
    fresh = asked.protect(collected, policy).to_dict()
    said = output.evidence.to_dict()
    differing = sorted(
        name
        for name in {*fresh, *said}
        if name not in WITHHELD and not _close(fresh.get(name), said.get(name))
    )
    if not differing:
        return []
    reason = f"the data give other evidence: {', '.join(differing)}"
    return [fault(output.name, reason, "do not release it")]


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two published outputs are equal, treating NaN as equal."""
    return json.dumps(dict(one), default=str) == json.dumps(dict(other), default=str)


def _near(one: float, other: float) -> bool:
    """Return whether two numbers agree within tolerance.

    Scalar code: arrays would be slower for thousands of single numbers.
    """
    try:
        one, other = float(one), float(other)
    except OverflowError:
        return False
    if not (math.isfinite(one) and math.isfinite(other)):
        return one == other or (math.isnan(one) and math.isnan(other))
    # Summation order may differ between two collections.
    return abs(one - other) <= ADDITIVITY * (1 + abs(other))


def _close(one: Any, other: Any) -> bool:
    """Return whether two pieces of evidence agree up to rounding."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_close, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        # Suppression within a part follows from the policy, as for the whole.
        return one.keys() == other.keys() and all(
            name in WITHHELD or _close(part, other[name]) for name, part in one.items()
        )
    if isinstance(one, float) or isinstance(other, float):
        return isinstance(one, int | float) and isinstance(other, int | float) and _near(one, other)
    return bool(one == other)


def certificate_of(output: Output, policy: Policy) -> Certificate | None:
    """Return the certificate of a protected table; None if there is none."""
    claimed = output.asked.claim(output.evidence, policy)
    return None if claimed is None else audit(*claimed).certificate


def claim_of(output: Output, policy: Policy) -> dict[str, Any] | None:
    """Return the claim that the certificate of a table must make; None if it cannot have one."""
    claimed = output.asked.claim(output.evidence, policy)
    if claimed is None:
        return None
    grid = Grid.of(claimed.table.value)
    groups = required_of(*open_groups(*claimed))
    return claim(claimed.release, grid, AuditProblem.of(grid, claimed.need, claimed.release), groups)


# Variables and their codes; for filters, the codes that are kept.
Group = frozenset[tuple[str, str | tuple[str, ...]]]


def disagreements(outputs: Sequence[Output]) -> list[list[str]]:
    """Compare the facts that outputs state about the same groups; return the contradictions of each output.

    Parameters
    ----------
    outputs
        Outputs with consistent evidence.
    """
    first: dict[tuple[Group, Kind], tuple[Fact, int]] = {}
    found: list[dict[tuple[int, str], list[str]]] = [{} for _ in outputs]
    for place, output in enumerate(outputs):
        for fact in output.asked.facts(output.evidence):
            group = group_of(fact.codes, output.where, output.evidence.left_out)
            if not _clear(group):
                continue
            other, before = first.setdefault((group, fact.kind), (fact, place))
            slack = ADDITIVITY * max(1.0, fact.scale, other.scale)
            if before != place and abs(fact.amount - other.amount) > slack:
                for one, two in ((place, before), (before, place)):
                    found[one].setdefault((two, str(fact.kind[0])), []).append(_group_name(group))
    contradictions = [
        [
            f"it contradicts {outputs[other].name} about the {what} in {some(groups, 3)}"
            for (other, what), groups in own.items()
        ]
        for own in found
    ]
    return [texts + more for texts, more in zip(contradictions, _gaps(outputs), strict=True)]


def _gaps(outputs: Sequence[Output]) -> list[list[str]]:
    """Compare the number of missing values of a column under the same filter in all outputs.

    An output that excludes records because of another column usually differs here.
    """
    first: dict[tuple[Group, str], tuple[int, int]] = {}
    found: list[dict[int, list[str]]] = [{} for _ in outputs]
    for place, output in enumerate(outputs):
        gone, kept = output.evidence.left_out, group_of({}, output.where, None)
        for column in output.asked.needs if _clear(kept) else ():
            n = 0 if gone is None else gone.columns.get(column, 0)
            other, before = first.setdefault((kept, column), (n, place))
            if n != other:
                for one, two in ((place, before), (before, place)):
                    found[one].setdefault(two, []).append(column)
    return [
        [
            f"it contradicts {outputs[other].name} about the missing values of {some(columns, 3)}"
            for other, columns in own.items()
        ]
        for own in found
    ]


def _clear(group: Group) -> bool:
    """Return whether a group is unambiguous: a missing code and the code "missing" look the same."""
    return not any(MISSING in pair for pair in group)


def group_of(codes: Mapping[str, str], where: Mapping[str, Any], left_out: LeftOut | None) -> Group:
    """Return a group combined with its filter; a filter on a single code equals that code."""
    pairs: dict[str, str | tuple[str, ...]] = dict(codes)
    if left_out is not None:
        # Records with known values are another group; for a model it is unknown which.
        pairs |= dict.fromkeys(map(known_of, left_out.columns or ["all"]), KNOWN)
    for name, values in where.items():
        kept = tuple(sorted(MISSING if value is None else str(value) for value in values))
        pairs.setdefault(name, kept[0] if len(kept) == 1 else kept)
    return frozenset(pairs.items())


def _group_name(group: Group) -> str:
    texts = (
        f"{name}={code if isinstance(code, str) else '/'.join(code)}" for name, code in sorted(group, key=str)
    )
    return ", ".join(texts) or "all"
