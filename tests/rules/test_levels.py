from __future__ import annotations

import numpy as np
import pytest

from hitoku.model import Contributors, Table
from hitoku.rules import from_distance, need_of_rule, parts_of, percent_of_value, structural_zero


def cell(value, total, *, integer=False):
    behind = Contributors(count=[1], largest=[[0.0]], total=[total])
    return Table(value=[value], relations=np.zeros((0, 1)), units=behind, integer=integer, lower=-np.inf)


@pytest.mark.parametrize(
    ("value", "total", "distance", "integer", "level"),
    [
        pytest.param(100, 100, 3, False, 3.0, id="value and contributions on one scale"),
        pytest.param(50, 100, 3, False, 1.5, id="3% of the total is 3% of the value"),
        pytest.param(-50, 100, 3, False, 1.5, id="the size of the value counts"),
        pytest.param(50, 100, 1, True, 1.0, id="one unit at least"),
        pytest.param(50, 100, 0, False, 10.0, id="no distance: a fifth of the value"),
        pytest.param(50, 100, -2, False, 10.0, id="negative distance: a fifth of the value"),
        pytest.param(50, 0, 3, False, 10.0, id="no total: a fifth of the value"),
        pytest.param(50, -8, 3, False, 10.0, id="negative total: a fifth of the value"),
        pytest.param(2, -8, 3, True, 1.0, id="a fifth, but one unit at least"),
    ],
)
def test_levels_follow_from_distance(value, total, distance, integer, level):
    table = cell(value, total, integer=integer)
    assert from_distance(table, table.units, np.array([float(distance)]))[0] == pytest.approx(level)


def test_levels_are_percent_of_value():
    table = Table.from_array([[50, -3], [7, 0]])
    assert percent_of_value(table, 20)[[0, 1, 3, 4]] == pytest.approx([10.0, 1.0, 1.4, 1.0])


def test_structural_zeros_are_empty_and_fixed():
    fixed = [True, True, False, False, False, False, False, False, False]
    table = Table.from_array([[0, 5], [0, 9]], fixed=fixed)
    assert structural_zero(table).nonzero()[0].tolist() == [0]
    need = need_of_rule(table, "given", np.ones(9, dtype=bool))
    assert need.unsafe.tolist() == [False] + [True] * 8


def test_zero_turnover_is_not_a_structural_zero():
    table = Table(value=[0.0], relations=np.zeros((0, 1)), frequency=[3], fixed=[True])
    assert not structural_zero(table)[0]


def test_weighted_relation_parts_are_found():
    # Twice the first cell and the second make three times the third.
    table = Table(value=[3.0, 6.0, 4.0], relations=[[2, 1, -3]])
    pairs = parts_of(table)
    assert (pairs.part.tolist(), pairs.total.tolist()) == ([0, 1], [2, 2])
    assert pairs.weight == pytest.approx([2 / 3, 1 / 3])


def test_relations_without_a_single_total_have_no_parts():
    table = Table(value=[3.0, 6.0, 4.0, 5.0], relations=[[1, 1, -1, -1]])
    assert len(parts_of(table).part) == 0


def test_part_with_weight_half_is_a_part():
    pairs = parts_of(Table(value=[4.0, 6.0, 8.0], relations=[[0.5, 1, -1]]))
    assert (pairs.part.tolist(), pairs.total.tolist()) == ([0, 1], [2, 2])
    assert pairs.weight.tolist() == [0.5, 1.0]
