"""How a search came to its end: what is proven and what is known, over the work done."""

from __future__ import annotations

from matplotlib.figure import Figure

from hitoku.errors import ParameterError
from hitoku.model import Protection
from hitoku.plots.style import INK, PAPER

KNOWN, PROVEN = "#b3402a", "#2a6f97"


def bound_and_cost(protection: Protection, *, title: str | None = None) -> Figure:
    """Draw the cost of the best pattern known and the bound that no pattern can beat, over the work done.

    The answer lies between the two lines; where they meet, it is proven. Work is counted in problems solved,
    so the picture is the same on every computer.

    Parameters
    ----------
    protection
        From a method that searches, :class:`~hitoku.methods.optimal.Optimal`.
    title
        Left out, what the search ended with.

    Examples
    --------
    >>> import numpy as np
    >>> from hitoku.methods.optimal import Optimal
    >>> from hitoku.model import Need
    >>> from hitoku.model import Table
    >>> table = Table.from_array(np.arange(1, 28).reshape(3, 3, 3))
    >>> need = Need(unsafe=table.value < 3, width=2)
    >>> figure = bound_and_cost(Optimal(cost="value").protect(table, need))
    >>> figure.axes[0].get_xlabel()
    'problems solved'
    """
    if not protection.trace:
        raise ParameterError(
            "no_search_trace",
            "this protection has no trace of a search to draw",
            where="bound_and_cost",
            fix="draw one that Optimal found; small two-way tables are settled without a search",
        )
    work, bound, cost = zip(*protection.trace, strict=True)
    figure = Figure(figsize=(7.2, 3.6), facecolor=PAPER, layout="constrained")
    axes = figure.subplots()
    axes.set_facecolor(PAPER)
    axes.fill_between(work, bound, cost, step="post", color=INK, alpha=0.08, linewidth=0)
    axes.step(work, cost, where="post", color=KNOWN, linewidth=1.8, label="best pattern known")
    axes.step(work, bound, where="post", color=PROVEN, linewidth=1.8, label="no pattern costs less")
    # The first patterns are far off, and would press the end of the search into one line.
    first, last = bound[-1], cost[-1]
    near = [value for value in (*bound, *cost) if abs(value - last) <= max(last - first, 0.25 * last)]
    margin = 0.05 * (max(near) - min(near) or 1.0)
    axes.set_ylim(min(near) - margin, max(near) + margin)
    axes.set_xlabel("problems solved", color=INK, fontsize=9)
    axes.set_ylabel("cost", color=INK, fontsize=9)
    axes.tick_params(colors=INK, labelsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(INK)
    axes.legend(frameon=False, fontsize=9, labelcolor=INK)
    if title is None:
        title = "proven" if protection.proven else f"stopped with a gap of {100 * protection.gap:.2g} %"
    axes.set_title(title, fontsize=10.5, color=INK, loc="left")
    return figure
