"""Protect every instance, attack it in every scenario, replication by replication.

The paper adjusts each table with all unsafe cells raised. Beside that: senses that the optimiser chose, and
senses drawn at random and kept secret; and an attacker who knows everything but the senses.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from hitoku.attacks.adjustment import SCENARIOS, Adjustment, Scenario
from hitoku.errors import HitokuError
from hitoku.methods.adjust import Adjust
from hitoku.metrics import attacker_knowledge, errors
from hitoku.model import Release
from hitoku.solver.closest import Norm
from hitoku_papers.castro_2012.instances import TableInstance
from hitoku_papers.resumable import Facts, Progress, Store, Task, run_all

# How the protector chose the senses; the first is the paper's.
SENSES = ("up", "optimal", "secret")
NO_SENSES = Scenario(("unsafe", "bounds", "levels"), "B3 without senses")
ATTACKERS = {**SCENARIOS, NO_SENSES.name: NO_SENSES}
# Changes when an answer would: stored answers of an older program are then computed again.
EDITION = 3


class LevelGuess(NamedTuple):
    """How an attacker guesses levels: ``error`` and ``level_of`` of the attack."""

    error: float
    level_of: Literal["published", "guessed"]

    def __str__(self) -> str:
        return f"Δ = {self.error:g}, of the {self.level_of} value"


AS_PRINTED = LevelGuess(0.2, "published")
OTHER_READINGS = (LevelGuess(0.3, "published"), LevelGuess(0.2, "guessed"), LevelGuess(0.3, "guessed"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentPlan:
    """What is computed.

    Parameters
    ----------
    replications, seed
        As in :class:`~hitoku.attacks.adjustment.Adjustment`.
    reading
        How the attacker guesses levels, in the paper's words.
    norms
        Distances, of protector and attacker alike.
    senses
        How the protector chooses them: of "up", "optimal", "secret".
    other_readings
        Other ways to guess levels, tried in B1 and B2 against the paper's protector.
    most_choices
        The optimiser chooses senses in instances with no more unsafe cells than this.
    gap, time_limit_s
        It may stop when it is this close to the optimum, as a share, or after so long; the report says where
        it did.
    """

    replications: int = 10
    seed: int = 1
    reading: LevelGuess = AS_PRINTED
    norms: tuple[Norm, ...] = ("l1", "l2")
    senses: tuple[str, ...] = SENSES
    other_readings: tuple[LevelGuess, ...] = OTHER_READINGS
    most_choices: int = 60
    gap: float = 0.01
    time_limit_s: float = 60.0


@dataclass(frozen=True, slots=True)
class AttackResult:
    """One line of results: who was attacked, how, and where the estimates fell.

    Parameters
    ----------
    counts
        Replications by intervals, unsafe cells in each.
    median
        Median error of each replication, in percent.
    soft
        Replications in which guesses contradicted each other.
    seconds
        CPU time of all replications.
    """

    instance: str
    norm: str
    senses: str
    scenario: str
    reading: LevelGuess
    counts: tuple[tuple[int, ...], ...]
    median: tuple[float, ...]
    soft: int
    seconds: float

    @property
    def shares(self) -> tuple[float, ...]:
        """Percentages of all estimates in each interval."""
        total = np.sum(self.counts, axis=0)
        return tuple((100 * total / max(total.sum(), 1)).tolist())


@dataclass(frozen=True, slots=True)
class ExperimentResult:
    """Everything that was computed.

    Parameters
    ----------
    protections
        By instance, norm and senses: facts about the adjusted table.
    attacks
        In the order of instances, norms, senses, scenarios.
    failures
        What could not be computed, and why, in words.
    """

    plan: ExperimentPlan
    instances: tuple[TableInstance, ...]
    protections: Mapping[tuple[str, str, str], Facts]
    attacks: tuple[AttackResult, ...]
    failures: tuple[str, ...]

    def shares(
        self, scenario: str, norm: str, senses: str = "up", reading: LevelGuess | None = None
    ) -> dict[str, tuple[float, ...]]:
        """Percentages by instance: a table of the paper."""
        wanted = (scenario, norm, senses, reading or self.plan.reading)
        return {
            a.instance: a.shares for a in self.attacks if (a.scenario, a.norm, a.senses, a.reading) == wanted
        }

    def common(self, norm: str) -> set[str]:
        """Instances that every kind of protector could protect, where it protected any."""
        sets = [set(self.shares("B1", norm, senses)) for senses in self.plan.senses]
        return set.intersection(*filter(None, sets)) if any(sets) else set()


def protect(
    instance: TableInstance, norm: Norm, senses: str, seed: int, gap: float, time_limit_s: float
) -> Facts:
    """Adjust one table; facts for the store."""
    table, need = instance.table, instance.need
    started = time.process_time()
    chosen: Any = senses
    if senses == "secret":
        # Drawn from another stream than the attacker's guesses.
        chosen = np.where(np.random.default_rng([seed, 2012]).random(table.n_cells) < 0.5, 1.0, -1.0)
    method = Adjust(norm=norm, senses=chosen, repair="senses", gap=gap, time_limit_s=time_limit_s)
    try:
        adjusted = method.adjust(table, need)
    except HitokuError as error:
        return {"failed": error.what}
    protection = adjusted.protection
    return {
        "published": protection.value.tolist(),
        "seconds": time.process_time() - started,
        "cost": protection.cost,
        "proven": bool(protection.proven),
        "gap": float(protection.gap),
        "raised": int(np.count_nonzero(adjusted.sense > 0)),
        "turned": len(adjusted.turned),
        "multipliers": float(np.abs(adjusted.multiplier).sum()),
    }


def release_of(instance: TableInstance, published: Any) -> Release:
    """Publish these values instead of the instance's own."""
    table = instance.table
    return Release(
        published=np.asarray(published, dtype=np.float64),
        relations=table.relations,
        labels=table.labels,
        lower=table.lower,
        upper=table.upper,
    )


