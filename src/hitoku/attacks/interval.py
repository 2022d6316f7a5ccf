"""Feasibility intervals: the least and largest value of every withheld cell over all tables that fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from hitoku.attacks.attack import Inference
from hitoku.attacks.exposure import exposed, fixed, null_dimension
from hitoku.errors import ParameterError, must_be_numbers
from hitoku.feasibility.deadline import Deadline
from hitoku.feasibility.incidence import parts_of
from hitoku.feasibility.linear import any_point, stretch_linear
from hitoku.feasibility.network import stretch_network
from hitoku.feasibility.presolve import Settled, settle
from hitoku.feasibility.problem import Problem, contradiction
from hitoku.feasibility.whole import stretch_whole
from hitoku.model import BOUND, Bounds, Floats, Integers, Mask, Release, frozen
from hitoku.solver.work import CountedWork

__all__ = ["Interval", "exposed", "null_dimension"]

MODES = ("exact", "linear")


@dataclass(frozen=True, slots=True)
class Interval:
    """What follows about each withheld cell from everything else in a release.

    Every table that adds up, agrees with the published cells and keeps the known bounds might be the true
    one; the interval of a cell runs over all of them. Only withheld cells are unknowns, groups of them that
    no relation joins are worked on apart, tables that are networks (two-dimensional ones are) go by maximum
    flow, the others by linear programs.

    Parameters
    ----------
    integer
        Look for tables of whole numbers only. Where the withheld cells form a network that is no restriction;
        elsewhere intervals may become narrower.
    mode
        "exact" chooses between flows and linear programs; "linear" uses linear programs throughout and gives
        the same answers, slower.
    time_limit_s
        Seconds; None for as long as it takes. Cells not reached in time are marked ``unknown`` in the bounds,
        which then hold what follows from single relations.
    most_cells
        Groups of more cells that hang together and are no network are not gone into, and marked the same way:
        every end takes a linear program over the whole group. None for no limit.
    work_limit
        Numbers that flows and linear programs may look at in all: a limit that is the same on every computer.
        Cells not reached by then are marked the same way. None for no limit.

    Examples
    --------
    Four cells of a table are withheld; the first of them may be anything from 0 to 17.

    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> withheld = np.isin(np.arange(16), [0, 1, 4, 5])
    >>> bounds = Interval().bounds(Release.of(table, Protection.withhold(table, withheld)))
    >>> float(bounds.lower[0]), float(bounds.upper[0])
    (0.0, 17.0)
    """

    name: ClassVar[str] = "interval"
    assumes: ClassVar[str] = "how the cells add up, and the bounds of every cell that the release names"
    adjusted: ClassVar[bool] = False

    integer: bool = False
    mode: Literal["exact", "linear"] = "exact"
    time_limit_s: float | None = None
    most_cells: int | None = None
    work_limit: float | None = None

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ParameterError(
                "unknown_mode",
                "unknown mode {mode!r}",
                where="Interval",
                fix="use one of: {modes}",
                mode=self.mode,
                modes=", ".join(MODES),
            )
        must_be_numbers(self, "time_limit_s", "most_cells", "work_limit")
        if self.time_limit_s is not None and not self.time_limit_s >= 0:
            raise ParameterError(
                "time_limit_negative",
                "time_limit_s is negative",
                where="Interval",
                fix="give seconds, or None for no limit",
            )
        if self.most_cells is not None and self.most_cells < 1:
            raise ParameterError(
                "most_cells_range", "most_cells is less than one", where="Interval", fix="None for no limit"
            )

    def infer(self, release: Release) -> Inference:
        """Return the feasibility interval of every cell."""
        return Inference(bounds=self.bounds(release))

    def bounds(self, release: Release, deadline: Deadline | None = None) -> Bounds:
        """Least and largest value of every cell; a published cell is its own interval.

        A ``deadline`` is a limit that is shared with other calls; left out, the limits of the attack count.
        """
        equations = Problem.of(release, whole=self.integer)
        low, high, unknown = self.ends(equations, deadline=deadline)
        withheld = release.withheld
        lower, upper = release.published.copy(), release.published.copy()
        lower[withheld], upper[withheld] = equations.values(low), equations.values(high)
        stopped = np.zeros(release.n_cells, dtype=np.bool_)
        stopped[withheld] = unknown
        return Bounds(lower=lower, upper=upper, unknown=stopped)

    def meets(
        self, release: Release, low: ArrayLike, high: ArrayLike, deadline: Deadline | None = None
    ) -> tuple[Mask, Mask]:
        """Tell which cells reach down to a target, and which reach up to one.

        Cheaper than the intervals themselves: the search for a cell stops at its target, all cells are pushed
        at once, and one table that fits serves many cells.

        Parameters
        ----------
        release
            What is published.
        low, high
            Targets for every cell; NaN where nothing is asked.
        deadline
            A limit that is shared with other calls; left out, the limits of the attack count.

        Returns
        -------
        Cells with a low target that some table that fits reaches or passes, and the same for high targets.

        Examples
        --------
        >>> from hitoku.model import Protection
        >>> from hitoku.model import Table
        >>> table = Table.from_array([[7, 11], [10, 60]])
        >>> release = Release.of(table, Protection.withhold(table, table.inner))
        >>> nothing = np.full(9, np.nan)
        >>> ask = np.where(np.arange(9) == 0, 17, np.nan)  # can the first cell be 17? can it be 18?
        >>> [bool(Interval().meets(release, nothing, ask + more)[1][0]) for more in (0, 1)]
        [True, False]
        """
        targets = [frozen(t, np.float64, shape=(release.n_cells,), what="targets") for t in (low, high)]
        equations = Problem.of(release, whole=self.integer)
        withheld = release.withheld
        # Rounding up to BOUND is forgiven; a search stops half way there, safe from its own rounding.
        slack = [BOUND * np.maximum(1.0, np.abs(target)) for target in targets]
        goal_low = equations.in_units((targets[0] + slack[0] / 2)[withheld])
        goal_high = equations.in_units((targets[1] - slack[1] / 2)[withheld])
        met_low, met_high, _ = self.ends(equations, (goal_low, goal_high), deadline)
        least, most = release.published.copy(), release.published.copy()
        least[withheld], most[withheld] = equations.values(met_low), equations.values(met_high)
        # A target of NaN compares false.
        return least <= targets[0] + slack[0], most >= targets[1] - slack[1]

    def ends(
        self,
        equations: Problem,
        goals: tuple[Floats, Floats] | None = None,
        deadline: Deadline | None = None,
    ) -> tuple[Floats, Floats, Mask]:
        """Find the ends for every cell of some equations, in their units, and the cells not reached in time.

        With goals, the least and largest values met on the way to them; without, the exact ends.
        """
        work = CountedWork(np.inf if self.work_limit is None else self.work_limit)
        deadline = deadline or Deadline(self.time_limit_s, work)
        found = _Ends(self, equations, goals, settle(equations), deadline)
        found.networks()
        found.others()
        return found.low, found.high, found.unknown


class _Ends:
    """The ends of one set of equations while they are worked out."""

    def __init__(
        self,
        attack: Interval,
        equations: Problem,
        goals: tuple[Floats, Floats] | None,
        settled: Settled,
        deadline: Deadline,
    ) -> None:
        self.attack, self.settled, self.deadline = attack, settled, deadline
        self.equations = equations
        self.low, self.high = settled.lower.copy(), settled.upper.copy()
        self.unknown = np.zeros(equations.n_cells, dtype=np.bool_)
        self.asked = goals is not None
        self.goals = (settled.lower, settled.upper) if goals is None else self._within(goals)
        self.matrix = settled.rest.matrix
        self.parts = parts_of(self.matrix)
        self.network = self.parts.network & (attack.mode != "linear")

    def _within(self, goals: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """Drop goals that one relation alone puts out of reach."""
        low, high = goals
        return (
            np.where(low < self.settled.lower, np.nan, low),
            np.where(high > self.settled.upper, np.nan, high),
        )

    def _at(self, cells: Integers) -> tuple[Problem, Integers, tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Problem of some of the open cells, where these are among all, their implied bounds and goals."""
        rest, settled = self.settled.rest, self.settled
        places = settled.cells[cells]
        part = rest.part(cells, rest.rhs, rest.lower[cells], rest.upper[cells])
        implied = settled.lower[places], settled.upper[places]
        return part, places, implied, (self.goals[0][places], self.goals[1][places])

    def networks(self) -> None:
        """All networks in one go: flows do not leave their group."""
        tied = np.bincount(self.matrix.indices, minlength=self.matrix.shape[1]) > 0
        cells = np.flatnonzero(self.network[self.parts.cell] & tied)
        if len(cells) == 0:
            return
        rows = np.flatnonzero(self.network[self.parts.row])
        part, places, implied, goals = self._at(cells)
        ends = stretch_network(
            part, self.parts.row[rows], self.parts.sign[rows], implied, goals, self.deadline
        )
        self._keep(places, *ends)

    def others(self) -> None:
        """Take the groups that are no networks one after the other."""
        parts = self.parts
        order = np.argsort(parts.cell, kind="stable")
        starts = np.searchsorted(parts.cell[order], np.arange(parts.n + 1))
        row_count = np.bincount(parts.row, minlength=parts.n)
        for group in range(parts.n):
            if self.network[group] or row_count[group] == 0:
                continue
            part, places, implied, goals = self._at(order[starts[group] : starts[group + 1]])
            if self.attack.most_cells is not None and len(places) > self.attack.most_cells:
                self.unknown[places] = True
                continue
            if not self.asked and self._exposed(part, places):
                continue
            met = stretch_linear(part, implied, goals, self.deadline, sums=self.asked)
            if not self.attack.integer:
                self._keep(places, met.low, met.high, met.unknown)
                continue
            outer = implied
            if not self.asked:
                low, high = (
                    np.where(met.unknown, implied[side], (met.low, met.high)[side]) for side in (0, 1)
                )
                outer = low, high
            self._keep(places, *stretch_whole(part, met, outer, goals, self.deadline))

    def _exposed(self, part: Problem, places: Integers) -> bool:
        """Take out cells that adding and subtracting gives away, and solve what they leave, if any."""
        mask, _ = fixed(part.matrix)
        if not mask.any():
            return False
        point = any_point(part, self.deadline)
        if point is None:
            self.unknown[places] = True
            return True
        given = point[mask]
        if self.attack.integer and not np.array_equal(given, np.round(given)):
            raise contradiction()
        self.low[places[mask]] = self.high[places[mask]] = np.clip(given, part.lower[mask], part.upper[mask])
        left = np.flatnonzero(~mask)
        if len(left):
            rhs = part.rhs - part.matrix[:, np.flatnonzero(mask)] @ given
            rest = part.part(left, rhs, part.lower[left], part.upper[left])
            low, high, unknown = self.attack.ends(rest, deadline=self.deadline)
            self.low[places[left]], self.high[places[left]], self.unknown[places[left]] = low, high, unknown
        return True

    def _keep(self, places: Integers, low: Floats, high: Floats, unknown: Mask) -> None:
        """Write ends back; bounds that hold anyway stand for cells not reached in time."""
        self.unknown[places] = unknown
        if self.asked:
            self.low[places], self.high[places] = low, high
            return
        low = np.where(unknown, self.settled.lower[places], np.maximum(low, self.settled.lower[places]))
        high = np.where(unknown, self.settled.upper[places], np.minimum(high, self.settled.upper[places]))
        self.low[places], self.high[places] = low, np.maximum(low, high)
