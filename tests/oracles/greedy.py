"""The greedy procedure taken literally: every interval computed afresh after every single cell.

Written from the words of the method's docstring, with sets and lists; linear programs by scipy, on the
values themselves.
"""

from __future__ import annotations

import numpy as np
from tests.oracles.both_ends import both_ends

SLACK = 1e-7


def interval(table, withheld: set[int], cell: int) -> tuple[float, float]:
    """Ends of one withheld cell over all tables that fit what is published."""
    columns = sorted(withheld)
    published = [c for c in range(table.n_cells) if c not in withheld]
    relations = table.relations.toarray()
    rows = np.flatnonzero(np.abs(relations[:, columns]).sum(axis=1))
    rhs = -relations[np.ix_(rows, published)] @ table.value[published]
    return both_ends(
        np.array([c == cell for c in columns]),
        relations[np.ix_(rows, columns)] if len(rows) else None,
        rhs if len(rows) else None,
        np.column_stack([table.lower[columns], table.upper[columns]]),
    )


def is_met(table, need, withheld: set[int], cell: int) -> bool:
    low, high = interval(table, withheld, cell)
    value, slack = table.value[cell], SLACK * max(1.0, abs(table.value[cell]))
    return bool(
        low <= value - need.lower[cell] + slack
        and high >= value + need.upper[cell] - slack
        and high - low >= need.width[cell] - slack
        and high - low > slack
    )


class Literal:
    """The state of one run: sets of cells, relations as sets."""

    def __init__(self, table, need, *, cost, keep, start, prefer) -> None:
        self.table, self.need, self.cost, self.prefer = table, need, cost, prefer
        self.relations = [set(np.flatnonzero(row).tolist()) for row in table.relations.toarray()]
        self.movable = {c for c in range(table.n_cells) if table.upper[c] > table.lower[c]}
        self.keep = set(keep)
        self.unsafe = np.flatnonzero(need.unsafe).tolist()
        self.withheld = set(self.unsafe) | set(start)

    def loose(self, relation):
        return relation & self.withheld & self.movable

    def candidates(self, relation, *, zeros):
        free = (relation & self.movable) - self.withheld - self.keep
        return {c for c in free if zeros or self.table.value[c] != 0}

    def pick(self, chosen, *, zeros):
        """Cells that are no zeros first, then the cheapest, then the first."""
        cells = set().union(*(self.candidates(r, zeros=zeros) for r in chosen))
        cells = {c for c in cells if self.table.value[c] != 0} or cells
        if self.prefer == "closing":
            new = {c: sum(c in r and not self.loose(r) for r in self.relations) for c in cells}
            cells = {c for c in cells if new[c] == min(new.values())}
        return min(cells, key=lambda c: (self.cost[c], c))

    def rings(self, cell):
        """Relations by their distance from a cell: own ones, those that share a loose cell, and so on."""
        inner, reached, found = [], {cell}, []
        while ring := [r for r in self.relations if r & reached and r not in inner]:
            found.append(ring)
            inner += ring
            reached = set().union(*(self.loose(r) for r in ring))
        return found

    def choose(self, cell):
        """Return the next cell to withhold for the sake of an open one; None when there is none."""
        alone = [r for r in self.relations if self.loose(r) == {cell}]
        if alone:
            possible = all(self.candidates(r, zeros=True) for r in alone)
            return self.pick(alone, zeros=True) if possible else None
        for zeros in (False, True):
            rings = [[r for r in ring if self.candidates(r, zeros=zeros)] for ring in self.rings(cell)]
            single = [r for ring in rings for r in ring if len(self.loose(r)) == 1]
            if single:
                return self.pick(single, zeros=zeros)
            for ring in filter(None, rings):
                fewest = min(len(self.loose(r)) for r in ring)
                return self.pick([r for r in ring if len(self.loose(r)) == fewest], zeros=zeros)
        return None


def literal_greedy(table, need, *, cost, keep=(), start=(), prefer="smallest"):
    """Return the cells withheld besides the first ones, in order; None when some cell cannot be met."""
    run = Literal(table, need, cost=cost, keep=keep, start=start, prefer=prefer)
    added: list[int] = []
    while still_open := [c for c in run.unsafe if not is_met(table, need, run.withheld, c)]:
        given_away = [c for c in still_open if any(run.loose(r) == {c} for r in run.relations)]
        cell = run.choose((given_away or still_open)[0])
        if cell is None:
            return None
        run.withheld.add(cell)
        added.append(cell)
    return added
