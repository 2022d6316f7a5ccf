"""Pool of all rows found by a search, examined before new rows are separated.

A node of the tree stores its rows by their numbers here, so that the search can return to it.
"""

from __future__ import annotations

import numpy as np

from hitoku.methods.optimal.cuts import FACTORS, WHOLE
from hitoku.model import Floats, Integers
from hitoku.solver.master import SparseRows

# Number of rows taken at once, and the cosine above which two rows are nearly the same.
MAX_AT_ONCE, PARALLEL = 20, 0.7
# After this many examinations without a violation a row is set aside until it is found again.
PATIENCE = 1000
# Maximum number of entries of all rows; above it the least recently used half is dropped.
MAX_ENTRIES = 4_000_000
# Maximum number of entries of a dense matrix of all rows; rows of larger pools are examined one by one.
MAX_DENSE = 12_000_000

Row = tuple[Integers, Floats]


class RowPool:
    """Distinct rows ``coefficients @ x >= 1`` over some columns.

    Examples
    --------
    >>> pool = RowPool()
    >>> numbers = pool.add([(np.array([0, 1]), np.ones(2)), (np.array([2]), np.ones(1))])
    >>> pool.violated(np.array([0.5, 0.5, 0.2]), 0.01).tolist()
    [1]
    >>> pool.add([(np.array([0, 1]), np.ones(2))]).tolist()
    [0]
    """

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, bytes], int] = {}
        # Numbers assigned so far, and the position of each row; -1 for dropped ones.
        self._place = np.zeros(0, dtype=np.int64)
        self._number = np.zeros(0, dtype=np.int64)
        # Arrays of entries have spare capacity.
        self._ptr = np.zeros(1, dtype=np.int64)
        self._index, self._data = np.zeros(1024, dtype=np.int64), np.zeros(1024)
        self._norm, self._idle = np.zeros(0), np.zeros(0, dtype=np.int64)
        self._times = np.zeros(0, dtype=np.int64)
        # Number of scans so far, and the last one at which each row was active in a linear program.
        self._looks, self._stood_on = 0, np.zeros(0, dtype=np.int64)
        # Columns by the rows written so far, for a fast scan of all of them.
        self._dense, self._n_dense = np.zeros((0, 0), dtype=np.float32), 0

    def __len__(self) -> int:
        return len(self._number)

    def add(self, rows: list[Row]) -> Integers:
        """Add rows; return their numbers, the old one for a known row."""
        numbers: list[int] = []
        new: list[Row] = []
        for columns, c in rows:
            key = (columns.tobytes(), c.tobytes())
            number = self._known.get(key)
            if number is None:
                number = len(self._place) + len(new)
                self._known[key] = number
                new.append((columns, c))
            elif number < len(self._place):
                self._idle[self._place[number]] = 0
            numbers.append(number)
        if new:
            self._append(new)
        if self._ptr[-1] > MAX_ENTRIES:
            self._forget()
        return np.array(numbers, dtype=np.int64)

    def _append(self, rows: list[Row]) -> None:
        from hitoku.kernels.sparse_rows import measure_rows  # noqa: PLC0415 - numba takes a second to load

        first, stand = len(self._place), len(self._number)
        added = np.arange(len(rows))
        self._place = np.concatenate([self._place, stand + added])
        self._number = np.concatenate([self._number, first + added])
        lengths = [len(columns) for columns, _ in rows]
        begin = int(self._ptr[-1])
        self._ptr = np.concatenate([self._ptr, begin + np.cumsum(lengths)])
        end = int(self._ptr[-1])
        if end > len(self._data):
            capacity = np.zeros(2 * end - len(self._data), dtype=np.int64)
            self._index = np.concatenate([self._index, capacity])
            self._data = np.concatenate([self._data, capacity.astype(np.float64)])
        self._index[begin:end] = np.concatenate([columns for columns, _ in rows])
        self._data[begin:end] = np.concatenate([c for _, c in rows])
        norm, times = np.empty(len(rows)), np.empty(len(rows), dtype=np.int64)
        measure_rows(self._ptr[stand:], self._data, FACTORS, WHOLE, norm, times)
        self._norm, self._times = np.append(self._norm, norm), np.append(self._times, times)
        self._idle = np.append(self._idle, np.zeros(len(rows), dtype=np.int64))
        self._stood_on = np.append(self._stood_on, np.full(len(rows), self._looks))

    def _forget(self) -> None:
        """Keep the half of the rows that was violated or active most recently."""
        order = np.argsort(np.minimum(self._idle, self._looks - self._stood_on), kind="stable")
        kept = np.sort(order[: len(order) // 2])
        numbers, stay = self._number[kept], SparseRows(self._ptr, self._index, self._data).take(kept)
        self._place[:] = -1
        self._place[numbers] = np.arange(len(kept))
        self._number = numbers
        self._dense, self._n_dense = np.zeros((0, 0), dtype=np.float32), 0
        self._norm, self._idle, self._times = self._norm[kept], self._idle[kept], self._times[kept]
        self._stood_on = self._stood_on[kept]
        # Into the same arrays, which have spare capacity.
        self._ptr, end = stay.indptr, int(stay.indptr[-1])
        self._index[:end], self._data[:end] = stay.indices, stay.data
        left = set(numbers.tolist())
        self._known = {key: number for key, number in self._known.items() if number in left}

    def _row(self, place: int) -> Row:
        here = slice(self._ptr[place], self._ptr[place + 1])
        return self._index[here], self._data[here]

    def violated(
        self, x: Floats, least: float, most: int = MAX_AT_ONCE, among: Integers | None = None
    ) -> Integers:
        """Return the numbers of at most ``most`` rows that a point violates most, of some or of all."""
        from hitoku.kernels.sparse_rows import deepest_rows  # noqa: PLC0415 - numba takes a second to load

        which = self._perhaps(x, least) if among is None else np.unique(self._place[among])
        found = deepest_rows(
            (self._ptr, self._index, self._data), self._norm, self._idle, which, x, least, most, PARALLEL,
            PATIENCE,
        )  # fmt: skip
        return np.asarray(self._number[found])

    def _perhaps(self, x: Floats, least: float) -> Integers:
        """Return rows that a point may violate, by a fast scan; all rows if a matrix of them is too large."""
        from hitoku.kernels.sparse_rows import perhaps_short, write_dense  # noqa: PLC0415 - numba loads slowly

        self._looks += 1
        n_rows = len(self)
        if n_rows * len(x) > MAX_DENSE:
            self._dense = np.zeros((0, 0), dtype=np.float32)
            return np.arange(n_rows)
        if n_rows > self._dense.shape[1]:
            capacity = min(2 * n_rows, MAX_DENSE // len(x))
            self._dense, self._n_dense = np.zeros((len(x), capacity), dtype=np.float32), 0
        write_dense(self._dense, self._n_dense, self._ptr, self._index, self._data)
        self._n_dense = n_rows
        return np.asarray(perhaps_short(self._dense, n_rows, x, least, self._idle, PATIENCE))

    def touch(self, numbers: Integers) -> None:
        """Record that rows are active: an active row is not violated, but in use."""
        places = self._place[numbers]
        self._stood_on[places[places >= 0]] = self._looks

    def still(self, numbers: Integers) -> Integers:
        """Return the numbers whose rows have not been dropped."""
        return numbers[self._place[numbers] >= 0]

    def times(self, numbers: Integers) -> Integers:
        """Return the factors that make rows integral."""
        return np.asarray(self._times[self._place[numbers]])

    def rows(self, numbers: Integers) -> list[Row]:
        """Return rows one by one."""
        return [self._row(k) for k in self._place[numbers].tolist()]

    def together(self, numbers: Integers) -> SparseRows:
        """Return rows as one matrix."""
        return SparseRows(self._ptr, self._index, self._data).take(self._place[numbers])

    def latest(self, most: int) -> list[Row]:
        """Return rows, the most recently used first."""
        order = np.argsort(self._idle, kind="stable")[:most]
        return [self._row(k) for k in order.tolist()]
