"""Recovery of the true values of an adjusted table by an attacker.

The relative errors of all unsafe cells in all replications are counted in the intervals of Tables 2 to 9 of
Castro (2012), section 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hitoku.attacks.adjustment import DELTA, Adjustment, AttackerKnowledge
from hitoku.errors import NeedError, ParameterError
from hitoku.model import Estimates, Floats, Integers, Need, Release, Table, frozen
from hitoku.solver.closest import Norm, reciprocal

# The paper's intervals, in percent: exactly 0, (0, 5], (5, 10], ... and above 100.
ENDS = (0.0, 5.0, 10.0, 20.0, 30.0, 50.0, 100.0)
BINS = ("0", "(0,5]", "(5,10]", "(10,20]", "(20,30]", "(30,50]", "(50,100]", "(100,\N{EM DASH}]")
# Largest relative error of an estimate that counts as exact. The paper does not give its tolerance for zero;
# solvers in double precision are not more exact than this on badly scaled tables.
EXACT = 1e-6


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Recovery:
    """Relative errors of an attack.

    Parameters
    ----------
    error
        Relative error in percent, replications by unsafe cells; infinite where a true zero was not found.
    tolerance
        Largest relative error that counts as exact, as a share of the value.
    soft
        Number of replications in which the attacker's guesses contradicted each other.
    undecided
        Number of replications not decided within the work limit; they are not included in ``error``.
    """

    error: Floats
    tolerance: float = EXACT
    soft: int = 0
    undecided: int = 0

    def __post_init__(self) -> None:
        shape = np.shape(self.error)
        object.__setattr__(self, "error", frozen(self.error, np.float64, shape=shape, what="errors"))

    @property
    def counts(self) -> Integers:
        """Replications by intervals: unsafe cells in each of :data:`BINS`."""
        # A hit counts as zero percent, so the first interval ends at the tolerance.
        place = np.searchsorted([100 * self.tolerance, *ENDS[1:]], self.error, side="left")
        counts = [np.bincount(row, minlength=len(BINS)) for row in place]
        return np.array(counts, dtype=np.int64).reshape(-1, len(BINS))

    @property
    def exact(self) -> int:
        """Hits in all replications."""
        return int(self.counts[:, 0].sum())

    @property
    def per_draw(self) -> Floats:
        """Percentages of the unsafe cells in each interval, a row for each replication."""
        return np.asarray(100 * self.counts / max(self.error.shape[1], 1))

    @property
    def pooled(self) -> Floats:
        """Percentages over all replications: a line of Tables 2 to 9."""
        return np.asarray(100 * self.counts.sum(axis=0) / max(self.error.size, 1))

    def __repr__(self) -> str:
        draws, cells = self.error.shape
        more = f", {self.undecided} replications not decided" if self.undecided else ""
        return f"Recovery({draws} replications of {cells:_} unsafe cells, {self.exact:_} exact{more})"


def attacker_knowledge(
    table: Table, need: Need, release: Release, *, norm: Norm = "l1", delta: float = DELTA
) -> AttackerKnowledge:
    """Return the attacker's knowledge of the adjustment: the largest deviation of each cell.

    As in (5) of the paper, it follows from the bounds of the cell, from the protection level of an unsafe
    cell on the side on which it was published, and is zero for a cell that may not change.
    """
    if len(need) != table.n_cells or release.n_cells != table.n_cells:
        raise NeedError(
            "recovery_size",
            "a table of {n_cells} cells, a need of {n_need}, a release of {n_release}",
            fix="give the need and the release that belong to this table",
            n_cells=table.n_cells,
            n_need=len(need),
            n_release=release.n_cells,
        )
    unsafe, moved = need.unsafe, release.published - table.value
    raised = moved >= 0
    # A width that the two levels do not span raises both alike, as in the method `adjust`.
    missing = np.maximum(need.width - need.lower - need.upper, 0.0) / 2
    lower, upper = need.lower + missing, need.upper + missing
    low = np.where(unsafe & raised, upper, table.lower - table.value)
    high = np.where(unsafe & ~raised, -lower, table.upper - table.value)
    if table.fixed is not None:
        low, high = (np.where(table.fixed, 0.0, end) for end in (low, high))
    # Relative to the true value; to the published one where that is smaller, so that the interval in which
    # the attacker draws holds the truth, as the paper has it.
    least = np.minimum(np.abs(table.value), np.abs(release.published))
    required = unsafe & (least > 0)
    size = np.abs(table.value) + delta
    return AttackerKnowledge(
        deviation=float(np.max(np.abs(moved[required]) / least[required], initial=0.0)),
        unsafe=unsafe,
        senses=np.where(raised, 1.0, -1.0),
        lower=lower,
        upper=upper,
        lower_share=_share(lower, size),
        upper_share=_share(upper, size),
        slack=(low, high),
        weights=reciprocal(table.value, norm),
    )


def _share(level: Floats, size: Floats) -> Floats:
    return np.divide(level, size, out=np.zeros(len(level)), where=size > 0)


def errors(table: Table, need: Need, estimates: Estimates, *, tolerance: float = EXACT) -> Recovery:
    """Compare estimates with the truth at the unsafe cells."""
    if tolerance < 0 or 100 * tolerance >= ENDS[1]:
        raise ParameterError(
            "tolerance_outside_interval",
            "the tolerance of a hit lies outside the first interval",
            where="tolerance",
            fix="try 1e-6",
        )
    truth = table.value[need.unsafe]
    decided = ~estimates.undecided
    off = np.abs(estimates.value[np.ix_(decided, need.unsafe)] - truth)
    size = np.abs(truth)
    # A true zero has no relative error: either it was hit, in units of one, or it was not.
    hit = off <= tolerance * np.where(size == 0, 1.0, size)
    missed = np.where(hit, 0.0, np.inf)
    error = np.divide(100 * off, size, out=missed, where=np.broadcast_to(size > 0, off.shape))
    return Recovery(
        error=error,
        tolerance=tolerance,
        soft=int(estimates.soft[decided].sum()),
        undecided=int(np.count_nonzero(~decided)),
    )


def recovery(
    table: Table, need: Need, release: Release, attack: Adjustment, *, tolerance: float = EXACT
) -> Recovery:
    """Attack an adjusted release and compare the attacker's estimates with the true values.

    Parameters
    ----------
    table, need
        True values, and unsafe cells with their protection levels.
    release
        Published table with adjusted values.
    attack
        Attack to run, with its scenario.
    tolerance
        Largest relative error that counts as exact, as a share of the true value.

    Returns
    -------
    Recovery
        Relative errors of the estimates, by replication.

    Examples
    --------
    >>> from hitoku.model import Protection
    >>> table = Table.from_array([[4.0, 6.0], [9.0, 9.0]])
    >>> need = Need(unsafe=table.value == 4, lower=1.0, upper=1.0)
    >>> published = table.value + [1, -1, 0, -1, 1, 0, 0, 0, 0]
    >>> adjusted = Protection(withheld=np.zeros(9, bool), value=published, secondary=np.zeros(9, bool))
    >>> recovery(table, need, Release.of(table, adjusted), Adjustment(scenario="B3"))
    Recovery(10 replications of 1 unsafe cells, 10 exact)
    """
    facts = attacker_knowledge(table, need, release, norm=attack.norm, delta=attack.delta)
    return errors(table, need, attack.estimate(release, facts), tolerance=tolerance)
