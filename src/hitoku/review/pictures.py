"""Outputs that are read as pictures: histograms, survival curves, boxes, drawn from what leaves."""

from __future__ import annotations

import io

from hitoku.checks.outputs.output import Output
from hitoku.errors import HitokuError

DPI = 110


def draw_picture(output: Output) -> bytes:
    """Draw the chart of an output as PNG; nothing for what is read as numbers, or does not leave."""
    if not output.asked.picture:
        return b""
    # Most submissions have no pictures, and the package takes a second to load.
    from hitoku.plots.chart import chart  # noqa: PLC0415

    try:
        figure = chart(output, output.asked.picture)
    except HitokuError:
        return b""
    content = io.BytesIO()
    # Without the name and version of the program: the same numbers are the same bytes.
    figure.savefig(content, format="png", dpi=DPI, metadata={"Software": None})
    return content.getvalue()
