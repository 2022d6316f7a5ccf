"""How narrow the intervals of cells are that an attack found to be unsafe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from hitoku.errors import ParameterError
from hitoku.plots import INK, LOOKS, PAPER, plain


def width_histograms(panels: Mapping[str, Mapping[str, Sequence[float]]]) -> Figure:
    """Draw how many cells have each whole width, from 0, in one panel per kind of table.

    Parameters
    ----------
    panels
        By the title of a panel and the text of the legend, the number of cells of width 0, 1, and so on.

    Examples
    --------
    >>> figure = width_histograms({"16 cells": {"published": [6, 6, 7, 20], "ours": [5, 8, 9, 22]}})
    >>> len(figure.axes[0].patches)
    8
    """
    if not panels or not all(panels.values()):
        raise ParameterError(
            "nothing_to_draw",
            "there is nothing to draw",
            where="width_histograms",
            fix="give at least one series a panel",
        )
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(1 + 3.8 * columns, 2.7 * rows), facecolor=PAPER, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for axes, (title, series) in zip(grid.flat, panels.items(), strict=False):
        bar = 0.84 / len(series)
        for place, (name, heights) in enumerate(series.items()):
            colour, hatch = LOOKS[place % len(LOOKS)]
            at = np.arange(len(heights)) + (place - (len(series) - 1) / 2) * bar
            axes.bar(at, heights, bar, label=name, color=colour, hatch=hatch, edgecolor=PAPER)
        axes.set_xticks(np.arange(max(len(heights) for heights in series.values())))
        plain(axes, title, "unsafe cells")
        axes.set_xlabel("width of the effective interval", color=INK, fontsize=9)
    grid.flat[0].legend(frameon=False, fontsize=9, labelcolor=INK)
    return figure
