"""A release as one web page that needs no network: what is printed, what is withheld."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from hitoku.io.content_policy import content_policy
from hitoku.io.formats.format import Format
from hitoku.io.publication import Publication
from hitoku.model.markup import release_markup
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


def page(release: Release, *, title: str, adjusted: bool = False, footnotes: Sequence[str] = ()) -> str:
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
        body = release_markup(release)
    body += "".join(f"\n<p>{escape(text)}</p>" for text in footnotes)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{content_policy(style)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{style}</style></head>\n<body><h1>{escape(title)}</h1>\n<p>{note}</p>\n{body}\n</body></html>\n"
    )


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
