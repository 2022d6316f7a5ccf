"""The picture of a search: two lines that meet where the cost is proven."""

from __future__ import annotations

import numpy as np
import pytest

from hitoku import plots
from hitoku.errors import ParameterError
from hitoku.model import Protection


def searched(trace, **options):
    nothing = np.zeros(1, dtype=bool)
    return Protection(withheld=nothing, value=np.ones(1), secondary=nothing, trace=trace, **options)


def test_figure_matches_the_trace():
    axes = plots.bound_and_cost(searched(((1, 2.0, 9.0), (5, 6.0, 7.0), (8, 7.0, 7.0)), proven=True)).axes[0]
    cost, bound = axes.get_lines()
    assert list(cost.get_ydata()) == [9.0, 7.0, 7.0]
    assert list(bound.get_ydata()) == [2.0, 6.0, 7.0]
    assert list(bound.get_xdata()) == [1, 5, 8]
    assert axes.get_title(loc="left") == "proven"


def test_figure_states_the_final_gap():
    axes = plots.bound_and_cost(searched(((1, 2.0, 9.0),), gap=0.07)).axes[0]
    assert "7 %" in axes.get_title(loc="left")


def test_missing_trace_raises():
    with pytest.raises(ParameterError, match="no search history"):
        plots.bound_and_cost(searched(()))
