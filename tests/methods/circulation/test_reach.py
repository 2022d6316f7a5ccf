"""Changes by linear programs: few cheap cells are asked first, and what is found holds in all relations."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.circulation.test_circulation import cross_tables, hierarchy

from hitoku.feasibility.hypercubes import Slacks
from hitoku.methods.circulation import CellReach
from hitoku.model import Table


@settings(deadline=None, max_examples=25)
@given(data=st.data(), dims=st.integers(2, 3), sign=st.sampled_from([1, -1]))
def test_restricted_search_finds_every_deviation(data, dims, sign):
    table = data.draw(cross_tables(dims, hierarchical=True))
    movable = (table.upper > table.lower) & (True if table.fixed is None else ~table.fixed)
    rooms = Slacks.of(table.value, table.lower, table.upper, movable, integer=table.integer)
    cell = data.draw(st.integers(0, table.n_cells - 1))
    amount = float(data.draw(st.integers(1, 4)))
    ends, price = (rooms.down, rooms.up), 1.0 + np.abs(table.value)
    lean, plain = (
        CellReach(table, movable, 1, lean=lean).change(cell, sign, amount, ends, price)
        for lean in (True, False)
    )
    assert (lean is None) == (plain is None)
    for found in (lean, plain):
        if found is not None:
            change = np.zeros(table.n_cells)
            change[found.cells] = found.amounts
            assert not np.any(table.relations @ change)
            assert change[cell] * sign >= amount
            assert np.all((change <= rooms.up) & (-change <= rooms.down))


def test_restricted_search_uses_few_cells():
    table, need = hierarchy(2, sides=((6, 5), (6, 5), (4,)))
    plain = Table(value=table.value, relations=table.relations, integer=True)
    everything = np.ones(table.n_cells, dtype=bool)
    rooms = Slacks.of(plain.value, plain.lower, plain.upper, everything, integer=plain.integer)
    reach = CellReach(plain, everything, 1, lean=True)
    cell = int(np.flatnonzero(need.unsafe)[0])
    asked = cell, 1, 5.0
    few = reach._cheap(asked, (rooms.down, rooms.up), 1.0 + table.value, 2, 100)
    assert cell in few
    assert 4 < len(few) < table.n_cells / 2
    # Whatever the few cells allow, a change is found.
    assert reach.change(cell, 1, 5.0, (rooms.down, rooms.up), 1.0 + table.value) is not None


def test_restricted_witnesses_move_only_given_cells():
    # A rectangle of four cells: everything but it is out of bounds.
    table = Table.from_array([[20, 30, 40], [20, 30, 40], [20, 30, 40]])
    everything = np.ones(table.n_cells, dtype=bool)
    rooms = Slacks.of(table.value, table.lower, table.upper, everything, integer=table.integer)
    reach = CellReach(table, everything, 1)
    ends = {True: (rooms.even, rooms.even), False: (rooms.down, rooms.up)}
    cells = np.array([0, 1, 4, 5])
    asked = [(0, 1, 7.0, True), (0, -1, 20.0, False), (0, -1, 21.0, False)]
    up, down, too_far = reach.within(cells, asked, ends)
    assert dict(zip(up.cells.tolist(), up.amounts.tolist(), strict=True)) == {0: 7, 1: -7, 4: -7, 5: 7}
    assert dict(zip(down.cells.tolist(), down.amounts.tolist(), strict=True)) == {
        0: -20,
        1: 20,
        4: 20,
        5: -20,
    }
    assert too_far is None
