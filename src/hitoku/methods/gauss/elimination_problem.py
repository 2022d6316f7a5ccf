"""One elimination problem, and the choice of the way to solve it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import hitoku.kernels
from hitoku.errors import SolverError
from hitoku.methods.gauss.dual import CHOICES, Elimination, eliminate
from hitoku.methods.gauss.fast_span import FastSpan
from hitoku.methods.gauss.firms import Firms
from hitoku.methods.gauss.primal import Judge, walk
from hitoku.methods.gauss.singletons import AnySums, Space, ZeroSums, group_sums, pair_sums
from hitoku.methods.gauss.span import Column
from hitoku.model import Integers, Mask

# Plain Python is tried first on tables of up to this many cells: it has answered before numba is even
# imported, let alone compiled. It gives up after so many entries, a third of a second.
SMALL = 50_000
EFFORT = 1_500_000
# Where kernels were never compiled, which takes longer than this, Python gets more time for these tables.
MODEST = 6_000
PATIENCE = 16_000_000
# Once numba is there, Python keeps only what is smaller than this.
TINY = 300
# Ways to handle singletons that can do with compiled arithmetic; the others look into the span itself.
COMPILED = frozenset({"any_sums", "open_sums", "zero_sums", "space"})


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EliminationProblem:
    """Candidates in order, and everything that is known about the other cells.

    Parameters
    ----------
    n_cells
        Cells.
    order
        Candidates, the most important first: none that is unsafe, hidden or forced.
    unsafe, hidden, forced
        Masks over cells that do not overlap.
    columns
        Makes the cells as sums of rows, one row per inner cell.
    relations
        Makes the relations between cells, perhaps over some more, unpublished ones, and the cell that stands
        for each row.
    owner
        For each row, zero or who is alone in it.
    singletons
        How singletons are handled, by our name.
    moves
        Independent moves to leave at least.
    """

    n_cells: int
    order: Integers
    unsafe: Mask
    hidden: Mask
    forced: Mask
    columns: Callable[[], Sequence[Column]]
    relations: Callable[[], tuple[Any, Integers]]
    owner: Integers | None = None
    singletons: str = "none"
    moves: int = 0

    def solve(self) -> Elimination:
        """Find the secondary cells."""
        if self.singletons in {"none", "group_sums", "pairs", "firm_pairs"} or self._owners() is None:
            return self._plain()
        columns = self.columns()
        unsafe = self._unsafe_columns(columns)
        if self.singletons == "any_sums" and self.forced.any():
            # What is forced is not tested, so a sum of singletons may come up later, as part of a difference:
            # the sums within each cell are watched like unsafe cells (R: subSumAny).
            unsafe += group_sums(columns, _singles(self._owners() or []))
        limit = EFFORT if self.singletons in COMPILED else float("inf")
        outcome = self._walk(columns, unsafe, special=True, limit=limit)
        if outcome is None:
            outcome = self._walk(columns, unsafe, special=True, fast=True)
        if outcome is None:
            raise SolverError("elimination_stopped", "elimination stopped without a limit", where="Gauss")
        return outcome

    def _owners(self) -> list[int] | None:
        """Who is alone in each row; None where nobody is. What is forced is no secret of its owner."""
        if self.owner is None or not np.any(self.owner):
            return None
        owner = self.owner.tolist()
        if self.forced.any():
            columns = self.columns()
            for cell in np.flatnonzero(self.forced).tolist():
                if len(columns[cell]) == 1:
                    owner[next(iter(columns[cell]))] = 0
        return owner if any(owner) else None

    def _unsafe_columns(self, columns: Sequence[Column]) -> list[Column]:
        return [columns[cell] for cell in np.flatnonzero(self.unsafe).tolist()]

    def _extra(self) -> list[Column]:
        """Return sums that are as good as unsafe cells, for singletons' sake."""
        owner = self._owners()
        if self.singletons == "none" or owner is None:
            return []
        columns = self.columns()
        if self.singletons == "group_sums":
            return group_sums(columns, _singles(owner))
        unsafe = np.flatnonzero(self.unsafe).tolist()
        return pair_sums(columns, unsafe, owner, by_firm=self.singletons == "firm_pairs")

    def _plain(self) -> Elimination:
        """Unsafe columns and nothing else: the relations will do, unless the table is small."""
        extra = self._extra()
        if self.n_cells <= (TINY if "hitoku.kernels.gauss" in sys.modules else SMALL):
            columns = self.columns()
            patient = self.n_cells <= MODEST and not _compiled()
            limit = PATIENCE if patient else EFFORT
            outcome = self._walk(columns, [*self._unsafe_columns(columns), *extra], limit=limit)
            if outcome is not None:
                return outcome
        return self._eliminate(extra)

    def _eliminate(self, extra: Sequence[Column]) -> Elimination:
        relations, cell_of = self.relations()
        n = relations.shape[1]
        if extra:
            relations = _with_sums(relations, extra, cell_of)
        total = relations.shape[1]
        unsafe, hidden = np.zeros(total, dtype=bool), np.zeros(total, dtype=bool)
        unsafe[: self.n_cells], unsafe[n:] = self.unsafe, True
        hidden[: self.n_cells], hidden[self.n_cells : n] = self.hidden, True
        found = eliminate(relations, self.order, unsafe, hidden, self.moves)
        # The same question of what was decided, modulo another prime.
        again = eliminate(relations, self.order[:0], unsafe, hidden | found.secondary, c=CHOICES[1])
        if not np.array_equal(found.exposed, again.exposed) or found.moves != again.moves:
            raise SolverError(
                "elimination_answers_differ",
                "elimination modulo two primes gave two answers",
                where="{n_secondary} secondary cells",
                fix="report this table: the chance of it is below one in 2**50",
                n_secondary=int(found.secondary.sum()),
            )
        keep = slice(0, self.n_cells)
        return Elimination(found.secondary[keep], found.exposed[keep], found.moves)

    def _walk(
        self,
        columns: Sequence[Column],
        unsafe: Sequence[Column],
        *,
        special: bool = False,
        fast: bool = False,
        limit: float = float("inf"),
    ) -> Elimination | None:
        n_rows = 1 + max((row for column in columns for row in column), default=-1)
        watched: list[Column] | None = None
        test: Judge | None = None
        if special:
            owner = self._owners() or []
            columns, unsafe, owner = _ranked(columns, unsafe, owner)
            test, watched = self._test(columns, unsafe, owner)
        walked = walk(
            columns,
            self.order.tolist(),
            unsafe,
            n_rows=n_rows,
            forced=np.flatnonzero(self.forced).tolist(),
            watched=watched,
            test=test,
            moves=self.moves,
            limit=limit,
            span=FastSpan(n_rows) if fast else None,
        )
        if walked is None:
            return None
        secondary, exposed = np.zeros(self.n_cells, dtype=bool), np.zeros(self.n_cells, dtype=bool)
        secondary[list(walked.secondary)] = True
        places = np.flatnonzero(self.unsafe)
        exposed[places[[place for place in walked.exposed if place < len(places)]]] = True
        return Elimination(secondary, exposed, walked.moves)

    def _test(
        self, columns: Sequence[Column], unsafe: Sequence[Column], owner: Sequence[int]
    ) -> tuple[Judge, list[Column]]:
        """Return the test for singletons, and the unsafe columns that it does not take care of itself."""
        first = owner.index(next(firm for firm in owner if firm))
        outside = [column for column in unsafe if any(row < first for row in column)]
        inside = _among_singletons(unsafe, first)
        if self.singletons == "space":
            # Only what is left of an unsafe column beside the singletons counts.
            return Space(first), [{r: v for r, v in column.items() if r < first} for column in outside]
        if self.singletons in {"firms", "all_firms"}:
            published = set() if self.singletons == "all_firms" else _single_rows(columns)
            alone = [{row: 1} for row in range(first, len(owner)) if row not in published]
            return Firms(first, owner, (*inside, *alone)), outside
        if self.singletons == "zero_sums":
            groups = tuple(_among_singletons(columns, first))
            return ZeroSums(first, open=True, groups=groups, unsafe=tuple(inside)), list(unsafe)
        needless = _single_rows(inside)
        loose = any(row >= first and row not in needless for row in _single_rows(columns))
        if self.singletons == "open_sums" or loose:
            return AnySums(first, open=True), list(unsafe)
        # With nothing forced, a sum of singletons is never published, so those among them need no watching.
        return AnySums(first), list(unsafe) if self.forced.any() else outside


