"""How far an adjusted release is from the truth, cell by cell, as a picture; confidential."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from hitoku.errors import ParameterError
from hitoku.evidence import AdjustedAudit
from hitoku.plots.style import INK, PAPER, WITHHELD

SAFE, LINE = "#8aa4bb", "#d4dce3"


def deviations(audits: Mapping[str, AdjustedAudit]) -> Figure:
    """Draw relative deviations against true values, one panel per release, unsafe cells as triangles.

    A triangle points the way its cell went. Panels share their axes, so that norms can be compared.

    Parameters
    ----------
    audits
        Audits of adjusted releases, by the title of their panel.

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
            "deviations are drawn of adjusted releases",
            where="deviations",
            fix="give audits of releases that withhold nothing and show other values",
        )
    figure = Figure(figsize=(5.2 * len(audits), 3.6), facecolor=PAPER, layout="constrained")
    panels = figure.subplots(1, len(audits), sharex=True, sharey=True, squeeze=False)[0]
    for axes, (title, found) in zip(panels, audits.items(), strict=True):
        _draw(axes, found)
        axes.set_title(title, fontsize=11, color=INK, loc="left")
    panels[0].set_ylabel("relative deviation, percent", color=INK)
    return figure


def _draw(axes: Any, found: AdjustedAudit) -> None:
    value, share = np.abs(found.table.value), 100 * found.relative
    unsafe = found.need.unsafe
    axes.axhline(0, color=LINE, linewidth=1, zorder=0)
    axes.scatter(value[~unsafe], share[~unsafe], s=14, color=SAFE, label="safe", linewidths=0)
    for mask, marker in ((unsafe & (share >= 0), "^"), (unsafe & (share < 0), "v")):
        if mask.any():
            axes.scatter(value[mask], share[mask], s=34, color=WITHHELD, marker=marker, label="unsafe")
    # Values of a table differ by orders of magnitude, and some of them are zero.
    axes.set_xscale("symlog", linthresh=1)
    axes.set_xlim(left=0)
    axes.set_xlabel("true value", color=INK)
    handles, labels = axes.get_legend_handles_labels()
    shown = dict(zip(labels, handles, strict=True))
    axes.legend(shown.values(), shown.keys(), frameon=False, fontsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
