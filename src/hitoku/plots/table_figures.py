"""Figures of published tables: suppressed cells, protection before and after, heat map.

Colours, hatches and axes are those of every figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from hitoku.errors import ParameterError
from hitoku.metrics import protection_ratio
from hitoku.model import Bounds, Floats, Need, Release, Table

PAPER, INK, MARGIN, WITHHELD = "#ffffff", "#1b2a38", "#e9eef2", "#35506b"
ALARM, ASKED = "#b3261e", "#e0a458"
# Colour and hatch of each series; the hatches differ, so that figures can be read without colour.
LOOKS = ((ALARM, ""), ("#8fa3b5", "///"), (ASKED, "..."), ("#3d6b8f", "\\\\\\"), ("#6b4d8f", "xxx"))


def plain(axes: Axes, title: str = "", axis: str = "") -> None:
    """Remove the box around axes, and set their title and the label of their heights."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=9)
    axes.set_ylabel(axis, color=INK, fontsize=9)
    axes.set_title(title, color=INK, fontsize=10, loc="left")


def protected_table(release: Release, bounds: Bounds | None = None, *, title: str = "") -> Figure:
    """Draw a two-way release. Suppressed cells are dark and hatched, with their interval if bounds are given.

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
            "the table has {n} variable(s), the figure needs two",
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
    """Draw a table into given axes, so that several tables fit into one figure."""
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
                # Hatching as well as colour, for prints in black and white.
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


# Dots at or above this multiple of the requirement are drawn together at the right.
FAR = 10.0
# Columns of dots between zero and one, so that no dot lies across the line at one.
COLUMNS = 16
# Maximum number of dots in a column before they move closer together.
TALL = 14


def before_and_after(
    table: Table, need: Need, found: Mapping[str, Bounds], *, title: str = "", attack: str = "the attack"
) -> Figure:
    r"""Draw the protection of each unsafe cell in several releases, one strip for each release.

    Parameters
    ----------
    table, need
        True values and protection requirements.
    found
        Feasibility intervals by name of the release: ``{"left blank": ..., "protected": ...}``.
    title, attack
        Title of the figure, and name of the attack in its axis label.

    Examples
    --------
    >>> table = Table.from_array([20, 4, 6])
    >>> need = Need(unsafe=table.value < 20, width=4.0)
    >>> before, after = (Bounds(lower=[20, 4 - w, 6 - w, 30], upper=[20, 4 + w, 6 + w, 30]) for w in (0, 4))
    >>> figure = before_and_after(table, need, {"left blank": before, "protected": after})
    >>> [axes.texts[0].get_text() for axes in figure.axes]
    ['2 known exactly\n0 too narrow\n0 wide enough', '0 known exactly\n0 too narrow\n2 wide enough']
    """
    if not found or not need.unsafe.any():
        raise ParameterError(
            "chart_empty",
            "nothing to draw",
            where="before_and_after",
            fix="give bounds, and a need with unsafe cells",
        )
    size = (8.4, 0.9 + 1.7 * len(found))
    figure = Figure(figsize=size, facecolor=PAPER, layout="constrained")
    panels = figure.subplots(len(found), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (name, bounds) in zip(panels, found.items(), strict=True):
        held = protection_ratio(table, need, bounds)
        _strip(axes, held)
        plain(axes, name)
        axes.spines["left"].set_visible(False)
        axes.set_yticks([])
        known = int(np.count_nonzero(bounds.lower[need.unsafe] == bounds.upper[need.unsafe]))
        short = int(np.count_nonzero(~need.met(table.value, bounds))) - known
        words = f"{known:,} known exactly\n{short:,} too narrow\n{len(held) - known - short:,} wide enough"
        axes.text(1.01, 0.5, words, transform=axes.transAxes, va="center", fontsize=9, color=INK)
    ticks = [0, 0.5, 1, 2, 5, FAR]
    panels[-1].set_xticks([_place(tick) for tick in ticks], ["0", "½", "1", "2", "5", f"{FAR:g} and more"])
    panels[-1].set_xlabel(
        f"what {attack} leaves open, in multiples of what is required", color=INK, fontsize=9
    )
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, color=INK)
    return figure


def _place(times: Any) -> Any:
    """Return positions on a logarithmic axis around one; zero is at the left end."""
    return np.log2(1.0 + 3.0 * np.minimum(times, FAR))


def _strip(axes: Any, held: Floats) -> None:
    step = float(_place(1.0)) / COLUMNS
    column = np.floor(_place(held) / step).astype(int)
    height = np.zeros(len(held))
    for place in np.unique(column):
        here = np.flatnonzero(column == place)
        height[here] = np.arange(len(here)) * min(1.0, TALL / len(here))
    axes.axvspan(-0.2, float(_place(1.0)), color=ALARM, alpha=0.09, linewidth=0)
    axes.axvline(float(_place(1.0)), color=INK, linewidth=0.8, linestyle="--")
    for mask, marker, colour in ((held < 1, "X", ALARM), (held >= 1, "o", WITHHELD)):
        if mask.any():
            at = (column[mask] + 0.5) * step
            axes.scatter(at, height[mask], s=26, marker=marker, color=colour, linewidths=0)
    axes.set_xlim(-0.2, float(_place(FAR)) + 0.3)
    axes.set_ylim(-1, max(4.0, float(height.max()) + 1))


def heat_map(release: Release, *, title: str = "") -> Figure:
    """Draw a two-way release as a heat map on a logarithmic scale.

    Suppressed cells are dark and hatched. Totals are omitted, because all other cells would look pale next to
    them. The figure shows only published values.

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
            "the table has {n} variable(s), a heat map needs two",
            where="heat_map",
            fix="draw a table of two variables",
            n=len(labels.names),
        )
    shown, codes = release.published.reshape(labels.shape), labels.codes
    if len(release.dimensions) == 2:
        # Subtotals of a hierarchy are omitted, too.
        places = [[d.codes.index(code) for code in d.leaves] for d in release.dimensions]
        shown = shown[np.ix_(*places)]
        codes = tuple(d.leaves for d in release.dimensions)
    rows, columns = shown.shape
    size = (2.6 + min(0.32 * columns, 12), 1.4 + min(0.28 * rows, 11))
    figure = Figure(figsize=size, facecolor=PAPER, layout="constrained")
    axes = figure.add_subplot()
    # The colour scale begins at the smallest value; zero is white.
    sizes = np.abs(shown[~np.isnan(shown) & (shown != 0)])
    smallest, largest = (float(sizes.min()), float(sizes.max())) if len(sizes) else (1.0, 1.0)
    norm = SymLogNorm(linthresh=smallest, vmin=min(0.0, float(np.nanmin(shown, initial=0.0))), vmax=largest)
    image = axes.imshow(shown, cmap="Blues", norm=norm, aspect="auto", interpolation="nearest")
    for row, column in np.argwhere(np.isnan(shown)):
        # Hatching as well as colour, for prints in black and white.
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
    axes.set_xticks(*_tick_labels(codes[1]), rotation=90)
    axes.set_yticks(*_tick_labels(codes[0]))
    plain(axes, title or f"{release.measure} by {labels.names[0]} and {labels.names[1]}", labels.names[0])
    axes.set_xlabel(labels.names[1], color=INK, fontsize=9)
    axes.tick_params(length=0, labelsize=8)
    figure.colorbar(image, ax=axes, shrink=0.8, label=release.measure)
    key = Patch(facecolor=WITHHELD, edgecolor=PAPER, hatch="////", label="withheld")
    figure.legend(handles=[key], loc="outside lower right", frameon=False, fontsize=9, labelcolor=INK)
    return figure


def _tick_labels(codes: tuple[str, ...]) -> tuple[list[int], list[str]]:
    """Return positions and labels of ticks, a selection if there are many codes."""
    # Maximum number of codes whose names do not overlap.
    step = -(-len(codes) // 60)
    places = list(range(0, len(codes), step))
    return places, [codes[place] for place in places]
