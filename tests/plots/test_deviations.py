from __future__ import annotations

import numpy as np
import pytest

from hitoku.errors import ParameterError
from hitoku.evidence import audit
from hitoku.model import Need, Protection, Release, Table
from hitoku.plots import deviations

TABLE = Table.from_array([20, 15, 4])
NEED = Need(unsafe=TABLE.value == 4, lower=2.0, upper=2.0)


def adjusted(moves):
    value = TABLE.value + moves
    none = np.zeros(4, dtype=bool)
    return audit(TABLE, NEED, Release.of(TABLE, Protection(withheld=none, secondary=none, value=value)))


def test_cells_are_drawn_with_relative_deviation():
    figure = deviations({"up": adjusted([0, 0, 2, 2]), "down": adjusted([2, 0, -2, 0])})
    drawn = [
        {tuple(np.round(point, 4)) for points in axes.collections for point in points.get_offsets()}
        for axes in figure.axes
    ]
    assert drawn[0] == {(20, 0), (15, 0), (39, round(200 / 39, 4)), (4, 50)}
    assert drawn[1] == {(20, 10), (15, 0), (39, 0), (4, -50)}
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["up", "down"]


def test_suppressed_release_raises():
    found = audit(TABLE, NEED, Release.of(TABLE, Protection.withhold(TABLE, TABLE.inner)))
    with pytest.raises(ParameterError, match="adjusted"):
        deviations({"withheld": found})
