"""The arithmetic that discloses a cell, as a picture: published total, minus published cells, what is left.

A picture is a list of bars on one scale; the template draws them as rows of a table, so that a screen reader
and a printer get the same sum as a screen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

from hitoku.evidence.disclosure import Arithmetic, Summand
from hitoku.io.report.numbers import MINUS, number

WIDTH = 520.0
# A bar that is not zero stays visible.
MIN_WIDTH = 1.5
# Longer sums are shortened: their smallest terms are one bar.
MAX_TERMS = 10


@dataclass(frozen=True, slots=True)
class SumBar:
    """One row of the picture.

    Parameters
    ----------
    kind
        "total" (added), "part" (subtracted), "known" (a withheld cell at a known bound) or "left" (result).
    sign
        "+", a minus sign, "=" or nothing.
    label
        Codes of the cell; empty where the bar stands for several.
    note
        What else a reader must know: the factor, the bound, how many cells the bar stands for.
    shown
        The number.
    start, width
        Position on the strip.
    """

    kind: str
    sign: str
    label: str
    note: str
    shown: str
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Waterfall:
    """The sum that discloses a cell.

    Parameters
    ----------
    word
        "exactly", "at most" or "at least".
    shown
        The result.
    bars
        The sum, its result last; empty where the bound needs no sum.
    """

    word: str
    shown: str
    bars: tuple[SumBar, ...]


def group_sum(found: Arithmetic) -> tuple[Arithmetic, tuple[int, ...]]:
    """Return a bound on one cell as the sum of all withheld cells in it, and these cells.

    A bound that puts other withheld cells at zero is the sum of all of them. Any other is returned as it is.

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
        The sum.
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
    # What is added comes first, so that the picture goes up once and then down.
    steps = sorted(_steps(found.terms, name), key=lambda step: not step.added)
    runs = [Fraction(0), *accumulate(step.amount for step in steps)]
    left, right = min(runs), max(runs)
    scale = WIDTH / float(right - left) if right > left else 0.0

    def strip(a: Fraction, b: Fraction) -> tuple[float, float]:
        width = max(float(abs(b - a)) * scale, MIN_WIDTH) if a != b else 0.0
        return round(min(float(min(a, b) - left) * scale, WIDTH - width), 1), round(width, 1)

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
    """Turn the terms into steps; the smallest ones of a long sum are one step for each kind."""
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
        yield _Step(kind, "", f"{len(small):,} smaller cell(s)", amount, (amount or small[0].share) > 0)


def _kind(term: Summand) -> str:
    return "known" if term.bound else "total" if term.share > 0 else "part"


def _note(term: Summand) -> str:
    times = "" if abs(term.share) == 1 else f"\N{MULTIPLICATION SIGN} {number(float(abs(term.share)))}"
    bound = f"withheld, {term.bound} bound" if term.bound else ""
    return ", ".join(filter(None, [times, bound]))
