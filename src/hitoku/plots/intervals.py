"""What a reader can infer of each unsafe cell against what was required, as a picture; confidential."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from hitoku.errors import ParameterError
from hitoku.metrics import reached
from hitoku.model import Bounds, Need, Table
from hitoku.plots.style import ALARM, ASKED, INK, PAPER, WITHHELD, plain

# An interval is drawn up to this many times the requirement; beyond it ends in an arrow.
FAR = 4.0


def intervals(table: Table, need: Need, bounds: Bounds, *, most: int = 40, title: str = "") -> Figure:
    """Draw the interval of every unsafe cell around its true value, the narrowest first.

    Cells differ by orders of magnitude, so each has its own scale: the largest of its three requirements is
    one. The broad bar is what is required below and above the value; the thin bar below it is the required
    length, laid against the interval.

    Parameters
    ----------
    table, need
        The true values and what was required.
    bounds
        What an attack found, for instance ``Interval().bounds(release)``.
    most
        How many cells to draw.
    title
        Above the figure.

    Examples
    --------
    >>> table = Table.from_array([20, 4, 6])
    >>> need = Need(unsafe=table.value < 20, width=4.0)
    >>> found = Bounds(lower=[20, 0, 4, 30], upper=[20, 6, 6, 30])
    >>> [text.get_text() for text in intervals(table, need, found).axes[0].get_yticklabels()]
    ['✕  axis1=3', 'axis1=2']
    """
    held = reached(table, need, bounds)
    if len(held) == 0 or most < 1:
        raise ParameterError(
            "no_unsafe_cells",
            "no unsafe cells to draw",
            where="intervals",
            fix="give a need with unsafe cells, and most >= 1",
        )
    cells = np.flatnonzero(need.unsafe)
    met = need.met(table.value, bounds)[cells]
    order = np.argsort(held, kind="stable")[:most]
    figure = Figure(figsize=(8.4, 1.5 + 0.27 * len(order)), facecolor=PAPER, layout="constrained")
    axes = figure.add_subplot()
    names = []
    for place, (cell, enough) in enumerate(zip(cells[order], met[order], strict=True)):
        _draw(axes, place, int(cell), table, need, bounds, enough=bool(enough))
        names.append(("" if enough else "✕  ") + table.describe(int(cell)))
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_xlim(-FAR - 0.4, FAR + 0.4)
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.set_yticks(range(len(order)), names)
    short = int(np.count_nonzero(~met))
    rest = f", the narrowest {len(order)} of {len(held):,}" if len(order) < len(held) else ""
    plain(axes, title or f"{len(held) - short:,} of {len(held):,} unsafe cells wide enough{rest}")
    axes.tick_params(axis="y", length=0, labelsize=8)
    axes.set_xlabel("from the true value, in multiples of what is required", color=INK, fontsize=9)
    for name, colour, height in (
        ("inferred", WITHHELD, 5),
        ("inferred, too narrow (✕)", ALARM, 5),
        ("required", ASKED, 9),
    ):
        axes.plot([], [], color=colour, linewidth=height, label=name, solid_capstyle="butt")
    figure.legend(loc="outside lower left", ncols=3, frameon=False, fontsize=9, labelcolor=INK)
    return figure


def _draw(
    axes: Any, place: int, cell: int, table: Table, need: Need, bounds: Bounds, *, enough: bool
) -> None:
    lower, upper, width = (float(level[cell]) for level in (need.lower, need.upper, need.width))
    value = float(table.value[cell])
    scale = max(lower, upper, width) or max(abs(value), 1.0)
    low, high = (float(end[cell] - value) / scale for end in (bounds.lower, bounds.upper))
    left, right = max(low, -FAR), min(high, FAR)
    if lower or upper:
        axes.barh(place, (lower + upper) / scale, left=-lower / scale, height=0.72, color=ASKED)
    if width:
        axes.barh(place + 0.36, width / scale, left=left, height=0.14, color=ASKED)
    colour = WITHHELD if enough else ALARM
    axes.barh(place, right - left, left=left, height=0.34, color=colour)
    for end, mark in ((low, "<"), (high, ">")):
        if abs(end) > FAR:
            axes.plot(np.clip(end, -FAR, FAR), place, mark, color=colour, markersize=7)
    if right == left:
        axes.plot(left, place, "D", color=colour, markersize=5)
