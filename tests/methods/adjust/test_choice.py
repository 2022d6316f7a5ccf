"""Senses: the fewest turned around, and the cheapest ones even where a solver fails on the way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.adjustment import closest_l1, every_sense, within
from tests.strategies import count_tables

from hitoku.errors import ProtectionError, SolverError
from hitoku.evidence import audit
from hitoku.io import read_jj
from hitoku.methods import kept_cells
from hitoku.methods.adjust import Adjust, AllowedDeviations, Disjunction, choice, fewest_changes
from hitoku.model import Need, Release, Table
from hitoku.solver import quadratic
from hitoku.solver.closest import reciprocal


def needs(table, draw, *, most=4):
    cells = draw(st.lists(st.integers(0, table.n_cells - 1), min_size=1, max_size=most, unique=True))
    unsafe = np.isin(np.arange(table.n_cells), cells) & (table.value >= 3)
    unsafe[-1] = True
    level = np.where(unsafe, 3.0 if table.value[-1] >= 3 else 1.0, 0.0)
    return Need(unsafe=unsafe, lower=np.minimum(level, table.value), upper=level)


def possible(table, need, held, sense):
    lower, upper = within(table, need, sense)
    lower, upper = np.where(held, 0, lower), np.where(held, 0, upper)
    if np.any(lower > upper):
        return False
    return closest_l1(table.relations, np.ones(table.n_cells), lower, upper) is not None


@settings(max_examples=26)
@given(data=st.data(), table=count_tables(max_side=3, max_count=15))
def test_sense_repair_is_minimal(data, table):
    need = needs(table, data.draw)
    drawn = data.draw(st.lists(st.booleans(), min_size=table.n_cells, max_size=table.n_cells))
    held = np.array(drawn) & ~need.unsafe
    up = np.where(need.unsafe, 1.0, 0.0)
    # A sense without a level is none that may be taken.
    reachable = [
        sense
        for sense in every_sense(need.unsafe)
        if np.all(need.lower[sense < 0] > 0) and possible(table, need, held, sense)
    ]
    levels = AllowedDeviations.of(table, need, held)
    if not reachable:
        with pytest.raises(ProtectionError, match="no senses lead"):
            fewest_changes(table.relations, levels, up)
        return
    turned = fewest_changes(table.relations, levels, up)
    assert np.count_nonzero(turned != up) == min(np.count_nonzero(s != up) for s in reachable)
    assert any(np.array_equal(turned, sense) for sense in reachable)


@pytest.mark.shared
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("seed", [0, 2])
def test_senses_are_chosen_for_billions(shared, norm, seed):
    table, need = read_jj(shared / "data" / "csplib" / "table1.jj.gz")
    senses = np.where(np.random.default_rng(seed).random(table.n_cells) < 0.5, 1, -1)
    found = Adjust(norm=norm, senses=senses, repair="senses").adjust(table, need)
    assert audit(table, need, Release.of(table, found.protection)).safe
    assert 0 < len(found.turned) < need.unsafe.sum() / 2


@pytest.mark.shared
def test_mixed_quadratic_and_linear_columns_are_solved(shared):
    # HiPO gives up, the active set method of HiGHS ends a millionth short.
    table, need = read_jj(shared / "data" / "csplib" / "hier13x7x7d.jj.gz")
    levels = AllowedDeviations.of(table, need, kept_cells(table, None))
    weight = reciprocal(table.value, "l2")
    task = choice.AdjustmentProblem(table.relations, levels, weight, "l2")
    known = min(task.closest(sense).cost for sense in choice.both_ways(levels))
    form = Disjunction.of(table.relations, levels, weight, "l2", known)
    fixed = np.full(len(form.cells), np.nan)
    fixed[[7, 16, 23, 36, 39]] = [0, 1, 1, 1, 1]
    found = quadratic.solve(form.relaxed(fixed))
    assert found.optimal
    # The bound holds for every point, so these two prove each other.
    assert found.bound == pytest.approx(found.value, rel=2e-6)


TABLE = Table.from_array([[12, 9, 7], [3, 8, 5], [4, 6, 11]])
UNSAFE = np.isin(TABLE.value, [3, 4, 5]) & TABLE.inner
NEED = Need(unsafe=UNSAFE, lower=np.where(UNSAFE, 2.0, 0), upper=np.where(UNSAFE, 3.0, 0))


def refuse(*_args, **_kwargs):
    raise SolverError("untrusted", "no trustworthy answer", where="here", fix="none")


def best_of_all():
    task = choice.AdjustmentProblem(
        TABLE.relations,
        AllowedDeviations.of(TABLE, NEED, kept_cells(TABLE, None)),
        reciprocal(TABLE.value, "l2"),
        "l2",
    )
    return min((found.cost, tuple(s)) for s in every_sense(UNSAFE) if (found := task.closest(s)).optimal)


def test_unsolved_nodes_do_not_end_the_search(monkeypatch):
    # Every sense is then tried by itself, so the best of them is still found, and proven.
    monkeypatch.setattr(choice.quadratic, "solve", failing_relaxations(choice.quadratic.solve))
    found = Adjust(norm="l2", senses="optimal").protect(TABLE, NEED)
    assert found.cost == pytest.approx(best_of_all()[0], rel=1e-6)
    assert found.proven


def failing_relaxations(solve):
    def partly(program, **limits):
        straight = (program.curvature == 0) & (program.lower < program.upper)
        return refuse() if straight.any() else solve(program, **limits)

    return partly


def test_unsolved_senses_leave_a_gap(monkeypatch):
    best, hidden = best_of_all()
    solve = choice.closest

    def partly(problem, norm, **limits):
        moved = np.where(UNSAFE, np.where(problem.lower > 0, 1.0, -1.0), 0.0)
        return refuse() if tuple(moved) == hidden else solve(problem, norm, **limits)

    monkeypatch.setattr(choice, "closest", partly)
    found = Adjust(norm="l2", senses="optimal").protect(TABLE, NEED)
    assert not found.proven
    assert found.cost > best
    assert found.cost * (1 - found.gap) <= best * (1 + 1e-6)
    assert audit(TABLE, NEED, Release.of(TABLE, found)).safe


def test_failed_integer_program_keeps_unproven_start(monkeypatch):
    monkeypatch.setattr(choice.integer, "solve", refuse)
    found = Adjust(norm="l1", senses="optimal").protect(TABLE, NEED)
    starts = [Adjust(norm="l1", senses=word).protect(TABLE, NEED).cost for word in ("up", "down")]
    assert found.cost == pytest.approx(min(starts))
    assert not found.proven
    assert found.gap == 1.0
