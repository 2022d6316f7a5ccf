"""Reversal of controlled tabular adjustment: the attacker's problem of Castro (2012), sections 3 and 5.

The protector published ``x = a + z`` with the cheapest ``z`` that makes the unsafe cells safe. The attacker
searches for the cheapest ``z`` that could have been added, (12) for L1 and (14) for L2, and subtracts it.
Facts that the problem needs and the scenario does not grant are drawn, with values around the published ones.

Distributions of an attacker's guesses around published values, all within the same interval.

Section 3 of Castro (2012) lets the attacker draw values around the published ones "randomly, or using some
distribution", and section 5 draws them uniformly. Every distribution here is a quantile function of the same
uniform number, truncated to the same interval: a replication that guesses high in one guesses high in all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from hitoku.attacks.adjustment.scenario import SCENARIOS, AttackerKnowledge, Scenario
from hitoku.attacks.attack import Inference
from hitoku.errors import ParameterError, SolverError, did_you_mean
from hitoku.model import ADDITIVITY, SUM_ROUNDING, Estimates, Floats, Mask, Need, Release, frozen
from hitoku.parameters import AtLeastZero, Count, LimitOrZero, Whole, check_parameters
from hitoku.solver.closest import PENALTY, DeviationProgram, Norm, closest, reciprocal
from hitoku.solver.solution import MINUTES, CountedWork, SolverStatus

Draws = Literal["uniform", "normal", "laplace", "lognormal"]
DRAWS: tuple[Draws, ...] = ("uniform", "normal", "laplace", "lognormal")
# Half length of the interval in standard deviations (normal, lognormal) or scales (Laplace).
SPREAD = 2.0


def relative(draws: Draws, uniform: Floats, most: float | Floats) -> Floats:
    """Return guessed deviations as shares of the published value, between minus and plus ``most``.

    Parameters
    ----------
    draws
        "uniform"; "normal" and "laplace", truncated; "lognormal": the logarithm of the factor is
        normal, truncated where the value has moved by ``most``.
    uniform
        Numbers between -1 and 1.
    most
        Largest relative deviation, one for all or one for each.

    Examples
    --------
    >>> middle_and_ends = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    >>> for draws in DRAWS:
    ...     print(draws, relative(draws, middle_and_ends, 0.2).round(3) + 0)
    uniform [-0.2 -0.1  0.   0.1  0.2]
    normal [-0.2   -0.064  0.     0.064  0.2  ]
    laplace [-0.2   -0.057  0.     0.057  0.2  ]
    lognormal [-0.2   -0.06  -0.002  0.059  0.2  ]
    """
    if draws == "uniform":
        return np.asarray(most * uniform)
    if draws == "normal":
        return np.asarray(most * _normal(uniform, -SPREAD, SPREAD) / SPREAD)
    if draws == "laplace":
        # Two exponentials back to back, each truncated at the end of the interval.
        tail = -np.log1p(-np.abs(uniform) * -np.expm1(-SPREAD)) / SPREAD
        return np.asarray(most * np.sign(uniform) * tail)
    with np.errstate(divide="ignore", invalid="ignore"):
        high = np.log1p(np.broadcast_to(most, uniform.shape))
        low = np.log(np.maximum(1.0 - most, 0.0))
        sigma = high / SPREAD
        moved = np.expm1(sigma * _normal(uniform, low / sigma, high / sigma))
    return np.where(high > 0, moved, 0.0)


def _normal(uniform: Floats, low: float | Floats, high: float | Floats) -> Floats:
    """Return quantiles of the standard normal distribution between two ends."""
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - slow to load, and few shapes need it

    first, last = ndtr(low), ndtr(high)
    return np.asarray(np.clip(ndtri(first + (last - first) * (uniform + 1) / 2), low, high))


# The paper calls it a small value for cells near zero. Small relative to one unit, it changes no other cell.
DELTA = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjustment:
    """Estimate the table behind an adjusted release.

    Parameters
    ----------
    scenario
        "B1", "B2", "B3", "C" as in the paper, or a custom :class:`Scenario`.
    norm
        Distance that the protector used, "l1", "l2" or "linf"; assumed to be known.
    replications
        Number of times that unknown facts are drawn and the problem is solved.
    seed
        Seed of the draws; a replication depends on the seed and its own number only.
    error
        The ``Δ`` of the paper: the attacker's maximum error about a level, as a share of the cell.
    level_of
        Value of which a guessed level is a share: the "published" one, as in the formula in section 5, or
        the "guessed" one, as in section 3 and as the published tables suggest.
    draws
        Distribution of guessed values around the published ones, within the same interval: "uniform", as in
        the paper; "normal", "laplace" or "lognormal", see :mod:`hitoku.attacks.adjustment.adjustment`.
    delta
        The ``δ`` of the paper, added to values before a level is divided by them.
    penalty
        Price of breaking a guessed bound, if no table satisfies all of them: for each unit of the excess,
        this multiple of the distance for moving a cell by as much (in L2: by its own size).
    known
        Knowledge beyond the release, for :meth:`infer`; :meth:`estimate` may be given another.
    work_limit
        Work limit of the programs of one replication, the same on every computer.
        A replication that reaches it is undecided, and its estimates are NaN. None: no limit.

    Examples -------- One unsafe cell of 4 was raised by 1, and the other cells followed. An attacker who
    knows levels and senses reverses it.

    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
    >>> table = Table.from_array([[4.0, 6.0], [9.0, 9.0]])
    >>> published = table.value + [1, -1, 0, -1, 1, 0, 0, 0, 0]
    >>> adjusted = Protection(withheld=np.zeros(9, bool), value=published, secondary=np.zeros(9, bool))
    >>> need = Need(unsafe=table.value == 4, lower=1.0, upper=1.0)
    >>> attack = Adjustment(scenario="B3", replications=3)
    >>> attack.estimate(Release.of(table, adjusted), need).value[:, 0]
    array([4., 4., 4.])
    """

    name: ClassVar[str] = "adjustment"
    assumes: ClassVar[str] = (
        "the values were adjusted, the norm, and the facts of the scenario: unsafe cells, bounds, "
        "and possibly senses, levels and slack"
    )
    adjusted: ClassVar[bool] = True

    scenario: str | Scenario = "B3"
    norm: Norm = "l1"
    replications: Count = 10
    seed: Whole = 1
    error: AtLeastZero = 0.2
    level_of: Literal["published", "guessed"] = "published"
    draws: Draws = "uniform"
    delta: AtLeastZero = DELTA
    penalty: AtLeastZero = PENALTY
    known: AttackerKnowledge | None = None
    work_limit: LimitOrZero | None = MINUTES

    def __post_init__(self) -> None:
        check_parameters(self)
        if isinstance(self.scenario, str) and self.scenario not in SCENARIOS:
            raise ParameterError(
                "unknown_scenario",
                "no scenario {scenario!r}",
                where="Adjustment",
                fix=did_you_mean(self.scenario, SCENARIOS, otherwise="B1, B2, B3, C, or an own Scenario"),
                scenario=self.scenario,
            )

    @property
    def knows(self) -> Scenario:
        """The scenario itself, also if it was given by name."""
        return SCENARIOS[self.scenario] if isinstance(self.scenario, str) else self.scenario

    def infer(self, release: Release) -> Inference:
        """Estimate every cell from ``known``; nothing is proved."""
        if self.known is None:
            raise ParameterError(
                "adjustment_unknown",
                "this scenario assumes no knowledge of the adjustment",
                where="Adjustment",
                fix="give known: AttackerKnowledge.of(release, need), or "
                "metrics.attacker_knowledge(table, need, release)",
            )
        return Inference(estimates=self.estimate(release, self.known))

    def estimate(self, release: Release, known: AttackerKnowledge | Need) -> Estimates:
        """Draw, solve and subtract, once per replication.

        Parameters
        ----------
        release
            The adjusted table; no cell is suppressed.
        known
            Knowledge beyond the release; the scenario determines which of it is used. For a need, as
            :meth:`AttackerKnowledge.of` derives it, with all unsafe cells raised.
        """
        if isinstance(known, Need):
            known = AttackerKnowledge.of(release, known)
        parts = [self.estimate_once(release, known, place) for place in range(self.replications)]
        value, soft, excess = zip(*((p.value[0], p.soft[0], p.excess[0]) for p in parts), strict=True)
        return Estimates(value=np.array(value), soft=np.array(soft), excess=np.array(excess))

    def estimate_once(self, release: Release, known: AttackerKnowledge, replication: int) -> Estimates:
        """Run one replication, so that many can run in parallel; NaN if it is undecided."""
        problem = self.problem(release, known, replication)
        work = CountedWork(np.inf if self.work_limit is None else self.work_limit)
        found = closest(problem, self.norm, work=work)
        soft = found.status is SolverStatus.INFEASIBLE
        if soft:
            problem = soften(problem, self.penalty)
            found = closest(problem, self.norm, work=work)
        if found.status is SolverStatus.LIMIT:
            nothing = np.full((1, release.n_cells), np.nan)
            return Estimates(value=nothing, soft=np.array([soft]), excess=np.zeros_like(nothing))
        if found.deviation is None or found.excess is None:
            raise SolverError(
                "attacker_problem_unanswered",
                "the attacker's problem ended without an answer ({status})",
                where="replication {replication}",
                fix="check that bounds and published values of the release fit together",
                status=found.status,
                replication=replication + 1,
            )
        return Estimates(
            value=(release.published - found.deviation)[None],
            soft=np.array([soft]),
            excess=found.excess[None],
        )

    def problem(self, release: Release, known: AttackerKnowledge, replication: int) -> DeviationProgram:
        """Draw the unknown facts and build the attacker's problem with hard bounds; (11) and (13)."""
        if release.withheld.any():
            raise ParameterError(
                "withheld_cells_in_release",
                "{n_withheld} cells of the release are withheld",
                where="Adjustment",
                fix="an adjusted table publishes every cell; for withheld ones there is Interval",
                n_withheld=int(release.withheld.sum()),
            )
        scenario, published, n = self.knows, release.published, release.n_cells
        # Draw all of them in every scenario, so that replication 3 guesses the same values in each.
        rng = np.random.default_rng([self.seed, replication])
        scatter, coin = rng.uniform(-1, 1, n), rng.random(n)
        draws = {"lower": rng.random(n), "upper": rng.random(n)}
        guessed = _without_dust(published) * (1 + relative(self.draws, scatter, known.deviation))
        weight = known.fact("weights", n) if "weights" in scenario else _weight(guessed, self.norm)
        if "slack" in scenario:
            low, high = _slack(known, n)
            return DeviationProgram(relations=release.relations, weight=weight, lower=low, upper=high)
        floor, ceiling = (release.lower, release.upper) if "bounds" in scenario else _guessed_bounds(release)
        # Section 4: a cell whose bounds are equal is fixed, not a variable.
        fixed = floor == ceiling
        unsafe = known.fact("unsafe", n) if "unsafe" in scenario else _draw_cells(known, ~fixed, rng)
        size = np.abs(guessed if self.level_of == "guessed" else published)
        raised = known.fact("senses", n) > 0 if "senses" in scenario else coin < 0.5
        lower, upper = (
            known.fact(side, n)
            if "levels" in scenario
            else self._level(known, side, draws[side], size, unsafe_known="unsafe" in scenario)
            for side in ("lower", "upper")
        )
        low = np.where(unsafe & raised, upper, guessed - ceiling)
        high = np.where(unsafe & ~raised, -lower, guessed - floor)
        low, high = (np.where(fixed, published - floor, end) for end in (low, high))
        return DeviationProgram(relations=release.relations, weight=weight, lower=low, upper=high)

    def _level(
        self, known: AttackerKnowledge, side: str, draw: Floats, size: Floats, *, unsafe_known: bool
    ) -> Floats:
        """Draw a level: its share of the true value, with an error, applied to another value."""
        share = known.fact(f"{side}_share", len(size))
        if not unsafe_known:
            # The shares of single cells are unknown: the usual one is used for all.
            positive = share[share > 0]
            share = np.full(len(share), np.median(positive) if len(positive) else 0.0)
        least = np.maximum(share - self.error, 0.0)
        return size * (least + draw * (share + self.error - least))


