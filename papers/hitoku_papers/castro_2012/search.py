"""Which reading of the paper gives its tables: one change after another, compared with all eight at once.

A reading says how the experiment was made where the paper leaves a choice, or may have been computed
otherwise than printed. Every single change is tried; the one that brings our tables closest to the published
ones is kept, and the others are tried on top of it, until none helps. Two lines are compared by the share of
estimates that would have to change their interval. What chance does is measured on own replications.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from hitoku.attacks.adjustment import DELTA, Adjustment, AttackerKnowledge, soften
from hitoku.errors import SolverError
from hitoku.metrics import EXACT, attacker_knowledge, errors
from hitoku.model import Estimates, Floats, Release
from hitoku.solver.closest import PENALTY, DeviationProgram, Norm, closest, reciprocal
from hitoku.solver.quadratic import QuadraticProgram, solve
from hitoku.solver.solution import SolverStatus
from hitoku_papers.castro_2012.instances import TableInstance
from hitoku_papers.castro_2012.published import NORMS, SCENARIOS, printed_name, shares
from hitoku_papers.castro_2012.run import release_of
from hitoku_papers.castro_2012.stopped import stopped
from hitoku_papers.resumable import Facts, Progress, Store, Task, run_all

Soft = Literal["share", "units", "squares"]
Scatter = Literal["unsafe", "cell", "all"]
# Hits are counted for each of these at once: another tolerance needs no new attack.
TOLERANCES = (1e-9, EXACT, 1e-3)
# Larger instances are left out: each is attacked some hundred times, softened squares take seconds.
MAX_CELLS, MAX_ROWS = 5_000, 1_000
# A change that brings the tables closer by less than this, in percent of the estimates, explains nothing.
HELPS = 0.5
MAX_ROUNDS = 4
RESAMPLES = 200
# Changes when an answer would.
EDITION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackReading:
    """One way to read the experiment; the defaults are what is printed, as on the rest of the page.

    Parameters
    ----------
    error, level_of
        The attacker's error about levels, and what a guessed level is a share of.
    senses
        In B1 the coin is tossed in every "replication", or "once" for all of them.
    scatter
        β is the largest relative deviation of an "unsafe" cell, of "all" cells, or of each "cell" its own.
    delta
        The δ that is added to a value before a level is divided by it.
    soft
        What breaking a bound costs: a "share" of the cell linearly, "units" linearly (in L1), or "squares" of
        the excess (in L2).
    stop
        Relative gap at which protector's and attacker's interior point method stops in L2; 0: the optimum.
    tolerance
        An estimate hits when it is off by no more than this share.
    """

    error: float = 0.2
    level_of: Literal["published", "guessed"] = "published"
    senses: Literal["replication", "once"] = "replication"
    scatter: Scatter = "unsafe"
    delta: float = DELTA
    soft: Soft = "share"
    stop: float = 0.0
    tolerance: float = EXACT

    def __str__(self) -> str:
        usual = asdict(AS_PRINTED)
        words = [f"{name} = {value}" for name, value in asdict(self).items() if value != usual[name]]
        return ", ".join(words) or "as printed"

    def seen_by(self, scenario: str, norm: str) -> AttackReading:
        """Forget what makes no difference to an attack, so that it is computed once.

        Examples
        --------
        >>> str(AttackReading(error=0.3, senses="once", soft="units").seen_by("B3", "l1"))
        'soft = units'
        """
        same = replace(self, tolerance=EXACT)
        if scenario not in ("B1", "B2"):
            same = replace(same, error=0.2, level_of="published", delta=DELTA)
        if scenario != "B1":
            same = replace(same, senses="replication")
        # Prices in units with squares of shares are numerically intractable for values of billions.
        if scenario == "C" or self.soft == {"l1": "squares", "l2": "units"}[norm]:
            same = replace(same, soft="share")
        return replace(same, stop=0.0) if norm == "l1" else same


AS_PRINTED = AttackReading()
CHANGES: tuple[dict[str, Any], ...] = (
    {"error": 0.3},
    {"error": 0.4},
    {"level_of": "guessed"},
    {"senses": "once"},
    {"scatter": "cell"},
    {"scatter": "all"},
    {"delta": 1.0},
    {"soft": "units"},
    {"soft": "squares"},
    {"stop": 1e-8},
    {"stop": 1e-2},
    {"tolerance": 1e-9},
    {"tolerance": 1e-3},
)


def protection_problem(instance: TableInstance, norm: Norm) -> DeviationProgram:
    """Write the protector's problem down, all unsafe cells raised: (6) or (8) of the paper."""
    table, need = instance.table, instance.need
    low = np.where(need.unsafe, need.upper, table.lower - table.value)
    fixed = instance.fixed | (table.lower == table.upper)
    return DeviationProgram(
        relations=table.relations,
        weight=reciprocal(table.value, norm),
        lower=np.where(fixed, 0.0, low),
        upper=np.where(fixed, 0.0, table.upper - table.value),
    )


