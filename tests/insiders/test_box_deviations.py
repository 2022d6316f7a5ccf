"""Boxes for outsiders and for insiders: deviations that nobody of them can see."""

from __future__ import annotations

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st
from tests.strategies import magnitude_tables

from hitoku.insiders.box_deviations import BoxDeviations
from hitoku.model.table import Table


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
    boxes = BoxDeviations(table, withheld, known)
    found = list(boxes.found(cells, (level, level, 2 * level), (down, up)))
    event(f"found: {bool(found)}")
    wanted = dict(zip(cells.tolist(), level.tolist(), strict=True))
    for own, moved, amounts, both in found:
        change = np.zeros(table.n_cells)
        change[moved] = amounts
        assert not change[~withheld | known].any()
        assert np.abs(table.relations @ change).max() <= 1e-9 * max(1.0, np.abs(table.value).max())
        for way in (1.0, -1.0) if both else (1.0,):
            assert np.all(way * change <= up + 1e-9)
            assert np.all(-way * change <= down + 1e-9)
        if both:
            assert abs(change[own]) >= wanted[own] - 1e-9


def test_an_insider_sees_through_boxes_that_move_the_own_cell():
    grid = Table.from_array(np.full((3, 3), 10.0))
    cells = np.array([0])
    level = np.array([2.0])
    boxes = BoxDeviations(grid, grid.inner, np.zeros(grid.n_cells, dtype=np.bool_))
    down, up = grid.value - grid.lower, grid.upper - grid.value
    [(own, moved, _, both)] = boxes.found(cells, (level, level, level), (down, up))
    assert own == 0
    assert both
    # Whoever knows one of the other three corners knows that this cannot be; another box does it.
    corner = int(moved[moved != 0][0])
    told = np.where(np.arange(grid.n_cells) == corner, 0.0, 1.0)
    [(_, other, _, _)] = boxes.found(cells, (level, level, level), (down * told, np.where(told > 0, up, 0.0)))
    assert corner in moved
    assert corner not in other
