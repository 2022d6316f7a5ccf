"""Secondary suppression by its definition, in rational numbers: slow, and nobody can doubt it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

Vector = Mapping[int, Fraction]


class Reach:
    """What can be worked out from some vectors by adding, subtracting and multiplying."""

    def __init__(self, vectors: Iterable[Vector] = ()) -> None:
        self.echelon: dict[int, dict[int, Fraction]] = {}
        for vector in vectors:
            self.add(vector)

    def rest(self, vector: Vector) -> dict[int, Fraction]:
        left = {row: Fraction(value) for row, value in vector.items() if value}
        for row in sorted(self.echelon):
            factor = left.get(row, Fraction(0))
            if factor:
                for other, value in self.echelon[row].items():
                    left[other] = left.get(other, Fraction(0)) - factor * value
        return {row: value for row, value in left.items() if value}

    def add(self, vector: Vector) -> None:
        left = self.rest(vector)
        if left:
            lead = min(left)
            left = {row: value / left[lead] for row, value in left.items()}
            # Earlier vectors lose the new leading row, so that one pass is enough for the next.
            for row, other in self.echelon.items():
                factor = other.get(lead, Fraction(0))
                if factor:
                    merged = {r: other.get(r, Fraction(0)) - factor * left.get(r, 0) for r in {*other, *left}}
                    self.echelon[row] = {r: value for r, value in merged.items() if value}
            self.echelon[lead] = left

    def holds(self, vector: Vector) -> bool:
        return not self.rest(vector)

    @property
    def rank(self) -> int:
        return len(self.echelon)


def columns_of(incidence: Any) -> list[dict[int, Fraction]]:
    matrix = np.asarray(incidence.toarray() if hasattr(incidence, "toarray") else incidence)
    return [
        {
            int(row): Fraction(float(matrix[row, j])).limit_denominator(10**6)
            for row in np.flatnonzero(matrix[:, j])
        }
        for j in range(matrix.shape[1])
    ]


def secondary_by_definition(
    columns: Sequence[Vector],
    order: Iterable[int],
    unsafe: Iterable[int],
    forced: Iterable[int] = (),
    known: Iterable[Sequence[Vector]] = ((),),
    moves: int = 0,
    n_rows: int = 0,
) -> set[int]:
    """Candidates that would let somebody work out an unsafe column, or leave too few moves.

    ``known`` lists what each person knows besides what is published; what a person knows of an unsafe column
    from the start, or through forced ones, is nobody's fault.
    """
    reaches = [Reach([*own, *(columns[cell] for cell in forced)]) for own in known]
    asked = [[columns[p] for p in unsafe if not reach.holds(columns[p])] for reach in reaches]
    published = Reach([columns[cell] for cell in forced])
    secondary = set()
    for cell in order:
        if published.holds(columns[cell]):
            continue
        after = []
        for reach in reaches:
            grown = Reach()
            grown.echelon = dict(reach.echelon)
            grown.add(columns[cell])
            after.append(grown)
        told = any(r.holds(p) for r, ps in zip(after, asked, strict=True) for p in ps)
        if told or (moves and n_rows - published.rank <= moves):
            secondary.add(cell)
        else:
            reaches = after
            published.add(columns[cell])
    return secondary


def exposed_by_definition(
    columns: Sequence[Vector], published: Iterable[int], unsafe: Iterable[int]
) -> set[int]:
    """Unsafe columns that follow from the published ones."""
    reach = Reach([columns[cell] for cell in published])
    return {p for p in unsafe if reach.holds(columns[p])}


def secondary_for_firms(
    columns: Sequence[Vector], order: Iterable[int], unsafe: Iterable[int], owner: Sequence[int]
) -> set[int]:
    """Candidates that would tell some firm, which knows the rows it is alone in, too much.

    Too much is an unsafe column that the firm does not know anyway, a row of another single firm that is no
    column of its own, or a combination of the firm's own rows in public.
    """
    firms = sorted({firm for firm in owner if firm})
    own = {firm: [{row: Fraction(1)} for row, who in enumerate(owner) if who == firm] for firm in firms}
    reaches = {0: Reach(), **{firm: Reach(rows) for firm, rows in own.items()}}
    units = {next(iter(column)) for column in columns if len(column) == 1}
    secrets = [columns[p] for p in unsafe]
    secrets += [{row: Fraction(1)} for row, firm in enumerate(owner) if firm and row not in units]
    asked = {firm: [s for s in secrets if s and not reach.holds(s)] for firm, reach in reaches.items()}
    secondary = set()
    for cell in order:
        if reaches[0].holds(columns[cell]):
            continue
        after = {firm: Reach([*reach.echelon.values(), columns[cell]]) for firm, reach in reaches.items()}
        told = any(after[firm].holds(secret) for firm in reaches for secret in asked[firm])
        if told or any(reach.holds(columns[cell]) for firm, reach in reaches.items() if firm):
            secondary.add(cell)
        else:
            reaches = after
    return secondary


def secondary_for_zeros(
    columns: Sequence[Vector], order: Iterable[int], unsafe: Iterable[int], zero: Sequence[bool]
) -> set[int]:
    """Candidates that would give an unsafe column away to attackers who know that no count is below zero.

    A sum of zeros that is published tells each of its parts; where all zeros of a cell but those of another
    cell are known, those are known, too, in rounds; and where what is left of a published combination of
    zeros has one sign. A combination of zeros in which they count differently is no sum, as long as it shares
    no row with an earlier one. What is refused for its zeros is protected.
    """
    # Rows that are no zeros lead, so that what is left of a column by zeros alone consists of zeros.
    place = sorted(range(len(zero)), key=lambda row: (zero[row], row))
    rank = {row: number for number, row in enumerate(place)}
    first = len(zero) - sum(zero)
    named = [{rank[row]: value for row, value in column.items()} for column in columns]
    groups = [column for column in named if column and min(column) >= first]
    secrets = [named[p] for p in unsafe]
    groups += [secret for secret in secrets if min(secret) >= first]
    reach, used, secondary = Reach(), set(), set()

    for cell in order:
        left = reach.rest(named[cell])
        if not left:
            continue
        if min(left) >= first:
            if len(set(left.values())) > 1 and not used & left.keys():
                used |= left.keys()
            else:
                known = _zeros_that_follow(reach, set(left), groups, first)
                if any(rows <= known for rows in _unknown(reach, secrets)):
                    secondary.add(cell)
                    secrets.append(left)
                else:
                    for row in known:
                        reach.add({row: Fraction(1)})
                continue
        after = Reach([*reach.echelon.values(), named[cell]])
        if any(after.holds(s) and not reach.holds(s) for s in secrets):
            secondary.add(cell)
        else:
            reach = after
    return secondary


def _unknown(reach: Reach, vectors: Iterable[Vector]) -> set[frozenset[int]]:
    return {frozenset(left) for left in map(reach.rest, vectors) if left}


def _zeros_that_follow(reach: Reach, known: set[int], groups: Iterable[Vector], first: int) -> set[int]:
    cells = _unknown(reach, groups)
    published = [vector for lead, vector in reach.echelon.items() if lead >= first and len(vector) > 1]
    while True:
        follow = {group - known for group in cells if group & known} & cells
        for vector in published:
            signs = {row: value > 0 for row, value in vector.items() if row not in known}
            if len(set(signs.values())) == 1:
                follow.add(frozenset(signs))
        if not follow:
            return known
        known = known.union(*follow)


def known_zeros(columns: Sequence[Vector], published: Iterable[int], zero: Sequence[bool]) -> Reach:
    """What readers work out who know that no count is below zero.

    Where the inner cells of a published cell that are not known yet are zeros all, their sum is zero, and
    then each of them is known.
    """
    shown = [columns[cell] for cell in published]
    reach = Reach(shown)
    while True:
        unknown = [{row for row in column if not reach.holds({row: Fraction(1)})} for column in shown]
        told = set().union(*(rows for rows in unknown if all(zero[row] for row in rows)))
        if not told:
            return reach
        for row in told:
            reach.add({row: Fraction(1)})
