from __future__ import annotations

import numpy as np
import pytest

from hitoku.errors import HitokuError, NeedError
from hitoku.model import Table
from hitoku.rules import Given, assess

TABLE = Table.from_array([[20, 15], [72, 1]], measures={"secret": np.array([1, 0, 0, 0, 1, 0, 0, 0, 0])})
FIRST = np.arange(9) == 0


@pytest.mark.parametrize(
    ("levels", "lower", "upper", "width"),
    [
        pytest.param({}, 4.0, 4.0, 0.0, id="20 percent of 20"),
        pytest.param({"percent": 50}, 10.0, 10.0, 0.0, id="another percentage"),
        pytest.param({"percent": 1}, 1.0, 1.0, 0.0, id="at least one unit"),
        pytest.param({"percent": 300}, 20.0, 60.0, 0.0, id="counts are known not to be negative"),
        pytest.param({"percent": None}, 0.0, 0.0, 0.0, id="left to assess"),
        pytest.param({"upper": 7}, 0.0, 7.0, 0.0, id="upper only"),
        pytest.param({"lower": 2, "upper": 3, "width": 9}, 2.0, 3.0, 9.0, id="all three"),
        pytest.param({"upper": np.arange(9) + 5}, 0.0, 5.0, 0.0, id="one per cell, those of others ignored"),
    ],
)
def test_given_levels_are_used(levels, lower, upper, width):
    need = Given(FIRST, **levels).assess(TABLE)
    assert need.unsafe.tolist() == FIRST.tolist()
    assert (need.lower[0], need.upper[0], need.width[0]) == (lower, upper, width)
    assert need.upper[1:].sum() == 0


def test_levels_are_capped_at_known_bounds():
    table = Table(value=[20.0], relations=np.zeros((0, 1)), lower=18.0, upper=23.0)
    need = Given([True], lower=5, upper=5).assess(table)
    assert (need.lower[0], need.upper[0]) == (2.0, 3.0)


def test_marks_may_be_a_table_measure():
    assert Given("secret").assess(TABLE).unsafe.nonzero()[0].tolist() == [0, 4]


def test_mask_is_copied():
    mask = FIRST.copy()
    rule = Given(mask)
    mask[:] = True
    assert rule.assess(TABLE).unsafe.sum() == 1


def test_repr_shows_counts_without_levels():
    assert repr(Given(FIRST, upper=1234.5)) == "Given(1 cells, own upper)"
    assert repr(Given("secret")) == "Given('secret', percent=20.0)"


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"unsafe": "secrt"}, id="no such measure"),
        pytest.param({"unsafe": [True]}, id="too short"),
        pytest.param({"unsafe": [2] * 9}, id="no truth values"),
        pytest.param({"unsafe": FIRST, "upper": -1}, id="negative"),
        pytest.param({"unsafe": FIRST, "width": np.inf}, id="infinite"),
        pytest.param({"unsafe": FIRST, "lower": [1, 2]}, id="levels too short"),
        pytest.param({"unsafe": FIRST, "percent": 0}, id="no range"),
    ],
)
def test_unreadable_input_raises(parts):
    with pytest.raises(HitokuError) as caught:
        Given(**parts).assess(TABLE)
    assert caught.value.fix


def test_marked_structural_zero_raises():
    table = Table.from_array([[0, 2], [3, 4]], fixed=[True] + [False] * 8)
    with pytest.raises(NeedError, match="may not be withheld"):
        assess(table, [Given(FIRST)])
