"""Slow reference implementations of the audit: safety by definition, arithmetic of disclosures."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from hitoku.model import Bounds, Need, Release, Table

ROUNDING = 1e-6


def programmed_bounds(release: Release) -> Bounds:
    """Least and largest value of every withheld cell among all real tables, one cold program each."""
    withheld = release.withheld
    ends = np.where(
        withheld[:, None], np.stack([release.lower, release.upper], axis=1), release.published[:, None]
    )
    known = np.flatnonzero(~withheld)
    unknown = np.flatnonzero(withheld)
    dense = release.relations.toarray()
    right = -dense[:, known] @ release.published[known]
    found = ends.copy()
    for place, cell in enumerate(unknown):
        for side, sign in enumerate((1.0, -1.0)):
            cost = np.zeros(len(unknown))
            cost[place] = sign
            answer = linprog(cost, A_eq=dense[:, unknown], b_eq=right, bounds=ends[unknown])
            assert answer.status in {0, 3}
            found[cell, side] = -sign * np.inf if answer.status == 3 else sign * answer.fun
    return Bounds(lower=np.minimum(found[:, 0], found[:, 1]), upper=found[:, 1])


def is_safe(table: Table, need: Need, release: Release, bounds: Bounds) -> bool:
    """Every unsafe cell is withheld, not a single point, and reaches what it must."""
    for cell in np.flatnonzero(need.unsafe):
        value, low, high = table.value[cell], bounds.lower[cell], bounds.upper[cell]
        if not release.withheld[cell] or high - low <= ROUNDING:
            return False
        if low > value - need.lower[cell] + ROUNDING or high < value + need.upper[cell] - ROUNDING:
            return False
        if high - low < need.width[cell] - ROUNDING:
            return False
    return True


TOKEN = re.compile(r"\s*(\(-?[0-9./]+\)|[0-9./]+|[-+*])")


def redone(sum_text: str) -> tuple[Fraction, list[Fraction]]:
    """Evaluate "53 - 12 - 2 * 3" from left to right; also the numbers that are no factors."""
    total, sign, factor, used = Fraction(0), 1, Fraction(1), []
    tokens = TOKEN.findall(sum_text)
    assert "".join(tokens) == sum_text.replace(" ", "")
    signs = {"+": 1, "-": -1, "*": 0}
    for place, token in enumerate(tokens):
        if token in signs:
            sign = signs[token] or sign
        elif tokens[place + 1 : place + 2] == ["*"]:
            factor = Fraction(token.strip("()"))
        else:
            number = Fraction(token.strip("()"))
            total, used = total + sign * factor * number, [*used, number]
            factor = Fraction(1)
    return total, used
