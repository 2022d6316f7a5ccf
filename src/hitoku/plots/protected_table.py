"""A protected two-way table as a picture: what is printed, what is withheld, and what a reader can infer."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from hitoku.errors import ParameterError
from hitoku.model import Bounds, Release
from hitoku.plots.style import INK, MARGIN, PAPER, WITHHELD


def protected_table(release: Release, bounds: Bounds | None = None, *, title: str = "") -> Figure:
    """Draw a two-way release; a withheld cell is dark and hatched, with its interval when bounds are given.

    Examples
    --------
    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> release = Release.of(table, Protection.withhold(table, table.value == 1))
    >>> len(protected_table(release).axes)
    1
    """
    if len(release.labels.names) != 2 or release.labels.positions is not None:
        raise ParameterError(
            "picture_variables",
            "a picture of a table with {n} variable(s)",
            where="protected_table",
            fix="draw a table of two variables",
            n=len(release.labels.names),
        )
    rows, columns = release.labels.codes
    size = (1.6 + 0.95 * len(columns), 0.9 + 0.42 * len(rows))
    figure = Figure(figsize=size, facecolor=PAPER, layout="constrained")
    draw_table(figure.add_subplot(), release, bounds)
    if title:
        figure.axes[0].set_title(title, fontsize=11, color=INK, loc="left")
    return figure


def draw_table(axes: Any, release: Release, bounds: Bounds | None = None) -> None:
    """Draw into axes that are there already, so that several tables can stand side by side."""
    rows, columns = release.labels.codes
    texts = _texts(release, bounds)
    for (i, j), hidden in np.ndenumerate(release.withheld.reshape(len(rows), len(columns))):
        margin = i == len(rows) - 1 or j == len(columns) - 1
        axes.add_patch(
            Rectangle(
                (j, i),
                1,
                1,
                facecolor=WITHHELD if hidden else (MARGIN if margin else PAPER),
                edgecolor="#9fb0bf" if hidden else "#d4dce3",
                # Hatching as well as colour: a black-and-white print must show it too.
                hatch="////" if hidden else None,
                linewidth=0.8,
            )
        )
        axes.text(
            j + 0.5,
            i + 0.5,
            texts[i][j],
            ha="center",
            va="center",
            fontsize=9,
            color="#ffffff" if hidden else INK,
            fontweight="bold" if margin and not hidden else "normal",
            bbox={"facecolor": WITHHELD, "edgecolor": "none", "pad": 1.2} if hidden else None,
        )
    axes.set_xlim(0, len(columns))
    axes.set_ylim(len(rows), 0)
    axes.set_xticks(np.arange(len(columns)) + 0.5, labels=columns, fontsize=9, color=INK)
    axes.set_yticks(np.arange(len(rows)) + 0.5, labels=rows, fontsize=9, color=INK)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)


def _texts(release: Release, bounds: Bounds | None) -> list[list[str]]:
    shape = tuple(len(codes) for codes in release.labels.codes)
    texts = np.empty(release.n_cells, dtype=object)
    for cell, value in enumerate(release.published):
        if not np.isnan(value):
            texts[cell] = f"{value:,.0f}" if release.integer else f"{value:,.1f}"
        elif bounds is None:
            texts[cell] = "c"
        else:
            low, high = bounds.lower[cell], bounds.upper[cell]
            top = "∞" if np.isinf(high) else f"{high:,.0f}"
            texts[cell] = f"= {top}" if low == high else f"{low:,.0f} to {top}"
    listed: list[list[str]] = texts.reshape(shape).tolist()
    return listed
