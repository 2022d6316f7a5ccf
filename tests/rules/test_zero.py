from __future__ import annotations

import numpy as np
import pytest

from hitoku.errors import RuleError
from hitoku.model import Contributors, Table
from hitoku.rules import Zero
from hitoku.testing import one_cell


@pytest.mark.parametrize(
    ("contributed", "unsafe"),
    [
        pytest.param((), False, id="nobody there"),
        pytest.param((0,), True, id="one contributor, who has nothing"),
        pytest.param((0, 0, 0), True, id="three, and none has anything"),
        pytest.param((0, 0.1), False, id="not zero"),
    ],
)
def test_zero_rule_matches_definition(contributed, unsafe):
    need = Zero(upper=10).assess(one_cell(*contributed))
    assert bool(need.unsafe[0]) is unsafe
    assert (need.lower[0], need.upper[0]) == (0.0, 10.0 * unsafe)


@pytest.mark.parametrize(
    ("magnitude", "largest", "unsafe"),
    [
        pytest.param("signed", 20.0, False, id="20 - 20: gains and losses cancel"),
        pytest.param("signed", 0.0, True, id="signed, and all zero"),
        pytest.param("abs", 0.0, True, id="by size, and all zero"),
    ],
)
def test_negative_contributions_are_handled(magnitude, largest, unsafe):
    behind = Contributors(count=[2], largest=[[largest]], total=[0.0], negative=True, magnitude=magnitude)
    table = Table(value=[0.0], relations=np.zeros((0, 1)), units=behind, lower=-np.inf)
    need = Zero(upper=10).assess(table)
    assert bool(need.unsafe[0]) is unsafe
    assert need.lower[0] == 0


def test_levels_are_capped_at_known_bounds():
    behind = Contributors(count=[2], largest=[[0.0]], total=[0.0])
    table = Table(value=[0.0], relations=np.zeros((0, 1)), units=behind, upper=4.0)
    assert Zero(upper=10).assess(table).upper[0] == 4.0


@pytest.mark.parametrize("upper", [0, -1, float("inf"), float("nan"), None, "10", True])
def test_range_must_be_positive(upper):
    with pytest.raises(RuleError, match="upper"):
        Zero(upper=upper)


def test_cancelling_contributions_are_not_zero():
    behind = Contributors(count=[2], largest=[[20.0, 0.0]], total=[0.0], negative=True, magnitude="signed")
    table = Table(value=[0.0], relations=np.zeros((0, 1)), units=behind, lower=-np.inf)
    assert not Zero(upper=10).assess(table).unsafe[0]
