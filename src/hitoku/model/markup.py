"""HTML of published tables, for pages and notebooks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from html import escape
from typing import Any, Protocol

import numpy as np

from hitoku.model.arrays import Floats
from hitoku.model.dimension import Labels


class Shown(Protocol):
    """Attributes of a release used for HTML. Published numbers are NaN where suppressed."""

    @property
    def labels(self) -> Labels: ...
    @property
    def published(self) -> Floats: ...
    @property
    def integer(self) -> bool: ...
    @property
    def measure(self) -> str: ...
    @property
    def n_cells(self) -> int: ...


def release_markup(release: Shown) -> str:
    """Return the HTML of a release: two-way tables for a cross of variables, otherwise one row per cell."""
    if release.labels.positions is not None or len(release.labels.names) == 1:
        return _listing(release)
    return _sections(release)


def small_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return the HTML of a small table, with escaped text and thousands separators.

    Examples
    --------
    >>> small_table(["rule", "cells"], [["a < b", 1200]])
    '<table><tr><th>rule</th><th>cells</th></tr><tr><td>a &lt; b</td><td>1,200</td></tr></table>'
    """
    if not rows:
        return ""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = ("".join(f"<td>{_text(each)}</td>" for each in row) for row in rows)
    return f"<table><tr>{top}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _text(each: object) -> str:
    return f"{each:,}" if isinstance(each, int) else escape(str(each))


def _listing(release: Shown) -> str:
    """Return one row per cell."""
    head = "".join(f"<th>{escape(name)}</th>" for name in release.labels.names)
    rows = []
    for cell in range(release.n_cells):
        codes = "".join(f'<th scope="row">{escape(code)}</th>' for code in release.labels.codes_of(cell))
        rows.append(f"<tr>{codes}{_cell(release, cell, margin=False)}</tr>")
    return f"<table><tr>{head}<th>{escape(release.measure)}</th></tr>\n{chr(10).join(rows)}</table>"


def _sections(release: Shown) -> str:
    """Return two-way tables, one for each combination of the further variables."""
    labels = release.labels
    cells = np.arange(release.n_cells).reshape(labels.shape)
    parts = []
    further = [range(len(codes)) for codes in labels.codes[2:]]
    for place in itertools.product(*further):
        named = zip(labels.names[2:], labels.codes[2:], place, strict=True)
        title = ", ".join(f"{name}: {codes[p]}" for name, codes, p in named)
        heading = f"<h2>{escape(title)}</h2>\n" if title else ""
        here: Any = (slice(None), slice(None), *place)
        parts.append(heading + _two_way(release, labels, cells[here]))
    return "\n".join(parts)


def _two_way(release: Shown, labels: Labels, cells: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> str:
    (row_name, column_name), (rows, columns) = labels.names[:2], labels.codes[:2]
    head = "".join(f'<th scope="col">{escape(code)}</th>' for code in columns)
    lines = []
    for i, code in enumerate(rows):
        last = i == len(rows) - 1
        line = "".join(
            _cell(release, int(cells[i, j]), margin=last or j == len(columns) - 1)
            for j in range(len(columns))
        )
        lines.append(f'<tr><th scope="row">{escape(code)}</th>{line}</tr>')
    caption = f"<caption>{escape(release.measure)} by {escape(row_name)} and {escape(column_name)}</caption>"
    return (
        f'<div class="scroll"><table>{caption}<tr><td></td>{head}</tr>\n{chr(10).join(lines)}</table></div>'
    )


def _cell(release: Shown, cell: int, *, margin: bool) -> str:
    value = release.published[cell]
    if np.isnan(value):
        return '<td class="withheld" title="withheld for confidentiality">c</td>'
    text = f"{value:,.0f}" if release.integer or value == round(value) else f"{value:,.2f}"
    return f'<td class="sum">{text}</td>' if margin else f"<td>{text}</td>"
