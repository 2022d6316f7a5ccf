"""A release as one web page that needs no network: what is printed, what is withheld."""

from __future__ import annotations

import itertools
from html import escape
from typing import Any

import numpy as np

from hitoku.model.labels import Labels
from hitoku.model.release import Release

# Beyond this a page is slower to open than the CSV beside it is to read.
MOST_CELLS = 30_000

STYLE = """
:root { color-scheme: light dark;
  --ink: #1b2a38; --paper: #fff; --line: #d4dce3; --margin: #eef2f5; --hidden: #35506b; --stripe: #5d7389; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4ebf1; --paper: #141b22; --line: #33414e; --margin: #1e2831;
    --hidden: #7f9bb5; --stripe: #66809a; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin-top: 2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .3rem 0; }
th, td { border: 1px solid var(--line); padding: .25rem .6rem; text-align: right; white-space: nowrap; }
th { font-weight: 600; } th[scope=row] { text-align: left; }
.sum { background: var(--margin); font-weight: 600; }
td.withheld { color: var(--paper); font-style: italic;
  background: repeating-linear-gradient(135deg, var(--hidden) 0 6px, var(--stripe) 6px 8px); }
@media print { body { margin: 0; } td.withheld { color: #000; background: none; } }
""".strip()


def page(release: Release, *, title: str, adjusted: bool = False) -> str:
    """Render a release as HTML; a withheld cell reads "c" and is hatched; adjusted values are announced.

    Examples
    --------
    >>> from hitoku.model.protection import Protection
    >>> from hitoku.model.table import Table
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> html = page(Release.of(table, Protection.withhold(table, table.value == 1)), title="Persons")
    >>> html.count('class="withheld"'), "<td>72</td>" in html
    (1, True)
    """
    withheld = int(release.withheld.sum())
    note = (
        f"{release.n_cells:,} cells, {withheld:,} of them withheld for confidentiality (marked <i>c</i>). "
        "A withheld cell is not zero: it is not published."
    )
    if adjusted:
        note = f"{release.n_cells:,} cells. Values were adjusted for confidentiality; sums hold."
    if release.n_cells > MOST_CELLS:
        body = "<p>This table is too long for a page; see <code>table.csv</code> beside it.</p>"
    elif release.labels.positions is not None or len(release.labels.names) == 1:
        body = _listing(release)
    else:
        body = _sections(release)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>\n{STYLE}\n</style></head>\n<body><h1>{escape(title)}</h1>\n<p>{note}</p>\n{body}\n</body></html>\n"
    )


def _listing(release: Release) -> str:
    """One row per cell."""
    head = "".join(f"<th>{escape(name)}</th>" for name in release.labels.names)
    rows = []
    for cell in range(release.n_cells):
        codes = "".join(f'<th scope="row">{escape(code)}</th>' for code in release.labels.codes_of(cell))
        rows.append(f"<tr>{codes}{_cell(release, cell, margin=False)}</tr>")
    return f"<table><tr>{head}<th>{escape(release.measure)}</th></tr>\n{chr(10).join(rows)}</table>"


def _sections(release: Release) -> str:
    """Two-way tables, one for each combination of the further variables."""
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


def _two_way(release: Release, labels: Labels, cells: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> str:
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


def _cell(release: Release, cell: int, *, margin: bool) -> str:
    value = release.published[cell]
    if np.isnan(value):
        return '<td class="withheld" title="withheld for confidentiality">c</td>'
    text = f"{value:,.0f}" if release.integer or value == round(value) else f"{value:,.2f}"
    return f'<td class="sum">{text}</td>' if margin else f"<td>{text}</td>"
