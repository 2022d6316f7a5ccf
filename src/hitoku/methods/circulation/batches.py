"""Batches: common deviations, each of which serves many requirements and is a linear program of its own.

A *batch* is one circulation and the requirements that it serves. Batches whose opposite fits too serve them
in either direction, all others one side at a time. A solution counts only if it is integer and keeps every
bound and requirement, so every state is safe. Sweeps price the program of a batch so that cells which other
batches move anyway are cheap; after some sweeps the batches have gathered on common cells. Tidying publishes
suppressed cells again, the most expensive first, if all batches can be rerouted around them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import sparse

from hitoku.feasibility import Pattern
from hitoku.feasibility.hypercubes import Requirements, Slacks
from hitoku.methods.circulation.reach import FAR, CellReach, level_prices
from hitoku.model import Deviations, Floats, Integers, Mask
from hitoku.solver.linear import LinearProgram, Warm, open_program
from hitoku.solver.solution import CountedWork

# Cap on slacks, as a multiple of the largest requirement of a batch: ends of similar size, a quicker solver.
FARTHEST = 64.0
# Amounts are in multiples of these, so that vertices at halves, thirds or fifths are integers. The coarsest
# is used of which the smallest requirement of a batch is at least ``MULTIPLE``.
GRIDS, MULTIPLE = (60.0, 12.0, 2.0), 50.0


@dataclass(frozen=True, eq=False)
class WitnessBatch:
    """One deviation of all cells, the requirements that it serves, and their typical size."""

    change: Floats
    served: Integers
    unit: float
    even: bool


class Batches:
    """Slacks, requirements and prices, and operations on batches.

    Parameters
    ----------
    slacks, requirements
        Possible and required movement.
    price
        Price of each cell; zero if it is suppressed in any case.
    ordinary
        Cells whose prices set the scale for others: all except zeros, which are expensive by convention.
    """

    def __init__(self, slacks: Slacks, requirements: Requirements, price: Floats, ordinary: Mask) -> None:
        self.price, self.ordinary, self._requirements = price, ordinary, requirements
        self._cell = np.concatenate([requirements.cells, requirements.cells])
        even = np.minimum(slacks.even, FAR)
        self._slacks = {
            True: (even, even),
            False: (np.minimum(slacks.down, FAR), np.minimum(slacks.up, FAR)),
        }

    def assigned(self, batches: Iterable[WitnessBatch]) -> list[WitnessBatch]:
        """Assign each requirement to the first batch that serves it; batches that serve none are dropped."""
        requirements, kept = self._requirements, []
        left = requirements.amount > 0
        for batch in batches:
            mine = np.flatnonzero(left & (requirements.even == batch.even))
            served = mine[self._reached_requirements(batch.change, mine, even=batch.even)]
            if len(served):
                left[served] = False
                unit = float(np.median(requirements.amount[served]))
                kept.append(WitnessBatch(batch.change, served, unit, batch.even))
        return kept

    def _reached_requirements(self, change: Floats, requirements: Integers, *, even: bool) -> Mask:
        far = change[self._cell[requirements]]
        far = np.abs(far) if even else far * self._requirements.sign[requirements]
        return np.asarray(far >= self._requirements.amount[requirements])

    def moved(self, batches: Iterable[WitnessBatch]) -> Mask:
        """Return which cells some batch moves."""
        moved = np.zeros(len(self.price), dtype=bool)
        for batch in batches:
            moved |= batch.change != 0
        return moved

    def total(self, batches: Iterable[WitnessBatch]) -> float:
        """Return the price of all cells that are moved."""
        return float(self.price[self.moved(batches)].sum())

    def ends(self, batch: WitnessBatch, cells: Integers, held: Mask | None = None) -> tuple[Floats, Floats]:
        """Return bounds of cells in units of the batch, up then down; requirements are lower bounds."""
        amount = self._requirements.amount[batch.served]
        coarse = [step for step in GRIDS if MULTIPLE * step <= amount.min(initial=np.inf)]
        for step in (*coarse[:1], 1.0):
            low, high = self._ends(batch, cells, held, step)
            if np.all(low <= high):
                break
        return low, high

    def _ends(
        self, batch: WitnessBatch, cells: Integers, held: Mask | None, step: float
    ) -> tuple[Floats, Floats]:
        n, amount = len(cells), step * np.ceil(self._requirements.amount[batch.served] / step)
        far = FARTHEST * float(amount.max(initial=1.0))
        slacks = self._slacks[batch.even]
        down, up = (step * np.floor(np.minimum(slack[cells], far) / step) for slack in slacks)
        if held is not None:
            down, up = np.where(held[cells], down, 0.0), np.where(held[cells], up, 0.0)
        low, high = np.zeros(2 * n), np.concatenate([up, down]) / batch.unit
        owner = self._cell[batch.served]
        place = np.searchsorted(cells, owner)
        rising = batch.change[owner] > 0
        low[np.where(rising, place, n + place)] = amount / batch.unit
        high[np.where(rising, n + place, place)] = 0.0
        return low, high

    def fits(self, batch: WitnessBatch, change: Floats) -> bool:
        """Return whether a deviation serves the requirements of a batch and keeps all slacks."""
        down, up = self._slacks[batch.even]
        return bool(
            np.all(change >= -down)
            and np.all(change <= up)
            and np.all(self._reached_requirements(change, batch.served, even=batch.even))
        )


class BatchProgram:
    """The relations among some cells, as linear programs of batches.

    Parameters
    ----------
    reach
        The relations in integers.
    relations
        The relations as in the table.
    batches
        Slacks and requirements.
    cells
        Cells that may move.
    """

    def __init__(
        self, reach: CellReach, relations: sparse.csr_array, batches: Batches, cells: Integers
    ) -> None:
        self._reach, self._batches, self.cells = reach, batches, cells
        part = sparse.csr_array(relations[:, cells])
        part = part[np.flatnonzero(np.diff(part.indptr))]
        self._both = sparse.hstack([part, -part], format="csr")

    def opened(self, work_limit: int, work: CountedWork) -> AbstractContextManager[Warm]:
        """Keep the relations open in the solver for one batch after another.

        ``work_limit`` applies to each of them, ``work`` counts and limits all.
        """
        n_rows, n_columns = self._both.shape
        program = LinearProgram(np.zeros(n_columns), self._both, np.zeros(n_rows), upper=np.ones(n_columns))
        return open_program(program, work_limit=work_limit, work=work, dual=True)

    def solved(
        self, batch: WitnessBatch, weight: Floats, warm: Warm, held: Mask | None = None
    ) -> WitnessBatch | None:
        """Find the deviation of a batch that moves as little as possible, weighted by cell.

        None if the search does not end, or its result is not integer or does not fit.
        """
        n = len(self.cells)
        warm.bounds(*self._batches.ends(batch, self.cells, held))
        solution = warm.solve(np.tile(weight[self.cells], 2), details=False)
        if not solution.optimal or solution.x is None:
            return None
        found = self._reach.exact(self.cells, (solution.x[:n] - solution.x[n:]) * batch.unit)
        if found is None:
            return None
        change = np.zeros(len(batch.change))
        change[found.cells] = found.amounts
        if not self._batches.fits(batch, change):
            return None
        return WitnessBatch(change, batch.served, batch.unit, batch.even)


def read_batches(deviations: Deviations, n_even: int, n_cells: int) -> list[WitnessBatch]:
    """Read packed witnesses as batches without requirements; the first ``n_even`` fit both ways."""
    read = []
    for number in range(len(deviations)):
        part = slice(deviations.begins[number], deviations.begins[number + 1])
        change = np.zeros(n_cells)
        change[deviations.cells[part]] = deviations.amounts[part]
        read.append(WitnessBatch(change, np.zeros(0, dtype=np.int64), 1.0, number < n_even))
    return read


def batch_deviations(batches: Sequence[WitnessBatch], scale: int) -> Deviations:
    """Return batches as deviations."""
    moved = [np.flatnonzero(batch.change) for batch in batches]
    return Deviations.of(
        [(cells, batch.change[cells].astype(np.int64)) for cells, batch in zip(moved, batches, strict=True)],
        scale,
    )


# Extra cost of a cell that no batch moves, relative to one moved by one unit: large first, then small.
# Small tables allow more steps; further rounds start where the first one ended.
SHARPNESS, SHARPNESS_SMALL, AGAIN = (2.0, 0.5, 0.1), (4.0, 2.0, 1.0, 0.5, 0.25, 0.12, 0.06), (0.3, 0.1)
# Share of a batch's own movement that makes cells cheaper for it: with all of it, it would not move.
OWN = 0.05
# Limit of simplex steps for one batch, which else stays as it is.
SWEEP_STEPS = 30_000


def swept(
    state: Batches,
    program: BatchProgram,
    batches: Sequence[WitnessBatch],
    sharpness: Sequence[float],
    more: Callable[[], bool],
    work: CountedWork,
) -> list[WitnessBatch]:
    """Sweep over batches, once for each sharpness; return the cheapest state, including the first one.

    Parameters
    ----------
    state, program
        Slacks, requirements and prices, and the relations among cells that may move.
    batches
        Initial batches.
    sharpness
        Extra cost of a cell that no batch moves, relative to one moved by one unit.
    more
        Called before every sweep and program; False ends the search with the best state so far.
    work
        Counts and limits the work of programs.
    """
    batches = state.assigned(batches)
    best, least = batches, state.total(batches)
    with program.opened(SWEEP_STEPS, work) as warm:
        for eps in sharpness:
            if least <= 0 or work.over or not more():
                break  # unsafe cells alone, or no time left
            batches = _sweep(state, program, batches, eps, warm, lambda: not work.over and more())
            total = state.total(batches)
            if total < least:
                best, least = batches, total
            batches = state.assigned(batches)
    return best


def _sweep(
    state: Batches,
    program: BatchProgram,
    batches: list[WitnessBatch],
    eps: float,
    warm: Warm,
    more: Callable[[], bool],
) -> list[WitnessBatch]:
    """Look for a cheaper deviation of every batch, in turn."""
    batches = list(batches)
    size = np.zeros(len(state.price))
    for batch in batches:
        size += _size(batch)
    # Small requirements first: large ones then use cells that are moved anyway.
    for number in reversed(range(len(batches))):
        batch = batches[number]
        if not more():
            break
        others = size - (1.0 - OWN) * _size(batch)
        # Starting from the basis of another batch takes longer than starting from none.
        warm.forget()
        found = program.solved(batch, level_prices(state.price / (others + eps), state.ordinary), warm)
        if found is not None:
            size += _size(found) - _size(batch)
            batches[number] = found
    return batches


def _size(batch: WitnessBatch) -> Floats:
    return np.abs(batch.change) / batch.unit


# Limit of simplex steps for one attempt.
TIDY_STEPS = 1_500


class BatchTidy:
    """Suppressed cells of a pattern, and one program for each batch.

    Parameters
    ----------
    state
        Slacks, requirements and prices.
    reach, relations
        The relations, in integers and as in the table.
    batches
        The deviations that make up the pattern.
    """

    def __init__(
        self,
        state: Batches,
        reach: CellReach,
        relations: sparse.csr_array,
        batches: Sequence[WitnessBatch],
    ) -> None:
        self._state, self._batches = state, list(batches)
        self._pinned = state.price <= 0
        self._held = state.moved(batches) | self._pinned
        self._pattern = Pattern(relations, np.ones(len(self._held), dtype=bool), self._held)
        self._program = BatchProgram(reach, relations, state, np.flatnonzero(self._held))
        self._weight = level_prices(state.price, self._held & state.ordinary)
        self.tried = 0

    def run(self, most_cells: int, work: CountedWork, more: Callable[[], bool]) -> list[WitnessBatch]:
        """Publish cells where possible; return the batches.

        Parameters
        ----------
        most_cells
            Limit on the total number of cells of the programs solved.
        work
            Counts and limits the work of programs.
        more
            Called before every cell; False ends the search.
        """
        price = self._state.price
        secondary = np.flatnonzero(self._held & ~self._pinned)
        secondary = secondary[np.lexsort((secondary, -price[secondary]))]
        if len(secondary) == 0:
            return self._batches
        with ExitStack() as stack:
            # A batch that never conflicts needs no program.
            warm = cache(lambda _number: stack.enter_context(self._program.opened(TIDY_STEPS, work)))
            for cell in secondary.tolist():
                if self.tried * len(self._program.cells) >= most_cells or work.over or not more():
                    break
                falling = self._pattern.given_away(cell, self._pinned) if self._held[cell] else None
                if falling is not None:
                    self._publish(np.array(sorted({cell, *falling}), dtype=np.int64), warm)
        return self._batches

    def _publish(self, falling: Integers, warm: Callable[[int], Warm]) -> None:
        """Publish some cells, if all batches can be rerouted around them."""
        held = self._held.copy()
        held[falling] = False
        new = {}
        for number, batch in enumerate(self._batches):
            if np.any(batch.change[falling]):
                self.tried += 1
                found = self._program.solved(batch, self._weight, warm(number), held)
                if found is None:
                    return
                new[number] = found
        for number, found in new.items():
            self._batches[number] = found
        self._held = held
        for cell in falling.tolist():
            self._pattern.publish(cell)
