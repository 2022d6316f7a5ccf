"""Whether a group is singled out by definitions alone, or only with the data.

The sum of published cells is evaluated on every combination of base codes that the definitions allow, whether
or not it occurs in the data. Codes that no cell of the sum distinguishes are merged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

import numpy as np

from hitoku.attacks.differencing.axes import as_range, in_words, ranges
from hitoku.attacks.differencing.output_definition import MISSING, Definition, Nested, cut_alike
from hitoku.attacks.differencing.partition import Certificate
from hitoku.model import Integers

# Largest number of combinations that are examined individually.
MAX_POINTS = 2_000_000
# Stands for the base codes that only a filter excludes.
OTHERS = "any other"
# Suffix for a group that differs between two deliveries of the data, and not by its definition.
ONE_DELIVERY = ", in one delivery of the data only"


class DisclosureBasis(StrEnum):
    """Information needed to single a group out."""

    BY_DEFINITION = "by definition"
    IN_DATA = "in these data"
    MISSING_VALUES = "by missing values only"
    NOT_CLASSIFIED = "not classified"


@dataclass(frozen=True, slots=True)
class ClassifiedGroup:
    """The basis of a disclosure, and a description of the group; empty without definitions."""

    basis: DisclosureBasis
    group: str = ""


@dataclass(frozen=True, slots=True)
class CodeAxis:
    """A variable of the grid: its base codes by class, one class per signature."""

    name: str
    codes: Mapping[str, int]
    n: int


def classify_certificate(
    certificate: Certificate, definitions: Mapping[str, Definition | None], nested: Sequence[Nested] = ()
) -> ClassifiedGroup:
    """Classify who can evaluate a certificate.

    Parameters
    ----------
    certificate
        Published cells with coefficients.
    definitions
        Definitions of its outputs, by name.
    nested
        Variables nested in others, in addition to those that definitions name: combinations that contradict
        it do not exist.

    Examples
    --------
    >>> codes = {"17": "0-18", "18": "0-18", "19": "19+", "20": "19+", "21": "19+"}
    >>> first = Definition.of({"age": codes}, [[["0-18"], ["19+"]]])
    >>> second = Definition.of({"age": {**codes, "19": "0-20", "20": "0-20"}}, [[["0-20"]]])
    >>> sum_of_cells = {("second", 0, 1): 1, ("first", 0, 1): -1}
    >>> classify_certificate(sum_of_cells, {"first": first, "second": second}).basis
    <DisclosureBasis.IN_DATA: 'in these data'>
    >>> second = Definition.of({"age": dict.fromkeys(("17", "18", "19", "20"), "0-20")}, [[["0-20"]]])
    >>> classify_certificate(sum_of_cells, {"first": first, "second": second})
    ClassifiedGroup(basis=<DisclosureBasis.BY_DEFINITION: 'by definition'>, group='age=19-20')
    """
    outputs = sorted({output for output, _, _ in certificate})
    given = [definition for output in outputs if (definition := definitions.get(output))]
    if len(given) < len(outputs):
        return ClassifiedGroup(DisclosureBasis.NOT_CLASSIFIED)
    known = dict(zip(outputs, cut_alike(given), strict=True))
    nested = [*nested, *(each for definition in given for each in definition.nested)]
    axes = merge_axes(list(known.values()), nested)
    shape = tuple(axis.n for axis in axes)
    if np.prod(shape, dtype=np.float64) > MAX_POINTS:
        return ClassifiedGroup(DisclosureBasis.NOT_CLASSIFIED)
    total, added = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.bool_)
    for (output, part, cell), times in certificate.items():
        inside = np.ix_(*covered_by(known[output], part, cell, axes))
        total[inside] += times
        added[inside] |= times > 0
    possible = possible_combinations(axes, nested)
    total[~possible] = 0
    if total.min(initial=0) < 0:
        return ClassifiedGroup(
            DisclosureBasis.NOT_CLASSIFIED if perhaps_alike(given) else DisclosureBasis.IN_DATA
        )
    points = [points_of(axis) for axis in axes]
    names = [axis.name for axis in axes]
    if not total.any():
        # The same group by its definition, of records that were delivered twice and are not the same.
        return ClassifiedGroup(
            DisclosureBasis.BY_DEFINITION,
            f"{in_words(names, points, added & possible, possible)}{ONE_DELIVERY}",
        )
    group = in_words(names, points, total > 0, possible)
    if not np.any((total > 0) & ~_missing_values(axes)):
        return ClassifiedGroup(DisclosureBasis.MISSING_VALUES, group)
    return ClassifiedGroup(DisclosureBasis.BY_DEFINITION, group)


def _missing_values(axes: Sequence[CodeAxis]) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Mark the combinations in which some variable is missing."""
    unknown = np.zeros(tuple(axis.n for axis in axes), dtype=bool)
    for place, axis in enumerate(axes):
        if MISSING in axis.codes:
            unknown |= np.expand_dims(
                np.arange(axis.n) == axis.codes[MISSING],
                tuple(other for other in range(len(axes)) if other != place),
            )
    return unknown


