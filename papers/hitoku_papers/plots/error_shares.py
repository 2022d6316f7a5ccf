"""How far off estimates are: one stacked bar for each attack, from exact hits to useless guesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from hitoku.errors import ParameterError
from hitoku.plots import INK, PAPER

# From exact hits to useless estimates; distinguishable in grey as well.
SHADES = ("#8c1d18", "#c9483c", "#e5866f", "#f3c0a5", "#e6e4d8", "#b8cfd8", "#7fa8bd", "#35506b")


def error_shares(groups: Mapping[str, Mapping[str, Sequence[float]]], intervals: Sequence[str]) -> Figure:
    """Draw bars of percentages, in groups that stand apart.

    Parameters
    ----------
    groups
        By group and name of a bar: the percentage of estimates in every interval.
    intervals
        Names of the intervals of the relative error, the smallest first.

    Examples
    --------
    >>> figure = error_shares({"B3": {"ours": [90, 10], "published": [80, 20]}}, ["exact", "more"])
    >>> len(figure.axes[0].patches)
    4
    """
    bars = [(group, name, shares) for group, named in groups.items() for name, shares in named.items()]
    if not bars:
        raise ParameterError(
            "no_bars", "no bar to draw", where="error_shares", fix="give at least one group with a bar"
        )
    if any(len(shares) != len(intervals) for _, _, shares in bars) or len(intervals) > len(SHADES):
        raise ParameterError(
            "bars_and_intervals_differ",
            "bars and intervals do not fit, or there are more than {most} intervals",
            where="error_shares",
            fix="give one percentage for each interval",
            most=len(SHADES),
        )
    height = 1.3 + 0.27 * len(bars) + 0.16 * len(groups)
    figure = Figure(figsize=(9.4, height), facecolor=PAPER, layout="constrained")
    axes = figure.add_subplot()
    # Few intervals take shades from both ends.
    shades = [
        SHADES[round(i * (len(SHADES) - 1) / max(len(intervals) - 1, 1))] for i in range(len(intervals))
    ]
    places, names = [], []
    place = 0.0
    for group, named in groups.items():
        for number, (name, shares) in enumerate(named.items()):
            left = 0.0
            for shade, share in zip(shades, shares, strict=True):
                axes.barh(place, share, left=left, height=0.86, color=shade, edgecolor=PAPER, linewidth=0.5)
                left += share
            places.append(place)
            names.append(f"{group}   {name}" if number == 0 else name)
            place += 1
        place += 0.6
    axes.set_yticks(places, labels=names, fontsize=9, color=INK)
    axes.set_ylim(place - 0.6, -0.7)
    axes.set_xlim(0, 100)
    axes.set_xlabel("percent of the estimates", fontsize=9, color=INK)
    axes.tick_params(length=0, labelsize=9, colors=INK)
    for side in axes.spines.values():
        side.set_visible(False)
    keys = [Patch(color=shade) for shade in shades]
    axes.legend(
        keys,
        intervals,
        title="relative error, %",
        ncols=len(intervals),
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        frameon=False,
        fontsize=8,
        title_fontsize=8,
        handlelength=1.2,
        columnspacing=1.2,
    )
    return figure
