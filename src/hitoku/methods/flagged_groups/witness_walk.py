"""Walk through tables with the same release and the same flags, starting from release and flags alone.

The attacker who knows the method must consider every table possible that adds up, has the same release and
has an unsafe cell in exactly the same groups. This walk visits such tables until the cells of flagged groups
are wide. It does not use the true table: its only input is the suppressed cells, sums and flags. So all those
tables have the same result, and an error reveals nothing about the suppressed cells beyond the flags
(docs/explanation/blocks.md).

In every group one cell, its *guard*, is kept unsafe, so that tables form a transportation problem; to move
the guard itself, another cell of its group replaces it first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from hitoku.methods.blocks import FAR, Cell, Terms, push
from hitoku.methods.tuning import FLAGGED_GROUPS
from hitoku.model import Integers, Mask


@dataclass(frozen=True, eq=False)
class FlaggedRelease:
    """Public view of a table, and the flags."""

    # rows, columns: sums of the suppressed cells of every row and column.
    rows: Integers
    columns: Integers
    # hidden, marked: suppressed cells; those of flagged groups among them.
    hidden: Mask
    marked: Mask
    group: Integers  # Group number of each cell.
    expected: Integers  # Public expectation, in integers.
    terms: Terms  # Unsafe counts, and required width.

    def never_unsafe(self, cell: Cell) -> bool:
        """Return whether the sums alone exclude an unsafe count for a cell."""
        row, column = cell
        first, last = self.terms.first[cell], self.terms.last[cell]
        of_row, of_column = int(self.rows[row]), int(self.columns[column])
        beside, above = self.hidden[row].copy(), self.hidden[:, column].copy()
        beside[column], above[row] = False, False
        least = max(of_row - self.columns[beside].sum(), of_column - self.rows[above].sum())
        return bool(first > last or min(of_row, of_column) < first or least > last)


@dataclass(eq=False)
class WitnessWalk:
    """State of the walk, and the values that it has visited."""

    shown: FlaggedRelease  # Input of the walk.
    # values, lower, upper: current table, and bounds of its cells.
    values: Integers
    lower: Integers
    upper: Integers
    # low, high: least and largest values visited.
    low: Integers = field(init=False)
    high: Integers = field(init=False)
    guards: dict[int, Cell] = field(default_factory=dict)  # Cell of each flagged group that is kept unsafe.
    members: dict[int, list[Cell]] = field(default_factory=dict)
    # Changes from one visited table to the next; the first one is the start itself.
    steps: list[dict[Cell, int]] = field(default_factory=list)

    @classmethod
    def begin(cls, shown: FlaggedRelease) -> WitnessWalk | None:
        """Find a table to start from; None if the search fails."""
        secondary = shown.hidden & ~shown.marked
        lower = np.where(secondary, shown.terms.last + 1, 0)
        upper = np.where(shown.hidden, FAR, 0)
        walk = cls(shown, lower.copy(), lower, upper)
        for row, column in np.argwhere(shown.marked).tolist():
            walk.members.setdefault(int(shown.group[row, column]), []).append((row, column))
        if not walk._fill() or not walk._set_guards():
            return None
        walk.low, walk.high = walk.values.copy(), walk.values.copy()
        walk.steps = [{cell: int(walk.values[cell]) for cell in cells_of(shown.hidden)}]
        return walk

    def _fill(self) -> bool:
        """Fill the suppressed cells up to their sums: expectations first, then the remainder."""
        rows = self.shown.rows - self.values.sum(axis=1)
        columns = self.shown.columns - self.values.sum(axis=0)
        if np.any(rows < 0) or np.any(columns < 0):
            return False
        for most in (self.shown.expected, np.full(self.values.shape, FAR)):
            for row in range(len(rows)):
                places = np.flatnonzero(self.shown.hidden[row])
                for column in places[np.argsort(-columns[places], kind="stable")].tolist():
                    more = min(rows[row], columns[column], most[row, column])
                    self.values[row, column] += more
                    rows[row] -= more
                    columns[column] -= more
        for row in np.flatnonzero(rows).tolist():
            for column in np.flatnonzero(columns).tolist():
                most_here = int(min(rows[row], columns[column]))
                moved = push(self.values, self.lower, self.upper, len(rows) + column, row, most_here)
                rows[row] -= moved
                columns[column] -= moved
        return not rows.any()

    def _set_guards(self) -> bool:
        """Make one cell of every flagged group unsafe, and keep it so."""
        waiting = sorted(self.members)
        for _ in range(FLAGGED_GROUPS.rounds):
            waiting = [group for group in waiting if not self._guard_one(group, self.members[group])]
            if not waiting:
                return True
            self._change_guards()
        return False

    def _guard_one(self, group: int, candidates: list[Cell]) -> bool:
        """Make one of these cells unsafe, the nearest first; nothing changes if that fails."""
        for cell in sorted(candidates, key=lambda one: abs(self._lacks(one))):
            touched: set[Cell] = set()
            before = self.values.copy()
            self.move(cell, self._lacks(cell), touched)
            if self._lacks(cell) == 0:
                self.guards[group] = cell
                self._bound(cell, kept=True)
                return True
            for one in touched:
                self.values[one] = before[one]
        return False

    def _lacks(self, cell: Cell) -> int:
        """Return how far a cell must move to be unsafe."""
        value, terms = int(self.values[cell]), self.shown.terms
        return max(int(terms.first[cell]) - value, 0) + min(int(terms.last[cell]) - value, 0)

    def _bound(self, cell: Cell, *, kept: bool) -> None:
        terms = self.shown.terms
        self.lower[cell] = terms.first[cell] if kept else 0
        self.upper[cell] = terms.last[cell] if kept else FAR

    def _change_guards(self) -> None:
        """Replace guards by another unsafe cell of their group, if there is one."""
        for group, guard in self.guards.items():
            other = next((c for c in self.members[group] if c != guard and self._lacks(c) == 0), None)
            if other is not None:
                self._bound(guard, kept=False)
                self._bound(other, kept=True)
                self.guards[group] = other

    def _relieve(self, group: int) -> None:
        """Replace the guard of a group by another cell, so that the guard may move."""
        guard = self.guards[group]
        before = self.values.copy()
        self._bound(guard, kept=False)
        if self._guard_one(group, [cell for cell in self.members[group] if cell != guard]):
            self._note(before, None)
        else:
            self._bound(guard, kept=True)

    def _note(self, before: Integers, touched: set[Cell] | None) -> None:
        """Record the table as visited."""
        cells = cells_of(before != self.values) if touched is None else sorted(touched)
        step = {cell: int(self.values[cell] - before[cell]) for cell in cells}
        step = {cell: change for cell, change in step.items() if change}
        for cell in step:
            self.low[cell] = min(self.low[cell], self.values[cell])
            self.high[cell] = max(self.high[cell], self.values[cell])
        if step:
            self.steps.append(step)

    def move(self, cell: Cell, amount: int, touched: set[Cell]) -> None:
        """Raise or lower a cell as far as the others allow, by one exchange or along paths."""
        row, column = cell
        way = 1 if amount > 0 else -1
        own = int(self.values[cell])
        most = min(abs(amount), int(self.upper[cell] - own if way > 0 else own - self.lower[cell]))
        if most <= 0:
            return
        hidden = self.shown.hidden
        rows, columns = np.flatnonzero(hidden[:, column]), np.flatnonzero(hidden[row])
        rows, columns = rows[rows != row], columns[columns != column]
        if len(rows) and len(columns):
            slack = self._slack(row, columns, -way)[None]
            slack = np.minimum(self._slack(rows, column, -way)[:, None], slack)
            slack = np.minimum(slack, self._slack(rows[:, None], columns[None], way))
            i, j = divmod(int(slack.argmax()), len(columns))
            if slack[i, j] >= most:
                other = int(rows[i]), int(columns[j])
                for each, sign in ((cell, 1), (other, 1), ((other[0], column), -1), ((row, other[1]), -1)):
                    self.values[each] += sign * way * most
                    touched.add(each)
                return
        bounds = self.lower[cell], self.upper[cell]
        self.lower[cell] = self.upper[cell] = own
        lines = (row, len(hidden) + column)
        source, sink = lines if way > 0 else lines[::-1]
        moved = push(self.values, self.lower, self.upper, source, sink, most, touched)
        self.lower[cell], self.upper[cell] = bounds
        self.values[cell] = own + way * moved
        touched.add(cell)

    def _slack(self, rows: Integers | int, columns: Integers | int, way: int) -> Integers:
        at = rows, columns
        slack = self.upper[at] - self.values[at] if way > 0 else self.values[at] - self.lower[at]
        return np.asarray(slack)

    def narrow(self) -> Iterator[tuple[int, Cell]]:
        """List groups and their cells that are not wide yet and may be unsafe in some table."""
        for group in sorted(self.members):
            for cell in self.members[group]:
                if not self._wide(cell) and not self.shown.never_unsafe(cell):
                    yield group, cell

    def _wide(self, cell: Cell) -> bool:
        return bool(self.high[cell] - self.low[cell] >= self.shown.terms.width[cell])

    def widen(self) -> bool:
        """Continue until all cells are wide; return False if that fails."""
        for _ in range(FLAGGED_GROUPS.rounds):
            for group, cell in self.narrow():
                if self.guards[group] == cell:
                    self._relieve(group)
                width = int(self.shown.terms.width[cell])
                for up in (True, False):
                    if not self._wide(cell):
                        goal = self.low[cell] + width if up else self.high[cell] - width
                        before, touched = self.values.copy(), set[Cell]()
                        self.move(cell, int(goal - self.values[cell]), touched)
                        self._note(before, touched)
            if next(self.narrow(), None) is None:
                return True
            self._change_guards()
        return False


def cells_of(mask: Mask) -> list[Cell]:
    return [(row, column) for row, column in np.argwhere(mask).tolist()]