def perhaps_alike(definitions: Sequence[Definition]) -> bool:
    """Return whether two outputs have ranges under different names: they may be bands of one variable.

    Combinations of them may then be impossible, and a sum that is negative on such a combination is not
    evidence of safety.
    """
    banded = [
        {name for name, codes in each.variables.items() if all(map(as_range, set(codes) - {MISSING}))}
        for each in definitions
    ]
    return any(one - other and other - one for one, other in combinations(banded, 2))


def merge_axes(definitions: Sequence[Definition], nested: Sequence[Nested]) -> list[CodeAxis]:
    """Merge the base codes of every variable that no definition distinguishes."""
    names = dict.fromkeys(
        name for definition in definitions for name in (*definition.variables, *definition.filter)
    )
    above = {each.fine: each for each in nested if each.fine in names and each.coarse in names}
    axes: dict[str, CodeAxis] = {}

    def merged(name: str) -> CodeAxis:
        if name not in axes:
            inside = above.get(name)
            parent = None if inside is None else merged(inside.coarse)
            axes[name] = _merge_codes(name, definitions, inside, parent)
        return axes[name]

    return [merged(name) for name in names]


def _merge_codes(
    name: str, definitions: Sequence[Definition], inside: Nested | None, parent: CodeAxis | None
) -> CodeAxis:
    """Merge base codes with the same signature: how each definition groups and filters them, their parent."""
    grouped = [each.variables[name] for each in definitions if name in each.variables]
    kept = [each.filter[name] for each in definitions if name in each.filter]
    kept += [base for each in definitions for base in each.unions.get(name, {}).values()]
    every = dict.fromkeys(code for codes in (*grouped, *kept) for code in codes)
    if not grouped:
        every[OTHERS] = None
    classes: dict[tuple[object, ...], int] = {}
    codes: dict[str, int] = {}
    for code in every:
        signature: tuple[object, ...] = (
            code == MISSING,
            *(group.get(code) for group in grouped),
            *(code in each for each in kept),
        )
        if inside is not None and parent is not None:
            signature += (parent.codes.get(inside.parents.get(code, "")),)
        codes[code] = classes.setdefault(signature, len(classes))
    return CodeAxis(name, codes, len(classes))


def covered_by(definition: Definition, part: int, cell: int, axes: Sequence[CodeAxis]) -> list[Integers]:
    """Return for every axis the classes that a cell covers."""
    groups = dict(zip(definition.variables, definition.parts[part][cell - 1], strict=True))
    found: list[Integers] = []
    for axis in axes:
        wanted = groups.get(axis.name)
        own: Mapping[str, str | None] = definition.variables.get(axis.name, {})
        union = definition.unions.get(axis.name, {}).get(wanted or "")
        if union is not None:
            own = dict.fromkeys(union, wanted)
        kept = definition.filter.get(axis.name)
        covered = {
            place
            for code, place in axis.codes.items()
            if (wanted is None or own.get(code) == wanted) and (kept is None or code in kept)
        }
        found.append(np.array(sorted(covered), dtype=np.int64))
    return found


def possible_combinations(
    axes: Sequence[CodeAxis], nested: Sequence[Nested]
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Mark the combinations that no nesting forbids."""
    possible = np.ones(tuple(axis.n for axis in axes), dtype=bool)
    place = {axis.name: number for number, axis in enumerate(axes)}
    for each in nested:
        if each.fine in place and each.coarse in place:
            fine, coarse = axes[place[each.fine]], axes[place[each.coarse]]
            allowed = np.zeros((fine.n, coarse.n), dtype=bool)
            for code, number in fine.codes.items():
                parent = coarse.codes.get(each.parents.get(code, ""))
                allowed[number, slice(None) if parent is None else parent] = True
            if place[each.fine] > place[each.coarse]:
                allowed = allowed.T
            others = tuple(n for n in range(len(axes)) if n not in (place[each.fine], place[each.coarse]))
            possible &= np.expand_dims(allowed, others)
    return possible


def points_of(axis: CodeAxis) -> list[str]:
    """Name every class by its codes, whole numbers by ranges of them."""
    return [ranges([code for code, own in axis.codes.items() if own == number]) for number in range(axis.n)]