def protected(instance: TableInstance, norm: Norm, stop: float) -> Facts:
    """Adjust one table, as the solver leaves it; facts for the store."""
    problem = protection_problem(instance, norm)
    moved = stopped(problem, stop) if stop else closest(problem, norm).deviation
    return {"published": None if moved is None else (instance.value + moved).tolist()}


def attacked(
    instance: TableInstance,
    norm: Norm,
    published: list[float],
    scenario: str,
    replication: int,
    seed: int,
    reading: AttackReading,
) -> Facts:
    """Make one replication of one attack; facts for the store: hits and errors, by tolerance."""
    table, need = instance.table, instance.need
    release = release_of(instance, published)
    knowledge = _knowledge(instance, release, norm, reading)
    if scenario == "B1" and reading.senses == "once":
        coin = np.random.default_rng([seed, 1]).random(table.n_cells)
        knowledge, scenario = replace(knowledge, senses=np.where(coin < 0.5, 1.0, -1.0)), "B2"
    attack = Adjustment(
        scenario=scenario,
        norm=norm,
        seed=seed,
        error=reading.error,
        level_of=reading.level_of,
        delta=reading.delta,
    )
    try:
        moved, soft = _solved(attack.problem(release, knowledge, replication), norm, reading)
    except SolverError:
        # Prices of very different size, as "units" make them, are beyond any solver.
        moved, soft = None, True
    if moved is None:
        return {"counts": None, "soft": soft}
    estimates = Estimates(
        value=(release.published - moved)[None], soft=np.array([soft]), excess=np.zeros((1, len(moved)))
    )
    counts = [errors(table, need, estimates, tolerance=t).counts[0].tolist() for t in TOLERANCES]
    return {"counts": counts, "soft": soft}


def _knowledge(
    instance: TableInstance, release: Release, norm: Norm, reading: AttackReading
) -> AttackerKnowledge:
    table = instance.table
    knowledge = attacker_knowledge(table, instance.need, release, norm=norm, delta=reading.delta)
    if reading.scatter == "unsafe":
        return knowledge
    least = np.minimum(np.abs(table.value), np.abs(release.published))
    moved = np.abs(release.published - table.value)
    own = np.divide(moved, least, out=np.zeros(len(least)), where=least > 0)
    return replace(knowledge, deviation=own if reading.scatter == "cell" else float(own.max(initial=0.0)))


def _solved(problem: DeviationProgram, norm: Norm, reading: AttackReading) -> tuple[Floats | None, bool]:
    """Solve an attacker's problem; softened where no table keeps all bounds."""
    found = closest(problem, norm)
    if found.status is not SolverStatus.INFEASIBLE:
        return (stopped(problem, reading.stop) if reading.stop else found.deviation), False
    if reading.soft == "squares" and norm == "l2":
        return _squared(problem), True
    root = problem.weight if norm == "l1" else np.sqrt(problem.weight)
    penalty = np.full(len(root), PENALTY) if reading.soft != "units" else PENALTY / root
    return closest(soften(problem, penalty), norm).deviation, True


