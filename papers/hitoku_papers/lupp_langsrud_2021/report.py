"""The page about Lupp and Langsrud (2021)."""

from __future__ import annotations

from collections.abc import Sequence

from hitoku_papers.lupp_langsrud_2021.results import coalitions, future_work
from hitoku_papers.page import Page, Words
from hitoku_papers.reproduction import Reproduction, failing, overview

TITLE = "Lupp and Langsrud (2021), computed again"


def page(found: Sequence[Reproduction]) -> Page:
    """Tell everything about the paper.

    Parameters
    ----------
    found
        What :func:`~hitoku_papers.lupp_langsrud_2021.results` returns.
    """
    apart = len(failing(found))
    opening = Words.of(
        f"""
        Suppression of directly disclosive cells in frequency tables. Everything that the paper prints is
        computed from its Table 1: {len(found)} results, {apart} of them other than printed.

        A cell is directly disclosive for k people when all but at most k of its row are in it. What counts
        is whether the group attack, which looks at the release alone, can still say of a group where
        everybody is.
        """
    )
    closing = Words.of(
        """
        - Cells with nobody in them are left out, also in rows of k people or fewer, where the printed
          inequality would hold: nobody is disclosed by an empty cell.
        - The paper prints no totals over groups. For Table 2 and Figure 1 they count as not published; with
          them, Table 2 would give Oslo's lightly hurt passengers away, for theirs is the only withheld cell
          of its column.
        - Which zero is withheld beside a disclosive cell is a tie; where a column is named, the order of the
          table decides.
        """,
        "How the paper was read",
    )
    blocks = (opening, overview("What is printed", found), coalitions(), future_work(), closing)
    return Page(TITLE, blocks)
