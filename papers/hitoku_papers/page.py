"""A page about an experiment: words, tables, pictures, as Markdown and as one HTML file.

A table that reproduces a published one keeps the columns of the paper and has three lines for each name: what
was published, what came out here, and the difference.
"""

from __future__ import annotations

import base64
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Protocol

from hitoku.files import write_file
from hitoku.io import content_policy

Cell = str | float | int | None
MINUS, NOTHING = "\N{MINUS SIGN}", "\N{EN DASH}"

STYLE = """
:root { color-scheme: light dark; --ink: #1b2a38; --paper: #fff; --line: #d4dce3; --faint: #5d7389;
  --stripe: #f4f7f9; --far: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4ebf1; --paper: #141b22; --line: #33414e; --faint: #93a7ba; --stripe: #1a232c;
    --far: #f2877e; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; }
p { max-width: 48rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .87rem; }
th, td { padding: .15rem .7rem; text-align: right; white-space: nowrap; }
thead th { border-bottom: 2px solid var(--line); }
td:first-child, th:first-child { text-align: left; font-weight: 600; }
td.word, th.word { text-align: left; font-weight: normal; }
tbody tr.first td { border-top: 1px solid var(--line); }
tr.published td { color: var(--faint); } tr.difference td { background: var(--stripe); }
td.far, tr.differs td { color: var(--far); } td.far { font-weight: 600; }
table.wrapped td { white-space: normal; vertical-align: top; min-width: 3rem; }
figure { margin: 1rem 0; } figcaption, .note { color: var(--faint); font-size: .87rem; max-width: 48rem; }
img { max-width: 100%; background: #fff; }
""".strip()