def attack(
    instance: TableInstance,
    norm: Norm,
    published: list[float],
    scenario: str,
    replication: int,
    seed: int,
    reading: LevelGuess,
) -> Facts:
    """Make one replication of one attack; facts for the store."""
    table, need = instance.table, instance.need
    release = release_of(instance, published)
    attacker = Adjustment(scenario=ATTACKERS[scenario], norm=norm, seed=seed, **reading._asdict())
    knowledge = attacker_knowledge(table, need, release, norm=norm, delta=attacker.delta)
    started = time.process_time()
    try:
        estimates = attacker.estimate_once(release, knowledge, replication)
    except HitokuError as failure:
        return {"failed": failure.what}
    seconds = time.process_time() - started
    if estimates.undecided.any():
        return {"failed": "not decided: the programs of the replication reached their work limit"}
    found = errors(table, need, estimates)
    return {
        "counts": found.counts[0].tolist(),
        "median": float(np.median(found.error)) if found.error.size else 0.0,
        "soft": found.soft,
        "seconds": seconds,
    }


def run(
    instances: Sequence[TableInstance],
    plan: ExperimentPlan,
    folder: Path,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> ExperimentResult:
    """Compute everything that is not in the folder yet.

    Parameters
    ----------
    instances
        What to protect and attack.
    plan
        How.
    folder
        Where answers are kept; the same folder again goes on where the last run ended.
    jobs
        Processes; changes no answer but the seconds.
    progress
        Told after every answer.
    """
    store = Store(folder)
    keys = {instance.name: instance.key for instance in instances}
    failures: list[str] = []
    first = [
        (instance, norm, senses)
        for instance in instances
        for norm in plan.norms
        for senses in plan.senses
        if senses != "optimal" or instance.unsafe.sum() <= plan.most_choices
    ]
    tasks = [
        Task(
            protect,
            (instance, norm, senses, plan.seed, plan.gap, plan.time_limit_s),
            (EDITION, keys[instance.name], norm, senses, plan.seed, plan.gap, plan.time_limit_s),
            f"adjusting {instance.name}, {norm}, senses {senses}",
        )
        for instance, norm, senses in first
    ]
    protections: dict[tuple[str, str, str], Facts] = {}
    for (instance, norm, senses), facts in zip(
        first, run_all(tasks, store, jobs=jobs, progress=progress), strict=True
    ):
        if "failed" in facts:
            failures.append(f"{instance.name}, {norm}, senses {senses}: not adjusted, {facts['failed']}")
        else:
            protections[instance.name, norm, senses] = facts
    second = [
        (instance, norm, senses, scenario, reading)
        for instance, norm, senses in first
        if (instance.name, norm, senses) in protections
        for scenario, reading in _attacks(plan, senses)
    ]
    attacks = _attack_all(second, plan, protections, keys, failures, store, jobs, progress)
    return ExperimentResult(plan, tuple(instances), protections, tuple(attacks), tuple(failures))


def _attacks(plan: ExperimentPlan, senses: str) -> list[tuple[str, LevelGuess]]:
    """Scenarios against one protector, with the way levels are guessed."""
    found = [(scenario, plan.reading) for scenario in ATTACKERS]
    if senses == "up":
        found += [(scenario, reading) for reading in plan.other_readings for scenario in ("B1", "B2")]
    return found


def _attack_all(
    which: Sequence[tuple[TableInstance, Norm, str, str, LevelGuess]],
    plan: ExperimentPlan,
    protections: Mapping[tuple[str, str, str], Facts],
    keys: Mapping[str, str],
    failures: list[str],
    store: Store,
    jobs: int,
    progress: Progress | None,
) -> list[AttackResult]:
    tasks = []
    for instance, norm, senses, scenario, reading in which:
        published = protections[instance.name, norm, senses]["published"]
        depends = (EDITION, keys[instance.name], norm, np.array(published), scenario, plan.seed, reading)
        tasks += [
            Task(
                attack,
                (instance, norm, published, scenario, replication, plan.seed, reading),
                (*depends, replication),
                f"attacking {instance.name}, {norm}, senses {senses}, {scenario}",
            )
            for replication in range(plan.replications)
        ]
    answers = iter(run_all(tasks, store, jobs=jobs, progress=progress))
    found = []
    for instance, norm, senses, scenario, reading in which:
        mine = [next(answers) for _ in range(plan.replications)]
        failed = [facts["failed"] for facts in mine if "failed" in facts]
        if failed:
            name = f"{instance.name}, {norm}, senses {senses}, {scenario}"
            failures.append(f"{name}: {len(failed)} replications without an answer, {failed[0]}")
        good = [facts for facts in mine if "failed" not in facts]
        if good:
            found.append(
                AttackResult(
                    instance.name,
                    norm,
                    senses,
                    scenario,
                    reading,
                    tuple(tuple(facts["counts"]) for facts in good),
                    tuple(facts["median"] for facts in good),
                    sum(facts["soft"] for facts in good),
                    sum(facts["seconds"] for facts in good),
                )
            )
    return found
