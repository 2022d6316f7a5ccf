"""A protected two-way table as a heat map: where the large values are, and where the holes."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from hitoku.errors import ParameterError
from hitoku.model import Release
from hitoku.plots.style import INK, PAPER, WITHHELD, plain

# Beyond this many codes their names would overlap.
MOST_NAMES = 60


def heat_map(release: Release, *, title: str = "") -> Figure:
    """Draw a two-way release in colour, on a logarithmic scale; withheld cells are dark and hatched.

    Totals are left out: beside them everything else would be pale. It is as public as the release.

    Examples
    --------
    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> figure = heat_map(Release.of(table, Protection.withhold(table, table.value == 1)))
    >>> len(figure.axes[0].patches)
    1
    """
    labels = release.labels
    if len(labels.names) != 2 or labels.positions is not None:
        raise ParameterError(
            "heat_map_variables",
            "a heat map of a table with {n} variable(s)",
            where="heat_map",
            fix="draw a table of two variables",
            n=len(labels.names),
        )
    shown, codes = release.published.reshape(labels.shape), labels.codes
    if len(release.dimensions) == 2:
        # Only categories: subtotals of a hierarchy are sums of their neighbours.
        places = [[d.codes.index(code) for code in d.leaves] for d in release.dimensions]
        shown = shown[np.ix_(*places)]
        codes = tuple(d.leaves for d in release.dimensions)
    rows, columns = shown.shape
    size = (2.6 + min(0.32 * columns, 12), 1.4 + min(0.28 * rows, 11))
    figure = Figure(figsize=size, facecolor=PAPER, layout="constrained")
    axes = figure.add_subplot()
    # Colours begin at the smallest value; zero stays white.
    sizes = np.abs(shown[~np.isnan(shown) & (shown != 0)])
    smallest, largest = (float(sizes.min()), float(sizes.max())) if len(sizes) else (1.0, 1.0)
    norm = SymLogNorm(linthresh=smallest, vmin=min(0.0, float(np.nanmin(shown, initial=0.0))), vmax=largest)
    image = axes.imshow(shown, cmap="Blues", norm=norm, aspect="auto", interpolation="nearest")
    for row, column in np.argwhere(np.isnan(shown)):
        # Hatching as well as colour: a black-and-white print must show it too.
        axes.add_patch(
            Rectangle(
                (column - 0.5, row - 0.5),
                1,
                1,
                facecolor=WITHHELD,
                edgecolor=PAPER,
                hatch="////",
                linewidth=0.3,
            )
        )
    axes.set_xticks(*_named(codes[1]), rotation=90)
    axes.set_yticks(*_named(codes[0]))
    plain(axes, title or f"{release.measure} by {labels.names[0]} and {labels.names[1]}", labels.names[0])
    axes.set_xlabel(labels.names[1], color=INK, fontsize=9)
    axes.tick_params(length=0, labelsize=8)
    figure.colorbar(image, ax=axes, shrink=0.8, label=release.measure)
    key = Patch(facecolor=WITHHELD, edgecolor=PAPER, hatch="////", label="withheld")
    figure.legend(handles=[key], loc="outside lower right", frameon=False, fontsize=9, labelcolor=INK)
    return figure


def _named(codes: tuple[str, ...]) -> tuple[list[int], list[str]]:
    """Choose positions and names of ticks, fewer than the codes when there are many."""
    step = -(-len(codes) // MOST_NAMES)
    places = list(range(0, len(codes), step))
    return places, [codes[place] for place in places]
