"""How many tables fit a release, by the number of independent ways in which its cells can move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from hitoku.errors import ParameterError
from hitoku.plots import INK, PAPER, plain


def candidates_by_dimension(counts: Mapping[str, Mapping[int, Sequence[int]]]) -> Figure:
    """Draw box plots on a logarithmic scale, one panel per kind of table.

    Parameters
    ----------
    counts
        By the title of a panel, for each dimension of the null space the number of candidates of every table.

    Examples
    --------
    >>> figure = candidates_by_dimension({"16 cells": {1: [10, 14, 16], 2: [138, 315]}})
    >>> figure.axes[0].get_title(loc="left")
    '16 cells'
    """
    if not counts or not all(counts.values()):
        raise ParameterError(
            "nothing_to_draw",
            "there is nothing to draw",
            where="candidates_by_dimension",
            fix="give at least one table a panel",
        )
    figure = Figure(figsize=(1 + 2.6 * len(counts), 3.4), facecolor=PAPER, layout="constrained")
    panels = figure.subplots(1, len(counts), sharey=True, squeeze=False)[0]
    for axes, (title, boxes) in zip(panels, counts.items(), strict=True):
        dimensions = sorted(boxes)
        axes.boxplot(
            [list(boxes[d]) for d in dimensions],
            tick_labels=[f"{d}\n({len(boxes[d])})" for d in dimensions],
            medianprops={"color": INK, "linewidth": 1.6},
            flierprops={"markersize": 3},
        )
        axes.set_yscale("log")
        plain(axes, title, "candidate tables" if axes is panels[0] else "")
        axes.set_xlabel("dimension (tables)", color=INK, fontsize=9)
    return figure
