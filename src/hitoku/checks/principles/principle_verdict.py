"""Principles applied to outputs: a test of cells or groups, and its verdict pass, fail or review.

A test names the parts that do not meet a principle. Both what is withheld and the verdict on what leaves
follow from it, so that a rule is stated once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import numpy as np

from hitoku.checks.evidence import Evidence
from hitoku.errors import some
from hitoku.messages import Text
from hitoku.model import Mask

# Number of unsafe parts that a verdict names.
MAX_NAMED = 3


class Clearance(StrEnum):
    """Whether an output may leave."""

    PASS = "pass"  # noqa: S105 - a verdict
    REVIEW = "review"
    FAIL = "fail"


class Principle(StrEnum):
    """The five principles of Kikuchi and Minami (2017), and what they ask of tables besides."""

    INDIVIDUAL_VALUE = "individual_value"
    UNITS = "units"
    FREEDOM = "freedom"
    DOMINANCE = "dominance"
    GROUP = "group"
    INTERVAL = "interval"
    DIFFERENCING = "differencing"


@dataclass(frozen=True, slots=True, kw_only=True)
class SumTerm:
    """A published cell in a sum that singles somebody out.

    Parameters
    ----------
    output
        Name of the output that publishes it; as texts call it.
    own
        It is a cell of the output that the verdict is about.
    codes
        Its codes by variable; one that it sums over is left out.
    times
        How often it is added, such as "1" or "-1".
    units
        How many units are in it.
    """

    output: str
    own: bool
    codes: Mapping[str, str]
    times: str
    units: int


@dataclass(frozen=True, kw_only=True)
class PrincipleVerdict:
    """One principle applied to one output.

    Parameters
    ----------
    principle
        Which.
    status
        What it says.
    reason
        A code for machines, such as "too_few_units".
    text
        The same in a sentence, with codes and counts.
    numbers
        What the sentence rests on.
    remedy
        The suggested fix; empty when none is needed.
    outputs
        Names of the outputs that a difference is between, or could not be tested with.
    terms
        The cells to add and subtract, where the verdict is about a sum of published cells and all of them
        have codes. For pages; not written into files.

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
    reason: str
    text: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    remedy: str = ""
    outputs: tuple[str, ...] = field(default=(), compare=False)
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
        """Read what :meth:`to_dict` wrote; anything else is a ValueError."""
        texts, numbers = [plain.get(key) for key in ("reason", "text", "remedy")], plain.get("numbers")
        if not all(isinstance(text, str) for text in texts) or not isinstance(numbers, Mapping):
            raise ValueError("not as they are written")
        if not all(isinstance(n, int | float) and isinstance(name, str) for name, n in numbers.items()):
            raise ValueError("numbers that are none")
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
    """A principle applied to the cells or groups of an output.

    Parameters
    ----------
    principle, reason
        The principle, and the code of what is wrong.
    unsafe
        Mask of the parts that do not meet it.
    rule
        The rule in words, such as "at least 10 units".
    numbers
        Thresholds and extremes; the verdict adds how many parts are unsafe and how many of these leave.
    remedy
        The suggested fix, given whenever a part is unsafe.
    severity
        Status where an unsafe part leaves. Parts are withheld only for tests that would fail.
    follows
        Withheld parts that readers can work out all the same; None where there are none.
    """

    principle: Principle
    reason: str
    unsafe: Mask
    rule: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    remedy: str = ""
    severity: Clearance = Clearance.FAIL
    follows: Mask | None = None

    def verdict(self, evidence: Evidence) -> PrincipleVerdict:
        """Return the verdict on what leaves: pass when nothing unsafe does, and something else leaves."""
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
            names=some((", ".join(label) or "all" for label in labels), MAX_NAMED),
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
    """Return the parts to withhold: those that a test fails, or all where the output fails as a whole."""
    found = np.zeros(n_parts, dtype=np.bool_)
    for each in tests:
        if isinstance(each, PrincipleVerdict):
            found |= each.status is Clearance.FAIL
        elif each.severity is Clearance.FAIL:
            found |= each.unsafe
    return found


def verdicts(tests: Iterable[Applied], evidence: Evidence) -> tuple[PrincipleVerdict, ...]:
    """Return the verdicts on what leaves, in the order of the tests."""
    return tuple(each if isinstance(each, PrincipleVerdict) else each.verdict(evidence) for each in tests)
