"""Tables drawn, suppressed and attacked: what the report is made from."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.attacks import Interval, null_dimension
from hitoku.attacks.matching import Attacker, Likelihood, Matching, Support
from hitoku.errors import ParameterError
from hitoku.methods.gauss import Gauss
from hitoku.methods.greedy import Greedy
from hitoku.methods.randomised import Randomised
from hitoku.model import Mask, Release, Table
from hitoku_papers.minami_abe_2019.published import SIDES, TABLES, WIDTH
from hitoku_papers.minami_abe_2019.reading import NEGATIVES, TIES, WIDER, ZEROS, Reading, drawn
from hitoku_papers.minami_abe_2019.ties import method_of
from hitoku_papers.resumable import Facts, Progress, Store, Task, run_all

# The paper's suppressor.
PAPER = "optimal"
# The likelihood-ratio attacker rules out what is this many times less likely.
RATIO = 20.0
# Drawing and auditing takes minutes for a few larger tables.
RANDOMISED = 5
# Tables that fit a release are counted up to here.
COUNTED = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPlan:
    """What to run.

    Parameters
    ----------
    reading
        How the paper is read.
    sides
        Sides of the square tables.
    tables
        How many of each.
    seed
        Of the draws.
    limit
        Most candidates where each has to be suppressed in turn; tables with more are left out and counted.
    variants
        Also other readings and other methods, on tables of side up to ``variants``; 0 for none.
    """

    reading: Reading = field(default_factory=Reading)
    sides: tuple[int, ...] = SIDES
    tables: int = TABLES
    seed: int = 1
    limit: int = 2000
    variants: int = 6

    def __post_init__(self) -> None:
        if not self.sides or min(self.sides) < 3 or max(self.sides) > 8:
            raise ParameterError(
                "sides_range",
                "sides must lie between 3 and 8",
                where="--side",
                fix="the paper has 4, 5, 6 and 7",
            )
        if self.tables < 1 or self.limit < 1:
            raise ParameterError(
                "study_size_range",
                "there must be at least one table and one candidate",
                where="--tables, --limit",
                fix="give 1 or more",
            )

    @property
    def small(self) -> tuple[int, ...]:
        """Sides on which other readings and methods are tried."""
        return tuple(side for side in self.sides if side <= self.variants)


@dataclass(frozen=True, slots=True)
class Case:
    """One suppressor under one reading, as one attacker sees it."""

    method: str
    reading: Reading
    attacker: str = "support"

    def tried(self, side: int) -> bool:
        """Tell whether tables of this side are not too much for the method."""
        return self.method != "randomised" or side <= RANDOMISED


@dataclass(frozen=True, slots=True)
class Attacked:
    """What became of one table.

    Parameters
    ----------
    side, dimension
        Of the table, and of the null space of its release.
    widths
        Of the effective intervals of the unsafe cells; empty when the attack was not finished.
    before
        Widths of their feasibility intervals.
    withheld
        Inner cells not published.
    candidates
        Tables that fit the release; None beyond what is counted.
    seconds
        Processor time of the attack.
    finished
        The attack answered for every unsafe cell.
    """

    side: int
    dimension: int
    widths: tuple[float, ...]
    before: tuple[float, ...]
    withheld: int
    candidates: int | None
    seconds: float
    finished: bool

    @property
    def unsafe(self) -> int:
        """Unsafe cells whose effective interval is narrower than the paper's threshold."""
        return sum(width < WIDTH for width in self.widths)


def variants(plan: StudyPlan) -> dict[str, Case]:
    """List the other readings, each with one choice changed, by what is different."""
    base = plan.reading
    changed = {text: replace(base, negatives=word) for word, text in NEGATIVES.items()}
    changed |= {text: replace(base, zeros=word) for word, text in ZEROS.items()}
    changed |= {text: replace(base, wider=word) for word, text in WIDER.items()}
    changed |= {text: replace(base, ties=word) for word, text in TIES.items()}
    return {text: Case(PAPER, reading) for text, reading in changed.items() if reading != base}


def methods(plan: StudyPlan) -> dict[str, Case]:
    """List the paper's suppressor and the methods that it does not have."""
    base = plan.reading
    return {
        "Optimal": Case(PAPER, base),
        "Greedy": Case("greedy", base),
        "Gauss": Case("gauss", base),
        "Randomised": Case("randomised", base),
        f"Randomised, ratio {RATIO:.0f}": Case("randomised", base, "likelihood"),
    }


