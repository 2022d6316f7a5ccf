"""Contributors of every cell: records come out of DuckDB as keys, a kernel ranks and counts them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from hitoku.errors import DataError, ParameterError
from hitoku.kernels import record_order, topk
from hitoku.model.arrays import Floats, Integers
from hitoku.model.dimension import Dimension
from hitoku.tabulation.cube import Cube
from hitoku.tabulation.identity import Identity
from hitoku.tabulation.numbers import Numbers
from hitoku.tabulation.source import Source, translate_errors

LONGEST_LIST = 64
ROWS_PER_BATCH = 2**25
ROWS_PER_READ = 2**20
MOST_SHARES = 8


@dataclass(frozen=True)
class Ranking:
    """How contributors are ranked.

    Parameters
    ----------
    top
        Number of ranks; zero when they are only counted.
    absolute
        By size, regardless of sign.
    length
        Contributors to keep per cell until all are known: ``top``, or more where weights below one fill
        the ranks only in part.
    weighted
        Contributors have weights.
    """

    top: int
    absolute: bool
    length: int
    weighted: bool

    @classmethod
    def of(cls, numbers: Numbers, *, top: int, absolute: bool, weighted: bool) -> Ranking:
        """Choose the length of the lists; refuse weights that would need very long ones."""
        if not weighted or top == 0:
            return cls(top, absolute, top, weighted)
        needed = math.ceil(top / min(1.0, numbers.smallest_weight))
        if needed > LONGEST_LIST:
            raise ParameterError(
                f"{needed} contributors per cell would be needed to fill {top} ranks with these weights",
                where="weight",
                fix=f"use weights of at least {top / LONGEST_LIST:.2g} (a record stands for itself at "
                "least), or ask for a smaller top",
            )
        # One more than needed: a mean weight may come out just below the smallest by rounding.
        return cls(top, absolute, needed + 1, weighted)

    @property
    def width(self) -> int:
        """Numbers kept per cell; see the kernel."""
        return topk.FIRST_WEIGHTED + 2 * self.length + 1 if self.weighted else topk.FIRST + self.length


@dataclass(frozen=True)
class RecordRows:
    """Some records, in an order that follows from the records alone.

    Parameters
    ----------
    key
        Contributor and leaf in one number, the leaf in the low bits; the leaf alone where every record is
        its own contributor.
    x, w
        Scaled values and weights; ``w`` is empty where there are none.
    """

    key: record_order.Keys
    x: Floats
    w: Floats


@dataclass(frozen=True)
class Ranked:
    """What the kernel found, on the scale of the values."""

    count: Integers
    largest: Floats
    squares: Floats
    sizes: Floats


def leaf_bits(cube: Cube) -> int:
    """Bits that hold the number of a leaf."""
    return max(1, (cube.n_leaves - 1).bit_length())


def rank_contributors(
    source: Source,
    cube: Cube,
    identity: Identity,
    ranking: Ranking,
    numbers: Numbers,
    watch: Callable[[RecordRows], None] | None = None,
) -> Ranked:
    """Count and rank the contributors of every cell.

    Parameters
    ----------
    watch
        Called with every batch of rows, for sums that need no contributors.
    """
    leaves = _aligned(cube.n_leaves, ranking.width)
    cells = _aligned(cube.n_cells, ranking.width)
    if ranking.weighted:
        leaves[:, -1] = cells[:, -1] = ranking.top
    short = False
    for rows in _named_rows(source, cube, identity, numbers):
        short |= _follow(rows, cube, ranking, leaves, cells, source.threads)
        if watch:
            watch(rows)
    for rows in _own_rows(source, cube, identity, numbers):
        short |= topk.rank_records(rows.key, rows.x, rows.w, ranking.absolute, leaves)
        if watch:
            watch(rows)
    short |= _merged_upward(cube, leaves, cells, ranking)
    if short:
        raise DataError(
            "weights of zero leave too few contributors to fill the ranks of some cells",
            where=source.where,
            fix="drop records whose weight is zero: they stand for nobody",
        )
    return _finished(cells, ranking, numbers)


def _aligned(n_rows: int, width: int) -> Floats:
    """Zeros that start on a cache line, so that a row of eight numbers costs one."""
    room = np.empty(n_rows * width + 8)
    start = -room.ctypes.data % 64 // 8
    rows = room[start : start + n_rows * width].reshape(n_rows, width)
    rows[:] = 0.0
    return rows


def _follow(
    rows: RecordRows, cube: Cube, ranking: Ranking, leaves: Floats, cells: Floats, threads: int
) -> bool:
    """Take the contributors of a batch to their cells, every thread to cells of its own.

    A cell is visited in the same order by however many threads, so their number changes nothing.
    """
    widest = max(cube.dimensions, key=lambda d: d.closure.nnz / len(d.leaves))
    n_shares = min(threads, MOST_SHARES, len(widest.leaves))
    shape = np.array(cube.leaf_shape, dtype=np.uint32)

    def follow(share: int) -> bool:
        above, above_start = _above(cube, widest, share, n_shares)
        # Contributors of one leaf are left to the first thread.
        own = leaves if share == 0 else leaves[:0]
        bits, by_size = leaf_bits(cube), ranking.absolute
        return bool(
            topk.rank_contributors(
                rows.key, bits, rows.x, rows.w, by_size, shape, above, above_start, own, cells
            )
        )

    with ThreadPoolExecutor(n_shares) as pool:
        short = any(list(pool.map(follow, range(n_shares))))
    return bool(topk.settle(cells, ranking.weighted, ranking.absolute)) or short


def _above(cube: Cube, shared: Dimension, share: int, n_shares: int) -> tuple[Integers, Integers]:
    """For every leaf of every variable the codes above it, as steps through the cells.

    Of the variable ``shared`` only every so many codes: those of one share.
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


