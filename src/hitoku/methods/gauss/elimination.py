"""One elimination problem: on the relations or, with a singleton test, on the incidence columns.

A suppressed cell can be derived from the published ones exactly if its column of the relations is not a
combination of the columns of the other suppressed cells. So only columns of suppressed cells are needed,
which are few, instead of incidence columns over all inner cells. The two passes are in
:mod:`hitoku.kernels.gauss_passes`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.errors import SolverError
from hitoku.methods.gauss.singletons import AnySums, Firms, Space, ZeroSums, group_sums, pair_sums
from hitoku.methods.gauss.span import CHOICES, Column, Judge, walk
from hitoku.model import Integers, Mask


@dataclass(frozen=True, slots=True, eq=False)
class Elimination:
    """Result of elimination.

    ``secondary`` marks candidates that stay suppressed, ``exposed`` unsafe cells that cannot be protected,
    and ``moves`` is the null-space dimension of the suppressed cells.
    """

    secondary: Mask
    exposed: Mask
    moves: int


def eliminate(
    relations: Any, order: Integers, unsafe: Mask, hidden: Mask, moves: int = 0, c: int = CHOICES[0]
) -> Elimination:
    """Find the secondary cells; candidates neither in ``order`` nor hidden are published.

    Parameters
    ----------
    relations
        Sparse matrix, one column per cell.
    order
        Candidates, the most important first; no unsafe and no hidden ones.
    unsafe
        Cells to protect, which are always suppressed.
    hidden
        Cells that are not published in any case, and need no protection.
    moves
        Minimum null-space dimension to preserve, if possible.
    c
        Choice of prime.
    """
    from hitoku.kernels import basis as kernel  # noqa: PLC0415 - numba starts slowly, small tables do without
    from hitoku.kernels import gauss_passes  # noqa: PLC0415 - see above

    columns, spread = residues(relations, c)
    fixed = np.flatnonzero(unsafe | hidden)
    order = np.asarray(order, dtype=np.int64)
    prime, seed = np.uint64(c), np.uint64(1)
    limit = max(1, min(len(spread), len(fixed) + len(order)))
    grown, space = kernel.empty_basis(len(spread), limit, 4 * limit + 16)
    start = kernel.fixed_basis(columns, spread, fixed, grown, space, prime, seed)
    n_fixed, _, number, _, moved = start
    numbers = number[np.flatnonzero(unsafe)]
    numbers = numbers[numbers >= 0]
    watched = numbers[moved[numbers] == 0]
    opened = np.zeros(limit, dtype=np.uint64)
    draw = np.random.default_rng(c)
    opened[watched] = draw.integers(1, 2**60, size=len(watched), dtype=np.uint64)
    free = len(fixed) - n_fixed
    stop, n, grown, last, free = gauss_passes.backward(
        columns, spread, order, moves, start, opened, free, space, prime, seed
    )
    kept, free = gauss_passes.forward(columns, order, stop, moves, n, grown, number, last, free, space, prime)
    secondary = np.zeros(len(unsafe), dtype=bool)
    secondary[order[kept]] = True
    exposed = np.zeros(len(unsafe), dtype=bool)
    watched_cells = np.flatnonzero(unsafe)
    stuck = np.isin(number[watched_cells], watched[opened[watched] != 0])
    exposed[watched_cells[stuck]] = True
    return Elimination(secondary, exposed, int(free))


def residues(relations: Any, c: int) -> tuple[tuple[Any, Any, Any], Integers]:
    """Return CSC parts modulo ``2**61 - c``, and the number of entries of each row."""
    matrix = sparse.csc_array(relations)
    matrix.sort_indices()
    whole = np.rint(matrix.data).astype(np.int64)
    if np.array_equal(whole, matrix.data):
        data = np.where(whole < 0, whole + (2**61 - c), whole).astype(np.uint64)
    else:
        data = np.array([residue(x, c) for x in matrix.data.tolist()], dtype=np.uint64)
    spread = np.bincount(matrix.indices, minlength=matrix.shape[0]).astype(np.int64)
    return (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), data), spread


def residue(x: float, c: int) -> int:
    """Return one coefficient modulo ``2**61 - c``; decimals are read as the fractions they stand for.

    Examples
    --------
    >>> residue(-1.0, 1) == 2**61 - 2, residue(0.1, 1) * 10 % (2**61 - 1)
    (True, 1)
    """
    prime = 2**61 - c
    fraction = Fraction(x).limit_denominator(10**6)
    if float(fraction) != x:
        fraction = Fraction(x)
    return fraction.numerator * pow(fraction.denominator, -1, prime) % prime


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EliminationProblem:
    """Candidates in order, and the properties of the other cells."""

    n_cells: int  # Number of cells.
    order: Integers  # Candidates, the most important first: none that is unsafe, hidden or forced.
    # unsafe, hidden, forced: masks over cells that do not overlap.
    unsafe: Mask
    hidden: Mask
    forced: Mask
    columns: Callable[[], Sequence[Column]]  # Returns the cells as sums of rows, one row per inner cell.
    # Returns the relations between cells, possibly with additional unpublished ones, and the cell that
    # represents each row.
    relations: Callable[[], tuple[Any, Integers]]
    owner: Integers | None = None  # For each row, zero or the only contributor.
    singletons: str = "none"  # Treatment of singletons, by hitoku's name.
    moves: int = 0  # Minimum null-space dimension to preserve.

    def solve(self) -> Elimination:
        """Find the secondary cells."""
        if self.singletons in {"none", "group_sums", "pairs", "firm_pairs"} or self._owners() is None:
            return self._eliminate(self._extra())
        columns = self.columns()
        unsafe = self._unsafe_columns(columns)
        if self.singletons == "any_sums" and self.forced.any():
            # Forced cells are not tested, so a sum of singletons may arise later as part of a difference:
            # the sums within each cell are watched like unsafe cells (R: subSumAny).
            unsafe += group_sums(columns, _singles(self._owners() or []))
        return self._walk(columns, unsafe)

    def _owners(self) -> list[int] | None:
        """Return the only contributor of each row, or None if there are none; forced cells are not secret."""
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
        """Return sums that must be treated as unsafe cells because of singletons."""
        owner = self._owners()
        if self.singletons == "none" or owner is None:
            return []
        columns = self.columns()
        if self.singletons == "group_sums":
            return group_sums(columns, _singles(owner))
        unsafe = np.flatnonzero(self.unsafe).tolist()
        return pair_sums(columns, unsafe, owner, by_firm=self.singletons == "firm_pairs")

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
        # Repeat the decision modulo another prime.
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

    def _walk(self, columns: Sequence[Column], unsafe: Sequence[Column]) -> Elimination:
        """Process candidates one after another, with a singleton test."""
        n_rows = 1 + max((row for column in columns for row in column), default=-1)
        columns, unsafe, owner = _renumber_rows(columns, unsafe, self._owners() or [])
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
        )
        secondary, exposed = np.zeros(self.n_cells, dtype=bool), np.zeros(self.n_cells, dtype=bool)
        secondary[list(walked.secondary)] = True
        places = np.flatnonzero(self.unsafe)
        exposed[places[[place for place in walked.exposed if place < len(places)]]] = True
        return Elimination(secondary, exposed, walked.moves)

    def _test(
        self, columns: Sequence[Column], unsafe: Sequence[Column], owner: Sequence[int]
    ) -> tuple[Judge, list[Column]]:
        """Return the singleton test, and the unsafe columns that it does not handle itself."""
        first = owner.index(next(firm for firm in owner if firm))
        outside = [column for column in unsafe if any(row < first for row in column)]
        inside = _among_singletons(unsafe, first)
        if self.singletons == "space":
            # Only the part of an unsafe column outside the singletons counts.
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
        # Without forced cells a sum of singletons is never published, so those among them need no watching.
        return AnySums(first), list(unsafe) if self.forced.any() else outside


def _among_singletons(columns: Sequence[Column], first: int) -> list[Column]:
    """Return the columns whose entries all lie in rows of singletons, those from ``first`` on."""
    return [column for column in columns if column and all(row >= first for row in column)]


def _single_rows(columns: Sequence[Column]) -> set[int]:
    """Return the rows of columns that have one entry."""
    return {next(iter(column)) for column in columns if len(column) == 1}


def _singles(owner: Sequence[int]) -> frozenset[int]:
    return frozenset(row for row, firm in enumerate(owner) if firm)


def _with_sums(relations: Any, sums: Sequence[Column], cell_of: Integers) -> Any:
    """Append cells that are sums of rows, with a relation each."""
    n_rows, n = relations.shape
    row = [i for i, column in enumerate(sums) for _ in column] + list(range(len(sums)))
    cell = [int(cell_of[r]) for column in sums for r in column] + [n + i for i in range(len(sums))]
    data = [float(v) for column in sums for v in column.values()] + [-1.0] * len(sums)
    shape = (len(sums), n + len(sums))
    wider = sparse.csr_array((relations.data, relations.indices, relations.indptr), (n_rows, n + len(sums)))
    return sparse.vstack([wider, sparse.csr_array((data, (row, cell)), shape=shape)], format="csr")


def _renumber_rows(
    columns: Sequence[Column], unsafe: Sequence[Column], owner: Sequence[int]
) -> tuple[list[Column], list[Column], list[int]]:
    """Renumber the rows, singletons last: a column led by one of them consists of singletons only."""
    place = np.argsort(np.array(owner) != 0, kind="stable")
    rank = np.empty(len(place), dtype=np.int64)
    rank[place] = np.arange(len(place))
    new = rank.tolist()
    renamed = [[{new[row]: v for row, v in column.items()} for column in part] for part in (columns, unsafe)]
    return renamed[0], renamed[1], [owner[row] for row in place.tolist()]
