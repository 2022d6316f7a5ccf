"""What the paper concludes from its tables, as questions that have an answer.

The same questions are put to the published numbers and to those computed here, over the same instances.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Lines = Mapping[str, Sequence[float]]
# Percentages by instance, for a scenario and norm.
Source = Callable[[str, str], Lines]

# Means that agree to the printed digit.
SAME = 0.05


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A sentence, whether the numbers bear it out (None: they say neither), the numbers, and why if known."""

    claim: str
    holds: bool | None
    evidence: str
    why: str = ""

    def __str__(self) -> str:
        verdict = {True: "HOLDS", False: "DOES NOT HOLD", None: "NO DIFFERENCE"}[self.holds]
        reason = f" Why: {self.why}." if self.why else ""
        return f"{verdict}: {self.claim} ({self.evidence}).{reason}"


def exact(line: Sequence[float]) -> float:
    """Percentage of estimates that hit."""
    return float(line[0])


def within_5(line: Sequence[float]) -> float:
    """Percentage of estimates off by no more than 5 %."""
    return float(sum(line[:2]))


def within_10(line: Sequence[float]) -> float:
    """Percentage of estimates off by no more than 10 %."""
    return float(sum(line[:3]))


def conclusions(source: Source, norms: Sequence[str]) -> tuple[Conclusion, ...]:
    """Put the paper's conclusions to a set of tables.

    Examples
    --------
    >>> safe, open_ = (0, 10, 10, 20, 20, 20, 20, 0), (100, 0, 0, 0, 0, 0, 0, 0)
    >>> tables = {"B1": safe, "B2": safe, "B3": open_, "C": open_}
    >>> [c.holds for c in conclusions(lambda scenario, norm: {"mine": tables[scenario]}, ["l1"])]
    [True, True]
    """
    found = [_safe(source, norms), _not_safe(source, norms)]
    if {"l1", "l2"} <= set(norms):
        found += [_less(source, ("B1", "B2"), within_10, "within 10 %")]
        found += [_less(source, ("B3", "C"), exact, "hit exactly")]
    return tuple(found)


def _all(source: Source, scenarios: Sequence[str], norms: Sequence[str]) -> list[Sequence[float]]:
    return [line for scenario in scenarios for norm in norms for line in source(scenario, norm).values()]


def _safe(source: Source, norms: Sequence[str]) -> Conclusion:
    lines = _all(source, ("B1", "B2"), norms)
    hits = max(map(exact, lines), default=0.0)
    near = sum(within_10(line) > 50 for line in lines)
    return Conclusion(
        "B1 and B2 are safe: nothing is hit, and in most tables most estimates are off by more than 10 %",
        hits == 0 and near < len(lines) / 2,
        f"most hits in one table {hits:.1f} %; more than half within 10 % in {near} of {len(lines)} tables; "
        f"{_mean(within_5, lines):.1f} % of all estimates are within 5 %",
    )


def _not_safe(source: Source, norms: Sequence[str]) -> Conclusion:
    lines = _all(source, ("B3", "C"), norms)
    open_ = sum(within_5(line) > 50 for line in lines)
    return Conclusion(
        "B3 and C are not safe: in most tables more than half of the estimates are within 5 %",
        open_ > len(lines) / 2,
        f"so in {open_} of {len(lines)} tables; {_mean(exact, lines):.1f} % of all estimates hit, "
        f"{_mean(within_5, lines):.1f} % are within 5 %",
    )


def _less(
    source: Source, scenarios: Sequence[str], share: Callable[[Sequence[float]], float], words: str
) -> Conclusion:
    names = " and ".join(scenarios)
    first, second = (_all(source, scenarios, [norm]) for norm in ("l1", "l2"))
    pairs = [(share(a), share(b)) for a, b in zip(first, second, strict=True)]
    less, more = sum(b < a for a, b in pairs), sum(b > a for a, b in pairs)
    one, two = _mean(share, first), _mean(share, second)
    return Conclusion(
        f"L2 is less disclosive than L1 in {names}: fewer estimates are {words}",
        None if abs(two - one) < SAME else two < one,
        f"{one:.1f} % with L1, {two:.1f} % with L2; fewer in {less} and more in {more} of {len(pairs)} pairs",
    )


def _mean(share: Callable[[Sequence[float]], float], lines: Sequence[Sequence[float]]) -> float:
    return float(np.mean([share(line) for line in lines])) if lines else float("nan")
