"""The steps that protect a table with a method, and tables with small levels next to large values.

Doubles have sixteen digits, and solvers resolve about nine. So if levels and values are further apart,
methods receive a table whose bounds are near its values, far beyond what is required but no further: a
pattern that is safe from an attacker who knows such bounds is safe from all. If levels are of very
different size themselves, each size is checked separately in the end, and an error that names the scale is
raised for cells that are not shown to be wide enough.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from hitoku.errors import NeedError, SolverError, must_be, some
from hitoku.methods.attribution import open_groups
from hitoku.methods.method import Progress, guaranteed_bounds, traits_of
from hitoku.methods.whole_numbers import close_in_whole_numbers
from hitoku.model import (
    BOUND,
    SUM_ROUNDING,
    Floats,
    Integers,
    Mask,
    Need,
    Protection,
    Table,
    groups_by_size,
    slack,
)
from hitoku.solver.linear import LinearProgram, SolverStatus, open_program


def orders_apart(table: Table, need: Need) -> float:
    """Return the ratio of the largest value to the smallest required level; 0 without levels.

    Examples
    --------
    >>> table = Table.from_array([[3.0, 5.0], [1e15, 4.0]])
    >>> unsafe = table.value == 3
    >>> f"{orders_apart(table, Need(unsafe=unsafe, upper=2.0 * unsafe)):.0e}"
    '5e+14'
    """
    asked = _levels(need)[need.unsafe]
    positive = asked[asked > 0]
    return float(np.abs(table.value).max() / positive.min()) if len(positive) else 0.0


def within_scale(table: Table, need: Need) -> Table:
    """Return the table with bounds that leave the required slack; usually the table itself.

    Examples
    --------
    >>> table = Table.from_array([[3.0, 5.0], [1e15, 4.0]])
    >>> unsafe = table.value == 3
    >>> within_scale(table, Need(unsafe=unsafe, upper=2.0 * unsafe)).upper[:2].tolist()
    [2000003.0, 2000005.0]
    """
    *_, (_, far) = [(None, np.inf), *_groups(table, need)]
    return table if np.isinf(far) else _nearer(table, far)


def refuse_cramped(table: Table, need: Need, withheld: Mask) -> None:
    """Raise if levels and values are far apart and some cell is not shown to be wide enough."""
    if orders_apart(table, need) * SUM_ROUNDING <= 1:
        return
    cells = [
        cell
        for group, far in _groups(table, need)
        for cell in _cramped_cells(table, need, withheld, group, far)
    ]
    if cells:
        where = f"cells {some((table.describe(cell) for cell in cells[:4]), 3)}"
        raise _refusal(orders_apart(table, need), where)


def out_of_scale(table: Table, need: Need, error: SolverError) -> NeedError | SolverError:
    """Return the error for a solver that failed: the scale, if that is the cause.

    That is likely if levels, or values, are further apart than a solver's numbers are precise.
    """
    sizes = np.abs(table.value[table.value != 0])
    apart = max(orders_apart(table, need), sizes.max() / sizes.min() if len(sizes) else 0.0)
    if apart * BOUND <= 1:
        return error
    return _refusal(apart, f"{int(need.unsafe.sum()):,} unsafe cells of {table.n_cells:,}")


def _refusal(apart: float, where: str) -> NeedError:
    return NeedError(
        "scales_too_far_apart",
        "levels and values are {magnitudes:.0f} orders of magnitude apart: solvers tell fewer apart",
        where=where,
        fix="protect small and large units apart, publish in larger units, or try the method circulation",
        magnitudes=np.log10(apart),
    )


def _levels(need: Need) -> Floats:
    return np.maximum(np.maximum(need.lower, need.upper), need.width)


def _groups(table: Table, need: Need) -> list[tuple[Integers, float]]:
    """Return unsafe cells in groups of similar level, small first, with the movement needed for each."""
    asked = np.where(_levels(need) > 0, _levels(need), float(table.integer))
    cells = np.flatnonzero(need.unsafe & (asked > 0))
    largest = float(np.abs(table.value).max(initial=0.0))
    return [(cells[group], far) for group, far in groups_by_size(asked[cells], largest)]


def _nearer(table: Table, far: float) -> Table:
    return replace(
        table,
        lower=np.maximum(table.lower, table.value - far),
        upper=np.minimum(table.upper, table.value + far),
    )


def _cramped_cells(table: Table, need: Need, withheld: Mask, unsafe: Integers, far: float) -> list[int]:
    """Return the unsafe cells that cannot move as required within the limited slack."""
    cells = np.flatnonzero(withheld & (table.upper > table.lower))
    place = {int(cell): number for number, cell in enumerate(cells)}
    down = np.minimum(table.value - table.lower, far)[cells]
    up = np.minimum(table.upper - table.value, far)[cells]
    relations = table.relations[:, cells]
    program = LinearProgram(np.zeros(len(cells)), relations, np.zeros(relations.shape[0]), -down, up)
    ends = np.zeros((2, len(unsafe)))
    with open_program(program) as warm:
        for number, cell in enumerate(unsafe.tolist()):
            for side, push in enumerate((warm.minimise, warm.maximise) if cell in place else ()):
                solution = push(place[cell], details=False)
                if solution.status is SolverStatus.UNBOUNDED:
                    ends[side, number] = np.inf
                elif solution.status is SolverStatus.OPTIMAL and solution.x is not None:
                    ends[side, number] = abs(float(solution.x[place[cell]]))
    # Tolerance is relative to the level: relative to a large value it would cover the whole level.
    met = need.met_by(ends[0], ends[1], slack(_levels(need)[unsafe]), unsafe)
    return [int(cell) for cell in unsafe[~met]]


class Decides(Protocol):
    """A method whose own decision is one step of :func:`run`."""

    def decide(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Return a protection under which every unsafe cell meets its requirement over real numbers."""


def run(method: Decides, table: Table, need: Need, progress: Progress | None = None) -> Protection:
    """Protect a table: the sequence is the same for every method.

    1. Tighten bounds that are far wider than the levels (:mod:`hitoku.methods.run`).
    2. Let the method decide.
    3. Extend the pattern until no group is disclosed that the need names (:mod:`hitoku.methods.attribution`).
    4. Extend the pattern of counts until intervals are wide enough over integers
       (:mod:`hitoku.methods.whole_numbers`).
    5. Raise for levels that are too small relative to the values to be distinguished from rounding.

    Raises
    ------
    NeedError
        If a cell or group cannot be protected.
    ScopeError
        If the method's pattern may not be extended, and must be.
    """
    must_be(Table, table, "table")
    must_be(Need, need, "need")
    try:
        near = within_scale(table, need) if traits_of(method).adds_cells else table
        found = method.decide(near, need, progress)
        if near is not table:
            # Tighter bounds leave fewer safe patterns, so the cheapest of them need not be the cheapest of
            # all.
            found = replace(found, proven=False, gap=float("nan"))
        if len(need.attributions):
            found = open_groups(method, table, need, found, progress)
        found = close_in_whole_numbers(method, table, need, found)
        intervals = guaranteed_bounds(method, need)
        if intervals is not None:
            refuse_cramped(table, intervals, found.withheld)
    except SolverError as error:
        raise out_of_scale(table, need, error) from error
    except KeyboardInterrupt as stopped:
        # A method with a safe pattern returns it when interrupted, and does not raise.
        nothing_kept = (
            f"{type(method).__name__.lower()} had not protected every cell yet, so it keeps nothing"
        )
        raise KeyboardInterrupt(str(stopped) or nothing_kept) from None
    else:
        return found
