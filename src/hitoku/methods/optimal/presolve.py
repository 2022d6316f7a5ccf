"""Reductions: from a table to the relevant cells, to connected components, to cells not yet fixed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from hitoku.errors import NeedError, some
from hitoku.feasibility import Incidence, parts_of
from hitoku.methods.optimal.attacker_subproblems import subproblems_for
from hitoku.methods.optimal.cuts import Cuts
from hitoku.methods.optimal.instance import (
    DOWN,
    INTEGRAL,
    UP,
    WIDTH,
    Budget,
    Instance,
    ProtectionLevels,
    levels_met,
    pushes_for,
)
from hitoku.methods.optimal.objective import numbers
from hitoku.model import Floats, Integers, Mask, Need, Table

# An unsafe cell without levels must still not have a single possible value for an outsider: integers
# must leave two values, reals this share of their size.
POINT = 1e-6
# Next to large numbers a small distance is rounding: at least this share of the usual size of cells is
# required, or of the size of cells related to the cell.
LEAST = 1e-2


def levels_of(table: Table, need: Need) -> ProtectionLevels:
    """List the required levels, by positions in the table."""
    unsafe = np.flatnonzero(need.unsafe)
    up, down = need.upper[unsafe], need.lower[unsafe]
    width = need.width[unsafe]
    slacks = table.upper[unsafe] - table.value[unsafe], table.value[unsafe] - table.lower[unsafe]
    nothing = (up == 0) & (down == 0) & (width == 0)
    least = np.ones(len(unsafe))
    if not table.integer:
        size = np.abs(table.value)
        usual = _usual(table, size, unsafe, nothing)
        least = np.maximum(POINT * np.maximum(1.0, size[unsafe]), LEAST * usual)
    width = np.where(nothing, np.minimum(least, slacks[0] + slacks[1]), width)
    # A point stays a point: requiring nothing would not detect that.
    width = np.where(nothing & (width == 0), least, width)
    wide = width > up + down
    cell = np.concatenate([unsafe[up > 0], unsafe[down > 0], unsafe[wide]])
    side = np.repeat(
        np.array([UP, DOWN, WIDTH], dtype=np.int8), [(up > 0).sum(), (down > 0).sum(), wide.sum()]
    )
    return ProtectionLevels(cell, side, np.concatenate([up[up > 0], down[down > 0], width[wide]]))


def _usual(table: Table, size: Floats, unsafe: Integers, nothing: Mask) -> Floats:
    """Return the usual size of cells, limited by the other cells in each relation of a cell."""
    found = np.zeros(len(unsafe))
    if not nothing.any() or not size.any():
        return found
    relations, columns = table.relations, sparse.csc_array(table.relations)
    found[nothing] = np.median(size[size > 0])
    for place in np.flatnonzero(nothing).tolist():
        cell = unsafe[place]
        for row in columns.indices[columns.indptr[cell] : columns.indptr[cell + 1]].tolist():
            tied = relations.indices[relations.indptr[row] : relations.indptr[row + 1]]
            beside = float(np.max(size[tied[tied != cell]], initial=0.0))
            found[place] = min(found[place], beside) if beside else found[place]
    return found


def presolve(table: Table, need: Need, weight: Floats, *, keep: Mask, withhold: Mask) -> Instance:
    """Reduce the problem to cells that can move and levels that are undecided.

    Raises :class:`NeedError` if a level cannot be reached even if every eligible cell is suppressed.
    """
    forced = need.unsafe | withhold
    _refuse(table, np.flatnonzero(forced & keep), "must be withheld and must stay published",
            "free them in keep or table.fixed, or make the need smaller")  # fmt: skip
    up, down = table.upper - table.value, table.value - table.lower
    levels = levels_of(table, need)
    slack = _slack(levels, up, down)
    _refuse(table, np.unique(levels.cell[slack < levels.amount * (1 - 1e-12)]),
            "cannot be protected as required: an outsider is assumed to know them too closely",
            "widen table.lower and table.upper there, or require less")  # fmt: skip
    lonely = np.diff(sparse.csc_array(table.relations).indptr) == 0
    levels = levels.take(~lonely[levels.cell])
    alive = Incidence.of(table.relations).movable(~keep & ((up > 0) | (down > 0)))
    stuck = np.unique(levels.cell[~alive[levels.cell]])
    _refuse(table, stuck, "cannot be protected: a relation holds no other cell that may be withheld",
            "let more cells be withheld (keep, table.fixed), merge codes, or drop a total")  # fmt: skip
    whole = Instance(
        cells=np.arange(table.n_cells),
        relations=table.relations,
        up=up,
        down=down,
        forced=forced,
        weight=weight,
        tie=np.zeros(table.n_cells, dtype=np.int64),
        levels=levels,
    )
    instance = whole.kept(alive)
    instance = _lean(instance)
    instance = instance.with_levels(~_reached_levels(instance, instance.forced.astype(np.float64)))
    unmet = ~_reached_levels(instance, np.ones(len(instance)))
    _refuse(table, instance.cells[np.unique(instance.levels.cell[unmet])],
            "cannot be protected even when every cell that may be withheld is",
            "let more cells be withheld (keep, table.fixed), merge codes, or require less")  # fmt: skip
    tie = np.zeros(len(instance), dtype=np.int64)
    tie[instance.free] = numbers(table.labels, instance.cells[instance.free])
    return Instance(
        **{
            name: getattr(instance, name) for name in ("cells", "relations", "up", "down", "forced", "weight")
        },
        tie=tie,
        levels=instance.levels,
    )


def _slack(levels: ProtectionLevels, up: Floats, down: Floats) -> Floats:
    above, below = up[levels.cell], down[levels.cell]
    return np.select([levels.side == UP, levels.side == DOWN], [above, below], above + below)


def _lean(instance: Instance) -> Instance:
    """Drop redundant relations: rows without cells, and duplicates."""
    relations = instance.relations
    kept = np.diff(relations.indptr) > 0
    seen: set[tuple[bytes, bytes]] = set()
    for row in np.flatnonzero(kept):
        here = slice(relations.indptr[row], relations.indptr[row + 1])
        data = relations.data[here]
        key = (relations.indices[here].tobytes(), (data / data[0]).tobytes())
        kept[row] = key not in seen
        seen.add(key)
    return Instance(
        cells=instance.cells,
        relations=sparse.csr_array(relations[kept]),
        up=instance.up,
        down=instance.down,
        forced=instance.forced,
        weight=instance.weight,
        tie=instance.tie,
        levels=instance.levels,
    )


def _reached_levels(instance: Instance, x: Floats) -> Mask:
    # By counting alone, most cells cannot move if only the unsafe ones are suppressed.
    able = Incidence.of(instance.relations).movable(x > 0)
    asked = np.flatnonzero(able[instance.levels.cell])
    if not len(asked):
        return np.zeros(len(instance.levels), dtype=bool)
    engine = subproblems_for(instance, Budget())
    return levels_met(instance, engine.push(x, *pushes_for(instance, asked), exact=True))


def _refuse(table: Table, cells: Integers, what: str, fix: str) -> None:
    if len(cells):
        named = some((table.describe(int(cell)) for cell in cells), 3)
        raise NeedError(
            "requirement_impossible",
            "{n} unsafe cell(s): {reason}",
            where="cells {cells}",
            fix=fix,
            n=len(cells),
            reason=what,
            cells=named,
        )


def components(instance: Instance) -> list[Mask]:
    """Return the cells of every part that has a level.

    Cells in none of them cannot move, or have no cell to protect.

    Examples
    --------
    Two relations without a common cell; the second has no level.

    >>> from scipy import sparse
    >>> from hitoku.methods.optimal import ProtectionLevels
    >>> one = np.ones(5)
    >>> instance = Instance(
    ...     cells=np.arange(5), relations=sparse.csr_array([[1, 1, -1, 0, 0], [0, 0, 0, 1, -1]]),
    ...     up=one, down=one,
    ...     forced=np.array([True, False, False, False, False]), weight=one, tie=np.zeros(5, dtype=np.int64),
    ...     levels=ProtectionLevels(np.array([0]), np.array([1], dtype=np.int8), np.ones(1)),
    ... )
    >>> [mask.astype(int).tolist() for mask in components(instance)]
    [[1, 1, 1, 0, 0]]
    """
    relations = instance.relations
    moves = Incidence.of(relations).movable(np.ones(relations.shape[1], dtype=bool))
    label = np.full(len(moves), -1)
    label[moves] = parts_of(relations[:, np.flatnonzero(moves)]).cell
    asked = instance.levels.cell
    # In the order of the table, by the first cell with a level.
    order = dict.fromkeys(label[np.sort(asked[moves[asked]])].tolist())
    return [moves & (label == one) for one in order]


def part_of(instance: Instance, cells: Mask) -> Instance:
    """Return the problem over one part alone."""
    return instance.with_levels(cells[instance.levels.cell]).kept(cells)


def rows_by_part(rows: Cuts, groups: list[Mask]) -> list[Cuts]:
    """Divide rows among parts; rows with cells of two parts are valid for neither.

    Cells keep their numbers.

    Examples
    --------
    >>> rows = Cuts.of([(np.array(cells), np.ones(len(cells))) for cells in ([0, 1], [1, 2], [2])])
    >>> groups = [np.array([True, True, False]), np.array([False, False, True])]
    >>> [part.cells.tolist() for part in rows_by_part(rows, groups)]
    [[0, 1], [2]]
    """
    label = np.full(len(groups[0]) if groups else 0, -1)
    for place, group in enumerate(groups):
        label[group] = place
    inside: list[list[int]] = [[] for _ in groups]
    if len(rows) and groups:
        here = label[rows.cells]
        row = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
        least, most = np.full(len(rows), len(groups)), np.full(len(rows), -1)
        np.minimum.at(least, row[here >= 0], here[here >= 0])
        np.maximum.at(most, row, here)
        for k in np.flatnonzero(least == most).tolist():
            inside[least[k]].append(k)
    return [Cuts.of([rows.row(k) for k in some], sum(k < rows.n_lively for k in some)) for some in inside]


def fix_cells(instance: Instance, alive: Mask, certain: Integers) -> Instance | None:
    """Publish all but ``alive`` cells, suppress ``certain`` ones; None if a level's cell cannot move then."""
    forced = instance.forced.copy()
    forced[certain] = True
    still = Incidence.of(instance.relations).movable(alive | forced)
    if not still[instance.levels.cell].all():
        return None
    # Cells that are suppressed anyway are kept even if they cannot move.
    return replace(instance, forced=forced).kept(still | forced)


def restrict_cuts(rows: Cuts, old: Instance, new: Instance) -> Cuts:
    """Rewrite cuts for an instance with fewer cells, some of which are now certainly suppressed."""
    place = np.full(len(old), -1)
    place[np.isin(old.cells, new.cells)] = np.arange(len(new))
    at, row = place[rows.cells], np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
    certain = (at >= 0) & new.forced[at]
    left = 1.0 - np.bincount(row[certain], weights=rows.coefficients[certain], minlength=len(rows))
    open_rows = left > INTEGRAL
    there = (at >= 0) & ~certain & open_rows[row]
    c = np.minimum(rows.coefficients[there] / left[row[there]], 1.0)
    ends = np.cumsum(np.bincount(row[there], minlength=len(rows)))[open_rows]
    lively = int(np.count_nonzero(open_rows[: rows.n_lively]))
    return Cuts(np.concatenate([np.zeros(1, dtype=np.int64), ends]), at[there], c, lively)
