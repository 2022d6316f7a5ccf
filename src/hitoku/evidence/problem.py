"""Unknowns of an outsider in exact numbers: deviations from the true table in suppressed cells.

Zero deviations are the true table itself, so there is always a feasible point, and
deviations only need to cancel in every relation, independently of published values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, gcd
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.errors import TableError
from hitoku.evidence.grid import Grid, IntegerDeviations, Row, common_denominator, exact_rows
from hitoku.feasibility import Levels, Problem
from hitoku.model import Integers, Need, Release, groups_by_size, rational

# Stands for "no bound" among integer steps; sums of a few of them still fit into 64 bits.
FAR = 2**58


@dataclass(frozen=True, slots=True)
class Demand:
    """Required movement of one unsafe cell: down, up, and in total."""

    lower: Fraction
    upper: Fraction
    width: Fraction

    def low_enough(self, low: Fraction) -> bool:
        return low <= -self.lower

    def high_enough(self, high: Fraction) -> bool:
        return high >= self.upper

    def wide_enough(self, low: Fraction, high: Fraction) -> bool:
        """Return whether the ends are far enough apart; a single point never protects."""
        return high - low >= self.width and high > low


@dataclass(frozen=True, slots=True)
class Witness:
    """A feasible table, as deviations from the true one over a common denominator."""

    denominator: int
    differences: Mapping[int, int]

    @classmethod
    def of(cls, deviations: Mapping[int, Fraction | int]) -> Witness:
        """Convert exact deviations to their common denominator, without zeros."""
        below = common_denominator(deviations.values())
        return cls(below, {place: int(move * below) for place, move in sorted(deviations.items()) if move})

    def at(self, place: int) -> Fraction:
        return Fraction(self.differences.get(place, 0), self.denominator)


@dataclass(frozen=True)
class AuditProblem:
    """Deviations ``d`` with ``relations @ d == 0`` and ``lower <= d <= upper``."""

    cells: Integers
    """Suppressed cells by their position in the table; all other fields use positions in this list."""
    rows: Sequence[Row]
    """Relations among them, with integer coefficients; relations without a suppressed cell are omitted."""
    relation: Integers
    """Index of each row among the relations of the table."""
    lower: Sequence[Fraction | None]
    upper: Sequence[Fraction | None]
    """Exact bounds of the deviations; None if there is none."""
    scale: int
    """Steps per unit of the grid of the values."""
    integer: bool
    """Whether deviations are integers."""
    demands: Mapping[int, Demand]
    """Requirement of each unsafe cell."""

    @classmethod
    def of(cls, grid: Grid, need: Need, release: Release) -> AuditProblem:
        """Set up the unknowns of a release; unsafe cells that are published are omitted."""
        withheld = release.withheld
        cells = np.flatnonzero(withheld)
        restricted = release.relations[:, cells]
        used = np.flatnonzero(np.diff(restricted.indptr))
        rows = [
            dict(zip(places, coefficients, strict=True))
            for places, coefficients in exact_rows(restricted[used])
        ]
        lower: list[Fraction | None] = []
        upper: list[Fraction | None] = []
        # Most cells are only known to be nonnegative: then single bounds need not be read.
        plain = (release.lower[cells] == 0) & np.isinf(release.upper[cells])
        for cell, usual in zip(cells.tolist(), plain.tolist(), strict=True):
            value = grid.value(cell)
            if usual and value >= 0:
                lower.append(-value)
                upper.append(None)
                continue
            low, high = outside_bounds(release, cell, value)
            lower.append(None if low is None else low - value)
            upper.append(None if high is None else high - value)
        demands = {
            place: Demand(rational(need.lower[cell]), rational(need.upper[cell]), rational(need.width[cell]))
            for place, cell in enumerate(cells.tolist())
            if need.unsafe[cell]
        }
        # Beyond six decimals the "grid" is the bits of the doubles: rounding to it would prove nothing.
        return cls(cells, rows, used, lower, upper, grid.scale, release.integer, demands)

    def within_scale(self) -> Iterator[AuditProblem]:
        """Yield problems with less slack, for requirements that are small relative to the slack.

        A witness of such a problem is a witness of this one, because only bounds are tighter. If there is
        none, nothing follows.
        """
        places = list(self.demands)
        level = np.array([float(max(d.lower, d.upper, d.width, self.step)) for d in self.demands.values()])
        ends = [end for ends in (self.lower, self.upper) for end in ends if end is not None]
        for group, far in groups_by_size(level, float(max(map(abs, ends), default=0))):
            if np.isfinite(far):
                farthest = Fraction(ceil(far))
                yield replace(
                    self,
                    lower=[-farthest if end is None else max(end, -farthest) for end in self.lower],
                    upper=[farthest if end is None else min(end, farthest) for end in self.upper],
                    demands={
                        place: self.demands[place] for place, own in zip(places, group, strict=True) if own
                    },
                )

    @property
    def step(self) -> Fraction:
        """One step of the grid."""
        return Fraction(1, self.scale)

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """Rows as a sparse array of doubles."""
        ends = np.cumsum([0, *(len(row) for row in self.rows)])
        places = np.array([place for row in self.rows for place in row], dtype=np.int64)
        data = np.array([c for row in self.rows for c in row.values()], dtype=np.float64)
        shape = (len(self.rows), len(self.cells))
        matrix = sparse.csr_array((data, places, ends), shape=shape)
        matrix.sum_duplicates()
        return matrix

    @cached_property
    def whole_matrix(self) -> Any:
        """The same in integers."""
        return self.matrix.astype(np.int64)

    @cached_property
    def widest(self) -> float:
        """Largest sum of absolute coefficients in a row."""
        return float(np.max(abs(self.matrix).sum(axis=1), initial=0.0))

    @cached_property
    def steps(self) -> tuple[Integers, Integers]:
        """Bounds in steps of the grid, rounded inwards."""
        low = [-FAR if b is None else max(-FAR, ceil(b * self.scale)) for b in self.lower]
        high = [FAR if b is None else min(FAR, floor(b * self.scale)) for b in self.upper]
        return np.array(low, dtype=np.int64), np.array(high, dtype=np.int64)

    def levels(self, hopeless: Collection[int] = ()) -> Levels:
        """Return the required movement of each cell, in steps, rounded up.

        Cells that are known to be fixed are skipped.
        """
        levels = Levels.none(len(self.cells))
        for place, demand in self.demands.items():
            if place not in hopeless:
                levels.required[place] = True
                levels.down[place] = ceil(demand.lower * self.scale)
                levels.up[place] = ceil(demand.upper * self.scale)
                levels.width[place] = ceil(demand.width * self.scale)
        return levels

    @cached_property
    def in_doubles(self) -> Problem:
        """The same in integer steps, for solvers whose answers are checked here."""
        low, high = (np.where(np.abs(ends) < FAR, ends, np.copysign(np.inf, ends)) for ends in self.steps)
        return Problem.deviations(self.matrix, low, high)

    @cached_property
    def users(self) -> list[list[int]]:
        """Rows of each cell."""
        users: list[list[int]] = [[] for _ in self.cells]
        for number, row in enumerate(self.rows):
            for place in row:
                users[place].append(number)
        return users

    def on_grid(self, point: np.ndarray[Any, Any]) -> Witness | None:
        """Round a point to the grid; None if it then breaks a relation or a bound."""
        steps = np.rint(point * self.scale)
        # Above 53 bits a double has no exact integer part; above 62 the sums would overflow.
        largest = float(np.max(np.abs(steps), initial=0.0))
        if largest > 2.0**52 or largest * self.widest > 2.0**62:
            return None
        return self.in_steps(steps.astype(np.int64))

    def in_steps(self, whole: Integers) -> Witness | None:
        """Make a witness from integer steps of the grid; None if they break a relation or a bound."""
        low, high = self.steps
        if np.any(whole < low) or np.any(whole > high) or np.any(self.whole_matrix @ whole):
            return None
        moved = np.flatnonzero(whole)
        common = gcd(self.scale, *whole[moved].tolist())
        return Witness(self.scale // common, IntegerDeviations(moved, whole[moved] // common))

    def changed(self, places: Integers, amounts: Integers, parts: int) -> Witness | None:
        """Make a witness from integer deviations of some cells, in parts of a step; None if they do not fit.

        Bounds are rounded inwards to whole steps; deviations that need the last part of a step are rejected.
        So are repeated cells: each part would cancel in the relations and be counted as the whole.
        """
        order = np.argsort(places)
        places, amounts = places[order], amounts[order]
        if np.any(np.diff(places) == 0):
            return None
        largest = float(np.max(np.abs(amounts), initial=0.0))
        if (parts > 1 and self.integer) or parts * largest * self.widest > 2.0**62:
            return None
        low, high = (np.clip(ends[places], -(FAR // parts), FAR // parts) * parts for ends in self.steps)
        if np.any(amounts < low) or np.any(amounts > high) or np.any(self._by_cell[:, places] @ amounts):
            return None
        common = gcd(parts * self.scale, *np.unique(amounts).tolist())
        return Witness(parts * self.scale // common, IntegerDeviations(places, amounts // common))

    @cached_property
    def _by_cell(self) -> Any:
        return self.whole_matrix.tocsc()

    def along(self, move: Mapping[int, int]) -> Witness | None:
        """Move along a deviation as far as the bounds allow; None if that is zero, or it breaks a relation.

        Without a limiting bound, every unsafe cell moves as far as required. Tables of
        counts use integer steps.
        """
        move = {place: change for place, change in move.items() if change}
        if not move:
            return None
        steps: list[Fraction] = []
        for place, change in move.items():
            end = self.upper[place] if change > 0 else self.lower[place]
            if end is not None:
                steps.append(end / change)
        if not steps:
            needed = ((self.demands[p], abs(c)) for p, c in move.items() if p in self.demands)
            longest = max((max(d.lower, d.upper, d.width, Fraction(1)) / c for d, c in needed), default=0)
            steps.append(Fraction(ceil(longest)))
        step = min(steps)
        if self.integer:
            common = gcd(*move.values())
            step = Fraction(floor(step * common), common)
        deviations = {place: step * change for place, change in move.items()}
        return Witness.of(deviations) if step > 0 and self.fits(deviations) else None

    def fits(self, deviations: Mapping[int, Fraction | int]) -> bool:
        """Return whether exact deviations cancel in every relation; bounds are not checked."""
        sums: dict[int, Fraction | int] = {}
        for place, move in deviations.items():
            for number in self.users[place]:
                sums[number] = sums.get(number, 0) + self.rows[number][place] * move
        return not any(sums.values())


def outside_bounds(release: Release, cell: int, value: Fraction) -> tuple[Fraction | None, Fraction | None]:
    """Return the publicly known bounds of one cell, exactly.

    Twelve digits are read, so a bound that equals the value may exclude it slightly: it is moved back.
    """
    low, high = float(release.lower[cell]), float(release.upper[cell])
    hair = max(Fraction(1), abs(value)) / 10**9
    exact_low = None if np.isinf(low) else rational(low)
    exact_high = None if np.isinf(high) else rational(high)
    if (exact_low is not None and exact_low > value + hair) or (
        exact_high is not None and exact_high < value - hair
    ):
        raise TableError(
            "value_outside_known_bounds",
            "a value lies outside the bounds that the release says an outsider knows",
            where="cell {cell}",
            fix="make the release from this table, or widen its bounds",
            cell=release.describe(cell),
        )
    if exact_low is not None:
        exact_low = min(exact_low, value)
    if exact_high is not None:
        exact_high = max(exact_high, value)
    return exact_low, exact_high
