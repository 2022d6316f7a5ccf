from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from hitoku import plots
from hitoku.errors import ParameterError
from hitoku.methods.gauss import Gauss
from hitoku.methods.greedy import Greedy
from hitoku.metrics import Comparison
from hitoku.model import Bounds, Need, Protection, Release, Table
from hitoku.pipeline import compare
from hitoku.plots import ALARM, ASKED, FAR, WITHHELD

TABLE = Table.from_array([20, 10, 6, 5])
NEED = Need(unsafe=TABLE.value < 20, lower=2.0, upper=4.0)


def bounds(*ends):
    lower, upper = TABLE.value.copy(), TABLE.value.copy()
    for cell, (low, high) in enumerate(ends, start=1):
        lower[cell], upper[cell] = low, high
    return Bounds(lower=lower, upper=upper)


def bars(axes, colour):
    return [
        (bar.get_x(), round(bar.get_width(), 9))
        for bar in axes.patches
        if tuple(bar.get_facecolor()) == to_rgba(colour)
    ]


def test_intervals_are_scaled_and_sorted_by_width():
    axes = plots.intervals(TABLE, NEED, bounds((6, 18), (6, 6), (3, np.inf))).axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["✕  axis1=3", "axis1=4", "axis1=2"]
    assert bars(axes, ASKED) == [(-0.5, 1.5)] * 3
    assert bars(axes, ALARM) == [(0, 0)]
    # axis1=4 is open above: drawn as far as the picture goes, with an arrow; axis1=2 reaches from -1 to 2.
    assert bars(axes, WITHHELD) == [(-0.5, FAR + 0.5), (-1.0, 3.0)]
    assert [line.get_marker() for line in axes.lines if line.get_marker() in "<>"] == [">"]


def test_narrowest_intervals_are_drawn_and_all_counted():
    axes = plots.intervals(TABLE, NEED, bounds((6, 18), (6, 6), (0, 20)), most=1).axes[0]
    assert len(axes.get_yticklabels()) == 1
    assert axes.get_title(loc="left") == "2 of 3 unsafe cells wide enough, the narrowest 1 of 3"


def test_required_width_is_drawn_next_to_interval():
    need = Need(unsafe=TABLE.value == 10, width=8.0)
    axes = plots.intervals(TABLE, need, bounds((6, 18), (6, 6), (5, 5))).axes[0]
    assert bars(axes, ASKED) == [(-0.5, 1.0)]


def test_unsafe_cell_dots_are_on_correct_side():
    found = {"blank": bounds((10, 10), (3, 9), (5, 5)), "safe": bounds((8, 14), (0, 90), (3, 9))}
    before, after = plots.before_and_after(TABLE, NEED, found).axes
    assert before.texts[0].get_text() == "2 known exactly\n1 too narrow\n0 wide enough"
    assert after.texts[0].get_text() == "0 known exactly\n0 too narrow\n3 wide enough"
    line = before.lines[0].get_xdata()[0]
    assert all(x < line for x, _ in before.collections[0].get_offsets())
    dots = after.collections[0].get_offsets()
    assert len(dots) == 3
    assert all(x > line for x, _ in dots)  # two of them reach just what was asked


def test_heat_map_omits_totals():
    table = Table.from_array([[20, 15, 3], [72, 1, 8]])
    release = Release.of(table, Protection.withhold(table, (table.value == 1) | (table.value == 23)))
    axes = plots.heat_map(release).axes[0]
    shown = axes.images[0].get_array()
    assert shown.shape == (2, 3)
    assert shown.compressed().tolist() == [20, 15, 3, 72, 8]
    assert [(patch.get_x(), patch.get_y(), patch.get_hatch()) for patch in axes.patches] == [
        (0.5, 0.5, "////")
    ]


def test_loss_is_drawn_against_the_worst_and_the_median_cell():
    table = Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 3]])
    compared = compare(table, Need(unsafe=table.value == 3, width=9.0), [Greedy(tidy=True), Gauss()])
    axes = plots.loss_against_protection(compared).axes[0]
    assert {text.get_text() for text in axes.texts} == {"greedy", "gauss"}
    drawn = {
        (line.get_xdata()[0], line.get_ydata()[0])
        for line in axes.lines
        if line.get_marker() == "o" and len(line.get_xdata())
    }
    assert drawn == {(100 * row.lost, row.reached) for row in compared}


def test_empty_picture_says_so():
    safe = Need(unsafe=np.zeros(5, dtype=bool))
    cube = Table.from_array(np.ones((2, 2, 2), dtype=int))
    for call in (
        lambda: plots.intervals(TABLE, safe, bounds()),
        lambda: plots.before_and_after(TABLE, safe, {"a": bounds()}),
        lambda: plots.before_and_after(TABLE, NEED, {}),
        lambda: plots.loss_against_protection(Comparison(())),
        lambda: plots.heat_map(Release.of(cube, Protection.withhold(cube, np.zeros(27, dtype=bool)))),
    ):
        with pytest.raises(ParameterError):
            call()