def _squared(problem: DeviationProgram) -> Floats | None:
    """Solve with bounds whose breach costs, squared, as many times what the distance charges."""
    fixed = problem.lower == problem.upper
    still, moving = np.where(fixed, problem.lower, 0.0), np.flatnonzero(~fixed)
    n, n_rows = len(moving), problem.relations.shape[0]
    soft = soften(problem, PENALTY)
    eye = np.arange(n)
    from_cells = problem.relations[:, moving].tocoo()
    rows = np.concatenate([from_cells.row, n_rows + eye, n_rows + eye])
    columns = np.concatenate([from_cells.col, eye, n + eye])
    values = np.concatenate([from_cells.data, np.ones(2 * n)])
    rhs = problem.rhs - problem.relations @ still
    program = QuadraticProgram(
        0.0 * np.ones(2 * n),
        sparse.csr_array((values, (rows, columns)), shape=(n_rows + n, 2 * n)),
        np.concatenate([rhs, soft.soft_lower[moving]]),
        np.full(2 * n, -np.inf),
        np.full(2 * n, np.inf),
        np.concatenate([rhs, soft.soft_upper[moving]]),
        np.concatenate([problem.weight[moving], PENALTY * problem.weight[moving]]),
    )
    found = solve(program)
    if found.x is None:
        return None
    still[moving] = found.x[:n]
    return still


Counts = Mapping[tuple[str, str, str], np.ndarray]


@dataclass(frozen=True, slots=True)
class TriedReading:
    """A reading and what it gives: by scenario, norm and instance, replications by intervals."""

    reading: AttackReading
    counts: Counts

    def line(self, scenario: str, norm: str, instance: str) -> Floats:
        total = self.counts[scenario, norm, instance].sum(axis=0)
        return np.asarray(100 * total / max(total.sum(), 1))

    def distance(self, scenario: str, norm: str) -> float:
        """Mean over instances; NaN where none has an answer."""
        printed = shares()[scenario, norm]
        far = [
            float(np.abs(self.line(s, n, name) - printed[printed_name(name)]).sum() / 2)
            for s, n, name in self.counts
            if (s, n) == (scenario, norm)
        ]
        return float(np.mean(far)) if far else float("nan")

    def chance(self, scenario: str, norm: str) -> float:
        """Mean distance that two sets of ten replications of this reading exceed once in twenty times."""
        random = np.random.default_rng(0)
        mine = [counts for (s, n, _), counts in self.counts.items() if (s, n) == (scenario, norm)]
        found = []
        for _ in range(RESAMPLES):
            far = []
            for counts in mine:
                one, other = (counts[random.integers(len(counts), size=10)].sum(axis=0) for _ in range(2))
                far.append(np.abs(one / max(one.sum(), 1) - other / max(other.sum(), 1)).sum() * 50)
            found.append(np.mean(far))
        return float(np.quantile(found, 0.95)) if mine else float("nan")

    @property
    def distances(self) -> dict[tuple[str, str], float]:
        """By scenario and norm."""
        norms = [norm for norm in NORMS if any(key[1] == norm for key in self.counts)]
        return {(s, norm): self.distance(s, norm) for s in SCENARIOS for norm in norms}

    @property
    def mean(self) -> float:
        return float(np.mean(list(self.distances.values())))


def searchable(instances: Sequence[TableInstance]) -> list[TableInstance]:
    """Return the instances of the paper that are small enough to search on."""
    return [i for i in instances if i.name in shares()["B1", "l1"] and i.relations.shape[0] <= MAX_ROWS]


