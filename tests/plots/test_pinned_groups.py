from __future__ import annotations

import numpy as np
import pytest

from hitoku.attacks import Group
from hitoku.errors import ParameterError
from hitoku.model import Protection, Release, Table
from hitoku.plots import ALARM, pinned_groups

TABLE = Table.from_array([[17, 0], [12, 9]])


def release(*cells):
    return Release.of(TABLE, Protection.withhold(TABLE, np.isin(np.arange(9), cells)))


def test_pinned_cell_is_framed_and_title_coloured():
    figure = pinned_groups({"open": release(), "closed": release(0, 1, 3, 4)}, Group(k=0, sensitive="column"))
    frames = [[patch.get_xy() for patch in axes.patches if not patch.get_fill()] for axes in figure.axes]
    assert frames == [[(0, 0)], []]
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["open", "closed"]
    assert figure.axes[0]._left_title.get_color() == ALARM
    assert figure.axes[1]._left_title.get_color() != ALARM


def test_release_of_other_shape_raises():
    cube = Table.from_array(np.ones((2, 2, 2), dtype=int))
    other = Release.of(cube, Protection.withhold(cube, np.zeros(27, dtype=bool)))
    for wrong in ({}, {"cube": other}, {"one": release(), "other": other}):
        with pytest.raises(ParameterError):
            pinned_groups(wrong, Group())
