"""Witnesses made cheaper together: one linear program for each batch of claims, again and again.

A box is a short circulation; long ones are built by linear programs, if many claims share one. The program of
a batch moves as little as possible, priced so that cells which other batches move anyway are cheap; after
some sweeps the batches have gathered on common cells. The cheapest state is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hitoku.methods.circulation.batches import Batches, BatchProgram, WitnessBatch
from hitoku.methods.circulation.reach import levelled
from hitoku.model import Floats
from hitoku.solver.linear import Warm
from hitoku.solver.work import CountedWork

# How much a cell that nobody moves costs more than one that is moved by one unit: large first, then small.
# Small tables afford more steps on the way; further rounds begin where the first one ended.
SHARPNESS, SHARPNESS_SMALL, AGAIN = (2.0, 0.5, 0.1), (4.0, 2.0, 1.0, 0.5, 0.25, 0.12, 0.06), (0.3, 0.1)
# How much of what a batch itself moves makes cells cheaper for it: were it all, it would stay where it is.
OWN = 0.05
# Simplex steps of one batch: what needs more is left as it is.
STEPS = 30_000


def swept(
    state: Batches,
    program: BatchProgram,
    batches: Sequence[WitnessBatch],
    sharpness: Sequence[float],
    more: Callable[[], bool],
    work: CountedWork,
) -> list[WitnessBatch]:
    """Sweep over batches, once for each sharpness; return the cheapest state met, the first one included.

    Parameters
    ----------
    state, program
        Rooms, claims and prices, and the relations among cells that may move.
    batches
        Where to begin.
    sharpness
        How much a cell that nobody moves costs more than one that is moved by one unit.
    more
        Asked before every sweep and program; what was found by then counts.
    work
        What programs look at; once it is over no other is begun.
    """
    batches = state.assigned(batches)
    best, least = batches, state.total(batches)
    with program.opened(STEPS, work) as warm:
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
    """Look for a cheaper change of every batch, in turn."""
    batches = list(batches)
    size = np.zeros(len(state.price))
    for batch in batches:
        size += _size(batch)
    # Small claims first: giants then find out what is used anyway.
    for number in reversed(range(len(batches))):
        batch = batches[number]
        if not more():
            break
        others = size - (1.0 - OWN) * _size(batch)
        # From where another batch ended it takes longer than from nothing.
        warm.forget()
        found = program.solved(batch, levelled(state.price / (others + eps), state.ordinary), warm)
        if found is not None:
            size += _size(found) - _size(batch)
            batches[number] = found
    return batches


def _size(batch: WitnessBatch) -> Floats:
    return np.abs(batch.change) / batch.unit
