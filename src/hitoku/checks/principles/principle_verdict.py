"""Principles applied to outputs: tests of cells or groups, and their verdicts pass, fail or review.

A :class:`PrincipleTest` marks the parts that do not meet a principle. Both the suppression mask and the
verdict on the published output follow from it, so that each rule is stated once. :func:`output_verdict`
arranges the verdicts on an output by attacker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import numpy as np

from hitoku.checks.evidence import Evidence
from hitoku.errors import some
from hitoku.messages import Text, join
from hitoku.model import Mask, Row, Status, Verdict


class Clearance(StrEnum):
    """Whether an output may be released."""

    PASS = "pass"  # noqa: S105 - a verdict
    REVIEW = "review"
    FAIL = "fail"


class Principle(StrEnum):
    """The five principles of Kikuchi and Minami (2017), and further principles for tables."""

    INDIVIDUAL_VALUE = "individual_value"
    UNITS = "units"
    FREEDOM = "freedom"
    DOMINANCE = "dominance"
    GROUP = "group"
    INTERVAL = "interval"
    DIFFERENCING = "differencing"


@dataclass(frozen=True, slots=True, kw_only=True)
class SumTerm:
    """Published cell in a sum that singles out a group."""

    output: str  # Displayed name of the output that publishes it.
    own: bool  # Whether it belongs to the output that the verdict is about.
    codes: Mapping[str, str]  # Codes by variable, without variables that it sums over.
    times: str  # Coefficient, such as "1" or "-1".
    units: int  # Number of its units.


@dataclass(frozen=True, kw_only=True)
class PrincipleVerdict:
    """One principle applied to one output.

    Examples
    --------
    >>> verdict = PrincipleVerdict(
    ...     principle=Principle.UNITS, status=Clearance.FAIL, reason="too_few_units",
    ...     text="3 units, 10 needed", numbers={"units": 3, "minimum": 10}, remedy="merge 19-20 with 21-25",
    ... )
    >>> print(verdict)
    fail: units: 3 units, 10 needed (merge 19-20 with 21-25)
    """

    principle: Principle
    status: Clearance
    reason: str  # Code of the reason, such as "too_few_units".
    text: str  # Sentence with codes and counts.
    numbers: Mapping[str, float] = field(default_factory=dict)  # Numbers on which the sentence is based.
    remedy: str = ""  # Suggested fix; empty if none is needed.
    # Names of the outputs of a difference, or that could not be tested.
    outputs: tuple[str, ...] = field(default=(), compare=False)
    # Cells of the sum, if the verdict is about a sum and all cells have codes. Shown on pages; not written to
    # files.
    terms: tuple[SumTerm, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", MappingProxyType(dict(self.numbers)))

    def __str__(self) -> str:
        remedy = f" ({self.remedy})" if self.remedy else ""
        return f"{self.status}: {self.principle}: {self.text}{remedy}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {
            "principle": str(self.principle),
            "status": str(self.status),
            "reason": self.reason,
            "text": self.text,
            "numbers": dict(self.numbers),
            "remedy": self.remedy,
            **({"outputs": list(self.outputs)} if self.outputs else {}),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> PrincipleVerdict:
        """Read what :meth:`to_dict` wrote; raise ValueError for anything else."""
        texts, numbers = [plain.get(key) for key in ("reason", "text", "remedy")], plain.get("numbers")
        if not all(isinstance(text, str) for text in texts) or not isinstance(numbers, Mapping):
            raise ValueError("not as they are written")
        if not all(isinstance(n, int | float) and isinstance(name, str) for name, n in numbers.items()):
            raise ValueError("invalid numbers")
        if plain.get("status") not in tuple(Clearance):
            raise ValueError("the status of a verdict must be pass, review or fail")
        outputs = plain.get("outputs", [])
        if not isinstance(outputs, list) or not all(isinstance(name, str) for name in outputs):
            raise ValueError("outputs that are not names")
        return cls(
            principle=Principle(str(plain.get("principle"))),
            status=Clearance(plain["status"]),
            reason=plain["reason"],
            text=plain["text"],
            numbers=plain["numbers"],
            remedy=plain["remedy"],
            outputs=tuple(outputs),
        )


def worst(verdicts: Iterable[PrincipleVerdict]) -> Clearance:
    """Return the status of an output: that of its worst verdict.

    Examples
    --------
    >>> worst([])
    <Clearance.PASS: 'pass'>
    """
    found = {verdict.status for verdict in verdicts}
    return next((status for status in (Clearance.FAIL, Clearance.REVIEW) if status in found), Clearance.PASS)


@dataclass(frozen=True, kw_only=True, eq=False)
class PrincipleTest:
    """A principle applied to the cells or groups of an output."""

    # principle, reason: the principle, and the code of what is wrong.
    principle: Principle
    reason: str
    unsafe: Mask  # Mask of the parts that do not meet it.
    rule: str  # The rule in words, such as "at least 10 units".
    # Thresholds and extremes; the verdict adds how many parts are unsafe and how many of these leave.
    numbers: Mapping[str, float] = field(default_factory=dict)
    remedy: str = ""  # Suggested fix, given if a part is unsafe.
    # Status if an unsafe part is published. Parts are suppressed only for tests that would fail.
    severity: Clearance = Clearance.FAIL
    follows: Mask | None = None  # Suppressed parts that can be derived nevertheless; None if there are none.

    def verdict(self, evidence: Evidence) -> PrincipleVerdict:
        """Return the verdict on the published parts: pass if some are published and all of these are safe."""
        withheld = evidence.withheld if self.follows is None else evidence.withheld & ~self.follows
        n_unsafe, n_parts = int(self.unsafe.sum()), len(self.unsafe)
        n_leaving = int((self.unsafe & ~withheld).sum())
        met = not n_leaving and not (n_unsafe and withheld.all())
        labels = (evidence.label(part) for part in ([] if met else np.flatnonzero(self.unsafe).tolist()))
        text = Text(
            "{rule}: not met by {n} of {total} ({names})"
            if not met
            else "{rule}: {n} of {total} withheld"
            if n_unsafe
            else "{rule}: met",
            rule=Text(self.rule),
            n=n_unsafe,
            total=n_parts,
            names=some((", ".join(label) or "all" for label in labels), 3),
        )
        return PrincipleVerdict(
            principle=self.principle,
            status=Clearance.PASS if met else self.severity,
            reason=self.reason if not met else "withheld" if n_unsafe else "met",
            text=text,
            numbers={**self.numbers, "unsafe": n_unsafe, "published": n_leaving},
            remedy=self.remedy if n_unsafe else "",
        )


# What an output type yields for a principle: a test of its parts, or a verdict on the output as a whole.
Applied = PrincipleTest | PrincipleVerdict


def unsafe_parts(tests: Iterable[Applied], n_parts: int) -> Mask:
    """Return the parts to suppress: those that fail a test, or all if the output fails as a whole."""
    found = np.zeros(n_parts, dtype=np.bool_)
    for each in tests:
        if isinstance(each, PrincipleVerdict):
            found |= each.status is Clearance.FAIL
        elif each.severity is Clearance.FAIL:
            found |= each.unsafe
    return found


def verdicts(tests: Iterable[Applied], evidence: Evidence) -> tuple[PrincipleVerdict, ...]:
    """Return the verdicts on the published parts, in the order of the tests."""
    return tuple(each if isinstance(each, PrincipleVerdict) else each.verdict(evidence) for each in tests)


# A principle that requires review is decided by a person, not by the program.
STATUSES = {
    Clearance.PASS: Status.PASSED,
    Clearance.REVIEW: Status.NOT_DECIDED,
    Clearance.FAIL: Status.FAILED,
}
# Reasons of interval verdicts about contributors who know their own amounts.
INSIDERS = ("insiders_kept_out", "open_to_insiders", "insiders_not_tried")


def output_verdict(
    verdicts: Sequence[PrincipleVerdict],
    *,
    ledger: bool,
    units: bool = True,
    against: Sequence[str] | None = None,
) -> Verdict:
    """Return the verdict on one output of a session or submission, with one row per attacker.

    Outputs are judged by principles, so rows are passed and never proved. Attackers who know the method, and
    groups under dominance rules, have no row.

    Parameters
    ----------
    verdicts
        Verdicts of the principles on the output.
    ledger
        Whether the output was compared with everything released before.
    units
        Whether the units in each cell are known. Otherwise outputs are compared through their codes.
    against
        Attackers that determine the colour, ``policy.against``. Default: all that the principles consider.

    Examples
    --------
    >>> few = PrincipleVerdict(
    ...     principle=Principle.UNITS, status=Clearance.FAIL, reason="too_few", text="3 units, 10 needed"
    ... )
    >>> verdict = output_verdict([few], ledger=False)
    >>> verdict.colour, verdict["outsider"].reason
    (<Colour.RED: 'red'>, '3 units, 10 needed')
    """
    inside = [each for each in verdicts if each.reason in INSIDERS]
    compared = [each for each in verdicts if each.principle is Principle.DIFFERENCING]
    about = {Principle.GROUP, Principle.DIFFERENCING}
    found = Verdict(
        (
            _row("outsider", [v for v in verdicts if v.principle not in about and v not in inside]),
            _groups_row(compared, units=units),
            _row("singletons", inside),
            _row("contributors", [each for each in inside if each.numbers.get("largest")]),
            _row("attributes", [each for each in verdicts if each.principle is Principle.GROUP]),
            _released_row(compared, ledger=ledger),
        )
    )
    if against is None:
        return found
    return Verdict(
        tuple(replace(row, in_scope=row.applies and row.attacker in against) for row in found.rows)
    )


def _row(attacker: str, verdicts: Sequence[PrincipleVerdict]) -> Row:
    """Return the row for an attacker; without verdicts the attacker does not apply to this output."""
    if not verdicts:
        why = "no principle concerns this attacker"
        return Row(attacker=attacker, status=Status.NOT_CONSIDERED, reason=why, applies=False)
    status = worst(verdicts)
    deciding = [each for each in verdicts if each.status is status]
    return Row(
        attacker=attacker,
        status=STATUSES[status],
        reason=join(dict.fromkeys(each.text for each in deciding)),
        # The remedy of a passed principle would publish more; it does not concern the attacker.
        fix="" if status is Clearance.PASS else join(dict.fromkeys(each.remedy for each in deciding)),
        in_scope=True,
    )


def _groups_row(compared: Sequence[PrincipleVerdict], *, units: bool) -> Row:
    """Return the row for small groups that the output discloses by itself."""
    alone = [each for each in compared if _is_alone(each)]
    # A search that stopped at its limit is inconclusive for single outputs, too.
    stopped = [each for each in compared if each.status is Clearance.REVIEW and not _is_disclosure(each)]
    if units or alone or not compared:
        return _searched_row("groups", compared, alone or stopped)
    return Row(
        attacker="groups",
        status=Status.NOT_DECIDED,
        reason="compared through codes; who is in the cells is not known",
        fix="check it with the data: --data",
        in_scope=True,
    )


def _released_row(compared: Sequence[PrincipleVerdict], *, ledger: bool) -> Row:
    """Return the row for small groups that the output discloses together with others."""
    together = [each for each in compared if not _is_alone(each)]
    if ledger or worst(together) is Clearance.FAIL:
        return _searched_row("released", compared, together)
    return Row(
        attacker="released",
        status=Status.NOT_CONSIDERED,
        reason="without a ledger, outputs are compared with those of the same submission only",
        fix="give the ledger: --ledger, or Session(ledger=...)",
    )


def _is_disclosure(verdict: PrincipleVerdict) -> bool:
    """Return whether a comparison found a disclosure, rather than only reporting how far it went."""
    return verdict.reason in {"small_group", "magnitude"}


def _is_alone(verdict: PrincipleVerdict) -> bool:
    """Return whether the output discloses something without any other output."""
    return _is_disclosure(verdict) and verdict.numbers.get("outputs") == 1


def _searched_row(
    attacker: str, compared: Sequence[PrincipleVerdict], own: Sequence[PrincipleVerdict]
) -> Row:
    """Return the row of a search; ``own`` are the verdicts among ``compared`` that concern the attacker."""
    if own:
        return _row(attacker, own)
    if compared:
        return Row(attacker=attacker, status=Status.PASSED, reason="searched, nothing found", in_scope=True)
    return Row(
        attacker=attacker,
        status=Status.NOT_CONSIDERED,
        reason="an output that fails is not compared with others",
        in_scope=True,
    )
