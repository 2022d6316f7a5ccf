"""Check a claim about an attacker who knows the method flagged_groups.

The claim contains its own tables; verify_blocks.py loads this file for claims of version 3. It needs only
Python's standard library. Groups and further cells are chosen again, which must give exactly the suppressed
cells. Then the steps of the claim are followed from the true table: each must lead to a table that adds up,
has the same release and has unsafe cells in the same groups; together they must leave every cell of these
groups wide. That the method treats such tables alike, because its input is the same, is not tested.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Grid = list[list[int]]
Cell = tuple[int, int]
PARTS, AMPLE, MANY = 1024, 6, 6


def shown_by(
    claim: dict[str, Any], values: Grid, rule: Any, expected: Grid, demand: Callable[..., None]
) -> tuple[set[Cell], str]:
    """Follow the steps between tables; return the cells that the method suppresses, and the guarantee."""
    size, count = claim["group"], claim["closure"]
    demand(type(size) is type(count) is int and size >= 2 and count >= 1, "a claim without numbers", 2)
    flags = Flags(expected, size, {cell for cell, x in numbered(values) if rule.marks(0, 0, x)})
    hidden = ClosedLines(flags.marked, expected, AMPLE * rule.width * PARTS, count).closed()
    table, met = {cell: x for cell, x in numbered(values) if cell in hidden}, {}
    for cell in flags.marked:
        met[cell] = {table[cell]}
    for cells, changes in claim["steps"]:
        demand(len(cells) == len(changes) and all(type(n) is int for n in (*cells, *changes)), "no step", 2)
        step = {divmod(n, len(values[0]) + 1): change for n, change in zip(cells, changes, strict=True)}
        demand(len(step) == len(cells) and step.keys() <= hidden, "a witness changes what is published")
        for axis in (0, 1):
            sums: dict[int, int] = {}
            for cell, change in step.items():
                sums[cell[axis]] = sums.get(cell[axis], 0) + change
            demand(not any(sums.values()), "a witness does not add up")
        for cell, change in step.items():
            table[cell] += change
            demand(table[cell] >= 0, "a witness has a negative count")
        for cell in step:
            if cell in flags.marked:
                kept = any(rule.marks(0, 0, table[one]) for one in flags.members[flags.group[cell]])
                demand(kept, "a witness has other flags")
                met[cell].add(table[cell])
            else:
                demand(not rule.marks(0, 0, table[cell]), "a witness has other flags")
    for cell, seen in met.items():
        wide = max(seen) - min(seen) >= rule.width
        demand(wide or never_unsafe(cell, table, rule), "the witnesses leave a cell narrow")
    basis = f"by {len(claim['steps'])} tables that show the same and have the same flags"
    return hidden, f"a width of {rule.width} for each of them ({basis})"


def numbered(values: Grid) -> list[tuple[Cell, int]]:
    return [((i, j), x) for i, line in enumerate(values) for j, x in enumerate(line)]


def never_unsafe(cell: Cell, table: dict[Cell, int], rule: Any) -> bool:
    """Return whether the sums of the suppressed cells alone exclude an unsafe value of one of them."""
    sums: dict[tuple[int, int], int] = {}
    for one, x in table.items():
        for axis in (0, 1):
            sums[axis, one[axis]] = sums.get((axis, one[axis]), 0) + x
    row, column = sums[0, cell[0]], sums[1, cell[1]]
    beside = sum(sums[1, one[1]] for one in table if one[0] == cell[0] and one != cell)
    above = sum(sums[0, one[0]] for one in table if one[1] == cell[1] and one != cell)
    return bool(min(row, column) < rule.first or max(row - beside, column - above) > rule.last)


class Flags:
    """Groups of cells with similar expectations; those with an unsafe cell are suppressed."""

    def __init__(self, expected: Grid, size: int, unsafe: set[Cell]) -> None:
        order = [cell for cell, _ in sorted(numbered(expected), key=lambda one: one[1])]
        last = max(len(order) // size - 1, 0)
        self.group = {cell: min(place // size, last) for place, cell in enumerate(order)}
        self.members: dict[int, list[Cell]] = {}
        for cell, number in self.group.items():
            self.members.setdefault(number, []).append(cell)
        flagged = {self.group[cell] for cell in unsafe}
        self.marked = {cell for cell, number in self.group.items() if number in flagged}


class ClosedLines:
    """Rows (axis 0) and columns (axis 1) while cells are suppressed that let flagged ones move."""

    def __init__(self, marked: set[Cell], expected: Grid, enough: int, count: int) -> None:
        self.marked, self.expected, self.enough, self.count = marked, expected, enough, count
        self.shape = (len(expected), len(expected[0]))
        self.hidden: set[Cell] = set()
        self.n_hidden, self.n_marked = ([[0] * n for n in self.shape] for _ in range(2))
        for cell in marked:
            self.add(cell)
            for axis in (0, 1):
                self.n_marked[axis][cell[axis]] += 1

    def add(self, cell: Cell) -> None:
        if cell not in self.hidden:
            self.hidden.add(cell)
            for axis in (0, 1):
                self.n_hidden[axis][cell[axis]] += 1

    def lacks(self, axis: int, line: int) -> bool:
        mine, marked = self.n_hidden[axis][line], self.n_marked[axis][line]
        return 0 < mine < max(2, marked + self.count) and marked < MANY * self.count

    def widen(self) -> None:
        """Add a second line if one row or column contains all suppressed cells."""
        for axis in (0, 1):
            lines = [line for line, n in enumerate(self.n_hidden[axis]) if n]
            if len(lines) == 1:
                every = self.expected if axis == 0 else zip(*self.expected, strict=True)
                sums = [sum(line) for line in every]
                sums[lines[0]] = -1
                other = sums.index(max(sums))
                for cell in sorted(self.hidden):
                    self.add((other, cell[1]) if axis == 0 else (cell[0], other))

    def best(self, axis: int, line: int) -> Cell | None:
        """Choose one more cell of a line."""
        every = [(line, k) if axis == 0 else (k, line) for k in range(self.shape[1 - axis])]
        places = [cell for cell in every if cell not in self.hidden]
        ample = [cell for cell in places if self.expected[cell[0]][cell[1]] >= self.enough]
        touched = [cell for cell in ample if self.n_hidden[1 - axis][cell[1 - axis]]]

        def price(cell: Cell) -> tuple[bool, int]:
            least = self.expected[cell[0]][cell[1]]
            full = bool(touched) and not self.lacks(1 - axis, cell[1 - axis])
            return full, least if ample else -least

        return min(touched or ample or places, key=price, default=None)

    def closed(self) -> set[Cell]:
        """Add cells until every line with suppressed cells has enough others that can move."""
        self.widen()
        going = True
        while going:
            going = False
            for axis in (0, 1):
                for line in range(self.shape[axis]):
                    chosen = self.best(axis, line) if self.lacks(axis, line) else None
                    if chosen is not None:
                        self.add(chosen)
                        going = True
        return self.hidden
