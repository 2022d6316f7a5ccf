"""As far along a move as bounds allow, in exact numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hitoku.evidence import AuditProblem, Grid
from hitoku.model import Need, Protection, Release, Table

CIRCLE = {0: 1, 1: -1, 2: -1, 3: 1}  # round the four inner cells of a square


def square(*value, integer=True, lower=0.0, upper=np.inf, level=0.0):
    """Withhold a square of which its first cell must rise by a level."""
    plain = Table.from_array(np.array(value, dtype=float).reshape(2, 2))
    ends = {"lower": lower, "upper": np.where(plain.inner, upper, np.inf)}
    table = Table(value=plain.value, relations=plain.relations, integer=integer, **ends)
    need = Need(unsafe=np.arange(9) == 0, upper=level)
    release = Release.of(table, Protection.withhold(table, plain.inner, need))
    return AuditProblem.of(Grid.of(table.value), need, release)


@pytest.mark.parametrize(
    ("problem", "move", "step"),
    [
        pytest.param(square(5, 4, 3, 6), CIRCLE, 3, id="until the 3 is gone"),
        pytest.param(square(5, 4, 3, 6), {k: -v for k, v in CIRCLE.items()}, 5, id="or the 5, the other way"),
        pytest.param(square(5, 4, 3, 6, upper=30.0), CIRCLE, 3, id="a bound further away"),
        pytest.param(square(5, 4, 3, 25, upper=26.0), CIRCLE, 1, id="a bound above comes first"),
        pytest.param(square(5, 0, 3, 6), CIRCLE, None, id="nowhere: a zero cannot fall"),
        pytest.param(square(5, 4, 3, 6), {0: 1, 1: -1}, None, id="columns would not add up"),
        pytest.param(square(5, 4, 3, 6), {0: 1, 3: 1}, None, id="nothing would"),
        pytest.param(square(5, 4, 3, 6), {}, None, id="no move"),
        pytest.param(square(5, 4, 3, 6), {0: 0}, None, id="a move of nothing"),
        pytest.param(
            square(5, 4, 3, 6), {k: 2 * v for k, v in CIRCLE.items()}, Fraction(3, 2), id="three by twos"
        ),
        pytest.param(
            square(5, 4, 2.5, 6, integer=False), CIRCLE, Fraction(5, 2), id="not whole, so to the end"
        ),
        pytest.param(
            square(5, 4, 3, 6, lower=-np.inf, level=7.5),
            CIRCLE,
            8,
            id="no bound: as far as it must, in steps",
        ),
        pytest.param(square(5, 4, 3, 6, lower=-np.inf), CIRCLE, 1, id="nothing must: a step"),
    ],
)
def test_deviation_is_extended_to_the_first_bound(problem, move, step):
    found = problem.along(move)
    if step is None:
        assert found is None
    else:
        assert {place: found.at(place) for place in found.differences} == {
            k: step * v for k, v in move.items()
        }
