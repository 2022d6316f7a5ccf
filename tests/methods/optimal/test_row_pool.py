"""The pool of rows: what it hands out is violated, deep and not parallel; what is of no use it forgets."""

from __future__ import annotations

import numpy as np
import pytest

from hitoku.kernels.sparse_rows import measure_rows, perhaps_short, write_dense
from hitoku.methods.optimal import RowPool, factor, row_pool
from hitoku.methods.optimal.cuts import FACTORS, WHOLE
from hitoku.methods.optimal.row_pool import MAX_AT_ONCE, PARALLEL


def some_rows(rng: np.random.Generator, n: int, n_rows: int):
    rows = []
    for _ in range(n_rows):
        columns = np.sort(rng.choice(n, int(rng.integers(1, 6)), replace=False))
        rows.append((columns, rng.choice([1.0, 0.5, 1 / 3, 0.3], len(columns))))
    return rows


def deepest(rows, x, least):
    """The same choice, written plainly."""
    dense = np.array([np.bincount(columns, c, len(x)) for columns, c in rows])
    norm = np.linalg.norm(dense, axis=1)
    short = 1 - dense @ x
    chosen: list[int] = []
    for k in np.argsort(-short / norm, kind="stable").tolist():
        cosines = [dense[k] @ dense[j] / norm[k] / norm[j] for j in chosen]
        if short[k] > least and max(cosines, default=0.0) <= PARALLEL and len(chosen) < MAX_AT_ONCE:
            chosen.append(k)
    return chosen


def test_dense_scan_misses_no_violated_row():
    rng = np.random.default_rng(3)
    rows = some_rows(rng, 30, 200)
    ptr = np.concatenate([[0], np.cumsum([len(c) for _, c in rows])])
    dense = np.zeros((30, 220), dtype=np.float32)
    index, data = (np.concatenate([row[k] for row in rows]) for k in (0, 1))
    write_dense(dense, 0, ptr[:101], index, data)
    write_dense(dense, 100, ptr, index, data)
    x, idle = rng.random(30) * (rng.random(30) < 0.4), np.repeat([0, 9], 100)
    found = perhaps_short(dense, 200, x, 0.01, idle, 5)
    short = np.array([1 - c @ x[columns] for columns, c in rows])
    others = np.setdiff1d(np.arange(200), found)
    assert np.all(np.isin(np.flatnonzero(short > 0.01), found))
    assert np.all(short[found] > 0.005)
    # Rows that were idle for long are counted no more.
    assert np.all(idle[others] == np.where(others < 100, 1, 9))
    assert np.all(idle[found] == np.where(found < 100, 0, 9))


@pytest.mark.parametrize("most_dense", [0, row_pool.MAX_DENSE], ids=["one by one", "at a glance"])
@pytest.mark.parametrize("seed", range(5))
def test_pool_returns_deepest_nonparallel_rows(seed, most_dense, monkeypatch):
    monkeypatch.setattr(row_pool, "MAX_DENSE", most_dense)
    rng = np.random.default_rng(seed)
    pool = RowPool()
    given = some_rows(rng, 40, 120)
    given += given[:10]
    numbers = pool.add(given)
    # A row that was given twice is kept once.
    rows = [given[numbers.tolist().index(k)] for k in range(len(pool))]
    assert len(rows) <= len(given) - 10
    for _ in range(5):
        x = rng.random(40) * (rng.random(40) < 0.4)
        found = pool.violated(x, 0.01).tolist()
        assert found
        assert found == deepest(rows, x, 0.01)
    together = pool.together(numbers)
    for k, (columns, c) in enumerate(given):
        here = slice(together.indptr[k], together.indptr[k + 1])
        np.testing.assert_array_equal(together.indices[here], columns)
        np.testing.assert_array_equal(together.data[here], c)


def test_row_violations_match_plain_function():
    rows = some_rows(np.random.default_rng(1), 30, 60)
    ptr = np.concatenate([[0], np.cumsum([len(c) for _, c in rows])])
    norm, times = np.zeros(60), np.zeros(60, dtype=np.int64)
    measure_rows(ptr, np.concatenate([c for _, c in rows]), FACTORS, WHOLE, norm, times)
    np.testing.assert_allclose(norm, [np.linalg.norm(c) for _, c in rows])
    assert times.tolist() == [factor(c) for _, c in rows]
    assert len(set(times.tolist())) > 3


def test_full_pool_drops_unused_rows(monkeypatch):
    monkeypatch.setattr(row_pool, "MAX_ENTRIES", 60)
    pool, one = RowPool(), np.ones(1)
    numbers = pool.add([(np.array([k]), one) for k in range(50)])
    x = (np.arange(100) >= 10).astype(np.float64)
    while len(pool) == 50:
        assert set(pool.violated(x, 0.01).tolist()) == set(numbers[:10].tolist())
        pool.add([(np.arange(90, 100), np.ones(10))])
        numbers_more = pool.add([(np.arange(80, 90), np.ones(10))])
    assert len(pool) < 50
    assert pool.still(numbers[:10]).tolist() == numbers[:10].tolist()
    assert len(pool.still(numbers)) < 50
    assert pool.rows(pool.still(numbers_more))[0][0].tolist() == list(range(80, 90))
    # A row that was forgotten is taken in again, under another number.
    gone = np.setdiff1d(numbers, pool.still(numbers))[:1]
    again = pool.add([(np.array([int(gone[0])]), one)])
    assert again[0] > numbers_more[0]


def test_binding_rows_are_kept(monkeypatch):
    monkeypatch.setattr(row_pool, "MAX_ENTRIES", 60)
    pool, everything = RowPool(), np.ones(100)
    numbers = pool.add([(np.array([k]), np.ones(1)) for k in range(50)])
    for _ in range(5):
        # Nothing is violated, and only the linear program knows which rows it stands on.
        assert not len(pool.violated(everything, 0.01))
        pool.touch(numbers[40:])
    pool.add([(np.arange(80, 100), np.ones(20))])
    assert len(pool) < 50
    assert pool.still(numbers[40:]).tolist() == numbers[40:].tolist()
    pool.touch(numbers)
