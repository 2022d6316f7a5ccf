"""Feasibility intervals for an insider: a contributor, or a coalition that pools its knowledge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import comb
from typing import ClassVar

import numpy as np

from hitoku.attacks.attack import Inference
from hitoku.attacks.contribution import (
    Coalition,
    Contribution,
    contributions_of,
    pool_contributions,
    shares_of,
)
from hitoku.errors import ParameterError, TableError
from hitoku.feasibility import EndSearch, Problem, parts_of, settle
from hitoku.model import BOUND, ROUNDING, Bounds, Floats, Integers, Mask, Release
from hitoku.parameters import Count, LimitOrZero, check_parameters
from hitoku.solver.solution import MINUTES, Deadline

__all__ = ["Contribution", "Insider", "Worst"]

MAX_COALITIONS = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Worst:
    """Coalitions that infer most about each cell; contributors are numbered by first appearance."""

    lower_by: tuple[Coalition, ...]
    upper_by: tuple[Coalition, ...]
    """Coalition that proves the lower and the upper bound; empty if an outsider proves as much."""
    narrowest: tuple[Coalition, ...]
    """Coalition with the shortest interval, both ends from the same people; empty likewise."""
    width: Floats
    """Length of that shortest interval."""


@dataclass(frozen=True, slots=True, repr=False)
class Insider:
    """Infer values of cells from own contributions.

    A sole contributor knows the value of a suppressed cell and subtracts it from the totals; other cells of
    the relation may lose their protection. Any contributor knows that a cell is at least the own
    contribution.
    A respondent in several cells knows them all; a coalition knows what its members know.

    Parameters
    ----------
    contributions
        Own contributions, as :class:`Contribution` objects or a frame with columns ``contributor``, ``cell``,
        ``amount``, ``sole``, ``among``. Only suppressed cells matter.
    coalition
        Number of contributors who may pool their knowledge; smaller groups are included.
    integer, time_limit_s
        As in :class:`Interval`.
    limit
        Maximum number of coalitions to try.
    work_limit
        Limit on the work of flows and programs for all coalitions, the same on every
        computer. Cells undecided for some coalition by then are marked ``unknown``. None: no limit.

    Notes
    -----
    A cell that a coalition knows by itself is not a disclosure to that coalition. The own
    contribution bounds a cell from below if the release has a lower bound of at least zero, because
    contributions are nonnegative then.

    Examples -------- Two cells of a row are suppressed, and two more below them. Firm A is alone in the first
    and can derive the rest.

    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
    >>> table = Table.from_array([[7, 11], [10, 60]])
    >>> release = Release.of(table, Protection.withhold(table, table.inner))
    >>> attack = Insider([Contribution("A", cell=0, amount=7, sole=True)])
    >>> bounds = attack.bounds(release)
    >>> float(bounds.lower[4]), float(bounds.upper[4])
    (60.0, 60.0)
    >>> attack.worst(release).narrowest[4]
    (0,)
    """

    name: ClassVar[str] = "insider"
    assumes: ClassVar[str] = (
        "as for interval, and also their own amounts, and which cells have no other contributor; members of "
        "a coalition pool this knowledge"
    )
    adjusted: ClassVar[bool] = False

    contributions: tuple[Contribution, ...] = ()
    coalition: Count = 1
    integer: bool = False
    time_limit_s: LimitOrZero | None = None
    limit: Count = MAX_COALITIONS
    work_limit: LimitOrZero | None = MINUTES

    def __post_init__(self) -> None:
        object.__setattr__(self, "contributions", contributions_of(self.contributions))
        check_parameters(self)

    def __repr__(self) -> str:
        return f"Insider({len(self.contributions)} contributions, coalition={self.coalition})"

    def infer(self, release: Release) -> Inference:
        """Return the tightest bounds that any coalition proves: :meth:`bounds`."""
        return Inference(bounds=self.bounds(release))

    def bounds(self, release: Release) -> Bounds:
        """Return the tightest bounds that any coalition proves about cells it does not know by itself.

        The two ends may come from different coalitions: each is a separate risk. See :meth:`worst`.
        """
        return self._attack(release)[0]

    def worst(self, release: Release) -> Worst:
        """Return the coalition that proves each bound."""
        return self._attack(release)[1]

    def _attack(self, release: Release) -> tuple[Bounds, Worst]:
        knowledge = _Knowledge(self, release)
        deadline, search = Deadline.of(self.time_limit_s, self.work_limit), EndSearch(self.integer)
        equations = knowledge.equations
        low, high, unknown = search.ends(equations, deadline)
        record = _Record(low, high, unknown, ROUNDING * equations.reach)
        for coalition, group in knowledge.coalitions(low):
            part, cells, own = knowledge.of(coalition, group)
            try:
                ends = search.ends(part, deadline)
            except TableError as error:
                raise ParameterError(
                    "contributions_do_not_fit_release",
                    "contributions are inconsistent with the release",
                    where="contributors number {number}",
                    fix="check cells and amounts, and that sole contributors are alone",
                    number=", ".join(str(member + 1) for member in coalition),
                ) from error
            record.take(coalition, cells[~own], ends[0][~own], ends[1][~own], ends[2][~own])
        return record.bounds(release, equations), record.worst(release, equations)


class _Knowledge:
    """Contributions to the cells that are still open to an outsider."""

    def __init__(self, attack: Insider, release: Release) -> None:
        self.attack = attack
        self.equations = Problem.of(release, whole=attack.integer)
        settled = settle(self.equations)
        self.group = parts_of(settled.rest.matrix).cell
        self.open = settled.cells
        # Right-hand sides after substitution of the settled cells.
        self.rhs = self.equations.rhs - self.equations.matrix @ np.where(settled.known, settled.value, 0.0)
        # Position of each open cell in its group, and the groups' cells.
        order = np.argsort(self.group, kind="stable")
        ends = np.searchsorted(self.group[order], np.arange(self.group.max(initial=-1) + 2))
        self.cells = [order[first:last] for first, last in pairwise(ends.tolist())]
        self.rank = np.empty(len(order), dtype=np.int64)
        for cells in self.cells:
            self.rank[cells] = np.arange(len(cells))
        column = np.full(release.n_cells, -1)
        column[np.flatnonzero(release.withheld)[self.open]] = np.arange(len(self.open))
        # Per contributor: open cell -> share
        self.own = [
            {
                int(column[cell]): (self._units(amount), sole, among)
                for cell, (amount, sole, among) in shares.items()
                if column[cell] >= 0
            }
            for shares in shares_of(attack.contributions, release.n_cells)
        ]

    def _units(self, amount: float) -> float:
        """Convert a contribution to units; 0.07 in hundredths is 7, not 7.000000000000001."""
        units = amount * self.equations.scale
        near = abs(units - round(units)) <= 4 * np.finfo(float).eps * abs(units)
        return float(round(units)) if near else units

    def coalitions(self, low: Floats) -> Iterator[tuple[Coalition, int]]:
        """Yield coalitions that know something about a connected group of cells, with the group."""
        members: dict[int, list[int]] = {}
        for member, own in enumerate(self.own):
            for group in sorted({int(self.group[place]) for place in own}):
                members.setdefault(group, []).append(member)
        sizes = range(1, self.attack.coalition + 1)
        n = sum(comb(len(inside), size) for inside in members.values() for size in sizes)
        if n > self.attack.limit:
            raise ParameterError(
                "too_many_coalitions",
                "{n} coalitions to try, the limit is {limit}",
                where="coalitions of up to {coalition} contributors",
                fix="use a smaller coalition, name fewer contributors, or raise limit",
                n=n,
                limit=self.attack.limit,
                coalition=self.attack.coalition,
            )
        for group, inside in members.items():
            for size in sizes:
                for coalition in combinations(inside, size):
                    if self._news(coalition, group, low):
                        yield coalition, group

    def _news(self, coalition: Coalition, group: int, low: Floats) -> bool:
        """Return whether a coalition knows more than an outsider infers."""
        return any(
            known or amount > low[self.open[place]] for place, amount, known in self._shares(coalition, group)
        )

    def _shares(self, coalition: Coalition, group: int) -> Iterator[tuple[int, float, bool]]:
        """Yield open cells of a coalition, its contribution, and whether that is the whole cell."""
        for place, amount, known in pool_contributions([self.own[member] for member in coalition]):
            if self.group[place] == group:
                # In an integer table the rest of the cell is an integer too.
                rounded = self.attack.integer and not known
                yield place, float(np.ceil(amount - BOUND)) if rounded else amount, known

    def of(self, coalition: Coalition, group: int) -> tuple[Problem, Integers, Mask]:
        """Return the problem of a group as seen by a coalition, its cells, and those it knows by itself."""
        cells = self.open[self.cells[group]]
        lower, upper = self.equations.lower[cells].copy(), self.equations.upper[cells].copy()
        own = np.zeros(len(cells), dtype=np.bool_)
        for place, amount, known in self._shares(coalition, group):
            rank = self.rank[place]
            if known:
                lower[rank] = upper[rank] = amount
                own[rank] = True
            elif lower[rank] >= 0:
                lower[rank] = max(lower[rank], amount)
        part = self.equations.part(cells, self.rhs, lower, upper)
        # A contribution between two units takes the numbers off the grid.
        finite = lower[np.isfinite(lower)]
        return replace(part, exact=part.exact and np.array_equal(finite, np.round(finite))), cells, own


class _Record:
    """Best bounds so far, and their coalitions."""

    def __init__(self, low: Floats, high: Floats, unknown: Mask, near: Floats) -> None:
        self.low, self.high, self.unknown, self.near = low.copy(), high.copy(), unknown.copy(), near
        with np.errstate(invalid="ignore"):
            width = high - low
        self.width = np.where(np.isnan(width), np.inf, width)
        self.lower_by: dict[int, Coalition] = {}
        self.upper_by: dict[int, Coalition] = {}
        self.narrowest: dict[int, Coalition] = {}

    def take(self, coalition: Coalition, cells: Integers, low: Floats, high: Floats, unknown: Mask) -> None:
        """Keep bounds that improve by more than rounding."""
        self.unknown[cells[unknown]] = True
        for cell, down, up in zip(cells.tolist(), low.tolist(), high.tolist(), strict=True):
            near = self.near[cell]
            if down > self.low[cell] + near:
                self.low[cell], self.lower_by[cell] = down, coalition
            if up < self.high[cell] - near:
                self.high[cell], self.upper_by[cell] = up, coalition
            if up - down < self.width[cell] - near:
                self.width[cell], self.narrowest[cell] = up - down, coalition

    def bounds(self, release: Release, equations: Problem) -> Bounds:
        lower, upper = release.published.copy(), release.published.copy()
        withheld = release.withheld
        # Two coalitions that both know a cell exactly may differ by rounding.
        lower[withheld] = equations.values(np.minimum(self.low, self.high))
        upper[withheld] = equations.values(np.maximum(self.low, self.high))
        unknown = np.zeros(release.n_cells, dtype=np.bool_)
        unknown[withheld] = self.unknown
        return Bounds(lower=lower, upper=upper, unknown=unknown)

    def worst(self, release: Release, equations: Problem) -> Worst:
        places = {int(cell): place for place, cell in enumerate(np.flatnonzero(release.withheld))}

        def spread(by: dict[int, Coalition]) -> tuple[Coalition, ...]:
            return tuple(by.get(places.get(cell, -1), ()) for cell in range(release.n_cells))

        width = np.zeros(release.n_cells)
        width[release.withheld] = equations.values(self.width)
        return Worst(spread(self.lower_by), spread(self.upper_by), spread(self.narrowest), width)
