"""Feasibility intervals: the least and largest value of every suppressed cell over all feasible tables.

And linear disclosure: a suppressed cell is exposed if some combination of relations has it as its only
suppressed cell. Its value then follows from published numbers by addition and subtraction, for any known
bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from hitoku.attacks.attack import Inference
from hitoku.feasibility import EndSearch, Problem, fixed_columns
from hitoku.model import BOUND, Bounds, Mask, Release, frozen
from hitoku.parameters import Count, LimitOrZero, check_parameters
from hitoku.solver.solution import Deadline


@dataclass(frozen=True, slots=True)
class Interval:
    """Compute the feasibility interval of each suppressed cell.

    Every table that adds up, agrees with the published cells and satisfies the known bounds may be the true
    one; the interval of a cell is its range over all of them. Only suppressed cells are unknowns. Groups of
    them without a common relation are solved separately, networks (such as two-dimensional tables) by maximum
    flow, the others by linear programs.

    Parameters
    ----------
    integer
        Consider integer tables only. If the suppressed cells form a network this is not a restriction;
        otherwise intervals may become narrower.
    mode
        "exact" chooses between flows and linear programs; "linear" uses linear programs throughout and gives
        the same answers, slower.
    time_limit_s
        Limit in seconds. Default: no limit. Cells not reached in time are marked ``unknown`` in the bounds,
        which are then those implied by single relations.
    most_cells
        Connected groups of more cells that are not a network are not solved, and marked the same way:
        every end takes a linear program over the whole group. None: no limit.
    work_limit
        Limit on the total work of flows and linear programs, the same on every computer.
        Cells not reached by then are marked the same way. None: no limit.

    Examples
    --------
    Four cells of a table are suppressed; the first of them may be anything from 0 to 17.

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
        """Return the least and largest value of every cell; a published cell is its own interval.

        A ``deadline`` is a limit shared with other calls; default: the limits of the attack.
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
        """Return which cells attain a lower target, and which attain an upper one.

        Cheaper than the intervals themselves: the search for a cell stops at its target, all cells are pushed
        at once, and one feasible table serves many cells.

        Parameters
        ----------
        release
            Published table.
        low, high
            Targets for every cell; NaN for none.
        deadline
            A limit shared with other calls; default: the limits of the attack.

        Returns
        -------
        Cells whose low target is attained or passed by some feasible table, and the same for high targets.

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
        # Rounding up to BOUND is tolerated; a search stops half way there, safe from its own rounding.
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


def derivable_cells(release: Release) -> Mask:
    """Return the suppressed cells that can be derived by adding and subtracting published ones.

    Parameters
    ----------
    release
        Published table.

    Returns
    -------
    Mask
        True for suppressed cells that follow exactly, computed without rounding.

    Examples
    --------
    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> release = Release.of(table, Protection.withhold(table, table.value == 1))
    >>> [release.describe(cell) for cell in np.flatnonzero(derivable_cells(release))]
    ['row=2, column=2']
    """
    cells = np.flatnonzero(release.withheld)
    mask = np.zeros(release.n_cells, dtype=np.bool_)
    mask[cells], _ = fixed_columns(sparse.csr_array(release.relations[:, cells]))
    return mask


def null_dimension(release: Release) -> int:
    """Return the null-space dimension of the suppressed cells: their number minus the rank of the relations.

    The smaller it is, the easier a release is attacked; zero means that every suppressed cell is exposed.

    Parameters
    ----------
    release
        Published table.

    Returns
    -------
    int
        Number of independent deviations of the suppressed cells that keep all relations.

    Examples
    --------
    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> null_dimension(Release.of(table, Protection.withhold(table, table.inner)))
    1
    """
    cells = np.flatnonzero(release.withheld)
    _, rank = fixed_columns(sparse.csr_array(release.relations[:, cells]))
    return len(cells) - rank
