"""Attacker subproblems on a tableau that is kept between calls: how far each unsafe cell can be moved.

Deviations ``d`` of a table satisfy ``d[basic] == tableau @ d[nonbasic]``. Only suppressed cells move, so the
tableau is first pivoted until no published basic cell depends on a suppressed nonbasic one. The part over
suppressed cells is small, and primal simplex steps on it cost microseconds. Row p of the small tableau bounds
cell p. It is extended to all cells, with zeros at the published basic ones, and recomputed from the relations
in echelon form, in integers or with an allowance for rounding, so that it is valid despite floating point.

Cells are given by number; suppressed cells also by their index among the suppressed ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.attacker_cuts import ALLOWED, cut_value, echelon, recompute, write_cut
from hitoku.kernels.compiled import compiled
from hitoku.kernels.pivoting import FEASIBLE, PIVOT, TINY, pivot_rows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

# Maximum number of simplex steps per subproblem; in the second half ties go to the lowest number, so that the
# search cannot cycle.
MAX_STEPS = 400
# Largest slack of any cell, in levels.
FAR = 1e6
# Maximum number of deviations that are kept to answer later subproblems of a call.
MAX_KEPT = 12


@compiled
def exchange(tableau: Floats, basic: Integers, nonbasic: Integers, row: int, column: int) -> None:
    """Exchange the basic cell of a row for a nonbasic cell."""
    pivot_rows(tableau, len(basic), row, column)
    cell = basic[row]
    basic[row] = nonbasic[column]
    nonbasic[column] = cell


@compiled
def prefer_cheap(tableau: Floats, basic: Integers, nonbasic: Integers, cost: Floats, order: Integers) -> None:
    """Make cheap cells basic, columns in this order: a published basic cell is not part of a cut."""
    for k in range(len(order)):
        j, best = order[k], -1
        for i in range(len(basic)):
            if abs(tableau[i, j]) > 0.1 and (best < 0 or cost[basic[i]] > cost[basic[best]]):
                best = i
        if best >= 0 and cost[basic[best]] > cost[nonbasic[j]]:
            exchange(tableau, basic, nonbasic, best, j)


@compiled
def align(tableau: Floats, basic: Integers, nonbasic: Integers, x: Floats) -> int:
    """Pivot until no published basic cell depends on a suppressed nonbasic one; return the count."""
    count = 0
    for j in range(len(nonbasic)):
        if x[nonbasic[j]] <= PIVOT:
            continue
        best, largest = -1, PIVOT
        for i in range(len(basic)):
            if x[basic[i]] <= PIVOT and abs(tableau[i, j]) > largest:
                best, largest = i, abs(tableau[i, j])
        if best >= 0:
            exchange(tableau, basic, nonbasic, best, j)
            count += 1
    return count


@compiled
def made_basic(small: Floats, basic: Integers, nonbasic: Integers, p: int) -> int:
    """Make cell p basic and return its row; -1 if no basic cell depends on it."""
    for i in range(len(basic)):
        if basic[i] == p:
            return i
    for j in range(len(nonbasic)):
        if nonbasic[j] == p:
            best, largest = -1, PIVOT
            for i in range(len(basic)):
                if abs(small[i, j]) > largest:
                    best, largest = i, abs(small[i, j])
            if best >= 0:
                exchange(small, basic, nonbasic, best, j)
            return best
    return -1


@compiled
def first_point(
    small: Floats, basic: Integers, nonbasic: Integers, row: int, sense: int, low: Floats, high: Floats,
    at_basic: Floats, at_nonbasic: Floats,
) -> None:  # fmt: skip
    """Set nonbasic cells to the bounds that favour row p, scaled down until all cells are within bounds."""
    for j in range(len(nonbasic)):
        slope = sense * small[row, j]
        at_nonbasic[j] = 0.0
        if slope > TINY:
            at_nonbasic[j] = high[nonbasic[j]]
        elif slope < -TINY:
            at_nonbasic[j] = -low[nonbasic[j]]
    share = 1.0
    for i in range(len(basic)):
        total = 0.0
        for j in range(len(nonbasic)):
            total += small[i, j] * at_nonbasic[j]
        at_basic[i] = total
        slack = high[basic[i]] if total > 0 else low[basic[i]]
        if i != row and abs(total) * share > slack:
            share = slack / abs(total)
    for j in range(len(nonbasic)):
        at_nonbasic[j] *= share
    for i in range(len(basic)):
        at_basic[i] *= share


@compiled
def entering(
    slopes: Floats, nonbasic: Integers, sense: int, low: Floats, high: Floats, at: Floats, careful: bool
) -> int:
    """Choose the nonbasic cell to move: the steepest, or if careful the first; -1 if p is optimal."""
    enter, best = -1, FEASIBLE
    for j in range(len(nonbasic)):
        slope = sense * slopes[j]
        slack = high[nonbasic[j]] - at[j] if slope > 0 else at[j] + low[nonbasic[j]]
        if abs(slope) <= FEASIBLE or slack <= FEASIBLE:
            continue
        if careful:
            if enter < 0 or nonbasic[j] < nonbasic[enter]:
                enter = j
        elif abs(slope) > best:
            enter, best = j, abs(slope)
    return enter


@compiled
def leaving(
    small: Floats, basic: Integers, row: int, enter: int, way: float, low: Floats, high: Floats, at: Floats,
    far: float, careful: bool,
) -> Any:  # fmt: skip
    """Ratio test: return the row of the blocking cell (-1: none) and the step length."""
    leave = -1
    for i in range(len(basic)):
        rate = way * small[i, enter]
        if i == row or abs(rate) < PIVOT:
            continue
        slack = high[basic[i]] - at[i] if rate > 0 else at[i] + low[basic[i]]
        limit = max(slack, 0.0) / abs(rate)
        tie = leave >= 0 and limit <= far + TINY
        if tie:
            tie = basic[i] < basic[leave] if careful else abs(rate) > abs(small[leave, enter])
        if limit < far - TINY or tie:
            far, leave = min(far, limit), i
    return leave, far


@compiled
def climb(
    small: Floats, basic: Integers, nonbasic: Integers, low: Floats, high: Floats, p: int, sense: int,
    at_basic: Floats, at_nonbasic: Floats,
) -> Any:  # fmt: skip
    """Move cell p as far as possible, up to one level; return distance, row, and whether that is final.

    ``low`` and ``high`` are slacks in levels by index among the suppressed cells; row -1: p is unbounded.
    """
    row = made_basic(small, basic, nonbasic, p)
    if row < 0:
        for i in range(len(basic)):
            at_basic[i] = 0.0
        for j in range(len(nonbasic)):
            at_nonbasic[j] = sense if nonbasic[j] == p else 0.0
        return 1.0, -1, True
    first_point(small, basic, nonbasic, row, sense, low, high, at_basic, at_nonbasic)
    for step in range(MAX_STEPS):
        careful = step >= MAX_STEPS // 2
        enter = -1
        if sense * at_basic[row] < 1.0 - FEASIBLE:
            enter = entering(small[row], nonbasic, sense, low, high, at_nonbasic, careful)
        if enter < 0:
            return sense * at_basic[row], row, True
        cell = nonbasic[enter]
        way = 1.0 if sense * small[row, enter] > 0 else -1.0
        far = high[cell] - at_nonbasic[enter] if way > 0 else at_nonbasic[enter] + low[cell]
        leave, far = leaving(small, basic, row, enter, way, low, high, at_basic, far, careful)
        for i in range(len(basic)):
            at_basic[i] += way * far * small[i, enter]
        at_nonbasic[enter] += way * far
        if leave >= 0:
            exchange(small, basic, nonbasic, leave, enter)
            moved = at_nonbasic[enter]
            at_nonbasic[enter] = at_basic[leave]
            at_basic[leave] = moved
    return sense * at_basic[row], row, False


@compiled
def extend(
    tableau: Floats, basic: Integers, nonbasic: Integers, x: Floats, row: Floats, columns: Integers,
    some: Integers, cell: int, sense: int, out: Floats,
) -> None:  # fmt: skip
    """Extend a row of the small tableau to all cells, with zeros at the published basic ones."""
    for j in range(len(out)):
        out[j] = 0.0
    for b in range(len(columns)):
        out[some[columns[b]]] = sense * row[b]
    out[cell] -= sense
    # All columns, whether published or not: contiguous entries are added several at once.
    n = len(nonbasic)
    total = np.zeros(n)
    for i in range(len(basic)):
        value = out[basic[i]]
        if value != 0.0:
            here = tableau[i]
            for j in range(n):
                total[j] -= value * here[j]
    for j in range(n):
        if x[nonbasic[j]] <= PIVOT:
            out[nonbasic[j]] += total[j]


@compiled
def small_tableau(tableau: Floats, basic: Integers, nonbasic: Integers, x: Floats, some: Integers) -> Any:
    """Copy the part of the tableau over suppressed cells; rows and columns by their index in ``some``."""
    place = np.full(len(x), -1, dtype=np.int64)
    for k in range(len(some)):
        place[some[k]] = k
    n_rows, n = 0, 0
    rows, columns = np.empty(len(basic), dtype=np.int64), np.empty(len(nonbasic), dtype=np.int64)
    for i in range(len(basic)):
        if place[basic[i]] >= 0:
            rows[n_rows] = i
            n_rows += 1
    for j in range(len(nonbasic)):
        if place[nonbasic[j]] >= 0:
            columns[n] = j
            n += 1
    small = np.empty((n_rows, n))
    for a in range(n_rows):
        for b in range(n):
            small[a, b] = tableau[rows[a], columns[b]]
    for a in range(n_rows):
        rows[a] = place[basic[rows[a]]]
    for b in range(n):
        columns[b] = place[nonbasic[columns[b]]]
    return small, rows[:n_rows], columns[:n], place


@compiled
def is_known(
    before: Floats, used: Floats, n_kept: int, p: int, sense: int, wanted: float, most: float
) -> bool:
    """Return whether an earlier deviation within these slacks moves cell p far enough."""
    for b in range(n_kept):
        if sense * before[b, p] >= wanted * (1 - FEASIBLE) and used[b] <= most * (1 + FEASIBLE):
            return True
    return False


@compiled
def set_rooms(
    low: Floats,
    high: Floats,
    slacks: Floats,
    x: Floats,
    forced: Mask,
    some: Integers,
    wanted: float,
    most: float,
) -> None:
    """Set the slack of every suppressed cell in units of ``wanted``; free cells have at most ``most``."""
    for a in range(len(some)):
        limit = FAR if forced[some[a]] else most
        high[a] = min(slacks[0, some[a]] / wanted, limit) * x[some[a]]
        low[a] = min(slacks[1, some[a]] / wanted, limit) * x[some[a]]


@compiled
def move_cell(
    work: Any,
    x: Floats,
    slacks: Floats,
    forced: Mask,
    some: Integers,
    p: int,
    sense: int,
    wanted: float,
    most: float,
) -> Any:
    """Move cell p and write the deviation; return its distance, its row, and whether that is final."""
    small, rows, columns, at_basic, at_nonbasic, low, high, moved = work
    set_rooms(low, high, slacks, x, forced, some, wanted, most)
    # More than any movement of it: the cell never stops itself.
    low[p], high[p] = 4.0, 4.0
    far, row, sure = climb(small, rows, columns, low, high, p, sense, at_basic, at_nonbasic)
    # The last step may carry p beyond its goal, and beyond its own slack: the deviation is scaled down.
    share = wanted / max(far, 1.0)
    for a in range(len(rows)):
        moved[rows[a]] = at_basic[a] * share
    for b in range(len(columns)):
        moved[columns[b]] = at_nonbasic[b] * share
    return far, row, sure


@compiled
def largest_share(moved: Floats, x: Floats, forced: Mask, some: Integers) -> float:
    """Return the largest movement of a free cell, relative to its suppressed share."""
    largest = 0.0
    for a in range(len(some)):
        if not forced[some[a]]:
            largest = max(largest, abs(moved[a]) / x[some[a]])
    return largest


@compiled
def add_cut(
    state: Any, relations: Any, x: Floats, slacks: Floats, forced: Mask, row: Floats, columns: Integers,
    some: Integers, cell: int, sense: int, want: float, far: float, space: Any,
) -> Any:  # fmt: skip
    """Add the bound of a cell in one direction to a cut; return the allowance."""
    tableau, basic, nonbasic = state
    echelon_rows, pivots = relations
    cut, one, extended, multipliers = space
    extend(tableau, basic, nonbasic, x, row, columns, some, cell, sense, extended)
    for r in range(len(pivots)):
        multipliers[r] = extended[pivots[r]]
    allowance = recompute(multipliers, True, echelon_rows, cell, sense, slacks, want, one)
    if cut_value(one, forced, x) > far + ALLOWED * want:
        allowance = recompute(multipliers, False, echelon_rows, cell, sense, slacks, want, one)
    for j in range(len(x)):
        cut[j] += one[j]
    return allowance


@compiled
def push_levels(
    state: Any, relations: Any, x: Floats, slacks: Floats, forced: Mask, some: Integers,
    levels: Any, exact: bool, least: float, flows: Floats, reach: Floats, settled: Mask, cuts: Any,
) -> Any:  # fmt: skip
    """Push cells towards their levels; write the distances, and violated cuts for levels out of reach.

    Parameters
    ----------
    state
        Tableau, basic and nonbasic cells: kept between calls, pivoted in place.
    relations
        In integers: CSR arrays of the echelon form, and the basic cell of each row.
    x, slacks, forced
        By cell: the suppressed share, the slacks up and down, and whether it must be suppressed.
    some
        Suppressed cells.
    levels
        Cell, side and amount of each: 1 for up, -1 for down, 0 for both together.
    exact
        Use true slacks; otherwise slacks of free cells are clipped at the level.
    least
        Smallest violation of interest.
    flows
        Output, levels by cells: the deviations found; skipped if empty. Not for widths.
    reach, settled
        Output, by level: distances up and down, and whether they are final.
    cuts
        Output: CSR arrays.

    Returns
    -------
    Number of cuts, of problems solved, and of pivots of the kept tableau.
    """
    tableau, basic, nonbasic = state
    cell, side, amount = levels
    ptr, index, data = cuts
    turned = align(tableau, basic, nonbasic, x)
    small, rows, columns, place = small_tableau(tableau, basic, nonbasic, x, some)
    moved = np.zeros(len(some))
    work = (
        small, rows, columns, np.zeros(len(rows)), np.zeros(len(columns)), np.zeros(len(some)),
        np.zeros(len(some)), moved,
    )  # fmt: skip
    before, used, n_kept = np.zeros((MAX_KEPT, len(some))), np.zeros(MAX_KEPT), 0
    cut = np.zeros(len(x))
    space = cut, np.zeros(len(x)), np.zeros(len(x)), np.zeros(len(relations[1]))
    n_cuts, solved = 0, 0
    for k in range(len(cell)):
        want, p, total, hidden = amount[k], place[cell[k]], 0.0, 0.0
        cut[:] = 0.0
        for turn in range(2):
            sense = 1 - 2 * turn
            if side[k] == -sense:
                continue
            wanted = min(slacks[turn, cell[k]], want)
            most = FAR * want if exact else want
            far, row = 1.0, -1
            if wanted > 0.0 and (len(flows) or not is_known(before, used, n_kept, p, sense, wanted, most)):
                far, row, sure = move_cell(work, x, slacks, forced, some, p, sense, wanted, most / wanted)
                settled[k] = settled[k] and sure
                solved += 1
                if len(flows):
                    flows[k, some] = moved
                if n_kept < MAX_KEPT:
                    before[n_kept] = moved
                    used[n_kept] = largest_share(moved, x, forced, some)
                    n_kept += 1
            reach[k, turn] = wanted if far >= 1.0 - FEASIBLE else max(far, 0.0) * wanted
            total += reach[k, turn]
            if far >= 1.0 - FEASIBLE:
                cut[cell[k]] += wanted
            elif least <= 1.0:
                hidden += add_cut(
                    state, relations, x, slacks, forced, small[row], columns, some, cell[k], sense, want,
                    reach[k, turn], space,
                )  # fmt: skip
        if total < want * (1 - FEASIBLE) and least <= 1.0:
            end = write_cut(cut, forced, x, want, hidden, least, index, data, ptr[n_cuts])
            n_cuts += end > ptr[n_cuts]
            ptr[n_cuts] = max(end, ptr[n_cuts])
    return n_cuts, solved, turned


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    rows, one = np.ones((1, 2), dtype=np.int64), np.ones(1, dtype=np.int64)
    pivots, cells = np.zeros(1, dtype=np.int64), np.arange(2)
    echelon(rows, cells, pivots)
    state = -np.ones((1, 1)), 0 * one, one.copy()
    prefer_cheap(*state, np.ones(2), 0 * one)
    relations = (np.array([0, 2]), cells, np.ones(2, dtype=np.int64)), pivots
    levels, cuts = (0 * one, one, np.ones(1)), (0 * cells, 0 * cells, np.zeros(2))
    forced, settled = np.ones(2, dtype=np.bool_), np.ones(1, dtype=np.bool_)
    push_levels(
        state, relations, np.ones(2), np.ones((2, 2)), forced, cells, levels, True, 0.0, np.zeros((0, 2)),
        np.zeros((1, 2)), settled, cuts,
    )  # fmt: skip
