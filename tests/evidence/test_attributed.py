"""Groups about which too much could be learnt, by hand: who must be able to be elsewhere, and who cannot."""

from __future__ import annotations

import numpy as np
import pytest

from hitoku.evidence import audit, required_of
from hitoku.evidence.verify import prove
from hitoku.model import Attributions, Need, Protection, Release, Severity, Table

# All 17 of the first row are in its first column. With inner cells withheld up to 9 might be in the other:
# 17 - k, 0 + k, 5 + k, 9 - k.
TABLE = Table.from_array([[17, 0], [5, 9]])
FIRST_ROW = [-1, 0, 1, 0, 0, 0, 0, 0, 0]  # its total less the first cell
GIVEN_AWAY = np.arange(9) < 2  # the columns tell both cells of the first row


def groups_of(withheld, goal, sums=FIRST_ROW, table=TABLE):
    need = Need(unsafe=np.zeros(9, dtype=bool), attributions=Attributions([sums], [goal], [2]))
    found = audit(table, need, Release.of(table, Protection.withhold(table, withheld, need)))
    return found, found.groups.rows(table.labels, additive=found.additive)[0]


@pytest.mark.parametrize(
    ("withheld", "goal", "met", "why"),
    [
        pytest.param(TABLE.inner, 2, True, "", id="some could be elsewhere"),
        pytest.param(TABLE.inner, 9, True, "", id="just as many as can be"),
        pytest.param(TABLE.inner, 10, False, "at most", id="one more than can be"),
        pytest.param(GIVEN_AWAY, 1, False, "exactly 0", id="nobody can be"),
    ],
)
def test_group_is_safe_if_enough_could_be_elsewhere(withheld, goal, met, why):
    found, row = groups_of(withheld, goal)
    assert found.safe is met
    assert found.groups.n_open == (0 if met else 1)
    assert (row["elsewhere"], row["required"], row["met"]) == (0, goal, met)
    assert row["possible"] >= goal if met else row["possible"] < goal
    assert row["group"] == TABLE.labels.describe(2)
    assert why in row["why"]
    assert bool(row["why"]) is not met
    places = [(f.severity, f.place) for f in found.groups.findings(TABLE.labels)]
    assert places == ([] if met else [(Severity.FAIL, found.groups.learnt.describe(TABLE.labels, 0))])


def test_nonadditive_table_gives_no_sum_as_reason():
    table = Table(value=TABLE.value + np.eye(1, 9, 8).ravel(), relations=TABLE.relations, additive=False)
    _, row = groups_of(GIVEN_AWAY, 1, table=table)
    assert (row["met"], row["why"]) == (False, "")


@pytest.mark.parametrize(
    ("sums", "goal", "cells", "weights", "written"),
    [
        pytest.param(FIRST_ROW, 2, [0, 2], [-1, 1], 2, id="whole weights"),
        pytest.param(np.array(FIRST_ROW) * 3, 2, [0, 2], [-3, 3], 2, id="whole weights stay"),
        pytest.param([-0.25, 0, 0.5, 0, 0, 0, 0, 0, 0], 2, [0, 2], [-1, 2], 8, id="quarters, four times all"),
        pytest.param([-0.5, 0, 0.5, 0, 0, 0, 0, 0, 0], 0.25, [0, 2], [-1, 1], "0.5", id="halves, twice all"),
    ],
)
def test_group_requirement_uses_integer_weights(sums, goal, cells, weights, written):
    (found,) = required_of(Attributions([sums], [goal], [2]), np.array([goal], dtype=float))
    assert found == {"group": 2, "cells": cells, "weights": weights, "goal": written}


@pytest.mark.parametrize("unsafe", [False, True], ids=["groups alone", "beside an unsafe cell"])
def test_verifier_finds_the_witness_of_a_group(unsafe):
    need = Need(
        unsafe=(np.arange(9) == 4) & unsafe, lower=3.0, attributions=Attributions([FIRST_ROW], [9], [2])
    )
    found = audit(TABLE, need, Release.of(TABLE, Protection.withhold(TABLE, TABLE.inner, need)))
    content = dict(found.certificate.content)
    prove(content)
    (group,) = content["groups"]
    witness = content["witnesses"][group["witness"]]
    # k is 9, whatever other witnesses there are.
    moved = dict(zip(witness["cells"], witness["differences"], strict=True))
    assert {cell: d / witness["denominator"] for cell, d in moved.items()} == {0: -9, 1: 9, 3: 9, 4: -9}
    assert found.certificate.n_witnesses == len(content["witnesses"])
