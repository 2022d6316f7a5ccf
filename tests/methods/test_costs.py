from __future__ import annotations

import numpy as np
import pytest

from hitoku.errors import ParameterError, TableError
from hitoku.methods import costs
from hitoku.model import Table

TABLE = Table.from_array([[-3, 4], [0, 5]], frequency=[[2, 1], [0, 7]], cost=np.arange(9))


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        pytest.param("unit", [1, 1, 1, 1, 1, 1, 1, 1, 1], id="every cell costs one"),
        pytest.param("value", [3, 4, 1, 0, 5, 5, 3, 9, 6], id="size, whatever the sign"),
        pytest.param("frequency", [2, 1, 3, 0, 7, 7, 2, 8, 10], id="respondents"),
        pytest.param("own", [0, 1, 2, 3, 4, 5, 6, 7, 8], id="what came with the table"),
        pytest.param("log", np.log([4, 5, 2, 1, 6, 6, 4, 10, 7]), id="logarithm of one plus the size"),
        pytest.param([9, 8, 7, 6, 5, 4, 3, 2, 1], [9, 8, 7, 6, 5, 4, 3, 2, 1], id="given"),
    ],
)
def test_cost_options_give_expected_costs(cost, expected):
    assert costs(TABLE, cost) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        pytest.param("vlaue", "did you mean 'value'", id="misspelt"),
        pytest.param([1, 2], "shape", id="too few"),
        pytest.param([-1.0] * 9, "negative", id="negative"),
        pytest.param([np.nan] * 9, "not finite", id="not a number"),
        pytest.param([object()] * 9, "neither a word nor numbers", id="no numbers"),
        pytest.param("own", "came without", id="none of its own"),
        pytest.param("frequency", "came without", id="no frequency"),
    ],
)
def test_invalid_cost_raises(cost, words):
    bare = Table(value=TABLE.value, dimensions=TABLE.dimensions)
    with pytest.raises((ParameterError, TableError), match=words):
        costs(bare, cost)
