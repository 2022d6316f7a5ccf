"""The elimination problem of a table, and further suppressions if excluding exact derivation is not enough.

Groups that an attack still pins after elimination need more: some feasible nonnegative table must have more
than k people of the group outside. Those outside become an additional, unpublished cell with an upper level;
the greedy method, which works with intervals, adds the required cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.attacks import Interval
from hitoku.errors import NeedError, some
from hitoku.methods.gauss.elimination import Elimination, EliminationProblem
from hitoku.methods.gauss.incidence import incidence_of
from hitoku.methods.gauss.singletons import MAGNITUDE
from hitoku.methods.gauss.span import PRIME, Column
from hitoku.methods.greedy import Greedy
from hitoku.methods.tuning import GAUSS
from hitoku.model import Floats, Integers, Labels, Mask, Need, Protection, Release, Table
from hitoku.solver.solution import Deadline


@dataclass(eq=False)
class TableProblem:
    """Input of elimination for one table; sums of inner cells are computed on first use."""

    # table, need: table, and its need.
    table: Table
    need: Need
    order: Integers  # All cells, the most important first.
    forced: Mask  # Cells that are published; ``excused`` if exposures by them do not matter.
    hidden: Mask  # Cells that are not published and need no protection.
    excused: bool
    owner: Integers | None  # Per cell, zero or the only contributor; None: no singletons.
    # singletons, moves: as in :class:`hitoku.methods.gauss.Gauss`.
    singletons: str
    moves: int
    differences: Any = None  # Cells by differences that must not be derivable.
    _sums: tuple[list[Column], Integers] | None = field(default=None, init=False)

    def sums(self) -> tuple[list[Column], Integers]:
        """Return cells as sums of inner cells, and the inner cells."""
        if self._sums is None:
            columns, inner = incidence_of(self.table)
            self._sums = (columns + _differences(columns, self.differences), inner)
        return self._sums

    def relations(self) -> tuple[Any, Integers]:
        """Return the relations between the cells and the differences; rows stand for inner cells."""
        relations = self.table.relations
        inner = self.sums()[1] if self.singletons != "none" else np.zeros(0, dtype=np.int64)
        if self.differences is None:
            return relations, inner
        n = self.differences.shape[1]
        wider = sparse.hstack([relations, sparse.csr_array((relations.shape[0], n))])
        return sparse.vstack(
            [wider, sparse.hstack([self.differences.T, -sparse.eye_array(n)])], format="csr"
        ), inner

    def solve(self, extra: Mask) -> Elimination:
        """Find secondary cells, with some additional cells protected as if they were unsafe."""
        n = self.table.n_cells
        unsafe = (self.need.unsafe | extra) & ~self.forced
        hidden = self.hidden & ~unsafe & ~self.forced
        order = self.order[~(unsafe | hidden | self.forced)[self.order]]
        more = 0 if self.differences is None else self.differences.shape[1]
        owner = None
        if self.owner is not None:
            owner = self.owner[self.sums()[1]]
        outcome = EliminationProblem(
            n_cells=n + more,
            order=order,
            unsafe=np.append(unsafe, np.ones(more, dtype=bool)),
            hidden=np.append(hidden, np.zeros(more, dtype=bool)),
            forced=np.append(self.forced, np.zeros(more, dtype=bool)),
            columns=lambda: self.sums()[0],
            relations=self.relations,
            owner=owner,
            singletons=self.singletons,
            moves=self.moves,
        ).solve()
        # An additional cell that cannot be protected does not help, but it is not confidential either.
        exposed = outcome.exposed & np.append(self.need.unsafe, np.ones(more, dtype=bool))
        if exposed.any() and not self.excused:
            self._refuse(np.flatnonzero(exposed))
        return Elimination(outcome.secondary[:n], outcome.exposed[:n], outcome.moves)

    def _refuse(self, exposed: Integers) -> None:
        n = self.table.n_cells
        cells = [int(cell) for cell in exposed if cell < n]
        named = some((f"[{self.table.describe(cell)}]" for cell in cells[:4]), 3) if cells else "a difference"
        raise NeedError(
            "unsafe_cells_follow_from_published",
            "{n} unsafe cell(s) follow from cells that must be published",
            where=named,
            fix="keep or force fewer cells, or merge their codes with others",
            n=len(exposed),
        )


def _differences(columns: Sequence[Column], differences: Any) -> list[Column]:
    if differences is None:
        return []
    matrix = sparse.csc_array(differences)
    out: list[Column] = []
    for j in range(matrix.shape[1]):
        total: Column = {}
        for k in range(matrix.indptr[j], matrix.indptr[j + 1]):
            weight = int(matrix.data[k])
            for row, value in columns[int(matrix.indices[k])].items():
                total[row] = (total.get(row, 0) + weight * value) % PRIME
        out.append({row: value for row, value in total.items() if value})
    return out


def owners_of(
    table: Table, need: Need, singletons: str, given: Any, *, zeros_withheld: bool
) -> Integers | None:
    """Return the only contributor of each cell, as given or from the counts.

    If zeros are suppressed, zeros are the singletons, because a published zero sum reveals all its
    parts; otherwise cells of one respondent are.
    """
    n = table.n_cells
    if singletons == "none":
        return None
    if given is not None:
        owner = np.asarray(given)
        return np.where(owner, np.arange(1, n + 1), 0) if owner.dtype == np.bool_ else owner.astype(np.int64)
    count = table.units.count if singletons in MAGNITUDE and table.units is not None else table.frequency
    if count is None:
        raise NeedError(
            "singletons_unknown",
            "the table does not say who is alone in a cell",
            where="singletons",
            fix="give the table a frequency, or name the singletons with singleton=",
        )
    if singletons not in MAGNITUDE and (zeros_withheld or bool(np.any(need.unsafe & (count == 0)))):
        return np.where(count == 0, np.arange(1, n + 1), 0)
    return np.where(count == 1, np.arange(1, n + 1), 0)


def too_narrow(
    table: Table, need: Need, release: Release, width: float, deadline: Deadline | None = None
) -> Integers:
    """Return unsafe cells that can be inferred more closely than their need, or a width, allows.

    After the deadline, cells may be missing.
    """
    bounds = Interval().bounds(release, deadline)
    wider = replace(need, width=np.where(need.unsafe, np.maximum(need.width, width), 0.0))
    return np.flatnonzero(~wider.met(table.value, bounds))


def next_to(table: Table, cells: Sequence[int]) -> Mask:
    """Return the cells that share a relation with some of these."""
    marked = np.zeros(table.n_cells)
    marked[list(cells)] = 1.0
    touched = abs(table.relations) @ marked > 0
    return np.asarray(abs(table.relations).T @ touched.astype(np.float64) > 0)


def next_to_withhold(table: Table, order: Integers, cells: Integers, closed: Mask) -> Mask:
    """Choose another cell for each of these: the least important neighbour, or neighbour of neighbours.

    Parameters
    ----------
    table
        Table to protect.
    order
        All cells, the most important first.
    cells
        Cells that need another suppressed cell.
    closed
        Cells that are suppressed already or must not be.
    """
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    chosen = np.zeros(table.n_cells, dtype=bool)
    for cell in cells.tolist():
        reach: Sequence[int] = [cell]
        near = np.zeros(0, dtype=np.int64)
        while not len(near):
            mask = next_to(table, reach)
            near = np.flatnonzero(mask & ~closed)
            if not len(near) and int(mask.sum()) == len(reach):
                raise NeedError(
                    "cell_cannot_be_blurred",
                    "an unsafe cell cannot reach its required protection: everything around it is suppressed",
                    where="cell {cell}",
                    fix="require less, keep fewer cells, or merge codes",
                    cell=table.describe(cell),
                )
            reach = np.flatnonzero(mask).tolist()
        chosen[near[np.argmax(rank[near])]] = True
    return chosen


def unpin(table: Table, need: Need, withheld: Mask, keep: Mask, attack: Any) -> Mask:
    """Add suppressed cells until the attack finds nothing; return all suppressed cells.

    Parameters
    ----------
    table, need
        Table, and its unsafe cells.
    withheld
        Cells suppressed so far.
    keep
        Cells that stay published.
    attack
        Finds groups: cells of a ``total``, ``inside`` and ``outside``; at most ``k`` of them are outside.
    """
    known: dict[Any, float] = {}
    # Totals that get suppressed on the way change the requirement of a group, so the attack is repeated.
    for _ in range(GAUSS.unpin_rounds):
        found = attack.find(Release.of(table, Protection.withhold(table, withheld)))
        if not found:
            return withheld
        for group in found:
            # If a group is known to be no larger than k, it is enough that all of it may be elsewhere.
            size = np.inf if withheld[group.total] or group in known else table.value[group.total]
            known[group] = min(attack.k + 1.0, float(size))
        groups = list(known)
        wider, outside = _with_outside(table, groups)
        missing = np.maximum(np.array([known[group] for group in groups]) - outside, 0.0)
        extended = Need(
            unsafe=np.append(need.unsafe & withheld, np.ones(len(groups), dtype=bool)),
            upper=np.append(np.zeros(table.n_cells), missing),
        )
        no_group = np.zeros(len(groups), dtype=bool)
        start, stay = np.append(withheld, ~no_group), np.append(keep, no_group)
        greedy = Greedy(prefer="closing", start=start, keep=stay, record="cells")
        withheld = greedy.protect(wider, extended).withheld[: table.n_cells]
    raise NeedError(
        "groups_pinned",
        "{n} group(s) can still be pinned to a value",
        where="groups {groups}",
        fix="keep fewer cells, or merge codes",
        n=len(found),
        groups=some((table.describe(group.total) for group in found[:3]), 3),
    )


def _with_outside(table: Table, groups: Sequence[Any]) -> tuple[Table, Floats]:
    """Add to a table, for each group, a cell for all people outside."""
    n, m = table.n_cells, len(groups)
    outside = np.array([table.value[list(group.outside)].sum() for group in groups])
    row = [i for i, group in enumerate(groups) for _ in range(len(group.outside) + 1)]
    cell = [c for i, group in enumerate(groups) for c in (*group.outside, n + i)]
    data = [x for group in groups for x in (*(1.0 for _ in group.outside), -1.0)]
    old = sparse.hstack([table.relations, sparse.csr_array((table.relations.shape[0], m))])
    new = sparse.csr_array((data, (row, cell)), shape=(m, n + m))
    low = [table.lower[list(group.outside)].sum() for group in groups]
    wider = Table(
        value=np.append(table.value, outside),
        relations=sparse.vstack([old, new], format="csr"),
        labels=Labels.numbered(n + m),
        lower=np.append(table.lower, low),
        upper=np.append(table.upper, np.full(m, np.inf)),
        integer=table.integer,
    )
    return wider, outside
