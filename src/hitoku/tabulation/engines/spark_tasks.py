"""Code that runs in Spark's workers: states of contributors from Arrow rows, cut into blocks and merged."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np
import pyarrow as pa

from hitoku.kernels import cell_rows, fixed_point, record_order
from hitoku.model import Floats, Integers
from hitoku.tabulation.contributor_sums import Ranking, State, leaf_bits
from hitoku.tabulation.cube import Cube
from hitoku.tabulation.exact_sums import Numbers

Batches = Iterator[pa.RecordBatch]
Task = Callable[[Batches], Batches]

# Rows of a state that are transferred together. Leaves have part 0, cells part 1.
BLOCK = 2**14
SCHEMA = "part INT, block BIGINT, rows BINARY"
# Start of the error message of a worker with another version of hitoku.
OTHER_VERSION = "hitoku of another version:"


@dataclass(frozen=True)
class Work:
    """Input of a worker."""

    cube: Cube
    ranking: Ranking
    numbers: Numbers
    keys: tuple[str, ...]
    """Columns that name a contributor, of which one is not null; empty if records are contributors."""
    limbs: tuple[tuple[str, ...], ...]
    """Columns with the parts of each sum, in the order of the kernel's parts."""


def own_version() -> str:
    """Return the version of hitoku that is installed here."""
    return metadata.version("hitoku")


def task(name: str, work: Work) -> Task:
    """Return a function for ``mapInArrow``: one of this module, after a check of its version.

    It is pickled by value, not by name, so that a worker without hitoku, or with another version, reports it.
    """
    version, packed, complaint = own_version(), pickle.dumps(work), OTHER_VERSION

    def run(batches: Any) -> Any:
        import importlib.metadata  # noqa: PLC0415 - runs in a worker
        import pickle as pickles  # noqa: PLC0415 - runs in a worker

        try:
            found = importlib.metadata.version("hitoku")
        except importlib.metadata.PackageNotFoundError:
            found = "none"
        if found != version:
            raise RuntimeError(f"{complaint} {found}")
        here = importlib.import_module("hitoku.tabulation.engines.spark_tasks")
        yield from getattr(here, name)(batches, pickles.loads(packed))  # noqa: S301 - pickled by hitoku

    return run


def rank_contributors(batches: Batches, work: Work) -> Batches:
    """Rank the contributors of a partition, which has one row for each contributor and leaf."""
    listed = list(batches)
    state = State.empty(work.cube, work.ranking, work.numbers)
    if any(len(batch) for batch in listed):
        table = pa.Table.from_batches(listed)
        who, n_who = _number_contributors([table.column(key) for key in work.keys])
        bits = leaf_bits(work.cube)
        key = (who.astype(np.uint64) << np.uint64(bits)) | table.column("leaf").to_numpy().astype(np.uint64)
        rows = np.arange(len(key), dtype=np.int64)
        key, order = record_order.sort_pairs(key, rows, bits + max(n_who - 1, 1).bit_length())
        parts = _parts(table, work, state.fine)
        state.add_contributors(key, np.ascontiguousarray(parts[order]), 1)
    yield from _blocks(state)


def rank_records(batches: Batches, work: Work) -> Batches:
    """Rank records that are contributors by themselves."""
    state = State.empty(work.cube, work.ranking, work.numbers)
    for batch in batches:
        key = batch.column("leaf").to_numpy().astype(np.uint64)
        w = batch.column("w").to_numpy().copy() if work.ranking.weighted else np.empty(0)
        state.add_records(key, batch.column("x").to_numpy().copy(), w)
    yield from _blocks(state)


def merge_blocks(batches: Batches, work: Work) -> Batches:
    """Merge blocks of the same position; contributors of different partitions are distinct."""
    merged: dict[tuple[int, int], Floats] = {}
    for batch in batches:
        for part, block, packed in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            own = merged.setdefault((part, block), np.zeros((BLOCK, work.ranking.width)))
            unpack(packed, work.ranking, own, block * BLOCK)
    for (part, block), rows in sorted(merged.items()):
        places = np.flatnonzero(rows[:, cell_rows.COUNT])
        yield _pack_block(part, block, places + block * BLOCK, rows[places])


def unpack(packed: bytes, ranking: Ranking, target: Floats, start: int) -> None:
    """Merge the rows of a block into an array whose first row is at ``start``."""
    width = ranking.width
    n_rows = len(packed) // (8 * (width + 1))
    places = np.frombuffer(packed, np.int64, n_rows) - start
    rows = np.frombuffer(packed, np.float64, offset=8 * n_rows).reshape(n_rows, width)
    cell_rows.merge_rows(rows.copy(), places, target, ranking.weighted, ranking.absolute)


def _number_contributors(columns: list[Any]) -> tuple[Integers, int]:
    """Assign numbers to contributors; if a column has no name the next one is used, numbered apart."""
    number = np.full(len(columns[0]), -1, dtype=np.int64)
    n_numbers = 0
    for column in columns:
        coded = column.combine_chunks().dictionary_encode()
        own = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        number = np.where((number < 0) & (own >= 0), own + n_numbers, number)
        n_numbers += len(coded.dictionary)
    return number, n_numbers


def _parts(table: Any, work: Work, fine: Floats) -> Floats:
    """Round the sums of every contributor and leaf: contributions, or with weights rows for the kernel."""
    columns: list[Floats] = []
    for place, names in enumerate(work.limbs):
        limbs = np.stack([table.column(name).to_numpy() for name in names], axis=1)
        columns.append(fixed_point.round_all(fixed_point.from_limbs(limbs), fine[place]))
    if not work.ranking.weighted:
        return columns[0]
    return np.stack([*columns, table.column("n").to_numpy().astype(np.float64)], axis=1)


def _blocks(state: State) -> Batches:
    """Cut a state into blocks, without empty rows."""
    for part, rows in enumerate((state.leaves, state.cells)):
        places = np.flatnonzero(rows[:, cell_rows.COUNT])
        cuts = np.flatnonzero(np.diff(places // BLOCK)) + 1
        for own in np.split(places, cuts):
            if len(own):
                yield _pack_block(part, int(own[0]) // BLOCK, own, rows[own])


def _pack_block(part: int, block: int, places: Integers, rows: Floats) -> pa.RecordBatch:
    packed = places.astype(np.int64).tobytes() + rows.tobytes()
    return pa.RecordBatch.from_arrays(
        [pa.array([part], pa.int32()), pa.array([block], pa.int64()), pa.array([packed], pa.binary())],
        names=["part", "block", "rows"],
    )
