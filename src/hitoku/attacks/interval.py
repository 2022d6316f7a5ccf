"""Feasibility intervals: the least and largest value of every withheld cell over all tables that fit.

And linear disclosure: a withheld cell is exposed when some combination of relations has it as its only
withheld cell. Whoever adds and subtracts the right published numbers has its value then, whatever bounds are
known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from hitoku.attacks.attack import Inference
from hitoku.feasibility import EndSearch, Problem, fixed
from hitoku.model import BOUND, Bounds, Mask, Release, frozen
from hitoku.parameters import Count, LimitOrZero, check_parameters
from hitoku.solver.work import Deadline


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
    assumes: ClassVar[str] = "how the cells add up, and the bounds of every cell stated in the release"
    adjusted: ClassVar[bool] = False

    integer: bool = False
    mode: Literal["exact", "linear"] = "exact"
    time_limit_s: LimitOrZero | None = None
    most_cells: Count | None = None
    work_limit: LimitOrZero | None = None

    def __post_init__(self) -> None:
        check_parameters(self)

    def infer(self, release: Release) -> Inference:
        """Return the feasibility interval of every cell."""
        return Inference(bounds=self.bounds(release))

    def bounds(self, release: Release, deadline: Deadline | None = None) -> Bounds:
        """Least and largest value of every cell; a published cell is its own interval.

        A ``deadline`` is a limit that is shared with other calls; left out, the limits of the attack count.
        """
        equations = Problem.of(release, whole=self.integer)
        low, high, unknown = self._search.ends(equations, deadline or self._deadline)
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
        goals = goal_low, goal_high
        met_low, met_high, _ = self._search.ends(equations, deadline or self._deadline, goals)
        least, most = release.published.copy(), release.published.copy()
        least[withheld], most[withheld] = equations.values(met_low), equations.values(met_high)
        # A target of NaN compares false.
        return least <= targets[0] + slack[0], most >= targets[1] - slack[1]

    @property
    def _search(self) -> EndSearch:
        return EndSearch(self.integer, self.mode != "linear", self.most_cells)

    @property
    def _deadline(self) -> Deadline:
        return Deadline.of(self.time_limit_s, self.work_limit)


def exposed(release: Release) -> Mask:
    """Mask of the withheld cells that can be recomputed by adding and subtracting published ones.

    Examples
    --------
    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> release = Release.of(table, Protection.withhold(table, table.value == 1))
    >>> [release.describe(cell) for cell in np.flatnonzero(exposed(release))]
    ['row=2, column=2']
    """
    cells = np.flatnonzero(release.withheld)
    mask = np.zeros(release.n_cells, dtype=np.bool_)
    mask[cells], _ = fixed(sparse.csr_array(release.relations[:, cells]))
    return mask


def null_dimension(release: Release) -> int:
    """Count the independent ways in which the withheld cells can move: withheld cells minus rank.

    The fewer there are, the easier a release is attacked; zero means that every withheld cell is exposed.

    Examples
    --------
    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> null_dimension(Release.of(table, Protection.withhold(table, table.inner)))
    1
    """
    cells = np.flatnonzero(release.withheld)
    _, rank = fixed(sparse.csr_array(release.relations[:, cells]))
    return len(cells) - rank
