"""Counts beyond two dimensions: every method goes on until whole numbers leave as much open as it promised.

Methods blur cells over real numbers, and readers know that counts are whole. In two dimensions that makes no
difference; beyond, a cell that may be anything from 0 to 1.5 for a linear program can be 0 or 1 in truth. So
where the withheld cells of a table of counts form no network, the intervals of the unsafe ones are looked at
once more over whole numbers, and as long as one is too narrow, the cheapest cell near it is withheld with it.
Withholding more never narrows an interval, so what is met stays met.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hitoku.attacks import Interval
from hitoku.errors import NeedError, some
from hitoku.feasibility import EndSearch, Problem, parts_of, settle
from hitoku.methods.costs import prices_of
from hitoku.methods.keep import staying
from hitoku.methods.method import promised, traits_of
from hitoku.model import (
    Deviations,
    Floats,
    Integers,
    Mask,
    Need,
    Protection,
    Reason,
    Release,
    Step,
    Table,
    slack,
)
from hitoku.solver.work import SECONDS, CountedWork, Deadline


def close_in_whole_numbers(method: Any, table: Table, need: Need, found: Protection) -> Protection:
    """Withhold more cells until every unsafe count is wide enough over whole numbers, or refuse.

    Parameters
    ----------
    method
        What decided; one that answers for no intervals is left alone.
    table, need, found
        What was to be protected, and what was decided.

    Raises
    ------
    NeedError
        When a cell stays too narrow though everything near it is withheld that may be; it names the cells.
    """
    asked = promised(method, need)
    if asked is None or not table.integer or not (found.withheld & need.unsafe).any():
        return found
    if shown_by_moves(table, asked, found):
        return found
    withheld, steps = np.array(found.withheld), list(found.steps)
    cost = prices_of(table, method)
    eligible = ~staying(table, method) & (table.upper > table.lower)
    limit = Deadline(work=CountedWork(SECONDS))
    while len(narrow := narrow_in_whole_numbers(table, asked, withheld, limit)):
        if not traits_of(method).adds_cells:
            raise _unreachable(table, narrow)
        left = eligible & ~withheld
        for cell in narrow.tolist():
            near = _nearest(table, cell, left, cost)
            if near is None:
                raise _unreachable(table, narrow)
            if not withheld[near]:
                withheld[near] = True
                steps.append(Step(near, Reason.WHOLE, protects=cell))
    if np.array_equal(withheld, found.withheld):
        return found
    total = float(cost[withheld].sum())
    return replace(
        found,
        withheld=withheld,
        secondary=withheld & ~need.unsafe,
        cost=total,
        proven=False,
        gap=_gap_left(found, total),
        canonical=False,
        steps=tuple(steps),
    )


def _gap_left(found: Protection, total: float) -> float:
    """Return by which share something cheaper may exist, once cells were added; not a number if unknown.

    What is open over whole numbers is open over real ones: no decision costs less than the bound that was
    proven over these.
    """
    bound = found.cost * (1.0 - (0.0 if found.proven else found.gap))
    return (total - bound) / total if total else 0.0


def shown_by_moves(table: Table, need: Need, found: Protection) -> bool:
    """Tell whether the changes that a method leaves are whole, fit, and take every unsafe cell far enough.

    Examples
    --------
    >>> table = Table.from_array([[1, 0], [0, 1]])
    >>> shown_by_moves(table, Need(unsafe=table.inner, width=1), Protection.withhold(table, table.inner))
    False
    """
    deviations = found.deviations
    if not isinstance(deviations, Deviations) or deviations.scale != 1:
        return False
    columns, value = table.relations.tocsc(), table.value
    low, high = np.zeros(table.n_cells), np.zeros(table.n_cells)
    for number in range(len(deviations)):
        part = slice(deviations.begins[number], deviations.begins[number + 1])
        cells, change = deviations.cells[part], deviations.amounts[part].astype(np.float64)
        if not found.withheld[cells].all() or np.any(columns[:, cells] @ change):
            continue
        for way in (change, -change):
            if np.all(value[cells] + way >= table.lower[cells]) and np.all(
                value[cells] + way <= table.upper[cells]
            ):
                low[cells], high[cells] = np.minimum(low[cells], way), np.maximum(high[cells], way)
    unsafe = np.flatnonzero(need.unsafe)
    return bool(np.all(need.met_by(-low[unsafe], high[unsafe], np.zeros(len(unsafe)), unsafe)))


def narrow_in_whole_numbers(
    table: Table, need: Need, withheld: Mask, limit: Deadline | None = None
) -> Integers:
    """Return the unsafe cells of which whole numbers leave too little open; none where all is a network.

    Cells that the limit leaves undecided are not returned: the audit says that they are.

    Examples
    --------
    >>> table = Table.from_array([[1, 0], [0, 1]])
    >>> narrow_in_whole_numbers(table, Need(unsafe=table.inner, width=1), table.inner)
    array([], dtype=int64)
    """
    release = Release.of(table, Protection.withhold(replace(table, fixed=None), withheld))
    # Hidden cells are withheld in every release, whatever a pattern says of them.
    withheld = release.withheld
    unsafe = need.unsafe & withheld
    equations = Problem.of(release, whole=True)
    settled = settle(equations)
    if parts_of(settled.rest.matrix).network.all():
        return np.zeros(0, dtype=np.int64)
    attack, value = Interval(integer=True), table.value
    # Mostly a cell can rise as far as all of its width asks for; a point never protects.
    fall = np.ceil(need.lower)
    rise = np.ceil(np.maximum(np.maximum(need.upper, need.width - fall), fall == 0))
    down, up = attack.meets(
        release,
        np.where(unsafe & (fall > 0), value - fall, np.nan),
        np.where(unsafe, value + rise, np.nan),
        limit,
    )
    doubtful = unsafe & ~(up & (down | (fall == 0)))
    if not doubtful.any():
        return np.zeros(0, dtype=np.int64)
    # Of the others, how far they can move at all, up to what could matter.
    asked, far = doubtful[withheld], np.ceil(np.maximum(np.maximum(need.lower, need.upper), need.width)) + 1
    low = np.maximum(settled.lower, equations.in_units((value - far)[withheld]))
    high = np.minimum(settled.upper, equations.in_units((value + far)[withheld]))
    goals = np.where(asked, low, np.nan), np.where(asked, high, np.nan)
    least, most, unknown = EndSearch(integer=True).ends(equations, limit or Deadline(), goals)
    cells = np.flatnonzero(withheld)
    below, above = value[cells] - equations.values(least), equations.values(most) - value[cells]
    met = need.met_by(below, above, slack(value[cells]), cells)
    return np.asarray(cells[asked & ~met & ~unknown])


def _nearest(table: Table, cell: int, candidates: Mask, cost: Floats) -> int | None:
    """Find the cheapest candidate in the relations of a cell, else one relation further, and so on."""
    relations, users = table.relations, table.relations.tocsc()
    reached, ring = np.zeros(table.n_cells, dtype=bool), np.array([cell])
    while len(ring):
        reached[ring] = True
        rows = np.unique(np.concatenate([users.indices[users.indptr[c] : users.indptr[c + 1]] for c in ring]))
        near = np.unique(
            np.concatenate([relations.indices[relations.indptr[r] : relations.indptr[r + 1]] for r in rows])
            if len(rows)
            else rows
        )
        good = near[candidates[near]]
        if len(good):
            # A structural zero withheld fools nobody: zeros come last.
            return int(good[np.lexsort((good, cost[good], table.value[good] == 0))[0]])
        ring = near[~reached[near]]
    return None


def _unreachable(table: Table, cells: Integers) -> NeedError:
    whose = "a count cannot" if len(cells) == 1 else f"{len(cells)} counts cannot"
    return NeedError(
        "whole_number_protection_out_of_reach",
        "{cells} be protected over whole numbers, though everything in reach is withheld that may be",
        where="cells {cells_2}",
        fix="let more be withheld (keep, fixed: margins too), merge codes, or ask for a smaller width",
        cells=whose,
        cells_2=some((table.describe(int(cell)) for cell in cells[:4]), 3),
    )
