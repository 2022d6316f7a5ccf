"""Boxes for outsiders and for insiders: deviations that nobody of them can see."""

from __future__ import annotations

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st
from tests.strategies import magnitude_tables

from hitoku.insiders.box_deviations import BoxDeviations, Wanted
from hitoku.model.table import Table


def changes_of(found, n_cells):
    """List what each deviation is kept for, and how far it moves every cell."""
    for own, begin, end in zip(found.owner.tolist(), found.begins[:-1], found.begins[1:], strict=True):
        change = np.zeros(n_cells)
        change[found.cells[begin:end]] = found.amounts[begin:end]
        yield own, change


@given(table=magnitude_tables(), seed=st.integers(0, 2**16))
def test_deviations_keep_sums_rooms_and_what_is_known(table, seed):
    random = np.random.default_rng(seed)
    withheld, known = random.random(table.n_cells) < 0.8, random.random(table.n_cells) < 0.15
    cells = np.flatnonzero(withheld & ~known & (table.value > 0))
    level = np.maximum(table.value[cells] * 0.1, 1.0)
    down, up = (
        np.where(known, 0.0, table.value - table.lower),
        np.where(known, 0.0, table.upper - table.value),
    )
    boxes = BoxDeviations(
        table, withheld, np.where(known, 1.0, 0.01), (table.value - table.lower, table.upper - table.value)
    )
    told = np.flatnonzero(known)
    wanted = [Wanted(cells, (level, level, 2 * level), told, (down[told], up[told])) for _ in range(2)]
    found = boxes.found(wanted)
    event(f"found: {len(found.owner) > 0}")
    levels = dict(zip(cells.tolist(), level.tolist(), strict=True))
    for own, change in changes_of(found, table.n_cells):
        assert not change[~withheld | known].any()
        assert np.abs(table.relations @ change).max() <= 1e-9 * max(1.0, np.abs(table.value).max())
        assert np.all(change <= up + 1e-9)
        assert np.all(-change <= down + 1e-9)
        assert abs(change[own]) >= levels[own] - 1e-9


def test_an_insider_sees_through_boxes_that_move_the_own_cell():
    grid = Table.from_array(np.full((3, 3), 10.0))
    cells, level, nothing = np.array([0]), np.array([2.0]), np.zeros(0, dtype=np.int64)
    room = grid.value - grid.lower, grid.upper - grid.value
    boxes = BoxDeviations(grid, grid.inner, np.full(grid.n_cells, 0.01), room)
    outsider = Wanted(cells, (level, level, level), nothing, (np.zeros(0), np.zeros(0)))
    (_, first), (_, opposite) = changes_of(boxes.found([outsider]), grid.n_cells)
    np.testing.assert_array_equal(first, -opposite)
    # Whoever knows one of the other three corners knows that this cannot be; another box does it.
    corner = np.flatnonzero(first)[1:2]
    insider = Wanted(cells, (level, level, level), corner, (np.zeros(1), np.zeros(1)))
    assert [bool(c[corner[0]]) for _, c in changes_of(boxes.found([insider]), grid.n_cells)] == [False] * 2


def test_what_one_knows_is_forgotten_when_the_next_one_looks():
    """Two by two cells have one box only: nothing for who knows one of them, both ways for who does not."""
    square = Table.from_array(np.full((2, 2), 10.0))
    cells, level, nothing = np.array([0]), np.array([2.0]), np.zeros(0, dtype=np.int64)
    room = square.value - square.lower, square.upper - square.value
    boxes = BoxDeviations(square, square.inner, np.full(square.n_cells, 0.01), room)
    insider = Wanted(cells, (level, level, level), np.array([1]), (np.zeros(1), np.zeros(1)))
    outsider = Wanted(cells, (level, level, level), nothing, (np.zeros(0), np.zeros(0)))
    assert [len(boxes.found(wanted).owner) for wanted in ([insider], [insider, outsider])] == [0, 2]
