"""Bars in groups, one colour and hatch per series: counts side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from hitoku.errors import ParameterError
from hitoku.plots import INK, LOOKS, PAPER, plain


def grouped_bars(
    groups: Sequence[str], series: Mapping[str, Sequence[float]], *, title: str = "", axis: str = ""
) -> Figure:
    """Draw one group of bars for each name, in it one bar for each series.

    Parameters
    ----------
    groups
        Names under the groups.
    series
        By the text of the legend, one height per group; NaN where there is nothing to show.
    title, axis
        Title of the figure, and label of its heights.

    Examples
    --------
    >>> figure = grouped_bars(["16 cells", "25 cells"], {"unsafe": [48, 117], "all": [104, 170]})
    >>> len(figure.axes[0].patches)
    4
    """
    if not groups or not series or any(len(heights) != len(groups) for heights in series.values()):
        raise ParameterError(
            "heights_per_group",
            "every series needs one height per group",
            where="grouped_bars",
            fix="give lists of one length",
        )
    figure = Figure(figsize=(2.2 + 1.5 * len(groups), 3.6), facecolor=PAPER, layout="constrained")
    axes = figure.add_subplot()
    width = 0.8 / len(series)
    for place, (name, heights) in enumerate(series.items()):
        colour, hatch = LOOKS[place % len(LOOKS)]
        at = np.arange(len(groups)) + (place - (len(series) - 1) / 2) * width
        bars = axes.bar(at, heights, width, label=name, color=colour, hatch=hatch, edgecolor=PAPER)
        texts = ["" if np.isnan(height) else f"{height:g}" for height in heights]
        axes.bar_label(bars, labels=texts, fontsize=8, color=INK, padding=2)
    axes.set_xticks(np.arange(len(groups)), groups)
    plain(axes, title, axis)
    # Above the bars: inside, it would hide one.
    figure.legend(loc="outside upper left", ncols=3, frameon=False, fontsize=9, labelcolor=INK)
    return figure
