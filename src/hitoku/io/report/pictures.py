"""Pictures of the report: feasibility interval of a cell, and sums that disclose one.

A picture is a few coordinates on a strip of fixed size, drawn by the template.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

from hitoku.evidence import LIMITS, Arithmetic, Summand
from hitoku.io.number_texts import MINUS, number
from hitoku.messages import Text, join


class PictureSize(float, Enum):
    """Sizes in pictures."""

    BAR, EDGE = 200.0, 6.0
    """Width of an interval, and of its margins."""
    REACH = 2.5
    """Visible range on either side of the value, in multiples of the requirement; beyond it an arrow."""
    SUM = 520.0
    """Width of a sum."""
    LEAST = 1.5
    """Non-zero bars stay visible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """Positions on the strip; None for parts that do not exist."""

    value: float  # True value.
    have: tuple[float, float] | None = None  # Ends of the feasibility interval. A cut-off end has an arrow.
    # cut_low, cut_high: whether the interval continues beyond the strip.
    cut_low: bool = False
    cut_high: bool = False
    need: tuple[float, float] | None = None  # Range from the required lower to the required upper level.
    missing: tuple[tuple[float, float], ...] = ()  # Parts of the required range that are not covered.
    ruler: tuple[float, float] | None = None  # Required width, drawn from the lower end of the interval.
    shown: float | None = None  # Published value, for adjusted tables.


@dataclass(frozen=True, slots=True)
class _Scale:
    left: float
    right: float

    def __call__(self, number: float) -> float:
        share = (number - self.left) / (self.right - self.left)
        return round(
            PictureSize.EDGE + (PictureSize.BAR - 2 * PictureSize.EDGE) * min(max(share, 0.0), 1.0), 1
        )


def _scale(value: float, ends: tuple[float, ...], span: float) -> _Scale:
    """Return a scale that shows the ends, or enough to see that they are far away."""
    far = PictureSize.REACH * span if span > 0 else math.inf
    seen = [min(max(end, value - far), value + far) for end in (*ends, value)]
    known = [end for end in seen if math.isfinite(end)]
    left, right = min(known), max(known)
    margin = (right - left) or abs(value) or 1.0
    # Infinite end without requirement: extend by the known range.
    left = left - margin if -math.inf in seen else left
    right = right + margin if math.inf in seen else right
    return _Scale(left, right) if right > left else _Scale(left - margin, right + margin)


def interval_bar(
    value: float, low: float, high: float, *, lower: float = 0.0, upper: float = 0.0, width: float = 0.0
) -> Bar:
    """Draw an interval with the required levels and width.

    Examples
    --------
    A value of 50 must be uncertain by 10 in both directions. It can be inferred to lie between 45 and 200:
    above that is more than enough, below it is not.

    >>> bar = interval_bar(50, 45, 200, lower=10, upper=10)
    >>> bar.cut_high, bar.need, bar.missing
    (True, (6.0, 113.4), ((6.0, 32.9),))
    """
    need = (value - lower, value + upper) if lower or upper else None
    span = max(lower, upper, width)
    known = not math.isnan(low)
    ends = ((low, high) if known else ()) + (need or ())
    if width > 0:
        start = low if known and math.isfinite(low) else value - width / 2
        start = max(start, value - PictureSize.REACH * span)
        ends += (start, start + width)
    scale = _scale(value, ends, span)
    missing: list[tuple[float, float]] = []
    if need and known:
        missing += [(need[0], min(low, need[1]))] if low > need[0] else []
        missing += [(max(high, need[0]), need[1])] if high < need[1] else []
    return Bar(
        value=scale(value),
        have=(scale(low), scale(high)) if known else None,
        cut_low=known and low < scale.left,
        cut_high=known and high > scale.right,
        need=(scale(need[0]), scale(need[1])) if need else None,
        # Less than a tenth of a unit is solver rounding, and invisible.
        missing=tuple((scale(a), scale(b)) for a, b in missing if scale(b) > scale(a)),
        ruler=(scale(start), scale(start + width)) if width > 0 else None,
    )


def adjusted_bar(value: float, shown: float, *, down: float, up: float) -> Bar:
    """Draw an adjusted value and the range around the true value that it must leave.

    Examples
    --------
    >>> bar = adjusted_bar(50, 62, down=10, up=10)
    >>> bar.value, bar.need, bar.shown
    (91.5, (6.0, 176.9), 194.0)
    """
    scale = _scale(value, (value - down, value + up, shown), max(down, up))
    need = (scale(value - down), scale(value + up)) if down or up else None
    return Bar(value=scale(value), need=need, shown=scale(shown))


# Maximum number of terms; the smallest terms of longer sums are merged.
MAX_TERMS = 10


