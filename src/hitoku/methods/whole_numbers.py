"""Counts beyond two dimensions: every method continues until its guarantee also holds over integers.

Methods protect cells over the reals, but attackers know that counts are integers. In two dimensions that
makes no difference; beyond, a cell with the interval 0 to 1.5 in a linear program can only be 0 or 1. So if
the suppressed cells of a table of counts do not form a network, the intervals of the unsafe ones are computed
again over integers, and while one is too narrow, the cheapest cell near it is suppressed as well. Suppressing
more never narrows an interval, so requirements that are met stay met.
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
from hitoku.methods.method import guaranteed_bounds, traits_of
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
from hitoku.solver.solution import SECONDS, CountedWork, Deadline


def close_in_whole_numbers(method: Any, table: Table, need: Need, found: Protection) -> Protection:
    """Suppress more cells until every unsafe count is wide enough over integers, or raise.

    Parameters
    ----------
    method
        The method that decided; one that guarantees no intervals changes nothing.
    table, need, found
        The problem, and the pattern.

    Raises
    ------
    NeedError
        If a cell stays too narrow although every eligible cell near it is suppressed; the error names the
        cells.
    """
    asked = guaranteed_bounds(method, need)
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
    """Return by which share a cheaper pattern may exist after cells were added; NaN if unknown.

    A pattern that is safe over integers is safe over the reals: no pattern costs less than the bound
    proven over the reals.
    """
    bound = found.cost * (1.0 - (0.0 if found.proven else found.gap))
    return (total - bound) / total if total else 0.0


def shown_by_moves(table: Table, need: Need, found: Protection) -> bool:
    """Return whether the deviations of a method are integer, fit, and move every unsafe cell far enough.

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
    """Return the unsafe cells that are too narrow over integers; none if the suppressed cells are a network.

    Cells that the limit leaves undecided are not returned: the audit reports them.

    Examples
    --------
    >>> table = Table.from_array([[1, 0], [0, 1]])
    >>> narrow_in_whole_numbers(table, Need(unsafe=table.inner, width=1), table.inner)
    array([], dtype=int64)
    """
    release = Release.of(table, Protection.withhold(replace(table, fixed=None), withheld))
    # Hidden cells are suppressed in every release, whatever the pattern contains.
    withheld = release.withheld
    unsafe = need.unsafe & withheld
    equations = Problem.of(release, whole=True)
    settled = settle(equations)
    if parts_of(settled.rest.matrix).network.all():
        return np.zeros(0, dtype=np.int64)
    attack, value = Interval(integer=True), table.value
    # Usually a cell can rise by its whole required width; a point never protects.
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
    # For the others, compute how far they can move at all, up to the relevant distance.
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
    """Return the cheapest candidate in the relations of a cell, else one relation further, and so on."""
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
            # Suppressed structural zeros protect nothing: zeros come last.
            return int(good[np.lexsort((good, cost[good], table.value[good] == 0))[0]])
        ring = near[~reached[near]]
    return None


def _unreachable(table: Table, cells: Integers) -> NeedError:
    return NeedError(
        "whole_number_protection_out_of_reach",
        "a count cannot be protected over whole numbers, though everything in reach is withheld that may be"
        if len(cells) == 1
        else "{n} counts cannot be protected over whole numbers, though everything in reach is withheld that "
        "may be",
        where="cells {cells}",
        fix="allow more suppression (keep, fixed: margins too), merge codes, or require a smaller width",
        n=len(cells),
        cells=some((table.describe(int(cell)) for cell in cells[:4]), 3),
    )
