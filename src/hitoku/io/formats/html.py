"""A release as one web page that needs no network and no script: what is printed, what is withheld.

It reads like the report: trees from the total down, groups indented, heads that stay in sight. The layers of
further variables, and stretches of a long table, are folded; the totals stand open.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from hitoku.evidence.grid import texts
from hitoku.io.layout import LayoutRow, LayoutSection, sheets_of
from hitoku.io.pages import content_policy
from hitoku.io.publication import WITHHELD, Format, Publication
from hitoku.model import Release

# Beyond this a page is slower to open than the CSV beside it is to read.
MOST_CELLS = 250_000
# Longer tables are folded into stretches of so many rows.
MOST_ROWS = 500
# Deeper levels of a tree are indented like this one.
DEEPEST = 8

STYLE = (
    """
:root { color-scheme: light dark;
  --ink: #1b2a38; --paper: #fff; --line: #d4dce3; --margin: #eef2f5; --hidden: #35506b; --stripe: #5d7389; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4ebf1; --paper: #141b22; --line: #33414e; --margin: #1e2831;
    --hidden: #7f9bb5; --stripe: #66809a; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin-top: 2rem; }
.scroll { overflow: auto; max-height: 85vh; }
details { margin: .6rem 0; } summary { cursor: pointer; font-weight: 600; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .3rem 0; }
th, td { border: 1px solid var(--line); padding: .25rem .6rem; text-align: right; white-space: nowrap; }
th { font-weight: 600; background: var(--paper); position: sticky; }
th[scope=col] { top: 0; z-index: 1; } th[scope=row] { text-align: left; left: 0; }
.sum { background: var(--margin); font-weight: 600; }
td.withheld { color: var(--paper); font-style: italic;
  background: repeating-linear-gradient(135deg, var(--hidden) 0 6px, var(--stripe) 6px 8px); }
@media print {
  body { margin: 0; } .scroll { max-height: none; } th { position: static; }
  td.withheld { color: #000; background: none; }
}
""".strip()
    + "".join(f"\nth.d{n} {{ padding-left: {0.6 + 1.1 * n:.1f}rem; }}" for n in range(1, DEEPEST + 1))
)


def page(release: Release, *, title: str, adjusted: bool = False, footnotes: Sequence[str] = ()) -> str:
    """Render a release as HTML; a withheld cell reads "c" and is hatched; adjusted values are announced.

    Examples
    --------
    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> html = page(Release.of(table, Protection.withhold(table, table.value == 1)), title="Persons")
    >>> html.count('class="withheld"'), "<td>72</td>" in html
    (1, True)
    """
    withheld, style = int(release.withheld.sum()), f"\n{STYLE}\n"
    note = (
        f"{release.n_cells:,} cells, {withheld:,} of them withheld for confidentiality (marked <i>c</i>). "
        "A withheld cell is not zero: it is not published."
    )
    if adjusted:
        note = f"{release.n_cells:,} cells. Values were adjusted for confidentiality; sums hold."
    if release.n_cells > MOST_CELLS:
        body = "<p>This table is too long for a page; see <code>table.csv</code> beside it.</p>"
    else:
        body = _sheets(release)
    body += "".join(f"\n<p>{escape(text)}</p>" for text in footnotes)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{content_policy(style)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{style}</style></head>\n<body><main><h1>{escape(title)}</h1>\n<p>{note}</p>\n{body}\n"
        "</main></body></html>\n"
    )


def _sheets(release: Release) -> str:
    """Lay the release out; the layer of all totals first, the others folded."""
    sheets, labels = sheets_of(release), release.labels
    numbers = [_number(text) for text in texts(release.published)]
    if len(sheets) == 1:
        return _stretches(sheets[0], numbers, release.measure)
    # The total is the last code of every variable.
    totals = ", ".join(
        f"{v}: {codes[-1]}" for v, codes in zip(labels.names[2:], labels.codes[2:], strict=True)
    )
    ordered = sorted(sheets, key=lambda sheet: sheet.title != totals)
    return "\n".join(
        f"<details{' open' if sheet.title == totals else ''}><summary>{escape(sheet.title)}</summary>\n"
        f"{_stretches(sheet, numbers, release.measure)}</details>"
        for sheet in ordered
    )


def _stretches(sheet: LayoutSection, numbers: Sequence[str], measure: str) -> str:
    """Write one table, or a long one folded into several."""
    parts = [sheet.rows[start : start + MOST_ROWS] for start in range(0, len(sheet.rows), MOST_ROWS)]
    if len(parts) == 1:
        return _table(sheet, sheet.rows, numbers, measure)
    return "\n".join(
        f"<details{' open' if part is parts[0] else ''}><summary>{escape(', '.join(part[0].texts))} … "
        f"{escape(', '.join(part[-1].texts))}</summary>\n{_table(sheet, part, numbers, measure)}</details>"
        for part in parts
    )


def _table(sheet: LayoutSection, rows: Sequence[LayoutRow], numbers: Sequence[str], measure: str) -> str:
    across = f" and {sheet.across}" if sheet.across else ""
    caption = f"<caption>{escape(f'{measure} by {sheet.stubs[-1]}{across}')}</caption>"
    stub = "".join(f'<th scope="col">{escape(name)}</th>' for name in sheet.stubs)
    head = stub + "".join(f'<th scope="col">{escape(line.code)}</th>' for line in sheet.columns)
    lines = []
    for row in rows:
        *before, last = (escape(text) for text in row.texts)
        level = f' class="d{min(row.depth, DEEPEST)}"' if row.depth else ""
        codes = "".join(f'<th scope="row">{text}</th>' for text in before)
        cells = "".join(
            f'<td class="withheld">{WITHHELD}</td>'
            if not numbers[cell]
            else f'<td class="sum">{numbers[cell]}</td>'
            if row.is_sum or column.is_sum
            else f"<td>{numbers[cell]}</td>"
            for cell, column in zip(row.cells, sheet.columns, strict=True)
        )
        lines.append(f'<tr>{codes}<th scope="row"{level}>{last}</th>{cells}</tr>')
    return f'<div class="scroll"><table>{caption}<tr>{head}</tr>\n{chr(10).join(lines)}</table></div>'


def _number(text: str) -> str:
    """Print a published number as in the CSV, thousands apart; a fraction stays as it is.

    Examples
    --------
    >>> _number("1234.50"), _number("-12345"), _number("1/3"), _number("")
    ('1,234.50', '-12,345', '1/3', '')
    """
    whole, point, rest = text.partition(".")
    digits = whole.removeprefix("-")
    return f"{'-' if whole != digits else ''}{int(digits):,}{point}{rest}" if digits.isdigit() else text


def write_html(path: Path, publication: Publication) -> None:
    """Write the page."""
    source = [f"Source: {publication.source}"] if publication.source else []
    html = page(
        publication.release,
        title=publication.heading,
        adjusted=publication.adjusted,
        footnotes=[*publication.footnotes, *source],
    )
    path.write_text(html, encoding="utf-8")


FORMAT = Format("html", ".html", "a web page that needs no network", write_html)
