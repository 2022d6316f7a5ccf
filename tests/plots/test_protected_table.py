from __future__ import annotations

import numpy as np
import pytest

from hitoku.errors import ParameterError
from hitoku.model import Bounds, Protection, Release, Table
from hitoku.plots import protected_table

TABLE = Table.from_array([[20, 15], [72, 1]])
RELEASE = Release.of(TABLE, Protection.withhold(TABLE, TABLE.value == 1))


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_every_cell_is_printed_and_suppressed_one_hatched():
    figure = protected_table(RELEASE, title="Persons")
    assert texts(figure) == ["20", "15", "35", "72", "c", "73", "92", "16", "108"]
    assert [bool(patch.get_hatch()) for patch in figure.axes[0].patches] == (TABLE.value == 1).tolist()


def test_known_bounds_are_printed():
    lower = np.where(TABLE.value == 1, 0, TABLE.value)
    upper = np.where(TABLE.value == 1, np.inf, TABLE.value)
    assert "0 to ∞" in texts(protected_table(RELEASE, Bounds(lower=lower, upper=upper)))


def test_three_way_table_raises():
    cube = Table.from_array(np.ones((2, 2, 2), dtype=int))
    with pytest.raises(ParameterError, match="3 variable"):
        protected_table(Release.of(cube, Protection.withhold(cube, np.zeros(27, dtype=bool))))
