"""Releases of one two-way table side by side, with the groups that a coalition can pin to a value."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from hitoku.attacks import Group
from hitoku.errors import ParameterError
from hitoku.model import Release
from hitoku.plots.protected_table import draw_table
from hitoku.plots.style import ALARM, INK, PAPER


def pinned_groups(releases: Mapping[str, Release], attack: Group) -> Figure:
    """Draw releases under their titles; cells to which a group is pinned have a thick frame.

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
            "these are no releases of one two-way table",
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
