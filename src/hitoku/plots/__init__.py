"""Figures of releases, attacks and research outputs, one per file.

Every function returns a matplotlib figure and shows or saves nothing itself. Pictures of attacks and
intervals are confidential, those of releases and outputs show what their tables show. ``style`` has the
colours.
"""

from __future__ import annotations

from hitoku.plots.before_and_after import before_and_after
from hitoku.plots.bound_and_cost import bound_and_cost
from hitoku.plots.chart import chart
from hitoku.plots.deviations import deviations
from hitoku.plots.heat_map import heat_map
from hitoku.plots.intervals import intervals
from hitoku.plots.loss_against_protection import loss_against_protection
from hitoku.plots.protected_table import protected_table

__all__ = [
    "before_and_after",
    "bound_and_cost",
    "chart",
    "deviations",
    "heat_map",
    "intervals",
    "loss_against_protection",
    "protected_table",
]
