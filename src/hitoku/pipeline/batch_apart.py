"""Tables of a batch that share cells and were protected one by one: what one withholds, another may print."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from hitoku.errors import HitokuError
from hitoku.io.argus import Done
from hitoku.model import Table
from hitoku.pipeline.recipe_tables import positions

TOGETHER = "suppress them together, <SUPPRESS> OPT(0,10)"


def compare_apart(tables: Sequence[Done]) -> tuple[list[str], bool]:
    """Hold tables of the same quantity against each other.

    Returns
    -------
    tuple
        What to tell in the logbook; whether some cell is withheld here and published there.
    """
    told, open_ones = [], False
    for one, other in combinations(tables, 2):
        if one.outcome is other.outcome or _quantity(one) != _quantity(other):
            continue
        pair = f"tables of lines {one.ready.asked.line} and {other.ready.asked.line}"
        shown = _shown_elsewhere(one, other)
        if shown:
            told.append(f"{pair}: {shown} cell(s) withheld in one are published in the other: {TOGETHER}")
            open_ones = True
        else:
            told.append(f"{pair}: of the same quantity, but the audit looks at each by itself: {TOGETHER}")
    return told, open_ones


def _quantity(done: Done) -> tuple[object, ...]:
    asked, protection = done.ready.asked, done.safe.protection
    # Adjusted values are no values of the quantity.
    adjusted = protection is not None and not np.array_equal(protection.value, done.safe.judged.table.value)
    return done.ready.data, asked.response, asked.safety.weighted, adjusted


def _shown_elsewhere(one: Done, other: Done) -> int:
    """Count the cells of both tables that only one of them withholds."""
    pair = [done.safe.judged.table for done in (one, other)]
    try:
        whole = Table.link(pair)
    except HitokuError:
        # Recoded differently, or other trees: there are no common cells to be told by their codes.
        return 0
    holds, withholds = np.zeros((2, 2, whole.n_cells), dtype=bool)
    for place, (done, table) in enumerate(zip((one, other), pair, strict=True)):
        cells = positions(table, whole)
        holds[place, cells], withholds[place, cells] = True, done.safe.withheld
    return int(np.sum(holds.all(axis=0) & (withholds[0] != withholds[1])))
