"""What goes out with the numbers: title, source, footnotes, and words on what is withheld.

Every public format is written from a :class:`Publication`, which holds nothing confidential: a release and
words. Which cells are unsafe, by which rule, and which were withheld only to protect them is not in it, so no
writer can reveal it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.evidence import texts
from hitoku.io.language import ENGLISH
from hitoku.model import Floats, Integers, Release

WITHHELD = "c"
MOST_SIGNS = 20  # digits of a number, its sign and point

LEGEND = f"{WITHHELD}: withheld for confidentiality. A withheld cell is not zero: it is not published."
CHOSEN = (
    "Some cells are withheld because of who is behind them, others because sums would give those away. "
    "Which cell is withheld for which reason is not published."
)
ADJUSTED = (
    "Values were adjusted for confidentiality; sums hold. "
    "A single value may differ from the one observed; which ones do is not published."
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Publication:
    """A release and the words that go out with it.

    Parameters
    ----------
    release
        What is shown.
    title
        Heading; the measure where it is empty.
    adjusted
        Values were changed for confidentiality.
    warning
        Why it must not be published after all; every format then begins with it.
    source
        Where the data come from.
    footnotes
        Further remarks, in this order.

    Examples
    --------
    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
    >>> table = Table.from_array([[20, 15], [72, 1]], measure="persons")
    >>> shown = Publication(release=Release.of(table, Protection.withhold(table, table.value == 1)))
    >>> shown.heading, shown.subtitle
    ('persons', 'persons by row and column')
    >>> shown.remarks[0]
    '1 of 9 cells is withheld.'
    """

    release: Release
    title: str = ""
    adjusted: bool = False
    warning: str = ""
    source: str = ""
    footnotes: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """The title, after the warning where there is one."""
        return ": ".join(filter(None, [self.warning, self.title or self.release.measure]))

    @property
    def subtitle(self) -> str:
        """What is counted or added up, by which variables."""
        names = self.release.labels.names
        listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
        return f"{self.release.measure} by {listed}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader must know about confidentiality."""
        withheld = int(self.release.withheld.sum())
        told: list[str] = []
        if withheld:
            verb = "is" if withheld == 1 else "are"
            told += [f"{withheld:,} of {self.release.n_cells:,} cells {verb} withheld.", LEGEND, CHOSEN]
        if self.adjusted:
            told.append(ADJUSTED)
        return tuple(told) or ("No cell is withheld.",)

    @cached_property
    def texts(self) -> list[str]:
        """Published numbers as the certificate holds them; empty where withheld.

        The last bits of a sum tell something about its parts and do not leave: 0.1 + 0.2 goes out as 0.3.
        """
        # A double has at most 17 digits that mean something; values without exact decimals are given no more.
        written = texts(self.release.published)
        return [
            np.format_float_positional(float(text), trim="-") if len(text) > MOST_SIGNS else text
            for text in written
        ]

    @cached_property
    def value(self) -> Floats:
        """The same as doubles, NaN where withheld."""
        return np.array([float(text) if text else np.nan for text in self.texts])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PublicationPlan:
    """How a release is published, and what is recorded about it beside the evidence.

    Parameters
    ----------
    title
        Heading of the published table.
    source, footnotes
        Words that go out with the table.
    formats
        Names in :data:`hitoku.io.formats.FORMATS`; CSV, a web page and a workbook where left out.
    parts
        Linked tables, each as its readers see it, by the name of its files.
    places
        The same keys; for each of their cells its position in the whole table.
    fingerprints
        Of the records behind each cell of the whole table, for the checker; none where left out.
    nested
        By variable, columns of the records that group its codes, for the checker: the entry of each code.
    recipe, recipe_text
        What was asked for: in ``summary.json``, and as the file ``checker/recipe.toml``.
    lang
        Language of the checker's report.
    """

    title: str = ""
    source: str = ""
    footnotes: Sequence[str] = ()
    formats: Sequence[str] | None = None
    parts: Mapping[str, Release] = field(default_factory=dict)
    places: Mapping[str, Integers] = field(default_factory=dict)
    fingerprints: Sequence[str] = ()
    nested: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    recipe: Mapping[str, Any] = field(default_factory=dict)
    recipe_text: str = ""
    lang: str = ENGLISH

    def words(self, warning: str) -> dict[str, Any]:
        """Return the words that go out with every table."""
        return {
            "title": self.title,
            "warning": warning,
            "source": self.source,
            "footnotes": tuple(self.footnotes),
        }


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write a publication.

    Parameters
    ----------
    name
        As in a recipe and on the command line.
    suffix
        What follows the name of the table in the name of the file.
    about
        What it is, in a few words.
    write
        Writes one file.
    """

    name: str
    suffix: str
    about: str
    write: Callable[[Path, Publication], None]
