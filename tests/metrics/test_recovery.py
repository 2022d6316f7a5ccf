from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hitoku.attacks.adjustment import Adjustment
from hitoku.errors import NeedError, ParameterError
from hitoku.metrics import BINS, attacker_knowledge, errors, recovery
from hitoku.model import Estimates, Need, Protection, Release, Table

TABLE = Table(value=np.array([100.0, 50.0, 150.0]), relations=np.array([[1.0, 1.0, -1.0]]))
NEED = Need(unsafe=[True, True, False], lower=[10.0, 5.0, 0.0], upper=[20.0, 5.0, 0.0])


def published(values) -> Release:
    nowhere = np.zeros(3, dtype=bool)
    return Release.of(TABLE, Protection(withheld=nowhere, secondary=nowhere, value=np.array(values, float)))


def estimated(*values) -> Estimates:
    rows = np.array(values, dtype=float)
    return Estimates(value=rows, soft=np.zeros(len(rows), dtype=bool), excess=np.zeros_like(rows))


@pytest.mark.parametrize(
    ("estimate", "interval"),
    [
        (100, "0"),
        (100.00009, "0"),
        (100.0002, "(0,5]"),
        (105, "(0,5]"),
        (95, "(0,5]"),
        (105.01, "(5,10]"),
        (110, "(5,10]"),
        (80, "(10,20]"),
        (130, "(20,30]"),
        (150, "(30,50]"),
        (200, "(50,100]"),
        (0, "(50,100]"),
        (200.1, "(100,\N{EM DASH}]"),
        (-1, "(100,\N{EM DASH}]"),
    ],
)
def test_estimate_of_100_falls_into_paper_interval(estimate, interval):
    need = Need(unsafe=[True, False, False])
    counts = errors(TABLE, need, estimated([estimate, 0, 0])).counts
    assert [BINS[place] for place in np.flatnonzero(counts[0])] == [interval]


def test_true_zero_is_hit_or_missed():
    table = Table(value=np.array([0.0, 5.0]), relations=np.array([[1.0, -1.0]]), additive=False)
    need = Need(unsafe=[True, False])
    counts = errors(table, need, estimated([0, 0], [0.1, 0])).counts
    assert counts[0, 0] == 1
    assert counts[1, -1] == 1


def test_draws_are_counted_separately_and_pooled():
    found = errors(TABLE, NEED, estimated([100, 50, 0], [100, 60, 0], [100, 50, 0]))
    assert found.exact == 5
    assert found.per_draw[:, 0].tolist() == [100, 50, 100]
    assert found.pooled[0] == pytest.approx(100 * 5 / 6)
    assert_allclose(found.per_draw.sum(axis=1), 100)
    assert "100" not in repr(found)


def test_known_facts_follow_from_table_need_release():
    told = attacker_knowledge(TABLE, NEED, published([125, 40, 165]), delta=0.0)
    assert told.deviation == pytest.approx(0.25)  # 25 of 100, and 10 of 40: 50 lies in 40 (1 + 0.25)
    assert told.senses.tolist()[:2] == [1, -1]
    assert told.lower_share.tolist() == [0.1, 0.1, 0]
    assert told.upper_share.tolist() == [0.2, 0.1, 0]
    low, high = told.slack
    assert low.tolist() == [20, -50, -150]
    assert high.tolist() == [np.inf, -5, np.inf]


def test_width_raises_both_levels_alike():
    need = Need(unsafe=[True, False, False], lower=[2.0, 0, 0], upper=[4.0, 0, 0], width=[10.0, 0, 0])
    told = attacker_knowledge(TABLE, need, published([106, 50, 156]))
    assert (told.lower[0], told.upper[0]) == (4, 6)


def test_attacker_knowing_levels_reverses_the_adjustment():
    found = recovery(TABLE, NEED, published([120, 55, 175]), Adjustment(scenario="B3", replications=4))
    assert found.exact == 8


@pytest.mark.parametrize("tolerance", [-1.0, 0.05, 1.0])
def test_tolerance_outside_first_interval_raises(tolerance):
    with pytest.raises(ParameterError):
        errors(TABLE, NEED, estimated([1, 1, 1]), tolerance=tolerance)


def test_parts_of_different_tables_raise():
    with pytest.raises(NeedError):
        attacker_knowledge(TABLE, Need(unsafe=[True]), published([1, 1, 2]))
