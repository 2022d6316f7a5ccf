"""A published result and its reproduction: a row of an overview."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hitoku_papers.page import Cell, PageTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """A result of a paper, computed again.

    Parameters
    ----------
    place
        Where the paper has it: "Table 2", "section 2.2".
    what
        What is compared.
    published
        As printed, typed in.
    ours
        As computed.
    agrees
        Both say the same. None: the paper leaves it open, so there is nothing to agree with.
    distance
        How far they are apart, in words; left out, "none" where they agree.
    why
        The reason for a difference, or what one must know to compare; "not known" is an answer.

    Examples
    --------
    >>> line = Reproduction(
    ...     place="Table 2", what="cells", published="6", ours="7", agrees=False, distance="1 cell"
    ... )
    >>> line.verdict
    'differs'
    """

    place: str
    what: str
    published: str
    ours: str
    agrees: bool | None
    distance: str = ""
    why: str = ""

    @property
    def verdict(self) -> str:
        """One word for it."""
        return {True: "same", False: "differs", None: "open"}[self.agrees]

    @property
    def how_far(self) -> str:
        """The distance in words."""
        return self.distance or {True: "none", False: "not measured", None: "nothing printed"}[self.agrees]


def same(place: str, what: str, published: str, ours: str, why: str = "") -> Reproduction:
    """Compare two texts: they agree when they are equal."""
    return Reproduction(
        place=place, what=what, published=published, ours=ours, agrees=published == ours, why=why
    )


def overview(title: str, found: Iterable[Reproduction]) -> PageTable:
    """Put results under each other.

    Examples
    --------
    >>> overview("Results", [same("Table 1", "sum", "17", "17")]).rows
    (('Table 1', 'sum', '17', '17', 'none', ''),)
    """
    lines = list(found)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (r.place, r.what, r.published, r.ours, r.how_far, r.why) for r in lines
    )
    head = ("place", "what", "published", "ours", "how far", "why")
    kinds = tuple(line.verdict for line in lines)
    return PageTable(title, head, rows, words=len(head), kinds=kinds, wrapped=True)


def failing(found: Iterable[Reproduction]) -> tuple[Reproduction, ...]:
    """Return the results that do not agree."""
    return tuple(line for line in found if line.agrees is False)
