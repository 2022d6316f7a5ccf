"""Undoing controlled tabular adjustment: the attacker's problem of Castro (2012), sections 3 and 5.

The protector published ``x = a + z`` with the cheapest ``z`` that makes the unsafe cells safe. The attacker
looks for the cheapest ``z`` that could have been added, (12) for L1 and (14) for L2, and takes it away again.
What the problem needs and the scenario does not tell is drawn, with values scattered around the published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from hitoku.attacks.adjustment.draws import Draws, relative
from hitoku.attacks.adjustment.scenario import SCENARIOS, AttackerKnowledge, Scenario
from hitoku.attacks.attack import Inference
from hitoku.errors import ParameterError, SolverError, did_you_mean
from hitoku.model import ADDITIVITY, SUM_ROUNDING, Estimates, Floats, Mask, Need, Release, frozen
from hitoku.parameters import AtLeastZero, Count, LimitOrZero, Whole, check_parameters
from hitoku.solver.closest import PENALTY, DeviationProgram, Norm, closest, reciprocal
from hitoku.solver.solution import SolverStatus
from hitoku.solver.work import CountedWork

# The paper calls it a small value for cells near zero. Small beside one unit, it changes no other cell.
DELTA = 1e-6
# Numbers that the programs of one replication may look at: about two minutes.
WORK = 1e10


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjustment:
    """Estimate the table behind an adjusted release.

    Parameters
    ----------
    scenario
        "B1", "B2", "B3", "C" as in the paper, or an own :class:`Scenario`.
    norm
        The distance that the protector used, "l1", "l2" or "linf"; assumed to be known.
    replications
        How often everything unknown is drawn and the problem solved.
    seed
        Of the draws; a replication depends on the seed and its own number only.
    error
        The ``Δ`` of the paper: by how much the attacker may be wrong about a level, as a share of the cell.
    level_of
        What a guessed level is a share of: the "published" value, as the formula in section 5 is printed, or
        the "guessed" one, as section 3 has it and as the published tables suggest.
    draws
        How guessed values scatter around the published ones, within the same interval: "uniform", as in the
        paper; "normal", "laplace" or "lognormal", see :mod:`hitoku.attacks.adjustment.draws`.
    delta
        The ``δ`` of the paper, added to values before a level is divided by them.
    penalty
        Price of breaking a guessed bound, where no table keeps all of them: for each unit of the excess,
        this many times what the distance charges for moving a cell by as much (in L2: by its own size).
    known
        What can be known beyond the release, for :meth:`infer`; :meth:`estimate` may be given another.
    work_limit
        Numbers that the programs of one replication may look at: a limit that is the same on every computer.
        A replication that reaches it is not decided, and its estimates are NaN. None for no limit.

    Examples
    --------
    One unsafe cell of 4 was raised by 1, and the other cells followed. Somebody who knows levels and senses
    takes it back.

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
        "that the values were adjusted, by which norm, and what the scenario grants: unsafe cells, bounds, "
        "and perhaps senses, levels and slack"
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
    work_limit: LimitOrZero | None = WORK

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
        """The scenario itself, where its name was given."""
        return SCENARIOS[self.scenario] if isinstance(self.scenario, str) else self.scenario

    def infer(self, release: Release) -> Inference:
        """Estimate every cell with what is ``known``; nothing is proved."""
        if self.known is None:
            raise ParameterError(
                "adjustment_unknown",
                "this attacker knows nothing of how the table was adjusted",
                where="Adjustment",
                fix="give known: AttackerKnowledge.of(release, need), or "
                "metrics.recovery.known(table, need, release)",
            )
        return Inference(estimates=self.estimate(release, self.known))

    def estimate(self, release: Release, known: AttackerKnowledge | Need) -> Estimates:
        """Draw, solve, subtract, as often as there are replications.

        Parameters
        ----------
        release
            The adjusted table; nothing in it is withheld.
        known
            What can be known beyond it; the scenario says how much of it is used. Of a need, what
            :meth:`AttackerKnowledge.of` takes from it, all unsafe cells being raised.
        """
        if isinstance(known, Need):
            known = AttackerKnowledge.of(release, known)
        parts = [self.estimate_once(release, known, place) for place in range(self.replications)]
        value, soft, excess = zip(*((p.value[0], p.soft[0], p.excess[0]) for p in parts), strict=True)
        return Estimates(value=np.array(value), soft=np.array(soft), excess=np.array(excess))

    def estimate_once(self, release: Release, known: AttackerKnowledge, replication: int) -> Estimates:
        """Make one replication alone, so that many can run side by side; NaN where it is not decided."""
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
        """Draw what is unknown and write the attacker's problem down, all bounds hard; (11) and (13)."""
        if release.withheld.any():
            raise ParameterError(
                "withheld_cells_in_release",
                "{n_withheld} cells of the release are withheld",
                where="Adjustment",
                fix="an adjusted table publishes every cell; for withheld ones there is Interval",
                n_withheld=int(release.withheld.sum()),
            )
        scenario, published, n = self.knows, release.published, release.n_cells
        # All of them, whatever the scenario: replication 3 then guesses the same values in every scenario.
        rng = np.random.default_rng([self.seed, replication])
        scatter, coin = rng.uniform(-1, 1, n), rng.random(n)
        draws = {"lower": rng.random(n), "upper": rng.random(n)}
        guessed = _without_dust(published) * (1 + relative(self.draws, scatter, known.deviation))
        weight = known.fact("weights", n) if "weights" in scenario else _weight(guessed, self.norm)
        if "room" in scenario:
            low, high = _room(known, n)
            return DeviationProgram(relations=release.relations, weight=weight, lower=low, upper=high)
        floor, ceiling = (release.lower, release.upper) if "bounds" in scenario else _guessed_bounds(release)
        # Section 4: a cell whose bounds are equal is fixed, and no variable.
        fixed = floor == ceiling
        unsafe = known.fact("unsafe", n) if "unsafe" in scenario else _drawn(known, ~fixed, rng)
        size = np.abs(guessed if self.level_of == "guessed" else published)
        raised = known.fact("senses", n) > 0 if "senses" in scenario else coin < 0.5
        lower, upper = (
            known.fact(side, n)
            if "levels" in scenario
            else self._level(known, side, draws[side], size, told="unsafe" in scenario)
            for side in ("lower", "upper")
        )
        low = np.where(unsafe & raised, upper, guessed - ceiling)
        high = np.where(unsafe & ~raised, -lower, guessed - floor)
        low, high = (np.where(fixed, published - floor, end) for end in (low, high))
        return DeviationProgram(relations=release.relations, weight=weight, lower=low, upper=high)

    def _level(
        self, known: AttackerKnowledge, side: str, draw: Floats, size: Floats, *, told: bool
    ) -> Floats:
        """Draw a level: the share that it is of the true value, plus or minus an error, of another."""
        share = known.fact(f"{side}_share", len(size))
        if not told:
            # Nobody knows whose share is whose: the usual one serves for all.
            positive = share[share > 0]
            share = np.full(len(share), np.median(positive) if len(positive) else 0.0)
        least = np.maximum(share - self.error, 0.0)
        return size * (least + draw * (share + self.error - least))


