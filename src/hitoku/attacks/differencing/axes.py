"""Codes of several releases mapped to common points: the finest groups that any of them distinguishes.

A code that some release splits into parts is the union of them. Codes that read as ranges of integers
(``0-18``, ``[19-25]``, ``65+``) are cut at every end that occurs. Any other code is a point, the
same in every release that has it. A total is everything that its own release covers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hitoku.errors import ParameterError, some
from hitoku.model import Integers, Mask, Release

RANGE = re.compile(r"[\[(]?\s*(\d+)\s*(?:(?:-|\N{EN DASH}|to|\.\.)\s*(\d+)|(\+))?\s*[\])]?")
# The end of a range without one; no classification counts this far.
ENDLESS = 10**9
# Above this number codes are counted, not named.
MAX_NAMED = 8

Meanings = Mapping[str, Mapping[str, Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Axis:
    """One variable in all releases."""

    name: str
    """The variable."""
    points: tuple[str, ...]
    """Finest distinguishable values, in words."""
    members: tuple[Mask | None, ...]
    """For each release its codes by points; None for a release without this variable, which sums over it."""


def axes_of(releases: Sequence[Release], meanings: Meanings) -> tuple[Axis, ...]:
    """Map all variables of some releases to common points.

    Examples
    --------
    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
    >>> def ages(codes):
    ...     table = Table.from_array([18, 19, 20], names=["age"], codes=[codes])
    ...     return Release.of(table, Protection.withhold(table, table.value < 0))
    >>> (axis,) = axes_of([ages(["0-18", "19-25", "26-30"]), ages(["0-20", "21-25", "26-30"])], {})
    >>> axis.points
    ('0-18', '19-20', '21-25', '26-30')
    """
    names = dict.fromkeys(d.name for release in releases for d in release.dimensions)
    return tuple(_axis(name, releases, meanings.get(name, {})) for name in names)


def _axis(name: str, releases: Sequence[Release], meanings: Mapping[str, Sequence[str]]) -> Axis:
    parts = _splits(name, releases)
    parts |= {code: frozenset(split) for code, split in meanings.items()}
    leaves = [_leaves_of_codes(name, release, parts) for release in releases]
    every = sorted({leaf for codes in leaves if codes for code in codes for leaf in code}, key=_rank)
    points, inside = _common_points(every)
    members = [
        None
        if codes is None
        else np.array([np.any([inside[leaf] for leaf in code], axis=0) for code in codes])
        for codes in leaves
    ]
    used = np.any([m.any(axis=0) for m in members if m is not None], axis=0)
    kept = tuple(point for point, there in zip(points, used, strict=True) if there)
    return Axis(name, kept, tuple(None if m is None else m[:, used] for m in members))


def _leaves_of_codes(
    name: str, release: Release, parts: Mapping[str, frozenset[str]]
) -> list[frozenset[str]] | None:
    """Return the leaves of every code of a variable; None for a release without it."""
    dimension = next((d for d in release.dimensions if d.name == name), None)
    if dimension is None:
        return None
    own = {code: _leaves(code, parts, ()) for code in dimension.codes}
    own[dimension.total] = frozenset[str]().union(*(own[leaf] for leaf in dimension.leaves))
    return list(own.values())


def _common_points(leaves: Sequence[str]) -> tuple[list[str], dict[str, Mask]]:
    """Name the points of leaves, and mark those of each leaf: ranges are cut at every end."""
    known = [each for leaf in leaves if (each := as_range(leaf))]
    if len(known) < len(leaves):
        return list(leaves), {leaf: np.array([leaf == other for other in leaves]) for leaf in leaves}
    ends = sorted({first for first, _ in known} | {last + 1 for _, last in known})
    cuts = list(zip(ends[:-1], [end - 1 for end in ends[1:]], strict=True))
    inside = {
        leaf: np.array([first <= a and b <= last for a, b in cuts])
        for leaf, (first, last) in zip(leaves, known, strict=True)
    }
    return [range_name(a, b) for a, b in cuts], inside


def _splits(name: str, releases: Sequence[Release]) -> dict[str, frozenset[str]]:
    """Return the leaves of every code that some release splits; totals are split by release."""
    parts: dict[str, frozenset[str]] = {}
    for release in releases:
        for dimension in release.dimensions:
            if dimension.name != name:
                continue
            closure = dimension.closure
            for place, code in enumerate(dimension.codes[len(dimension.leaves) :], len(dimension.leaves)):
                own = closure.indices[closure.indptr[place] : closure.indptr[place + 1]]
                leaves = frozenset(dimension.leaves[int(leaf)] for leaf in own)
                if code != dimension.total and parts.setdefault(code, leaves) != leaves:
                    raise ParameterError(
                        "code_split_differently",
                        "code {code!r} of {variable!r} is split differently in two releases",
                        where="differencing",
                        fix="say what it means in both: meanings={variable: {code: [finer codes]}}",
                        code=code,
                        variable=name,
                    )
    return parts


def _leaves(code: str, parts: Mapping[str, frozenset[str]], above: tuple[str, ...]) -> frozenset[str]:
    if code not in parts or code in above:
        return frozenset([code])
    return frozenset[str]().union(*(_leaves(part, parts, (*above, code)) for part in parts[code]))


def as_range(code: str) -> tuple[int, int] | None:
    """Return first and last of a range of integers, if the code is one."""
    found = RANGE.fullmatch(code.strip())
    if not found:
        return None
    first = int(found[1])
    last = ENDLESS if found[3] else int(found[2] or first)
    return (first, last) if first <= last else None


def _rank(code: str) -> tuple[int, int, str]:
    found = as_range(code)
    return (0, found[0], code) if found else (1, 0, code)


def range_name(first: int, last: int) -> str:
    """Write a range of integers."""
    if last >= ENDLESS:
        return f"{first}+"
    return str(first) if first == last else f"{first}-{last}"


def ranges(codes: Sequence[str]) -> str:
    """Name some codes; consecutive integers become ranges.

    Examples
    --------
    >>> ranges(["21", "19", "20", "30"]), ranges(["A", "B"])
    ('19-21 or 30', 'A or B')
    """
    found = [as_range(code) for code in codes]
    if not all(found):
        return " or ".join(codes) if len(codes) <= MAX_NAMED else some(codes, MAX_NAMED)
    runs: list[tuple[int, int]] = []
    for first, last in sorted(each for each in found if each):
        if runs and first <= runs[-1][1] + 1:
            runs[-1] = runs[-1][0], max(last, runs[-1][1])
        else:
            runs.append((first, last))
    return " or ".join(range_name(first, last) for first, last in runs)


def in_words(
    names: Sequence[str], points: Sequence[Sequence[str]], group: Mask, possible: Mask | None = None
) -> str:
    """Describe a group: codes per variable, or the number of combinations.

    Parameters
    ----------
    names, points
        Variables, and the distinguishable values of each.
    group
        Combinations in the group.
    possible
        Combinations that can occur.

    Examples
    --------
    >>> in_words(["area", "age"], [["A", "B"], ["0-18", "19", "20"]], np.array([[0, 1, 1], [0, 0, 0]]) > 0)
    'area=A, age=19-20'
    """
    sides: list[Integers] = [
        np.flatnonzero(group.any(axis=tuple(a for a in range(group.ndim) if a != axis)))
        for axis in range(group.ndim)
    ]
    box = np.ix_(*sides)
    if np.all(group[box] if possible is None else group[box] | ~possible[box]):
        parts = [
            f"{name}={ranges([own[int(p)] for p in side])}"
            for name, own, side in zip(names, points, sides, strict=True)
            if len(side) < len(own)
        ]
        return ", ".join(parts) or "all units"
    return f"{int(group.sum())} combinations of {', '.join(names)}"
