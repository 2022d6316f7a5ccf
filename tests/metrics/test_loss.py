from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import count_tables, protections

from hitoku.errors import ProtectionError
from hitoku.metrics import loss
from hitoku.model import Protection, Release, Table

TABLE = Table.from_array([[20, 15], [72, 1]])


@pytest.mark.parametrize(
    ("withheld", "cells", "inner", "share", "inner_share"),
    [
        pytest.param(TABLE.value < 0, 0, 0, 0, 0, id="nothing"),
        pytest.param(TABLE.value == 1, 1, 1, 1 / 432, 1 / 108, id="one cell of 108, all sums make 432"),
        pytest.param(TABLE.inner, 4, 4, 108 / 432, 1, id="every inner cell"),
        pytest.param(TABLE.value == 108, 1, 0, 108 / 432, 0, id="the grand total"),
    ],
)
def test_shares_of_cells_and_of_value(withheld, cells, inner, share, inner_share):
    lost = loss(TABLE, Protection.withhold(TABLE, withheld))
    assert (lost.n_withheld, lost.n_inner_withheld, lost.n_inner, lost.n_cells) == (cells, inner, 4, 9)
    assert lost.value_share == pytest.approx(share)
    assert lost.inner_value_share == pytest.approx(inner_share)
    assert (lost.n_changed, lost.distance) == (0, 0)


@given(data=st.data(), table=count_tables(max_side=3))
def test_release_and_protection_have_equal_loss(data, table):
    protection = data.draw(protections(table))
    assert loss(table, protection) == loss(table, Release.of(table, protection))


def test_changed_values_are_counted_and_measured():
    nothing = Protection.withhold(TABLE, TABLE.value < 0)
    shifted = replace(nothing, value=TABLE.value + np.array([3, -3, 0, -3, 3, 0, 0, 0, 0]))
    lost = loss(TABLE, shifted)
    assert (lost.n_changed, lost.distance) == (4, 12)


def test_empty_table_loses_no_value():
    table = Table.from_array([[0, 0], [0, 0]])
    assert loss(table, Protection.withhold(table, table.inner)).value_share == 0


def test_hidden_cells_are_not_a_loss():
    """Without the 1 and the grand total of 108, cells of 323 are left."""
    table = replace(TABLE, hidden=np.isin(TABLE.value, [1, 108]))
    lost = loss(table, Protection.withhold(table, np.isin(table.value, [1, 15, 108])))
    assert (lost.n_cells, lost.n_withheld, lost.n_inner, lost.n_inner_withheld) == (7, 1, 3, 1)
    assert lost.value_share == pytest.approx(15 / 323)
    assert lost.inner_value_share == pytest.approx(15 / 107)
    moved = replace(Protection.withhold(table, table.value < 0), value=table.value + 2.0)
    assert (loss(table, moved).n_changed, loss(table, moved).distance) == (7, 14)


def test_repr_omits_values():
    assert (
        repr(loss(TABLE, Protection.withhold(TABLE, TABLE.value == 1)))
        == "Loss(1 of 9 cells withheld (11.1%))"
    )


def test_protection_of_another_table_raises():
    other = Table.from_array([[1, 2, 3], [4, 5, 6]])
    with pytest.raises(ProtectionError):
        loss(TABLE, Protection.withhold(other, other.inner))