def _without_dust(published: Floats) -> Floats:
    """Take for zero what is left of one after rounding; its reciprocal would outweigh the table."""
    return np.where(np.abs(published) <= SUM_ROUNDING * np.abs(published).max(), 0.0, published)


def _weight(guessed: Floats, norm: Norm) -> Floats:
    """Weights of guessed values; none smaller than what a sum of the table's largest cells can tell.

    A guess may come close to zero by chance, and the reciprocal of its square is beyond any solver.
    """
    size = np.abs(guessed)
    return reciprocal(np.where(size > 0, np.maximum(size, ADDITIVITY * size.max()), 0.0), norm)


def _room(known: AttackerKnowledge, n_cells: int) -> tuple[Floats, Floats]:
    if known.room is None:
        raise ParameterError(
            "room_not_given",
            "this attacker knows the room of every cell, and nobody told",
            where="AttackerKnowledge",
            fix="give room, or choose a scenario without it",
        )
    low, high = (frozen(end, np.float64, shape=(n_cells,), what="room") for end in known.room)
    return low, high


def _guessed_bounds(release: Release) -> tuple[Floats, Floats]:
    """Return bounds that anybody would assume: nothing is negative, where nothing published is."""
    n = release.n_cells
    return np.full(n, -np.inf if np.any(release.published < 0) else 0.0), np.full(n, np.inf)


def _drawn(known: AttackerKnowledge, free: Mask, rng: np.random.Generator) -> Mask:
    """Draw as many cells as are unsafe, among those that can move."""
    count = int(known.fact("unsafe", len(free)).sum())
    unsafe = np.zeros(len(free), dtype=np.bool_)
    unsafe[rng.permutation(np.flatnonzero(free))[:count]] = True
    return unsafe


def soften(problem: DeviationProgram, penalty: float | Floats) -> DeviationProgram:
    """Let bounds be broken at a price, fixed cells apart.

    Where guesses contradict each other, a least deviation above a largest one, every point between the two
    breaks one of them by as much as the other is kept; so the two trade places and the price is the same.
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
