"""Charts are drawn from what leaves: every height in the picture stands in the table, and none besides."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hitoku as ht
from hitoku.errors import ParameterError
from hitoku.plots import chart

RANDOM = np.random.default_rng(6)
N = 500
PEOPLE = pd.DataFrame(
    {
        "region": RANDOM.choice(["N", "S", "W"], N),
        "band": RANDOM.choice(["a", "b", "c"], N, p=[0.6, 0.37, 0.03]),
        "income": RANDOM.uniform(1000, 3000, N),
        "months": np.ceil(RANDOM.exponential(10, N)),
        "died": RANDOM.integers(0, 2, N),
    }
)


def drawn(figure):
    """Every number that a picture shows: heights of bars, points of lines, corners of boxes."""
    axes = figure.axes[0]
    found = [bar.get_height() for bar in axes.patches if hasattr(bar, "get_height")]
    found += [y for line in axes.lines for y in line.get_ydata()]
    found += [
        y for patch in axes.patches if not hasattr(patch, "get_height") for _, y in patch.get_path().vertices
    ]
    return {round(float(y), 6) for y in found if np.isfinite(y)}


def table(out):
    return {
        round(float(x), 6) for column in out.published.values() for x in column if isinstance(x, int | float)
    }


@pytest.mark.parametrize(
    ("ask", "kind"),
    [
        pytest.param(lambda w: w.crosstab("region", "band"), "bar", id="bars"),
        pytest.param(lambda w: w.frequency_table("band"), "bar", id="one variable"),
        pytest.param(lambda w: w.histogram("income", 6), "bar", id="histogram"),
        pytest.param(lambda w: w.mean("income", by=["region", "band"]), "line", id="lines"),
        pytest.param(lambda w: w.survival("months", "died", by="region"), "step", id="survival"),
        pytest.param(
            lambda w: w.table("band", "income", ["p10", "p25", "median", "p75", "p90"]), "box", id="boxes"
        ),
    ],
)
def test_picture_shows_only_published_values(ask, kind):
    out = ask(ht.Session("s", PEOPLE))
    shown = drawn(chart(out, kind))
    # A survival curve begins at one, a bar at nought, a box closes at the first corner.
    assert shown - table(out) <= {0.0, 1.0}
    assert len(shown & table(out)) >= 2


def test_totals_are_omitted_and_suppressed_cells_marked():
    out = ht.Session("s", PEOPLE).frequency_table(["region", "band"])
    axes = chart(out).axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["N", "S", "W"]
    hidden = int(out.frame.iloc[:-1, :-1].isna().to_numpy().sum())
    assert [text.get_text() for text in axes.texts] == ["x"] * hidden
    assert hidden > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kind": "scatter"}, "shows every unit"),
        ({"kind": "pie"}, "no chart 'pie'"),
        ({"kind": "box"}, "a box needs p25"),
        ({"kind": "step"}, "one column of times"),
        ({"column": "counts"}, "no column 'counts'"),
    ],
)
def test_undrawable_output_raises(options, said):
    with pytest.raises(ParameterError, match=said):
        chart(ht.Session("s", PEOPLE).crosstab("region"), **options)


def test_unreleasable_output_raises():
    out = ht.Session("s", PEOPLE).summary("max", "income", by="region")
    with pytest.raises(ParameterError, match="may not be released"):
        chart(out)
    with pytest.raises(ParameterError, match="shows every unit"):
        ht.Session("s", PEOPLE).scatter("income", "months")
