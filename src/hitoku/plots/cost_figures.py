"""Figures of the cost of protection: cost and lower bound, and cost against protection."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from hitoku.errors import ParameterError
from hitoku.metrics import Comparison
from hitoku.model import Protection
from hitoku.plots.protection_figures import LINE
from hitoku.plots.table_figures import ALARM, INK, PAPER, WITHHELD, plain

KNOWN, PROVEN = "#b3402a", "#2a6f97"


def bound_and_cost(protection: Protection, *, title: str | None = None) -> Figure:
    """Draw the cost of the best known pattern and the lower bound during a search.

    The optimum lies between the two lines, and is proved where they meet. The horizontal axis counts solved
    problems, so the figure is the same on every computer.

    Parameters
    ----------
    protection
        Result of :class:`~hitoku.methods.optimal.Optimal`.
    title
        Title of the figure. Default: result of the search.

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
            "the protection has no search history",
            where="bound_and_cost",
            fix="use a protection by Optimal; small two-way tables are solved without a search",
        )
    work, bound, cost = zip(*protection.trace, strict=True)
    figure = Figure(figsize=(7.2, 3.6), facecolor=PAPER, layout="constrained")
    axes = figure.subplots()
    axes.set_facecolor(PAPER)
    axes.fill_between(work, bound, cost, step="post", color=INK, alpha=0.08, linewidth=0)
    axes.step(work, cost, where="post", color=KNOWN, linewidth=1.8, label="best pattern known")
    axes.step(work, bound, where="post", color=PROVEN, linewidth=1.8, label="no pattern costs less")
    # Cut off the first patterns: they cost far more and would flatten the end of the search.
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


# Cells with infinite protection are drawn here.
FAR = 100.0


def loss_against_protection(comparison: Comparison, *, title: str = "") -> Figure:
    """Draw the information loss of each method against the protection it achieves.

    A bar reaches from the least protected unsafe cell to the median one. Below the dashed line, a cell has
    less than its required protection. A circle is a release that passed the audit, a cross one that did not.

    Examples
    --------
    >>> from hitoku.methods.greedy import Greedy
    >>> from hitoku.model import Need
    >>> from hitoku.model import Table
    >>> from hitoku.pipeline import compare
    >>> table = Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 3]])
    >>> compared = compare(table, Need(unsafe=table.value == 3, width=9), [Greedy(tidy=True)])
    >>> [text.get_text() for text in loss_against_protection(compared).axes[0].texts]
    ['greedy']
    """
    if len(comparison) == 0:
        raise ParameterError(
            "no_methods_to_draw",
            "no methods to draw",
            where="loss_against_protection",
            fix="compare at least one method",
        )
    figure = Figure(figsize=(8.4, 4.2), facecolor=PAPER, layout="constrained")
    axes = figure.add_subplot()
    axes.axhspan(0, 1, color=ALARM, alpha=0.09, linewidth=0)
    axes.axhline(1, color=INK, linewidth=0.8, linestyle="--")
    by_height = sorted(comparison, key=lambda row: (row.reached, row.least), reverse=True)
    for place, row in enumerate(by_height):
        lost, (least, middle) = 100 * row.lost, np.minimum((row.least, row.reached), FAR)
        colour, marker = (WITHHELD, "o") if row.safe else (ALARM, "X")
        axes.plot([lost, lost], [least, middle], color=colour, linewidth=2)
        axes.plot(lost, middle, marker, color=colour, markersize=10)
        axes.plot(lost, least, "_", color=colour, markersize=12, markeredgewidth=2)
        # Names are listed at the right, because methods often have nearly the same position.
        axes.annotate(
            row.method,
            (lost, middle),
            xytext=(1.03, 1 - (place + 0.5) / max(len(by_height), 6)),
            textcoords="axes fraction",
            va="center",
            fontsize=9,
            color=INK,
            arrowprops={"arrowstyle": "-", "color": LINE, "linewidth": 0.8, "shrinkA": 2, "shrinkB": 6},
        )
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(0, 1.6 * FAR)
    ticks = [0, 0.5, 1, 2, 5, 10, 20, 50]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_yticks([], minor=True)
    axes.set_xlim(left=0, right=max(1.15 * max(100 * row.lost for row in comparison), 1.0))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:g} %"))
    plain(axes, title or "Loss against protection", "protection, as a multiple of the requirement")
    axes.set_xlabel("suppressed or changed value, as a share of all", color=INK, fontsize=9)
    for label, colour, marker in (("passed the audit", WITHHELD, "o"), ("did not", ALARM, "X")):
        axes.plot([], [], marker, color=colour, label=label)
    axes.plot([], [], "-", color=INK, label="from the worst cell (bar) to the median one")
    figure.legend(loc="outside lower left", ncols=3, frameon=False, fontsize=9, labelcolor=INK)
    return figure