def _named_rows(source: Source, cube: Cube, identity: Identity, numbers: Numbers) -> Iterator[RecordRows]:
    """Read the records whose contributor has a name, sorted by contributor and leaf."""
    n_rows = numbers.n_records - identity.n_own
    if n_rows == 0:
        return
    bits = leaf_bits(cube)
    key = f"({identity.who}) * {1 << bits} + ({cube.leaf})"
    # All records of a contributor come in one batch: only then may batches be merged.
    n_batches = math.ceil(n_rows / ROWS_PER_BATCH)
    joins = cube.joins + identity.joins
    for batch in range(n_batches):
        chosen = f"({identity.who}) % {n_batches} = {batch}" if n_batches > 1 else "TRUE"
        where = f"({identity.who}) IS NOT NULL AND {chosen}" if identity.n_own else chosen
        keys, x, w = _read(source, key, joins, where, numbers, n_rows if n_batches == 1 else None)
        rows = _sorted(keys, x, w, bits + (identity.size - 1).bit_length())
        record_order.sort_runs(rows.key, rows.x, rows.w)
        yield rows


def _own_rows(source: Source, cube: Cube, identity: Identity, numbers: Numbers) -> Iterator[RecordRows]:
    """Read the records that are contributors of their own, sorted by leaf, value and weight."""
    if identity.n_own == 0:
        return
    n_batches = math.ceil(identity.n_own / ROWS_PER_BATCH)
    joins = cube.joins + identity.joins
    for batch in range(n_batches):
        chosen = f"({cube.leaf}) % {n_batches} = {batch}" if n_batches > 1 else "TRUE"
        n_rows = identity.n_own if n_batches == 1 else None
        where = f"({identity.who}) IS NULL AND {chosen}"
        keys, x, w = _read(source, cube.leaf, joins, where, numbers, n_rows)
        order = np.lexsort((w, x)) if len(w) else np.argsort(x)
        yield _sorted(keys[order], x[order], w[order] if len(w) else w, leaf_bits(cube))


def _read(
    source: Source, key: str, joins: str, where: str, numbers: Numbers, n_rows: int | None
) -> tuple[record_order.Keys, Floats, Floats]:
    value, weight = "x" in source.types, "w" in source.types
    x = "CAST(r.x AS DOUBLE)" if value else "0.0::DOUBLE"
    if numbers.scale != 1.0 or numbers.rounded:
        x = f"round({x} * {numbers.scale!r}::DOUBLE)"
    w = ", CAST(r.w AS DOUBLE) AS w" if weight else ""
    tail = f"FROM records AS r{joins} WHERE {where}"
    if n_rows is None:
        n_rows = int(source.rows(f"SELECT count(*) {tail}")[0][0])
    keys, xs, ws = np.empty(n_rows, np.uint64), np.empty(n_rows), np.empty(n_rows if weight else 0)
    with translate_errors(source.where):
        query = f"SELECT CAST({key} AS UBIGINT) AS key, {x} AS x{w} {tail}"
        reader = source.connection.sql(query).to_arrow_reader(ROWS_PER_READ)
        filled = 0
        for part in reader:
            block = slice(filled, filled + part.num_rows)
            if block.stop > n_rows:
                raise _changed(source)
            keys[block] = part.column("key").to_numpy()
            xs[block] = part.column("x").to_numpy()
            if weight:
                ws[block] = part.column("w").to_numpy()
            filled = block.stop
    if filled < n_rows:
        raise _changed(source)
    return keys, xs, ws


def _changed(source: Source) -> DataError:
    return DataError(
        "the number of records changed while they were read",
        where=source.where,
        fix="let nobody write to the data meanwhile, or work on a copy",
    )


def _sorted(key: record_order.Keys, x: Floats, w: Floats, bits: int) -> RecordRows:
    if len(w) == 0:
        key, load = record_order.sort_pairs(key, x.view(np.int64), bits)
        return RecordRows(key, load.view(np.float64), w)
    key, order = record_order.sort_pairs(key, np.arange(len(key), dtype=np.int64), bits)
    return RecordRows(key, x[order], w[order])


def _merged_upward(cube: Cube, leaves: Floats, cells: Floats, ranking: Ranking) -> bool:
    """Merge the contributors of single leaves into all cells, one variable after the other."""
    short = False
    source = leaves
    before, after = 1, cube.n_leaves
    for number, dimension in enumerate(cube.dimensions):
        after //= len(dimension.leaves)
        last = number == len(cube.dimensions) - 1
        if last:
            target = cells
        else:
            target = np.zeros((before * len(dimension) * after, ranking.width))
            if ranking.weighted:
                target[:, -1] = ranking.top
        short |= topk.merge_axis(
            source,
            dimension.closure.indptr.astype(np.int64),
            dimension.closure.indices.astype(np.int64),
            target,
            before,
            len(dimension.leaves),
            after,
            ranking.weighted,
        )
        source = target
        before *= len(dimension)
    return short


def _finished(cells: Floats, ranking: Ranking, numbers: Numbers) -> Ranked:
    largest = np.zeros((len(cells), ranking.top))
    if ranking.weighted:
        topk.fill_ranks(cells, largest)
    else:
        largest[:] = cells[:, topk.FIRST :]
    return Ranked(
        count=cells[:, topk.COUNT].astype(np.int64),
        largest=largest / numbers.scale,
        squares=cells[:, topk.SQUARES] / numbers.scale**2,
        sizes=cells[:, topk.SIZES] / numbers.scale,
    )