@dataclass(frozen=True, slots=True)
class SumBar:
    """Row of the picture."""

    # "total" (added), "part" (subtracted), "known" (a withheld cell at a known bound) or "left" (result).
    kind: str
    sign: str  # "+", a minus sign, "=" or nothing.
    label: str  # Codes of the cell; empty for merged cells.
    note: str  # Factor, bound, or number of merged cells.
    shown: str  # Number to show.
    # start, width: position on the strip.
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Waterfall:
    """Sum that discloses a cell."""

    word: str  # "exactly", "at most" or "at least".
    shown: str  # Result.
    bars: tuple[SumBar, ...]  # Bars of the sum, the result last; empty if the bound needs no sum.

    @property
    def caption(self) -> str:
        """The result in words."""
        return Text(LIMITS[self.word], bound=self.shown)


def group_sum(found: Arithmetic) -> tuple[Arithmetic, tuple[int, ...]]:
    """Return a bound on one cell as the sum of all suppressed cells in it, and these cells.

    If the bound sets the other suppressed cells to zero, it equals the sum of all of them. Other bounds are
    returned unchanged.

    Examples
    --------
    >>> one = Fraction(1)
    >>> total, zero = Summand(4, one, Fraction(52)), Summand(1, -one, Fraction(0), "lower")
    >>> terms = (total, zero, Summand(2, -one, Fraction(49)))
    >>> sum_, cells = group_sum(Arithmetic(0, "at most", Fraction(3), terms))
    >>> sum_.word, cells
    ('exactly', (0, 1))
    """
    taken = [term for term in found.terms if term.bound]
    if any(term.number or term.share != -1 for term in taken):
        return found, (found.cell,)
    left = tuple(term for term in found.terms if not term.bound)
    cells = tuple(sorted({found.cell, *(term.cell for term in taken)}))
    return replace(found, word="exactly", terms=left), cells


def waterfall(found: Arithmetic, name: Callable[[int], str]) -> Waterfall:
    """Draw a disclosure.

    Parameters
    ----------
    found
        Sum to draw.
    name
        Returns the codes of a cell.

    Examples
    --------
    The total of a row is 104, its other cell 101.

    >>> sum_ = Arithmetic(2, "exactly", Fraction(3), (Summand(0, Fraction(1), Fraction(104)),
    ...     Summand(1, Fraction(-1), Fraction(101))), (0,))
    >>> for bar in waterfall(sum_, "abc".__getitem__).bars:
    ...     print(bar.label, bar.shown, bar.start, bar.width)
    a 104 0.0 520.0
    b 101 15.0 505.0
    c 3 0.0 15.0
    """
    shown = number(float(found.bound))
    if not found.terms:
        return Waterfall(found.word, shown, ())
    # Positive terms first, so that the bars rise once and then fall.
    steps = sorted(_steps(found.terms, name), key=lambda step: not step.added)
    runs = [Fraction(0), *accumulate(step.amount for step in steps)]
    left, right = min(runs), max(runs)
    scale = PictureSize.SUM / float(right - left) if right > left else 0.0

    def strip(a: Fraction, b: Fraction) -> tuple[float, float]:
        width = max(float(abs(b - a)) * scale, PictureSize.LEAST) if a != b else 0.0
        return round(min(float(min(a, b) - left) * scale, PictureSize.SUM - width), 1), round(width, 1)

    bars = [
        SumBar(
            step.kind,
            MINUS if not step.added else "+" if place else "",
            step.label,
            step.note,
            number(float(abs(step.amount))),
            *strip(*runs[place : place + 2]),
        )
        for place, step in enumerate(steps)
    ]
    note = "" if found.word == "exactly" else found.word
    last = SumBar("left", "=", name(found.cell), note, shown, *strip(Fraction(0), found.bound))
    return Waterfall(found.word, shown, (*bars, last))


class _Step(NamedTuple):
    kind: str
    label: str
    note: str
    amount: Fraction
    added: bool


def _steps(terms: Sequence[Summand], name: Callable[[int], str]) -> Iterator[_Step]:
    """Yield the steps of a sum; the smallest terms of a long sum are merged by kind."""
    largest = sorted(terms, key=lambda term: (-abs(term.share * term.number), term.cell))
    own = set(largest if len(terms) <= MAX_TERMS else largest[: MAX_TERMS - 1])
    others: dict[str, list[Summand]] = {}
    for term in terms:
        amount, kind = term.share * term.number, _kind(term)
        if term in own:
            yield _Step(kind, name(term.cell), _note(term), amount, (amount or term.share) > 0)
        else:
            others.setdefault(kind, []).append(term)
    for kind, small in others.items():
        amount = sum((term.share * term.number for term in small), Fraction(0))
        yield _Step(
            kind, "", Text("{n:,} smaller cell(s)", n=len(small)), amount, (amount or small[0].share) > 0
        )


def _kind(term: Summand) -> str:
    return "known" if term.bound else "total" if term.share > 0 else "part"


NOTES = {"": "", "upper": Text("withheld, upper bound"), "lower": Text("withheld, lower bound")}


def _note(term: Summand) -> str:
    times = "" if abs(term.share) == 1 else f"\N{MULTIPLICATION SIGN} {number(float(abs(term.share)))}"
    return join([times, NOTES[term.bound]], "{first}, {second}")
