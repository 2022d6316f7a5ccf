"""HTML format: a self-contained page without script.

The layout is that of the report: hierarchies from the total down, indented groups, fixed headings. Layers of
further variables, and parts of a long table, are folded; totals are open.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hitoku.evidence import texts
from hitoku.io.layout import sheets_of
from hitoku.io.pages import MAX_ROWS, render
from hitoku.io.publication import WITHHELD, Format, Publication
from hitoku.model import Release

# Above this number of cells, the page refers to the CSV file.
MAX_CELLS = 250_000


def page(release: Release, *, title: str, adjusted: bool = False, footnotes: Sequence[str] = ()) -> str:
    """Render a release as HTML. Suppressed cells show "c" and are hatched; adjustment is stated.

    Examples
    --------
    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> html = page(Release.of(table, Protection.withhold(table, table.value == 1)), title="Persons")
    >>> html.count('class="withheld"'), "<td>72</td>" in html
    (1, True)
    """
    long, labels = release.n_cells > MAX_CELLS, release.labels
    # The total is the last code of every variable; its layer comes first.
    totals = ", ".join(
        f"{v}: {codes[-1]}" for v, codes in zip(labels.names[2:], labels.codes[2:], strict=True)
    )
    return render(
        "public.html",
        ["public.css"],
        title=title,
        measure=release.measure,
        adjusted=adjusted,
        footnotes=footnotes,
        n_cells=release.n_cells,
        n_withheld=int(release.withheld.sum()),
        sheets=[] if long else sorted(sheets_of(release), key=lambda sheet: sheet.title != totals),
        totals=totals,
        numbers=[] if long else [_number(text) for text in texts(release.published)],
        withheld=WITHHELD,
        most_rows=MAX_ROWS,
    )


def _number(text: str) -> str:
    """Format a published number as in the CSV, with thousands separators; a fraction is unchanged.

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
