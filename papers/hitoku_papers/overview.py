"""One page for all papers: what is published, what came out here, how far apart, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hitoku_papers import EXPERIMENTS
from hitoku_papers.page import Cell, Page, PageTable, Words
from hitoku_papers.reproduction import Reproduction, failing, overview

TITLE = "The papers, computed again"
WORDS = (
    "Published words and numbers are typed in from the papers, with their place; all else is computed. "
    "A line that differs is marked, and says why as far as that is known."
)


def page(found: Mapping[str, Sequence[Reproduction]]) -> Page:
    """Put all papers on one page: counts first, then every result.

    Parameters
    ----------
    found
        By the paper's word for the command line, its results.

    Examples
    --------
    >>> from hitoku_papers.reproduction import same
    >>> page({"castro-2012": [same("Table 1", "sizes", "3", "3")]}).blocks[1].rows
    (('castro-2012', 1, 1, 0, 0),)
    """
    counts: list[tuple[Cell, ...]] = []
    for paper, lines in found.items():
        same = sum(line.agrees is True for line in lines)
        apart = len(failing(lines))
        counts.append((paper, len(lines), same, apart, len(lines) - same - apart))
    opening = Words((WORDS, *(f"- {paper}: {EXPERIMENTS[paper]}" for paper in found)))
    head = ("paper", "results", "same", "differ", "not comparable")
    blocks = [overview(paper, lines) for paper, lines in found.items()]
    return Page(TITLE, (opening, PageTable("In short", head, tuple(counts)), *blocks))
