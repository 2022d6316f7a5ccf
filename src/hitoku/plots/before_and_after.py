"""An attack before and after protection: every unsafe cell is a dot; confidential."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from hitoku.errors import ParameterError
from hitoku.metrics import reached
from hitoku.model import Bounds, Floats, Need, Table
from hitoku.plots.style import ALARM, INK, PAPER, WITHHELD, plain

# Dots this many times the requirement and beyond stand together at the right.
FAR = 10.0
# Columns of dots between zero and one: a dot stands on its own side of the line.
COLUMNS = 16
# A column of dots is no higher than this; more dots stand closer.
TALL = 14


def before_and_after(
    table: Table, need: Need, found: Mapping[str, Bounds], *, title: str = "", attack: str = "the attack"
) -> Figure:
    r"""Draw how uncertain each unsafe cell stays under several bounds, one strip for each.

    Parameters
    ----------
    table, need
        The true values and what was required.
    found
        What the attack proved, by a name for each release: ``{"left blank": ..., "protected": ...}``.
    title, attack
        Above the figure; what the attack is called below it.

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
        held = reached(table, need, bounds)
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
    """Give halves and doubles the same distance from one; zero is at the left end."""
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
