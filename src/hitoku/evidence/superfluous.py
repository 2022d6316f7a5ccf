"""Few witnesses instead of many: those that others make superfluous are dropped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from hitoku.evidence.problem import AuditProblem, Witness
from hitoku.model import EXACT_SUMS, Mask


@dataclass(frozen=True, slots=True)
class WitnessReach:
    """How far one unsafe cell is known to move, and which witnesses show it (None: the true table)."""

    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)
    low_witness: int | None = None
    high_witness: int | None = None


def drop_superfluous(
    witnesses: list[Witness], reach: dict[int, WitnessReach], problem: AuditProblem
) -> tuple[tuple[Witness, ...], dict[int, WitnessReach]]:
    """Drop witnesses that others make superfluous, and number the rest anew.

    Where only the ends matter, any witness beyond an end will do; cells that need a width keep their pair.
    """
    places = [p for p, d in problem.demands.items() if d.lower + d.upper > 0 and d.width <= d.lower + d.upper]
    ends = _ends_reached(witnesses, places, problem)
    free = set(places)
    pinned = {w for p, r in reach.items() if p not in free for w in (r.low_witness, r.high_witness)}
    kept = _needed(ends, pinned)
    again = dict(reach)
    for column, place in enumerate(places):
        low, high = (next((n for n in kept if ends[n, side, column]), None) for side in (0, 1))
        # Nothing required on a side: the true table is end enough. Nothing found: what was reached stands.
        if low is not None or problem.demands[place].lower == 0:
            again[place] = replace(again[place], low=_moved(witnesses, low, place), low_witness=low)
        if high is not None or problem.demands[place].upper == 0:
            again[place] = replace(again[place], high=_moved(witnesses, high, place), high_witness=high)
    rank = {number: place for place, number in enumerate(kept)}
    return tuple(witnesses[number] for number in kept), {p: _renumber(r, rank) for p, r in again.items()}


def _ends_reached(witnesses: list[Witness], places: list[int], problem: AuditProblem) -> Mask:
    """Tell which witnesses take which cells far enough down and up: witnesses by sides by cells."""
    ends = np.zeros((len(witnesses), 2, len(places)), dtype=bool)
    levels = problem.levels()
    down, up = levels.down[places], levels.up[places]
    exact = max(float(down.max(initial=0.0)), float(up.max(initial=0.0))) < EXACT_SUMS
    for number, witness in enumerate(witnesses):
        if exact and problem.scale % witness.denominator == 0:
            # On the grid, whole steps are compared with levels rounded up to steps.
            steps = np.zeros(len(problem.cells))
            moved = np.fromiter(witness.differences, dtype=np.int64)
            amounts = np.fromiter(witness.differences.values(), dtype=np.float64)
            steps[moved] = amounts * (problem.scale // witness.denominator)
            if np.abs(steps).max(initial=0.0) < EXACT_SUMS:
                ends[number, 0] = (down > 0) & (steps[places] <= -down)
                ends[number, 1] = (up > 0) & (steps[places] >= up)
                continue
        for column, place in enumerate(places):
            if place not in witness.differences:
                continue
            demand, move = problem.demands[place], witness.at(place)
            ends[number, 0, column] = demand.lower > 0 and demand.low_enough(move)
            ends[number, 1, column] = demand.upper > 0 and demand.high_enough(move)
    return ends


def _needed(ends: Mask, pinned: set[int | None]) -> list[int]:
    """Return the witnesses that are pinned or the only one at some end, the later ones dropped first."""
    cover = ends.sum(axis=0)
    kept = list(range(len(ends)))
    for number in reversed(range(len(ends))):
        if number not in pinned and np.all(cover[ends[number]] > 1):
            cover -= ends[number]
            kept.remove(number)
    return kept


def _moved(witnesses: list[Witness], number: int | None, place: int) -> Fraction:
    return Fraction(0) if number is None else witnesses[number].at(place)


def _renumber(reach: WitnessReach, rank: dict[int, int]) -> WitnessReach:
    low, high = (
        None if number is None else rank.get(number) for number in (reach.low_witness, reach.high_witness)
    )
    return replace(reach, low_witness=low, high_witness=high)