def _among_singletons(columns: Sequence[Column], first: int) -> list[Column]:
    """Return the columns that have entries in rows of singletons alone, those from ``first`` on."""
    return [column for column in columns if column and all(row >= first for row in column)]


def _single_rows(columns: Sequence[Column]) -> set[int]:
    """Return the rows of columns that have one entry."""
    return {next(iter(column)) for column in columns if len(column) == 1}


def _singles(owner: Sequence[int]) -> frozenset[int]:
    return frozenset(row for row, firm in enumerate(owner) if firm)


def _compiled() -> bool:
    """Tell whether numba has stored the kernels, next to their source or where it was told to, unimported."""
    told = os.environ.get("NUMBA_CACHE_DIR")
    stored = Path(told) if told else Path(hitoku.kernels.__file__).parent / "__pycache__"
    return any(stored.rglob("gauss.forward-*.nbi"))


def _with_sums(relations: Any, sums: Sequence[Column], cell_of: Integers) -> Any:
    """Append cells that are sums of rows, with a relation each."""
    n_rows, n = relations.shape
    row = [i for i, column in enumerate(sums) for _ in column] + list(range(len(sums)))
    cell = [int(cell_of[r]) for column in sums for r in column] + [n + i for i in range(len(sums))]
    data = [float(v) for column in sums for v in column.values()] + [-1.0] * len(sums)
    shape = (len(sums), n + len(sums))
    wider = sparse.csr_array((relations.data, relations.indices, relations.indptr), (n_rows, n + len(sums)))
    return sparse.vstack([wider, sparse.csr_array((data, (row, cell)), shape=shape)], format="csr")


def _ranked(
    columns: Sequence[Column], unsafe: Sequence[Column], owner: Sequence[int]
) -> tuple[list[Column], list[Column], list[int]]:
    """Renumber the rows, singletons last: a column led by one of them consists of singletons only."""
    place = np.argsort(np.array(owner) != 0, kind="stable")
    rank = np.empty(len(place), dtype=np.int64)
    rank[place] = np.arange(len(place))
    new = rank.tolist()
    renamed = [[{new[row]: v for row, v in column.items()} for column in part] for part in (columns, unsafe)]
    return renamed[0], renamed[1], [owner[row] for row in place.tolist()]
