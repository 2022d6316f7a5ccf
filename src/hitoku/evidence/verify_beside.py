"""Check that a release is safe together with the other measure of the same cells; verify.py loads this file.

If counts and magnitudes of one breakdown are published together, a cell without contributors is known to have
no magnitude. The certificate of each lists the other measure, and one table of it: the companion. This file
checks that

1. the other measure adds up as the certified one does;
2. the companion adds up, is not negative if it counts, and has the true value in every published cell;
3. every table within the certified bounds is consistent with the companion: a magnitude is zero where the
   companion counts zero, a count is at least one where the companion has a magnitude, and contributions are
   within their publicly known bounds.

Every witness satisfies the certified bounds, so each of them is feasible together with the companion. This
file needs only Python's standard library.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

Demand = Callable[..., None]
Exact = Callable[[Any, str], Fraction]
End = Fraction | None


def fits(content: dict[str, Any], table: Any, demand: Demand, number: Exact) -> str:
    """Check that the companion is consistent with all witnesses; return a sentence for the answer."""
    other, n = content["beside"], table.size
    kind = other["kind"]
    demand(kind in {"counts", "amounts"}, "the other measure is neither counts nor amounts", 2)
    values = [number(x, f"{kind} beside") for x in other["values"]]
    demand(len(values) == n, f"{kind} beside: not one value for each cell", 2)
    demand(table.broken(values) is None, f"{kind} beside: they do not add up")
    withheld = set(other["withheld"])
    world = list(values)
    cells, deviations = other["companion"]["cells"], other["companion"]["differences"]
    demand(len(cells) == len(deviations) == len(set(cells)), f"{kind} beside: the companion is malformed", 2)
    for cell, move in zip(cells, deviations, strict=True):
        demand(type(cell) is int and 0 <= cell < n, f"{kind} beside: no such cell", 2)
        demand(
            cell in withheld,
            f"{kind} beside: the companion changes cell {table.name(cell)}, which is published",
        )
        world[cell] += number(move, f"{kind} beside")
    demand(table.broken(world) is None, f"{kind} beside: the companion does not add up")
    ends = [None if end is None else number(end, "bounds of a contribution") for end in other["contribution"]]
    demand(len(ends) == 2 and ends[0] is not None, "bounds of a contribution are invalid", 2)
    low, high = Fraction(ends[0]), ends[1]  # type: ignore[arg-type]  # demanded above
    demand(low >= 0 and (high is None or low <= high), "bounds of a contribution are invalid", 2)
    for cell, x in enumerate(world):
        least, most = table.lower[cell], table.upper[cell]
        of = (least, most, x, low, high)
        wrong = amount_beside(*of) if kind == "counts" else count_beside(*of)
        demand(wrong == "", f"cell {table.name(cell)}: {wrong}")
    return f"every witness is consistent with the {kind} released with them"


def amount_beside(least: End, most: End, count: Fraction, low: Fraction, high: End) -> str:
    """Return what is wrong with the bounds of a magnitude for a given count; empty if nothing is."""
    if count < 0 or count.denominator != 1:
        return "the companion is not a count"
    if count == 0:
        return "" if least == most == 0 else "an amount is possible without a counted unit"
    if low and (least is None or least < low * count):
        return "contributions are too small"
    return (
        "" if high is None or (most is not None and most <= high * count) else "contributions are too large"
    )


def count_beside(least: End, most: End, amount: Fraction, low: Fraction, high: End) -> str:
    """Return what is wrong with the bounds of a count for a given magnitude; empty if nothing is."""
    if amount and (least is None or least < 1):
        return "a positive amount is possible without a counted unit"
    if amount and high is not None and (least is None or least * high < abs(amount)):
        return "contributions are too large"
    return "" if not low or (most is not None and most * low <= amount) else "contributions are too small"
