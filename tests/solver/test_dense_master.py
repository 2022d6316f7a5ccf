"""The dense tableau proves what the other solver proves, whatever happens to rows and bounds in between."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from hitoku.solver import dense_master
from hitoku.solver.dense_master import MAX_STEPS, DenseMaster
from hitoku.solver.master import Master
from hitoku.solver.solution import SolverStatus


def some_rows(rng: np.random.Generator, n: int) -> sparse.csr_array:
    rows = (rng.random((rng.integers(1, 6), n)) < 0.3) * rng.choice([1, 0.5, 1 / 3], n)
    return sparse.csr_array(rows[rows.sum(axis=1) > 0])


@pytest.mark.parametrize("fewest", [4, 120])
@pytest.mark.parametrize("seed", range(10))
def test_bounds_match_the_other_solver(seed, fewest, monkeypatch):
    # With few columns to begin with, most have to be let in on the way.
    monkeypatch.setattr(dense_master, "MIN_COLUMNS", fewest)
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 40))
    cost = rng.integers(1, 50, n).astype(float)
    one, other = Master(cost), DenseMaster(cost)
    seen = set()
    for _ in range(25):
        turn = rng.random()
        if turn < 0.6 or not one.n_rows:
            rows = some_rows(rng, n)
            for master in (one, other):
                master.add(rows, np.ones(rows.shape[0]))
        elif turn < 0.8:
            lower = (rng.random(n) < 0.1).astype(float)
            upper = np.where((rng.random(n) < 0.2) & (lower == 0), 0.0, 1.0)
            for master in (one, other):
                master.fix(lower, upper)
        elif turn < 0.9:
            kept = rng.random(one.n_rows) < 0.7
            for master in (one, other):
                master.keep(kept)
        else:
            rows, half = some_rows(rng, n), one.n_rows // 2
            one.keep(np.arange(one.n_rows) < half)
            one.add(rows, np.ones(rows.shape[0]))
            other.replace(half, rows, np.ones(rows.shape[0]))
        known, found = one.solve(), other.solve()
        assert found.status is known.status
        assert found.bound == pytest.approx(known.bound)
        if found.status is SolverStatus.OPTIMAL:
            assert np.all(other.rows @ found.x >= 1 - 1e-6)
            assert cost @ found.x == pytest.approx(found.bound, abs=1e-6)
        seen.add(found.status)
    assert SolverStatus.OPTIMAL in seen


def test_needed_columns_are_added(monkeypatch):
    monkeypatch.setattr(dense_master, "MIN_COLUMNS", 3)
    # The three cheapest columns cover nothing of the last row, and less than the dear one of the others.
    master = DenseMaster(np.array([1.0, 1.0, 1.0, 9.0, 2.0]))
    master.add(sparse.csr_array([[0.25, 0, 0, 0, 1], [0, 0.25, 0, 0, 1], [0, 0, 0, 1, 0]]), np.ones(3))
    here = master.freeze()
    assert len(master._columns) == 3
    found = master.solve()
    assert found.status is SolverStatus.OPTIMAL
    assert found.x.tolist() == [0, 0, 0, 1, 1]
    assert found.bound == pytest.approx(11)
    # Back to the few; one of the others must now be used, and the rest follows.
    master.thaw(here)
    master.fix(np.array([0.0, 0, 0, 0, 1]), np.ones(5))
    assert master.solve().bound == pytest.approx(11)


def test_early_bound_is_valid_and_basis_restorable():
    rng = np.random.default_rng(4)
    master = DenseMaster(rng.integers(1, 50, 60).astype(float))
    for _ in range(12):
        rows = some_rows(rng, 60)
        master.add(rows, np.ones(rows.shape[0]))
    best = DenseMaster(master.cost)
    best.add(master.rows, master.rhs)
    least = best.solve().bound
    hurried = master.solve(steps=3)
    assert hurried.status is SolverStatus.LIMIT
    assert hurried.bound <= least + 1e-9
    assert master.solve().bound == pytest.approx(least)
    here = master.freeze()
    one = np.zeros(60)
    one[np.argmax(master.cost)] = 1.0
    master.fix(one, np.ones(60))
    assert master.solve().bound > least
    master.fix(np.zeros(60), np.ones(60))
    master.thaw(here)
    before = master.steps
    assert master.solve().bound == pytest.approx(least)
    assert master.steps == before


def test_inaccurate_tableau_is_rebuilt():
    rng = np.random.default_rng(5)
    master = DenseMaster(rng.integers(1, 50, 30).astype(float))
    rows = sparse.csr_array(sparse.vstack([some_rows(rng, 30) for _ in range(6)], "csr"))
    master.add(rows, np.ones(rows.shape[0]))
    least = master.solve().bound
    # As rounding might, only much worse: the next point no longer agrees with what it proves.
    master._tableau[1 : master.n_rows + 1] *= 1.01
    assert master.solve().bound == pytest.approx(least)


def test_basis_is_restorable_after_rebuild_with_fewer_columns():
    rng = np.random.default_rng(6)
    master = DenseMaster(rng.integers(1, 50, 30).astype(float))
    rows = sparse.csr_array(sparse.vstack([some_rows(rng, 30) for _ in range(6)], "csr"))
    master.add(rows, np.ones(rows.shape[0]))
    least = master.solve().bound
    here = master.freeze()
    used = np.ones(30)
    used[[3, 7]] = 0.0
    master.fix(np.zeros(30), used)
    master._age = MAX_STEPS + 1
    other = Master(master.cost)
    other.add(master.rows, master.rhs)
    other.fix(np.zeros(30), used)
    assert master.solve().bound == pytest.approx(other.solve().bound)
    master.thaw(here)
    master.fix(np.zeros(30), np.ones(30))
    before = master.steps
    assert master.solve().bound == pytest.approx(least)
    assert master.steps == before
