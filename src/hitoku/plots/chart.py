"""Charts of research outputs.

Charts are drawn from the published numbers only. Suppressed numbers are gaps marked with an x. Outliers,
single points, minima and maxima are never drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hitoku.checks.outputs import WITHHELD, Output
from hitoku.checks.principles import Clearance
from hitoku.errors import ParameterError, did_you_mean
from hitoku.plots.table_figures import INK, LOOKS, PAPER, plain

# Statistics shown by a box plot.
BOX = ("p25", "median", "p75")
WHISKERS = (("p5", "p95"), ("p10", "p90"))
MARKS = ("o", "s", "^", "D", "v")


def chart(output: Output, kind: str = "bar", *, column: str | None = None) -> Figure:
    """Draw an output of a session.

    Parameters
    ----------
    output
        Research output. Only its published numbers are drawn.
    kind
        "bar" and "line" for one or two variables, "step" for survival curves, "box" for statistics with
        "p25", "median" and "p75"; "p5" and "p95", or "p10" and "p90", make whiskers.
    column
        Column to draw. Default: the last one.

    Examples
    --------
    >>> import pandas as pd
    >>> from hitoku.checks.session import Session
    >>> people = pd.DataFrame({"job": ["a"] * 30 + ["b"] * 20})
    >>> figure = chart(Session("jobs", people).crosstab("job"))
    >>> [float(bar.get_height()) for bar in figure.axes[0].patches]
    [30.0, 20.0]
    """
    kinds: dict[str, Callable[..., None]] = {"bar": _bars, "line": _lines, "step": _steps, "box": _boxes}
    if kind in {"scatter", "points"}:
        raise ParameterError(
            "scatter_plot_shows_units",
            "a scatter plot shows every unit",
            where="kind",
            fix="draw means by group as a line, a histogram, or a regression instead",
        )
    if kind not in kinds:
        raise ParameterError(
            "unknown_chart", "no chart {chart!r}", where="kind", fix=did_you_mean(kind, kinds), chart=kind
        )
    if output.status is Clearance.FAIL:
        raise ParameterError(
            "output_not_released",
            "{output!r} may not be released",
            where="output",
            fix="resolve its failing checks first",
            output=output.name,
        )
    published = _without_totals(output)
    by = [name for name in published if name in output.asked.variables]
    numbers = [name for name in published if name not in by and name != "term"]
    chosen = numbers[-1] if column is None else column
    if chosen not in numbers:
        raise ParameterError(
            "unknown_column",
            "no column {column!r}",
            where="column",
            fix=did_you_mean(chosen, numbers),
            column=chosen,
        )
    figure = Figure(figsize=(7.2, 4.0), facecolor=PAPER, layout="constrained")
    axes = figure.add_subplot()
    kinds[kind](axes, published, by, chosen)
    plain(axes, output.name, "" if kind == "box" else chosen)
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside upper right", ncols=4, frameon=False, fontsize=9, labelcolor=INK)
    return figure


def _without_totals(output: Output) -> dict[str, list[Any]]:
    """Return the published numbers without totals."""
    published = {name: list(column) for name, column in output.published.items()}
    cells = output.asked.cells(output.evidence)
    n_rows = {len(column) for column in published.values()}
    if cells is None or n_rows != {len(cells.labels)}:
        return published
    kept = [at for at, label in enumerate(cells.labels) if None not in label]
    return {name: [column[at] for at in kept] for name, column in published.items()}


def _series(
    published: Mapping[str, Sequence[Any]], by: Sequence[str], column: str
) -> tuple[list[str], dict[str, list[float]]]:
    """Return labels along the axis, and a list of heights for each code of the last variable."""
    if len(by) > 2:
        raise ParameterError(
            "chart_variables",
            "a chart shows one or two variables, not {n}",
            where="chart",
            fix="choose fewer",
            n=len(by),
        )
    rows = list(zip(*(published[name] for name in by), strict=True)) if by else [("all",)]
    if not by and len(published[column]) > 1:
        # Steps without groups: the column before the numbers has the end of each step.
        names = list(published)
        rows = [(f"{end:g}",) for end in published[names[names.index(column) - 1]]]
    places = list(dict.fromkeys(str(row[0]) for row in rows))
    heights: dict[str, list[float]] = {}
    for row, x in zip(rows, published[column], strict=True):
        own = heights.setdefault(str(row[1]) if len(row) > 1 else "", [float("nan")] * len(places))
        own[places.index(str(row[0]))] = float("nan") if x is None else float(x)
    return places, heights


def _bars(axes: Axes, published: Mapping[str, Sequence[Any]], by: Sequence[str], column: str) -> None:
    places, heights = _series(published, by, column)
    width = 0.8 / len(heights)
    for number, (name, own) in enumerate(heights.items()):
        colour, hatch = LOOKS[(number + 3) % len(LOOKS)]
        at = np.arange(len(places)) + (number - (len(heights) - 1) / 2) * width
        there = np.isfinite(own)
        axes.bar(
            at[there],
            np.array(own)[there],
            width,
            label=name or None,
            color=colour,
            hatch=hatch,
            edgecolor=PAPER,
        )
        for x in at[~there]:
            axes.text(x, 0, WITHHELD, ha="center", va="bottom", color=INK, fontsize=9)
    _name_places(axes, places, by)


def _lines(axes: Axes, published: Mapping[str, Sequence[Any]], by: Sequence[str], column: str) -> None:
    places, heights = _series(published, by, column)
    for number, (name, own) in enumerate(heights.items()):
        colour, _ = LOOKS[(number + 3) % len(LOOKS)]
        mark = MARKS[number % len(MARKS)]
        axes.plot(np.arange(len(places)), own, label=name or None, color=colour, marker=mark, markersize=4)
    _name_places(axes, places, by)


def _steps(axes: Axes, published: Mapping[str, Sequence[Any]], by: Sequence[str], column: str) -> None:
    times = [name for name in published if name not in by and name != column]
    if len(times) != 1:
        raise ParameterError(
            "step_chart_needs_times",
            "a step chart needs one column of times",
            where="kind",
            fix='use "bar" or "line"',
        )
    groups = (
        list(zip(*(published[name] for name in by), strict=True)) if by else [()] * len(published[column])
    )
    for number, group in enumerate(dict.fromkeys(groups)):
        rows = [at for at, each in enumerate(groups) if each == group]
        x = [0.0, *(float(published[times[0]][at]) for at in rows)]
        y = [1.0, *(float(published[column][at]) for at in rows)]
        colour, _ = LOOKS[(number + 3) % len(LOOKS)]
        style = ("-", "--", "-.", ":")[number % 4]
        axes.step(x, y, where="post", label=", ".join(map(str, group)) or None, color=colour, linestyle=style)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel(times[0], color=INK, fontsize=9)


def _boxes(axes: Axes, published: Mapping[str, Sequence[Any]], by: Sequence[str], column: str) -> None:  # noqa: ARG001
    missing = [name for name in BOX if name not in published]
    if missing:
        raise ParameterError(
            "box_incomplete",
            "a box needs {missing}",
            where="kind",
            fix='use table(by, value, ["p25", "median", "p75"])',
            missing=", ".join(missing),
        )
    ends = next((pair for pair in WHISKERS if set(pair) <= published.keys()), (BOX[0], BOX[2]))
    labels = [", ".join(map(str, row)) for row in zip(*(published[name] for name in by), strict=True)] or [
        "all"
    ]
    boxes = []
    for at, label in enumerate(labels):
        five = [published[name][at] for name in (ends[0], *BOX, ends[1])]
        if None not in five:
            keys = ("whislo", "q1", "med", "q3", "whishi")
            boxes.append((at, {**dict(zip(keys, map(float, five), strict=True)), "label": label}))
        else:
            axes.text(at, axes.get_ylim()[0], WITHHELD, ha="center", va="bottom", color=INK, fontsize=9)
    axes.bxp(
        [box for _, box in boxes],
        positions=[at for at, _ in boxes],
        showfliers=False,
        patch_artist=True,
        boxprops={"facecolor": LOOKS[3][0], "alpha": 0.35, "edgecolor": INK},
        medianprops={"color": INK},
        whiskerprops={"color": INK},
        capprops={"color": INK},
    )
    _name_places(axes, labels, by)
    axes.set_ylabel(f"{ends[0]}, p25, median, p75, {ends[1]}", color=INK, fontsize=9)


def _name_places(axes: Axes, places: Sequence[str], by: Sequence[str]) -> None:
    long = sum(map(len, places)) > 70
    axes.set_xticks(
        np.arange(len(places)), places, rotation=30 if long else 0, ha="right" if long else "center"
    )
    axes.set_xlabel(by[0] if by else "", color=INK, fontsize=9)
