"""Contributors of every cell: states that grow with records, merge in any order, and give the ranks."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.errors import DataError, ParameterError
from hitoku.kernels import cell_rows, fixed_point, record_order, topk
from hitoku.model import Dimension, Floats, Integers, add_up
from hitoku.tabulation.cube import Cube
from hitoku.tabulation.exact_sums import Numbers

LONGEST_LIST = 64
MAX_SHARES = 8


@dataclass(frozen=True)
class Ranking:
    """Options for ranking contributors."""

    top: int
    """Number of ranks; zero if contributors are only counted."""
    absolute: bool
    """Whether to rank by size, regardless of sign."""
    length: int
    """Contributors to keep per cell until all are known: ``top``, or more if weights below one fill the
    ranks only in part."""
    weighted: bool
    """Whether contributors have weights."""

    @classmethod
    def of(cls, numbers: Numbers, *, top: int, absolute: bool, weighted: bool) -> Ranking:
        """Choose the length of the lists; raise for weights that need very long ones."""
        if not weighted or top == 0:
            return cls(top, absolute, top, weighted)
        needed = math.ceil(top / min(1.0, numbers.smallest_weight))
        if needed > LONGEST_LIST:
            raise ParameterError(
                "weights_need_more_ranks",
                "{needed} contributors per cell would be needed to fill {top} ranks with these weights",
                where="weight",
                fix="use weights of at least {top_2:.2g} (a record stands for itself at "
                "least), or choose a smaller top",
                needed=needed,
                top=top,
                top_2=top / LONGEST_LIST,
            )
        # One more than needed: a mean weight may be rounded to just below the smallest. And one that
        # fills no rank, to detect whether there are more.
        return cls(top, absolute, needed + 2, weighted)

    @property
    def width(self) -> int:
        """Numbers kept per cell; see the kernel."""
        return self.end + 2 * self.absolute

    @property
    def end(self) -> int:
        """End of the ranks in a row."""
        return cell_rows.FIRST_WEIGHTED + 2 * self.length if self.weighted else cell_rows.FIRST + self.length


@dataclass(frozen=True)
class Ranked:
    """Statistics of the contributors of every cell, in the units of the values."""

    count: Integers
    largest: Floats
    squares: Floats
    sizes: Floats


@dataclass(frozen=True, eq=False)
class State:
    """Contributors processed so far; see the kernel.

    All records of a contributor go into one state. States of different contributors are merged, in any order.
    """

    cube: Cube
    ranking: Ranking
    fine: Floats
    leaves: Floats
    """Contributors with a single leaf cell, by leaf."""
    cells: Floats
    """All others, by cell."""

    @classmethod
    def empty(cls, cube: Cube, ranking: Ranking, numbers: Numbers) -> State:
        """Return an empty state."""
        leaves, cells = (_aligned_zeros(n, ranking.width) for n in (cube.n_leaves, cube.n_cells))
        return cls(cube, ranking, np.array(numbers.fine.ranks), leaves, cells)

    def add_records(self, key: record_order.Keys, x: Floats, w: Floats) -> None:
        """Add records that are contributors by themselves; keys are leaves, in any order."""
        topk.rank_records(key, x, w, self.ranking.absolute, self.fine, self.leaves)

    def add_contributors(self, key: record_order.Keys, parts: Floats, threads: int) -> None:
        """Add contributors, every thread to separate cells.

        Rows are sorted by contributor and leaf, as the kernel requires. A cell is processed in the same order
        for any number of threads, so their number does not change the result.
        """
        cube = self.cube
        widest = max(cube.dimensions, key=lambda d: d.closure.nnz / len(d.leaves))
        n_shares = min(threads, MAX_SHARES, len(widest.leaves))
        shape = np.array(cube.leaf_shape, dtype=np.uint32)
        by_size, bits = self.ranking.absolute, leaf_bits(cube)

        def follow(share: int) -> None:
            above, start = _above(cube, widest, share, n_shares)
            # Contributors of one leaf are handled by the first thread.
            own = self.leaves if share == 0 else self.leaves[:0]
            topk.rank_contributors(key, bits, parts, by_size, self.fine, shape, above, start, own, self.cells)

        with ThreadPoolExecutor(n_shares) as pool:
            list(pool.map(follow, range(n_shares)))
        topk.settle(self.cells, parts, by_size, self.fine)

    def ranked(self, numbers: Numbers, where: str) -> Ranked:
        """Merge leaves upward and return the ranks; this consumes the state."""
        self._merge_upward()
        cells, ranking = self.cells, self.ranking
        largest = np.zeros((len(cells), ranking.top))
        if not ranking.weighted:
            largest[:] = cells[:, cell_rows.FIRST : ranking.end]
        elif cell_rows.fill_ranks(cells, ranking.end, largest):
            raise DataError(
                "zero_weights_leave_ranks_open",
                "weights of zero leave too few contributors to fill the ranks of some cells",
                where=where,
                fix="drop records whose weight is zero: they represent no unit",
            )
        words = cells.view(np.int64)
        squares = fixed_point.round_all(words[:, cell_rows.SQUARES : cell_rows.PENDING], 1.0)
        root = self.fine[topk.FINE_ROOT]
        sizes = np.zeros(len(cells))
        if ranking.absolute:
            sizes = fixed_point.round_all(words[:, ranking.end :], self.fine[topk.FINE_SIZES])
        return Ranked(
            count=cells[:, cell_rows.COUNT].astype(np.int64),
            largest=largest / numbers.scale,
            squares=squares / (root * root or 1.0) / numbers.scale**2,
            sizes=sizes / numbers.scale,
        )

    def _merge_upward(self) -> None:
        """Merge the contributors of single leaves into all cells, one variable after another."""
        source, ranking = self.leaves, self.ranking
        for indptr, indices, before, n_leaves, after in self.cube.upward():
            n_rows = before * (len(indptr) - 1) * after
            last = after == 1 and n_rows == len(self.cells)
            target = self.cells if last else np.zeros((n_rows, ranking.width))
            cell_rows.merge_axis(
                *(source, indptr, indices, target, before, n_leaves, after),
                *(ranking.weighted, ranking.absolute),
            )
            source = target


def leaf_bits(cube: Cube) -> int:
    """Return the number of bits for the number of a leaf."""
    return max(1, (cube.n_leaves - 1).bit_length())


def by_contributor(
    key: record_order.Keys, x: Floats, w: Floats, fine: Floats, bits: int
) -> tuple[record_order.Keys, Floats]:
    """Sort records by key and add up equal keys: the input of :meth:`State.add_contributors`.

    The arguments are used as scratch space; keys are below 2**bits.
    """
    if len(w) == 0:
        key, load = record_order.sort_pairs(key, x.view(np.int64), bits)
        x = load.view(np.float64)
        parts = x
    else:
        key, order = record_order.sort_pairs(key, np.arange(len(key), dtype=np.int64), bits)
        x, w = x[order], w[order]
        parts = np.empty((len(x), topk.N_PARTS))
    n = topk.add_up(key, x, w, fine, parts)
    return key[:n], parts[:n]


def _aligned_zeros(n_rows: int, width: int) -> Floats:
    """Return zeros that start on a cache line, so that a row of eight numbers uses one."""
    buffer = np.empty(n_rows * width + 8)
    start = -buffer.ctypes.data % 64 // 8
    rows = buffer[start : start + n_rows * width].reshape(n_rows, width)
    rows[:] = 0.0
    return rows


def _above(cube: Cube, shared: Dimension, share: int, n_shares: int) -> tuple[Integers, Integers]:
    """Return for every leaf of every variable the codes above it, as steps through the cells.

    For the variable ``shared`` only the codes of one share.
    """
    steps, lengths = [], []
    stride = cube.n_cells
    for dimension in cube.dimensions:
        stride //= len(dimension)
        closure = dimension.closure.tocoo()
        codes, leaves = closure.row.astype(np.int64), closure.col
        if dimension is shared:
            chosen = codes % n_shares == share
            codes, leaves = codes[chosen], leaves[chosen]
        steps.append(codes[np.argsort(leaves, kind="stable")] * stride)
        lengths.append(np.bincount(leaves, minlength=len(dimension.leaves)))
    starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    return np.concatenate(steps), starts


@dataclass(frozen=True, eq=False)
class LeafSums:
    """Sums over the leaves that grow with every batch of rows, in any order."""

    cube: Cube
    numbers: Numbers
    records: Integers
    """Number of records."""
    amounts: dict[str, Integers]
    """By name of the measure, integers of two words; see :mod:`hitoku.kernels.fixed_point`."""

    @classmethod
    def empty(cls, cube: Cube, numbers: Numbers, *, valued: bool, weighted: bool) -> LeafSums:
        """Return zero sums."""
        names = ["sum"] * valued + ["weighted_sum"] * (valued and weighted) + ["weighted_count"] * weighted
        amounts = {name: np.zeros((cube.n_leaves, 2), dtype=np.int64) for name in names}
        return cls(cube, numbers, np.zeros(cube.n_leaves, dtype=np.int64), amounts)

    def watch(self, key: record_order.Keys, x: Floats, w: Floats) -> None:
        """Add some rows; the leaf is in the low bits of the key."""
        mask = (1 << leaf_bits(self.cube)) - 1
        record_order.leaf_counts(key, mask, self.records)
        for name, words in self.amounts.items():
            fixed_point.leaf_sums(key, mask, self._amount(name, x, w), self.numbers.fine.sums[name], words)

    def _amount(self, name: str, x: Floats, w: Floats) -> Floats:
        if name == "sum":
            return x
        scale, rounded = self.numbers.weight_scale, self.numbers.rounded
        if name == "weighted_sum" and rounded:
            return np.asarray(np.rint(w * x))
        alone = rounded and "sum" not in self.amounts
        weights = w if scale == 1.0 and not alone else np.rint(w * scale)
        return weights if name == "weighted_count" else weights * x

    def measures(self) -> dict[str, NDArray[Any]]:
        """Return every cell's number of records and sums."""
        scales = {"sum": self.numbers.scale, "weighted_count": self.numbers.weight_scale}
        scales["weighted_sum"] = self.numbers.scale * self.numbers.weight_scale
        shape, dimensions = self.cube.leaf_shape, self.cube.dimensions
        found: dict[str, NDArray[Any]] = {
            "records": add_up(self.records.reshape(shape), dimensions).astype(np.int64)
        }
        for name, words in self.amounts.items():
            cells = fixed_point.round_all(self._spread(words), self.numbers.fine.sums[name])
            found[name] = cells / scales[name]
        return found

    def _spread(self, words: Integers) -> Integers:
        for indptr, indices, before, n_leaves, after in self.cube.upward():
            target = np.zeros((before * (len(indptr) - 1) * after, 2), dtype=np.int64)
            fixed_point.add_axis(words, indptr, indices, target, before, n_leaves, after)
            words = target
        return words