def _without_dust(published: Floats) -> Floats:
    """Set rounding errors to zero; their reciprocals would outweigh the table."""
    return np.where(np.abs(published) <= SUM_ROUNDING * np.abs(published).max(), 0.0, published)


def _weight(guessed: Floats, norm: Norm) -> Floats:
    """Return weights of guessed values; none below the resolution of sums of the table's largest cells.

    A guess may be close to zero by chance, and the reciprocal of its square is beyond any solver.
    """
    size = np.abs(guessed)
    return reciprocal(np.where(size > 0, np.maximum(size, ADDITIVITY * size.max()), 0.0), norm)


def _slack(known: AttackerKnowledge, n_cells: int) -> tuple[Floats, Floats]:
    if known.slack is None:
        raise ParameterError(
            "slack_not_given",
            "this scenario requires the slack of every cell",
            where="AttackerKnowledge",
            fix="give slack, or choose a scenario without it",
        )
    low, high = (frozen(end, np.float64, shape=(n_cells,), what="slack") for end in known.slack)
    return low, high


def _guessed_bounds(release: Release) -> tuple[Floats, Floats]:
    """Return the default bounds: values are nonnegative if no published one is negative."""
    n = release.n_cells
    return np.full(n, -np.inf if np.any(release.published < 0) else 0.0), np.full(n, np.inf)


def _draw_cells(known: AttackerKnowledge, free: Mask, rng: np.random.Generator) -> Mask:
    """Draw as many cells as are unsafe, among those that can move."""
    count = int(known.fact("unsafe", len(free)).sum())
    unsafe = np.zeros(len(free), dtype=np.bool_)
    unsafe[rng.permutation(np.flatnonzero(free))[:count]] = True
    return unsafe


def soften(problem: DeviationProgram, penalty: float | Floats) -> DeviationProgram:
    """Make bounds soft, except those of fixed cells.

    If guesses contradict each other (a lower bound above an upper one), every point between the two
    breaks one of them by as much as it keeps the other; so the two are swapped, at the same price.
    """
    fixed = problem.lower == problem.upper
    return DeviationProgram(
        relations=problem.relations,
        weight=problem.weight,
        lower=np.where(fixed, problem.lower, -np.inf),
        upper=np.where(fixed, problem.lower, np.inf),
        soft_lower=np.where(fixed, -np.inf, np.minimum(problem.lower, problem.upper)),
        soft_upper=np.where(fixed, np.inf, np.maximum(problem.lower, problem.upper)),
        penalty=np.broadcast_to(penalty, len(fixed)),
    )