def run(
    plan: StudyPlan, folder: Path, *, jobs: int = 1, progress: Progress | None = None
) -> Mapping[Case, tuple[Attacked, ...]]:
    """Attack everything in a plan; answers are kept in a folder, and not computed twice."""
    paper = Case(PAPER, plan.reading)
    wanted = [(paper, side) for side in plan.sides]
    more = dict.fromkeys([*variants(plan).values(), *methods(plan).values()])
    wanted += [(case, side) for case in more if case != paper for side in plan.small if case.tried(side)]
    tasks = list(_tasks(plan, wanted))
    answers = run_all(tasks, Store(folder), jobs=jobs, progress=progress)
    found: dict[Case, list[Attacked]] = {case: [] for case, _ in wanted}
    for (case, _), facts in zip(
        ((case, side) for case, side in wanted for _ in range(plan.tables)), answers, strict=True
    ):
        lists = {name: tuple(facts[name]) for name in ("widths", "before")}
        found[case].append(Attacked(**{**facts, **lists}))
    return {case: tuple(rows) for case, rows in found.items()}


def _tasks(plan: StudyPlan, wanted: Sequence[tuple[Case, int]]) -> Iterator[Task]:
    for case, side in wanted:
        for number in range(plan.tables):
            given = (case.method, case.attacker, asdict(case.reading), side, number, plan.seed, plan.limit)
            yield Task(attacked, given, given, f"{case.method}, {side} x {side}")


def attacked(
    method: str, attacker: str, reading: dict[str, Any], side: int, number: int, seed: int, limit: int
) -> Facts:
    """Draw one table, suppress it, attack it."""
    read = Reading(**reading)
    _warm(read)
    table = drawn(read, side, number, seed)
    suppressor = _suppressor(
        method, read, int(np.random.SeedSequence([seed, side, number]).generate_state(1)[0])
    )
    need = read.need(table)
    release = Release.of(table, suppressor.protect(table, need))
    judge: Attacker = Likelihood(RATIO) if attacker == "likelihood" else Support()
    attack = Matching(
        method=suppressor,
        rules=read.rules,
        width=read.width,
        attacker=judge,
        limit=_limit(method, read, limit),
    )
    began = time.process_time()
    effective = attack.bounds(release)
    seconds = time.process_time() - began
    finished = not bool(effective.unknown[need.unsafe].any())
    return asdict(
        Attacked(
            side=side,
            dimension=null_dimension(release),
            widths=tuple(effective.width[need.unsafe].tolist()) if finished else (),
            before=tuple(Interval().bounds(release).width[need.unsafe].tolist()),
            withheld=int(release.withheld.sum()),
            candidates=_candidates(table, release.withheld),
            seconds=seconds,
            finished=finished,
        )
    )


def _limit(method: str, reading: Reading, limit: int) -> int | None:
    """Where candidates are not suppressed one by one, the attack's own limit holds."""
    return None if method == PAPER and reading.ties in ("codes", "other-codes") else limit


def _suppressor(method: str, reading: Reading, seed: int) -> Any:
    if method == "greedy":
        return Greedy(keep="margins", record="cells")
    if method == "gauss":
        return Gauss(keep="margins")
    if method == "randomised":
        return Randomised(rules=reading.rules, width=reading.width, ratio=RATIO, seed=seed)
    return method_of(reading)


def _candidates(table: Table, withheld: Mask) -> int | None:
    from hitoku.kernels.fibre import count  # noqa: PLC0415 - numba takes a second to load

    inner = table.inner
    columns = len(table.dimensions[1].leaves)
    n = count(columns, table.value[inner].astype(np.int64), withheld[inner], COUNTED + 1)
    return None if n > COUNTED else n


@cache
def _warm(reading: Reading) -> None:
    """Load compiled code, so that the first table of a process is not charged for it."""
    table = drawn(reading, 3, 0, 0)
    method = method_of(reading)
    release = Release.of(table, method.protect(table, reading.need(table)))
    Matching(method=method, rules=reading.rules, width=reading.width).bounds(release)
