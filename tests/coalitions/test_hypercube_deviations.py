"""Boxes for outsiders and for insiders: deviations that nobody of them can see."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st
from tests.strategies import magnitude_tables

from hitoku.coalitions import AttackerView, HypercubeDeviations
from hitoku.coalitions.cell_witnesses import EFFORTS
from hitoku.model import Table


def changes_of(found, n_cells):
    """List what each deviation is kept for, and how far it moves every cell."""
    for own, begin, end in zip(found.owner.tolist(), found.begins[:-1], found.begins[1:], strict=True):
        change = np.zeros(n_cells)
        change[found.cells[begin:end]] = found.amounts[begin:end]
        yield own, change


@given(table=magnitude_tables(), seed=st.integers(0, 2**16))
def test_deviations_respect_relations_bounds_and_knowledge(table, seed):
    random = np.random.default_rng(seed)
    withheld, known = random.random(table.n_cells) < 0.8, random.random(table.n_cells) < 0.15
    cells = np.flatnonzero(withheld & ~known & (table.value > 0))
    level = np.maximum(table.value[cells] * 0.1, 1.0)
    down, up = (
        np.where(known, 0.0, table.value - table.lower),
        np.where(known, 0.0, table.upper - table.value),
    )
    hypercubes = HypercubeDeviations(
        table, withheld, np.where(known, 1.0, 0.01), (table.value - table.lower, table.upper - table.value)
    )
    told = np.flatnonzero(known)
    wanted = [AttackerView(cells, (level, level, 2 * level), told, (down[told], up[told])) for _ in range(2)]
    found = hypercubes.found(wanted)
    event(f"found: {len(found.owner) > 0}")
    levels = dict(zip(cells.tolist(), level.tolist(), strict=True))
    for own, change in changes_of(found, table.n_cells):
        assert not change[~withheld | known].any()
        assert np.abs(table.relations @ change).max() <= 1e-9 * max(1.0, np.abs(table.value).max())
        assert np.all(change <= up + 1e-9)
        assert np.all(-change <= down + 1e-9)
        assert abs(change[own]) >= levels[own] - 1e-9


def test_insider_excludes_hypercubes_moving_own_cell():
    grid = Table.from_array(np.full((3, 3), 10.0))
    cells, level, nothing = np.array([0]), np.array([2.0]), np.zeros(0, dtype=np.int64)
    room = grid.value - grid.lower, grid.upper - grid.value
    hypercubes = HypercubeDeviations(grid, grid.inner, np.full(grid.n_cells, 0.01), room)
    outsider = AttackerView(cells, (level, level, level), nothing, (np.zeros(0), np.zeros(0)))
    (_, first), (_, opposite) = changes_of(hypercubes.found([outsider]), grid.n_cells)
    np.testing.assert_array_equal(first, -opposite)
    # Whoever knows one of the other three corners knows that this cannot be; another box does it.
    corner = np.flatnonzero(first)[1:2]
    insider = AttackerView(cells, (level, level, level), corner, (np.zeros(1), np.zeros(1)))
    assert [bool(c[corner[0]]) for _, c in changes_of(hypercubes.found([insider]), grid.n_cells)] == [
        False
    ] * 2


def test_knowledge_is_reset_between_coalitions():
    """Two by two cells have one box only: nothing for who knows one of them, both ways for who does not."""
    square = Table.from_array(np.full((2, 2), 10.0))
    cells, level, nothing = np.array([0]), np.array([2.0]), np.zeros(0, dtype=np.int64)
    room = square.value - square.lower, square.upper - square.value
    hypercubes = HypercubeDeviations(square, square.inner, np.full(square.n_cells, 0.01), room)
    insider = AttackerView(cells, (level, level, level), np.array([1]), (np.zeros(1), np.zeros(1)))
    outsider = AttackerView(cells, (level, level, level), nothing, (np.zeros(0), np.zeros(0)))
    assert [len(hypercubes.found(wanted).owner) for wanted in ([insider], [insider, outsider])] == [0, 2]


def square_of(value, **levels):
    """Two by two cells, and what somebody wants of the first of them."""
    square = Table.from_array(np.full((2, 2), value))
    room = square.value - square.lower, square.upper - square.value
    hypercubes = HypercubeDeviations(square, square.inner, np.full(square.n_cells, 0.01), room)
    asked = tuple(np.array([levels.get(side, 0.0)]) for side in ("lower", "upper", "width"))
    return hypercubes, AttackerView(np.array([0]), asked, np.array([1]), (np.zeros(1), np.zeros(1)))


def test_slack_of_one_step_suffices():
    """Somebody knows that the first cell cannot fall, and the second one only by one."""
    hypercubes, wanted = square_of(10.0, upper=1.0)
    known = replace(wanted, known=np.array([0, 1]), room=(np.array([0.0, 1.0]), np.array([np.inf, 0.0])))
    assert [change[:2].tolist() for _, change in changes_of(hypercubes.found([known]), 9)] == [[1, -1]]


def test_witness_of_one_coalition_is_not_shared():
    """The one box of the square moves what both know; that the levels differ makes two claims of each."""
    hypercubes, wanted = square_of(10.0, lower=2.0, upper=9.0)
    assert [len(hypercubes.found([wanted] * n).owner) for n in (1, 2, 3)] == [0, 0, 0]


def test_effort_grows_for_cells_without_hypercube(monkeypatch):
    hypercubes, wanted = square_of(10.0)  # Nothing is asked for but that it moves by the smallest step.
    efforts, look = [], hypercubes._search
    monkeypatch.setattr(
        hypercubes,
        "_search",
        lambda cross_table, asked, effort: efforts.append(effort) or look(cross_table, asked, effort),
    )
    hypercubes.found([wanted])
    assert efforts == list(EFFORTS)
    efforts.clear()
    hypercubes.found([replace(wanted, known=np.zeros(0, dtype=np.int64), room=(np.zeros(0), np.zeros(0)))])
    assert efforts == [EFFORTS[0]]


def test_requirement_beyond_slacks_uses_linear_programs():
    hypercubes, wanted = square_of(10.0, lower=3.0)
    nobody = replace(wanted, known=np.zeros(0, dtype=np.int64), room=(np.zeros(0), np.zeros(0)))
    assert len(hypercubes.found([nobody]).owner) == 2
    # The first cell cannot fall by more than it has, nor by more than somebody knows.
    assert not len(
        hypercubes.found([replace(nobody, levels=(np.full(1, 11.0), np.zeros(1), np.zeros(1)))]).owner
    )
    own = replace(wanted, known=np.array([0]), room=(np.full(1, 2.0), np.full(1, np.inf)))
    assert not len(hypercubes.found([own]).owner)
    assert len(hypercubes.found([replace(own, room=(np.full(1, 3.0), np.zeros(1)))]).owner) == 1


def test_coalition_does_not_exceed_its_known_bound():
    """Three by three cells; the second one of those asked for can fall by two, not by three as it must."""
    grid = Table.from_array(np.full((3, 3), 10.0))
    room = grid.value - grid.lower, grid.upper - grid.value
    hypercubes = HypercubeDeviations(grid, grid.inner, np.full(grid.n_cells, 0.01), room)
    levels = np.full(3, 3.0), np.zeros(3), np.zeros(3)
    one = AttackerView(np.array([1, 0, 2]), levels, np.array([0]), (np.full(1, 2.0), np.full(1, np.inf)))
    for wanted in ([one], [one, one]):
        assert set(hypercubes.found(wanted).owner.tolist()) == {1, 2}
