"""Figures of protection: feasibility intervals, disclosed groups, deviations of adjusted values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from hitoku.attacks import Group
from hitoku.errors import ParameterError
from hitoku.evidence import AdjustedAudit
from hitoku.metrics import protection_ratio
from hitoku.model import Bounds, Need, Release, Table
from hitoku.plots.table_figures import ALARM, ASKED, INK, PAPER, WITHHELD, draw_table, plain

# Intervals longer than this multiple of the requirement end in an arrow.
FAR = 4.0


def intervals(table: Table, need: Need, bounds: Bounds, *, most: int = 40, title: str = "") -> Figure:
    """Draw the feasibility interval of every unsafe cell around its true value, the narrowest first.

    Cells differ by orders of magnitude, so each has its own scale, on which the largest of its three
    requirements is one. The broad bar shows the required protection below and above the value, the thin bar
    below it the required width.

    Parameters
    ----------
    table, need
        True values and protection requirements.
    bounds
        Intervals found by an attack, for instance ``Interval().bounds(release)``.
    most
        Maximum number of cells to draw.
    title
        Title of the figure.

    Examples
    --------
    >>> table = Table.from_array([20, 4, 6])
    >>> need = Need(unsafe=table.value < 20, width=4.0)
    >>> found = Bounds(lower=[20, 0, 4, 30], upper=[20, 6, 6, 30])
    >>> [text.get_text() for text in intervals(table, need, found).axes[0].get_yticklabels()]
    ['✕  axis1=3', 'axis1=2']
    """
    held = protection_ratio(table, need, bounds)
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


def pinned_groups(releases: Mapping[str, Release], attack: Group) -> Figure:
    """Draw several releases with their titles. Cells that disclose a group have a thick frame.

    Examples
    --------
    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
    >>> table = Table.from_array([[17, 0], [12, 1]])
    >>> release = Release.of(table, Protection.withhold(table, table.value < 0))
    >>> figure = pinned_groups({"as counted": release}, Group(k=0, sensitive="column"))
    >>> len(figure.axes)
    1
    """
    if not releases:
        raise ParameterError(
            "no_releases_to_draw", "no release to draw", where="pinned_groups", fix="give at least one"
        )
    first = next(iter(releases.values()))
    if len(first.labels.names) != 2 or any(r.labels.codes != first.labels.codes for r in releases.values()):
        raise ParameterError(
            "not_one_two_way_table",
            "the releases do not belong to one two-way table",
            where="pinned_groups",
            fix="draw releases of one table of two variables",
        )
    rows, columns = first.labels.codes
    width, height = 2.2 + 0.8 * len(columns), 0.75 + 0.38 * len(rows)
    figure = Figure(figsize=(width, height * len(releases)), facecolor=PAPER, layout="constrained")
    for place, (title, release) in enumerate(releases.items(), start=1):
        axes = figure.add_subplot(len(releases), 1, place)
        draw_table(axes, release)
        found = attack.find(release)
        for cell in {cell for group in found for cell in group.inside}:
            i, j = np.unravel_index(cell, (len(rows), len(columns)))
            axes.add_patch(Rectangle((int(j), int(i)), 1, 1, fill=False, edgecolor=ALARM, linewidth=2.2))
        axes.set_title(title, fontsize=10, color=ALARM if found else INK, loc="left")
    return figure


SAFE, LINE = "#8aa4bb", "#d4dce3"


def deviations(audits: Mapping[str, AdjustedAudit]) -> Figure:
    """Draw the relative deviations of adjusted values against the true values, one panel per release.

    Unsafe cells are triangles that point in the direction of the change. All panels share their axes.

    Parameters
    ----------
    audits
        Audits of adjusted releases by title of their panel.

    Examples
    --------
    >>> from hitoku.evidence import audit
    >>> from hitoku.model import Need
    >>> from hitoku.model import Protection
    >>> from hitoku.model import Release
    >>> from hitoku.model import Table
    >>> table = Table.from_array([20, 15, 4])
    >>> need = Need(unsafe=table.value == 4, lower=2.0, upper=2.0)
    >>> moved = Protection(
    ...     withheld=[False] * 4, secondary=[False] * 4, value=table.value + [0, 0, 2, 2]
    ... )
    >>> len(deviations({"by hand": audit(table, need, Release.of(table, moved))}).axes)
    1
    """
    if not audits or not all(isinstance(found, AdjustedAudit) for found in audits.values()):
        raise ParameterError(
            "not_an_adjusted_release",
            "deviations exist for adjusted releases only",
            where="deviations",
            fix="pass audits of releases with adjusted values and without suppressed cells",
        )
    figure = Figure(figsize=(5.2 * len(audits), 3.6), facecolor=PAPER, layout="constrained")
    panels = figure.subplots(1, len(audits), sharex=True, sharey=True, squeeze=False)[0]
    for axes, (title, found) in zip(panels, audits.items(), strict=True):
        _draw_deviations(axes, found)
        axes.set_title(title, fontsize=11, color=INK, loc="left")
    panels[0].set_ylabel("relative deviation, percent", color=INK)
    return figure


def _draw_deviations(axes: Any, found: AdjustedAudit) -> None:
    value, share = np.abs(found.table.value), 100 * found.relative
    unsafe = found.need.unsafe
    axes.axhline(0, color=LINE, linewidth=1, zorder=0)
    axes.scatter(value[~unsafe], share[~unsafe], s=14, color=SAFE, label="safe", linewidths=0)
    for mask, marker in ((unsafe & (share >= 0), "^"), (unsafe & (share < 0), "v")):
        if mask.any():
            axes.scatter(value[mask], share[mask], s=34, color=WITHHELD, marker=marker, label="unsafe")
    # Values differ by orders of magnitude, and some are zero.
    axes.set_xscale("symlog", linthresh=1)
    axes.set_xlim(left=0)
    axes.set_xlabel("true value", color=INK)
    handles, labels = axes.get_legend_handles_labels()
    shown = dict(zip(labels, handles, strict=True))
    axes.legend(shown.values(), shown.keys(), frameon=False, fontsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
