"""Witnesses found so far, the attained movement of each unsafe cell, and the linear programs that extend it.

All open cells are pushed up together, then down, then again with other weights; a solution serves every cell
that it moves far enough. Remaining cells are settled one by one: by a witness, or by a proof that there is
none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from hitoku.evidence.disclosure import Disclosure, explain_bound
from hitoku.evidence.exact_witness import Split, exact_witness
from hitoku.evidence.hypercube_witnesses import hypercube_witnesses
from hitoku.evidence.problem import AuditProblem, Demand, Witness
from hitoku.evidence.propagation import ruled_out
from hitoku.feasibility import NetworkCirculation
from hitoku.model import Deviations, Floats, Release
from hitoku.solver import integer
from hitoku.solver.linear import Solution, SolverStatus, Warm
from hitoku.solver.solution import SECONDS, CountedWork

# Called with the amount of work done and the total.
Progress = Callable[[float, float], None]

ROUNDS = 8
# A round of summed objectives that settles less than this share of the open cells is the last one.
WORTHWHILE = 0.1
# Work limits of flows, and of programs over all cells. Cells that flows leave open are settled by programs;
# those that programs leave open are undecided. Beyond the last limit, points of programs are only rounded.
MAX_FLOW_WORK = MAX_PROGRAM_WORK = MAX_EXACT_WORK = SECONDS
# Summed integer programs are stopped early: any good point is enough.
SUMMED_GAP, SUMMED_NODES = 0.1, 50
# One cell's integer program is conclusive only if it is solved to the end.
SINGLE_NODES = 20_000


@dataclass(frozen=True, slots=True)
class AttainedRange:
    """Known movement of one unsafe cell, and the witnesses that show it (None: the true table)."""

    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)
    low_witness: int | None = None
    high_witness: int | None = None


@dataclass(frozen=True)
class Proof:
    """Result of the search."""

    witnesses: tuple[Witness, ...]
    """Feasible tables."""
    attained: Mapping[int, AttainedRange]
    """Movement of each unsafe cell (by position among the suppressed) by witnesses."""
    failed: Mapping[int, tuple[Disclosure, ...]]
    """Unsafe cells that cannot move as required, with the bounding proofs; empty for exposed ones."""
    exposed: frozenset[int]
    """Unsafe cells that are derivable by addition and subtraction."""
    undecided: tuple[int, ...]
    """Unsafe cells for which neither a witness nor a proof of its absence could be made exact."""
    n_programs: int
    """Linear and integer programs solved."""


@dataclass
class WitnessSearch:
    """Witnesses found so far, and the attained movement of each unsafe cell."""

    problem: AuditProblem
    exposed: frozenset[int]
    progress: Progress | None = None
    warm: Warm = field(init=False)
    witnesses: list[Witness] = field(default_factory=list)
    attained: dict[int, AttainedRange] = field(default_factory=dict)
    # One side of one cell: tried exhaustively, and the proof that bounds it.
    tried: set[tuple[int, bool]] = field(default_factory=set)
    reasons: dict[tuple[int, bool], Disclosure] = field(default_factory=dict)
    n_programs: int = 0
    # Work of programs over all cells, and its limit.
    work: CountedWork = field(default_factory=lambda: CountedWork(MAX_PROGRAM_WORK))
    # Work of exact solves from the bases of these programs, and its limit.
    exact_work: CountedWork = field(default_factory=lambda: CountedWork(MAX_EXACT_WORK))

    def __post_init__(self) -> None:
        self.attained = {place: AttainedRange() for place in self.problem.demands}
        # Cells that must still move further; a cell is removed once it has moved far enough.
        self.lacking = {
            up: {place for place in self.attained if self.lacks(place, up=up)} for up in (True, False)
        }

    @cached_property
    def split(self) -> Split:
        """The linear program for the open cells; not built if flows settle everything."""
        return Split.of(self.problem, self.unsettled())

    @cached_property
    def slot(self) -> dict[int, int]:
        """Index of each of these cells among them."""
        return {place: slot for slot, place in enumerate(self.split.unsafe)}

    def asking(self) -> AuditProblem:
        """Return the problem of the open cells."""
        return replace(
            self.problem, demands={place: self.problem.demands[place] for place in self.unsettled()}
        )

    def lacks(self, place: int, *, up: bool) -> bool:
        """Return whether a cell must still move further on one side."""
        demand, attained = self.problem.demands[place], self.attained[place]
        far = demand.high_enough(attained.high) if up else demand.low_enough(attained.low)
        return not (far and demand.wide_enough(attained.low, attained.high))

    def open(self, *, up: bool) -> list[int]:
        """Return the unsettled cells that must still move further on one side."""
        left = self.lacking[up] - self.exposed
        return sorted(place for place in left if (place, up) not in self.tried)

    def push_along(self, deviations: Iterable[Mapping[int, int]]) -> None:
        """Move along given deviations and their opposites: if they suffice no program is needed."""
        if isinstance(deviations, Deviations):
            deviations = self._push_as_given(deviations)
        place = (
            {cell: number for number, cell in enumerate(self.problem.cells.tolist())} if deviations else {}
        )
        for move in deviations:
            if not move.keys() <= place.keys():
                continue  # it changes a published cell
            for way in (1, -1):
                witness = self.problem.along({place[cell]: way * c for cell, c in move.items() if c})
                if witness is not None:
                    self.add(witness)

    def _push_as_given(self, deviations: Deviations) -> list[Mapping[int, int]]:
        """Use integer deviations and their opposites unchanged; return those that do not fit."""
        problem, left = self.problem, []
        parts, rest = divmod(deviations.scale, problem.scale)
        for number in range(len(deviations)):
            part = slice(deviations.begins[number], deviations.begins[number + 1])
            cells, amounts = deviations.cells[part], deviations.amounts[part]
            places = np.searchsorted(problem.cells, cells)
            inside = np.minimum(places, len(problem.cells) - 1)
            if len(cells) == 0 or np.any(problem.cells[inside] != cells):
                continue  # it changes a published cell
            fitting = [] if rest else [problem.changed(places, way * amounts, parts) for way in (1, -1)]
            if not any(fitting):
                left.append(deviations[number])
            for witness in fitting:
                if witness is not None:
                    self.add(witness)
        return left

    def push_in_circles(self) -> None:
        """Use flows if relations form a network: few of them serve nearly all cells."""
        problem = self.problem
        circles = NetworkCirculation.of(
            problem.in_doubles, problem.levels(self.exposed), CountedWork(MAX_FLOW_WORK)
        )
        if circles is None:
            return
        steps = np.zeros(len(problem.cells), dtype=np.int64)
        for change in circles.deviations():
            steps[circles.cells] = change
            witness = problem.in_steps(steps)
            if witness is not None:
                self.add(witness)

    def unsettled(self) -> list[int]:
        """Return the cells that must still move further on some side."""
        return sorted({*self.open(up=True), *self.open(up=False)})

    def propagate(self) -> None:
        """Exclude cells by propagated bounds, which need not be the narrowest."""
        for place, reasons in ruled_out(self.problem, self.asking().levels()).items():
            self.keep_excluding(place, reasons)

    def keep_excluding(self, place: int, found: Mapping[bool, Disclosure]) -> bool:
        """Return whether bounds exclude the requirement of a cell; if so, store them as its reasons."""
        if not _excludes(self.problem.demands[place], found.get(False), found.get(True)):
            return False
        for up, reason in found.items():
            self.reasons[place, up] = reason
        self.tried |= {(place, True), (place, False)}
        return True

    def tell(self) -> None:
        """Report how many cells are settled."""
        if self.progress is not None:
            n_cells = len(self.problem.demands)
            self.progress(n_cells - len(self.unsettled()), n_cells)

    def push_hypercubes(self, release: Release) -> None:
        """Use hypercubes of suppressed cells: they serve nearly all cells of a large cross table."""
        for found in hypercube_witnesses(release, self.problem, np.array(self.unsettled(), dtype=np.int64)):
            self._push_as_given(found)
            self.tell()

    def push_all(self) -> None:
        """Push with summed objectives: unit weights first, then seeded random ones, while they are useful."""
        random = np.random.default_rng(0)
        for number in range(ROUNDS):
            before = left = 0
            for up in (True, False):
                cells = self.open(up=up)
                if not cells:
                    continue
                weight = np.ones(len(cells)) if number == 0 else random.uniform(0.1, 1.0, len(cells))
                self.push(cells, weight / self.split.width[[self.slot[place] for place in cells]], up=up)
                before += len(cells)
                left += len(self.open(up=up))
            if left == 0 or self.work.over or before - left < WORTHWHILE * before:
                return

    def push_each(self) -> None:
        """Settle remaining cells one cell and one side at a time; beyond the work limit they stay open."""
        for up in (True, False):
            for place in self.open(up=up):
                if self.work.over:
                    return
                if place in self.lacking[up]:  # another cell's witness may have settled it
                    self.settle(place, up=up)

    def settle(self, place: int, *, up: bool) -> None:
        """Push one cell as far as possible: store a witness, or the reason why there is none."""
        self.tried.add((place, up))
        solution = self.push([place], np.ones(1), up=up)
        if place not in self.lacking[up] or solution.status is SolverStatus.LIMIT:
            return
        reached = self.attained[place].high if up else self.attained[place].low
        reason = explain_bound(self.problem, place, solution, reached, self.exact_work, up=up)
        if reason is not None and reason.linear:
            # No relation lets it move in either direction.
            self.reasons[place, up] = reason
            self.reasons[place, not up] = replace(reason, up=not up)
            self.tried.add((place, not up))
        elif reason is not None and self._hopeless(place, reason):
            self.reasons[place, up] = reason
        elif self.problem.integer:
            self.settle_whole(place, reason, up=up)
        elif reason is not None:
            self.reasons[place, up] = reason

    def _hopeless(self, place: int, reason: Disclosure) -> bool:
        """Return whether a bound alone excludes the requirement, or equals what a witness attains."""
        demand, attained = self.problem.demands[place], self.attained[place]
        if reason.up:
            return reason.difference == attained.high or not demand.high_enough(reason.difference)
        return reason.difference == attained.low or not demand.low_enough(reason.difference)

    def settle_whole(
        self, place: int, reason: Disclosure | None, *, up: bool, nodes: int = SINGLE_NODES
    ) -> None:
        """Push one cell of a table of counts as far as integers allow."""
        solution = self._whole([place], np.ones(1), up=up, gap=0.0, nodes=nodes)
        if solution.x is not None:
            witness = self.problem.on_grid(self.split.joined(solution.x))
            if witness is not None:
                self.add(witness)
        reached = self.attained[place].high if up else self.attained[place].low
        if place in self.lacking[up] and solution.optimal:
            self.reasons[place, up] = Disclosure(place, up, reached, whole=True)
        elif reason is not None:
            self.reasons[place, up] = reason

    def push(self, cells: list[int], weight: Floats, *, up: bool) -> Solution:
        """Move some cells in one direction together, and keep the exact point that results."""
        self.n_programs += 1
        solution = self.warm.solve(self.reward(cells, weight, up=up), maximise=up)
        if solution.x is None:
            return solution
        witness = exact_witness(self.split, solution.x, solution.basis, self.exact_work)
        if witness is None and self.problem.integer and len(cells) > 1:
            whole = self._whole(cells, weight, up=up, gap=SUMMED_GAP, nodes=SUMMED_NODES)
            if whole.x is not None:
                witness = self.problem.on_grid(self.split.joined(whole.x))
        if witness is not None:
            self.add(witness)
        return solution

    def reward(self, cells: list[int], weight: Floats, *, up: bool) -> Floats:
        """Price the base, and the overflow on the wrong side so that the base is not filled from there."""
        n, k = len(self.problem.cells), len(self.split.unsafe)
        cost = np.zeros(n + 2 * k)
        slots = np.array([self.slot[place] for place in cells])
        cost[np.array(cells)] = weight
        cost[n + slots + (k if up else 0)] = weight
        return cost

    def _whole(self, cells: list[int], weight: Floats, *, up: bool, gap: float, nodes: int) -> Solution:
        self.n_programs += 1
        program = self.split.program
        cost = self.reward(cells, weight, up=up)
        exact = integer.IntegerProgram(
            -cost if up else cost, program.relations, program.rhs, program.lower, program.upper
        )
        return integer.solve(exact, gap=gap, start=np.zeros(len(cost)), work_limit=nodes, work=self.work)

    def add(self, witness: Witness) -> None:
        """Keep a witness that moves some cell further than before."""
        number, useful = len(self.witnesses), False
        lacking = self.lacking[True] | self.lacking[False]
        for place, amount in witness.differences.items():
            if place not in lacking:
                continue
            move, attained = Fraction(amount, witness.denominator), self.attained[place]
            if move > attained.high and place in self.lacking[True]:
                self.attained[place] = replace(attained, high=move, high_witness=number)
            elif move < attained.low and place in self.lacking[False]:
                self.attained[place] = replace(attained, low=move, low_witness=number)
            else:
                continue
            useful = True
            for up in (True, False):
                if not self.lacks(place, up=up):
                    self.lacking[up].discard(place)
        if useful:
            self.witnesses.append(witness)

    def proof(self) -> Proof:
        """Return the result without witnesses that no cell uses any more."""
        failed: dict[int, tuple[Disclosure, ...]] = {}
        undecided = []
        for place in sorted(self.lacking[True] | self.lacking[False]):
            known = tuple(self.reasons[place, up] for up in (False, True) if (place, up) in self.reasons)
            known = known[:1] if known and known[0].linear else known
            if place in self.exposed or self._is_excluded(place):
                failed[place] = known
            else:
                undecided.append(place)
        used = {
            n for attained in self.attained.values() for n in (attained.low_witness, attained.high_witness)
        }
        kept = [number for number in range(len(self.witnesses)) if number in used]
        rank: dict[int | None, int] = {number: place for place, number in enumerate(kept)}
        attained = {
            place: replace(r, low_witness=rank.get(r.low_witness), high_witness=rank.get(r.high_witness))
            for place, r in self.attained.items()
        }
        witnesses = tuple(self.witnesses[number] for number in kept)
        return Proof(witnesses, attained, failed, self.exposed, tuple(undecided), self.n_programs)

    def _is_excluded(self, place: int) -> bool:
        """Return whether the bounds found exclude the requirement of a cell."""
        low, high = self.reasons.get((place, False)), self.reasons.get((place, True))
        return _excludes(self.problem.demands[place], low, high)


def _excludes(demand: Demand, low: Disclosure | None, high: Disclosure | None) -> bool:
    """Return whether bounds exclude a requirement."""
    if high is not None and not demand.high_enough(high.difference):
        return True
    if low is not None and not demand.low_enough(low.difference):
        return True
    return low is not None and high is not None and not demand.wide_enough(low.difference, high.difference)