class ReadingSearch:
    """Readings on instances; answers are kept in a folder, so nothing is computed twice.

    Parameters
    ----------
    instances
        Those of the paper among them are attacked, up to ``MAX_CELLS`` and ``MAX_ROWS``.
    folder, replications, seed, jobs, progress
        As in :func:`hitoku_papers.castro_2012.run`.
    norms
        Distances.
    """

    def __init__(
        self,
        instances: Sequence[TableInstance],
        folder: Path,
        *,
        replications: int,
        norms: Sequence[Norm] = ("l1", "l2"),
        seed: int = 1,
        jobs: int = 1,
        progress: Progress | None = None,
    ) -> None:
        self.instances = searchable(instances)
        self.norms, self.replications, self.seed = tuple(norms), replications, seed
        self._store, self._jobs, self._progress = Store(folder), jobs, progress
        self._keys = {instance.name: instance.key for instance in self.instances}

    def tried(self, reading: AttackReading) -> TriedReading:
        """Attack every instance in every scenario and norm under one reading."""
        asked = [(i, norm, scenario) for i in self.instances for norm in self.norms for scenario in SCENARIOS]
        published = self._protected(reading)
        # Which problems are soft does not depend on what softness costs: others need no second answer.
        plain = self._answers(asked, published, replace(reading, soft="share"))
        answers = plain
        if reading.soft != "share":
            again = [one for one, facts in zip(asked, plain, strict=True) if any(f["soft"] for f in facts)]
            other = dict(zip(map(_name, again), self._answers(again, published, reading), strict=True))
            answers = [other.get(_name(one), facts) for one, facts in zip(asked, plain, strict=True)]
        place = TOLERANCES.index(reading.tolerance)
        counts: dict[tuple[str, str, str], np.ndarray] = {
            (scenario, norm, instance.name): np.array([f["counts"][place] for f in facts if f["counts"]])
            for (instance, norm, scenario), facts in zip(asked, answers, strict=True)
            if any(f["counts"] for f in facts)
        }
        return TriedReading(reading, counts)

    def _protected(self, reading: AttackReading) -> dict[tuple[str, str], list[float] | None]:
        asked = [(i, norm) for i in self.instances for norm in self.norms]
        tasks = []
        for instance, norm in asked:
            stop = reading.seen_by("B1", norm).stop
            given = (EDITION, self._keys[instance.name], norm, stop)
            tasks.append(Task(protected, (instance, norm, stop), given, f"adjusting {instance.name}"))
        found = run_all(tasks, self._store, jobs=self._jobs, progress=self._progress)
        return {(i.name, norm): facts["published"] for (i, norm), facts in zip(asked, found, strict=True)}

    def _answers(
        self,
        asked: Sequence[tuple[TableInstance, Norm, str]],
        published: Mapping[tuple[str, str], list[float] | None],
        reading: AttackReading,
    ) -> list[list[Facts]]:
        tasks, sizes = [], []
        for instance, norm, scenario in asked:
            values = published[instance.name, norm]
            read = reading.seen_by(scenario, norm)
            mine = [] if values is None else range(self.replications)
            sizes.append(len(mine))
            for number in mine:
                given = (instance, norm, values, scenario, number, self.seed, read)
                depends = (self._keys[instance.name], norm, scenario, number, self.seed, asdict(read))
                label = f"readings, {instance.name}, {scenario}"
                tasks.append(Task(attacked, given, (EDITION, *depends), label))
        found = iter(run_all(tasks, self._store, jobs=self._jobs, progress=self._progress))
        return [[next(found) for _ in range(size)] for size in sizes]


def _name(asked: tuple[TableInstance, str, str]) -> tuple[str, str, str]:
    instance, norm, scenario = asked
    return instance.name, norm, scenario


def search(lookup: ReadingSearch, changes: Sequence[Mapping[str, Any]] = CHANGES) -> list[list[TriedReading]]:
    """Try every change, keep the best, go on from there; a list of what was tried for each round.

    The first reading of a round is the one that it starts from.
    """
    rounds: list[list[TriedReading]] = []
    best = lookup.tried(AS_PRINTED)
    while len(rounds) < MAX_ROUNDS:
        kept = best.reading
        others = [replace(kept, **change) for change in changes]
        rounds.append([best, *(lookup.tried(other) for other in others if other != kept)])
        closest_ = min(rounds[-1], key=lambda tried: tried.mean)
        if best.mean - closest_.mean < HELPS:
            break
        best = closest_
    return rounds
