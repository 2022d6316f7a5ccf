"""From a table and its need to the cells that can help, and a refusal where nothing can."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from hitoku.errors import NeedError, some
from hitoku.feasibility.incidence import Incidence
from hitoku.methods.optimal.attacker_subproblems import subproblems_for
from hitoku.methods.optimal.budget import Budget
from hitoku.methods.optimal.instance import DOWN, UP, WIDTH, Instance, ProtectionLevels
from hitoku.methods.optimal.pushes import levels_met, pushes_for
from hitoku.methods.optimal.tie_break import numbers
from hitoku.model import Floats, Integers, Mask, Need, Table

# An unsafe cell of which nothing is required must still not be a single point to an outsider: whole numbers
# must leave two values, real ones this share of their size.
POINT = 1e-6
# Beside large numbers so little is rounding: no less is asked than this share of what cells usually hold, or
# of what those hold that are tied to the cell.
LEAST = 1e-2


def levels_of(table: Table, need: Need) -> ProtectionLevels:
    """List what must be reached, by positions in the table."""
    unsafe = np.flatnonzero(need.unsafe)
    up, down = need.upper[unsafe], need.lower[unsafe]
    width = need.width[unsafe]
    rooms = table.upper[unsafe] - table.value[unsafe], table.value[unsafe] - table.lower[unsafe]
    nothing = (up == 0) & (down == 0) & (width == 0)
    least = np.ones(len(unsafe))
    if not table.integer:
        size = np.abs(table.value)
        usual = _usual(table, size, unsafe, nothing)
        least = np.maximum(POINT * np.maximum(1.0, size[unsafe]), LEAST * usual)
    width = np.where(nothing, np.minimum(least, rooms[0] + rooms[1]), width)
    # A point stays a point: asking for nothing would hide that.
    width = np.where(nothing & (width == 0), least, width)
    wide = width > up + down
    cell = np.concatenate([unsafe[up > 0], unsafe[down > 0], unsafe[wide]])
    side = np.repeat(
        np.array([UP, DOWN, WIDTH], dtype=np.int8), [(up > 0).sum(), (down > 0).sum(), wide.sum()]
    )
    return ProtectionLevels(cell, side, np.concatenate([up[up > 0], down[down > 0], width[wide]]))


def _usual(table: Table, size: Floats, unsafe: Integers, nothing: Mask) -> Floats:
    """Return what cells of the table hold, no more than what each relation of a cell has beside it."""
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
    """Reduce the problem to cells that can move and levels that take deciding.

    Raises :class:`NeedError` where a level cannot be reached even when every cell that may be withheld is.
    """
    forced = need.unsafe | withhold
    _refuse(table, np.flatnonzero(forced & keep), "must be withheld and must stay published",
            "free them in keep or table.fixed, or make the need smaller")  # fmt: skip
    up, down = table.upper - table.value, table.value - table.lower
    levels = levels_of(table, need)
    room = _room(levels, up, down)
    _refuse(table, np.unique(levels.cell[room < levels.amount * (1 - 1e-12)]),
            "cannot be blurred as required: what an outsider is assumed to know already pins them down",
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
    instance = instance.with_levels(~_reached(instance, instance.forced.astype(np.float64)))
    unmet = ~_reached(instance, np.ones(len(instance)))
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


def _room(levels: ProtectionLevels, up: Floats, down: Floats) -> Floats:
    above, below = up[levels.cell], down[levels.cell]
    return np.select([levels.side == UP, levels.side == DOWN], [above, below], above + below)


def _lean(instance: Instance) -> Instance:
    """Drop relations that say the same as others: rows without cells, and repetitions."""
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


def _reached(instance: Instance, x: Floats) -> Mask:
    # By counting alone, most cells cannot move when only the unsafe ones are withheld.
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