class Drawable(Protocol):
    """A figure of :mod:`hitoku.plots`."""

    def savefig(self, fname: Any, **options: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class Words:
    """A heading, where there is one, and paragraphs; one that starts with "- " is a point of a list."""

    text: tuple[str, ...]
    heading: str = ""

    @classmethod
    def of(cls, text: str, heading: str = "") -> Words:
        r"""Read paragraphs from a text whose lines are wrapped: blank lines and "- " begin a new one.

        Examples
        --------
        >>> Words.of("One,\ntwo.\n\n- a\n- b").text
        ('One, two.', '- a', '- b')
        """
        parts = re.split(r"\n\s*\n|\n\s*(?=- )", text.strip())
        return cls(tuple(" ".join(part.split()) for part in parts), heading)


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table.

    Parameters
    ----------
    title, note
        Above and below it.
    head
        Names of the columns; those of the first ``words`` columns stand left.
    rows
        Texts, numbers, or None where there is nothing.
    digits
        Decimals of numbers; whole numbers of type int have none.
    kinds
        A word for each row, by which it is coloured: "published", "ours", "difference", "differs", or "".
    far
        Differences of at least this size are marked.
    wrapped
        Cells hold sentences, which may run over several lines.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    digits: int = 1
    words: int = 1
    kinds: tuple[str, ...] = ()
    far: float = math.inf
    wrapped: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure with the name of its file, without ending, and a caption."""

    name: str
    figure: Drawable
    caption: str

    def png(self) -> bytes:
        """Draw it; the same bytes for the same figure."""
        buffer = io.BytesIO()
        self.figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
        return buffer.getvalue()


@dataclass(frozen=True, slots=True)
class Page:
    """Everything there is to tell about a run, in order."""

    title: str
    blocks: tuple[Words | PageTable | Picture, ...]


def side_by_side(
    title: str,
    columns: Sequence[str],
    published: Mapping[str, Sequence[float]],
    ours: Mapping[str, Sequence[float]],
    *,
    what: str = "instance",
    note: str = "",
    digits: int = 1,
    far: float = math.inf,
) -> PageTable:
    """Put published and own numbers under each other, with the difference; names in the order of ``ours``.

    A name that was not published has one line.

    Examples
    --------
    >>> grid = side_by_side("Hits", ["exact"], {"targus": [97.7]}, {"targus": [100.0], "mine": [50.0]})
    >>> print(markdown(Page("A page", (grid,))))
    # A page
    <BLANKLINE>
    ## Hits
    <BLANKLINE>
    | instance |  | exact |
    |:---|:---|---:|
    | targus | published | 97.7 |
    |  | ours | 100.0 |
    |  | difference | +2.3 |
    | mine | ours | 50.0 |
    <BLANKLINE>
    """
    rows: list[tuple[Cell, ...]] = []
    kinds: list[str] = []
    for name, own in ours.items():
        if name not in published:
            rows.append((name, "ours", *own))
            kinds.append("ours")
            continue
        printed = published[name]
        differences = (_difference(a, b, digits) for a, b in zip(printed, own, strict=True))
        rows += [(name, "published", *printed), ("", "ours", *own), ("", "difference", *differences)]
        kinds += ["published", "ours", "difference"]
    head = (what, "", *columns)
    return PageTable(title, head, tuple(rows), note, digits, words=2, kinds=tuple(kinds), far=far)


def _difference(printed: float, own: float, digits: int) -> str:
    number = own - printed
    if math.isnan(number):
        return NOTHING
    digits = 0 if isinstance(number, int) else digits
    text = f"{number:+,.{digits}f}"
    return f"{0:.{digits}f}" if not text.strip("+-0.") else text.replace("-", MINUS)


def _text(cell: Cell, digits: int) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return NOTHING
    if isinstance(cell, str):
        return cell
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:,.{digits}f}".replace("-", MINUS)


def markdown(page: Page) -> str:
    """Write a page as Markdown; pictures are links to files in the same folder."""
    parts = [f"# {page.title}"]
    for block in page.blocks:
        if isinstance(block, Words):
            parts += [f"## {block.heading}"] if block.heading else []
            parts += ["\n".join(group) for group in _paragraphs(block.text)]
        elif isinstance(block, Picture):
            parts += [f"![{block.caption}]({block.name}.png)"]
        else:
            lines = [f"## {block.title}"] if block.title else []
            head = " | ".join(block.head)
            rule = "|".join(":---" if place < block.words else "---:" for place in range(len(block.head)))
            table = [f"| {head} |", f"|{rule}|"]
            table += [f"| {' | '.join(_text(cell, block.digits) for cell in row)} |" for row in block.rows]
            parts += [*lines, "\n".join(table), *([block.note] if block.note else [])]
    return "\n\n".join(parts) + "\n"


def _paragraphs(text: Iterable[str]) -> list[list[str]]:
    """Gather points of one list; every other paragraph stands alone."""
    groups: list[list[str]] = []
    for paragraph in text:
        point = paragraph.startswith("- ")
        if point and groups and groups[-1][0].startswith("- "):
            groups[-1].append(paragraph)
        else:
            groups.append([paragraph])
    return groups


def html(page: Page) -> str:
    """Write a page as one HTML file, pictures inside, that needs no network."""
    body = "\n".join(_block(block) for block in page.blocks)
    title, style = escape(page.title), f"\n{STYLE}\n"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{content_policy(style, pictures=True)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{style}</style></head>\n<body><h1>{title}</h1>\n{body}\n</body></html>\n"
    )


def _block(block: Words | PageTable | Picture) -> str:
    if isinstance(block, Words):
        heading = f"<h2>{escape(block.heading)}</h2>\n" if block.heading else ""
        parts = []
        for group in _paragraphs(block.text):
            if group[0].startswith("- "):
                parts.append(f"<ul>{''.join(f'<li>{escape(point[2:])}</li>' for point in group)}</ul>")
            else:
                parts.append(f"<p>{escape(group[0])}</p>")
        return heading + "\n".join(parts)
    if isinstance(block, Picture):
        code = base64.b64encode(block.png()).decode("ascii")
        caption = escape(block.caption)
        return (
            f'<figure><img alt="{caption}" src="data:image/png;base64,{code}">'
            f"<figcaption>{caption}</figcaption></figure>"
        )
    return _table(block)


def _table(grid: PageTable) -> str:
    def word(place: int) -> str:
        return ' class="word"' if place < grid.words else ""

    head = "".join(f"<th{word(place)}>{escape(name)}</th>" for place, name in enumerate(grid.head))
    lines = []
    for number, row in enumerate(grid.rows):
        kind = grid.kinds[number] if grid.kinds else ""
        classes = " ".join(filter(None, [kind, "first" if row[0] else ""]))
        cells = []
        for place, cell in enumerate(row):
            text = _text(cell, grid.digits)
            marked = word(place)
            if kind == "difference" and place >= grid.words and _size(text) >= grid.far:
                marked = ' class="far"'
            cells.append(f"<td{marked}>{escape(text)}</td>")
        lines.append(f'<tr class="{classes}">{"".join(cells)}</tr>')
    title = f"<h2>{escape(grid.title)}</h2>\n" if grid.title else ""
    note = f'\n<p class="note">{escape(grid.note)}</p>' if grid.note else ""
    body = "\n".join(lines)
    style = ' class="wrapped"' if grid.wrapped else ""
    table = f"<table{style}><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
    return f'{title}<div class="scroll">{table}</div>{note}'


def _size(difference: str) -> float:
    return 0.0 if difference == NOTHING else float(difference.lstrip("+" + MINUS).replace(",", ""))


def write(page: Page, folder: Path, name: str = "report") -> tuple[Path, Path]:
    """Write ``report.md`` with its pictures and ``report.html``, each whole; return both paths."""
    for block in page.blocks:
        if isinstance(block, Picture):
            write_file(folder / f"{block.name}.png", block.png())
    paths = folder / f"{name}.md", folder / f"{name}.html"
    for path, text in zip(paths, (markdown(page), html(page)), strict=True):
        write_file(path, text.encode())
    return paths
