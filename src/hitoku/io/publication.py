"""Published texts of a release: title, source, footnotes, and remarks on suppression.

Every public format is written from a :class:`Publication`, which contains nothing confidential. It does not
know which cells are unsafe, by which rule, or which are secondary suppressions, so that no writer can reveal
it.
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
MAX_SIGNS = 20  # digits of a number, its sign and point

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
    """A release and its published texts.

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
    title: str = ""  # Heading. Default: the measure.
    adjusted: bool = False  # Whether values were adjusted for confidentiality.
    warning: str = ""  # Reason why it must not be published, shown first in every format. Default: none.
    source: str = ""  # Source of the data.
    footnotes: tuple[str, ...] = ()  # Further remarks, in order.

    @property
    def heading(self) -> str:
        """Title, after the warning if there is one."""
        return ": ".join(filter(None, [self.warning, self.title or self.release.measure]))

    @property
    def subtitle(self) -> str:
        """Measure and variables."""
        names = self.release.labels.names
        listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
        return f"{self.release.measure} by {listed}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on confidentiality for readers."""
        withheld = int(self.release.withheld.sum())
        notes: list[str] = []
        if withheld:
            verb = "is" if withheld == 1 else "are"
            notes += [f"{withheld:,} of {self.release.n_cells:,} cells {verb} withheld.", LEGEND, CHOSEN]
        if self.adjusted:
            notes.append(ADJUSTED)
        return tuple(notes) or ("No cell is withheld.",)

    @cached_property
    def texts(self) -> list[str]:
        """Published numbers as in the certificate; empty where suppressed.

        Floating-point residue of a sum would reveal something about its parts: 0.1 + 0.2 is published as 0.3.
        """
        # A double has at most 17 significant digits; more are not written for values without an exact
        # decimal.
        written = texts(self.release.published)
        return [
            np.format_float_positional(float(text), trim="-") if len(text) > MAX_SIGNS else text
            for text in written
        ]

    @cached_property
    def value(self) -> Floats:
        """Published numbers as doubles, NaN where suppressed."""
        return np.array([float(text) if text else np.nan for text in self.texts])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PublicationPlan:
    """Plan for publishing a release, and for the record of it in the evidence."""

    title: str = ""  # Heading of the published table.
    # source, footnotes: texts published with the table.
    source: str = ""
    footnotes: Sequence[str] = ()
    # Names in :data:`hitoku.io.formats.FORMATS`. Default: CSV, HTML and Excel.
    formats: Sequence[str] | None = None
    parts: Mapping[str, Release] = field(default_factory=dict)  # Linked tables as published, by file name.
    # Indices of their cells in the whole table, by file name.
    places: Mapping[str, Integers] = field(default_factory=dict)
    # Fingerprints of the records behind each cell of the whole table, for the checker. Default: none.
    fingerprints: Sequence[str] = ()
    # Columns of the records that group the codes of a variable, with the entry of each code, for the checker.
    nested: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    # recipe, recipe_text: the recipe, for ``summary.json``, and its text, for ``checker/recipe.toml``.
    recipe: Mapping[str, Any] = field(default_factory=dict)
    recipe_text: str = ""
    lang: str = ENGLISH  # Language of the checker's report.

    def words(self, warning: str) -> dict[str, Any]:
        """Return the texts published with every table."""
        return {
            "title": self.title,
            "warning": warning,
            "source": self.source,
            "footnotes": tuple(self.footnotes),
        }


@dataclass(frozen=True, slots=True)
class Format:
    """File format for publications."""

    name: str  # Name in recipes and on the command line.
    suffix: str  # File-name suffix.
    about: str  # Short description.
    write: Callable[[Path, Publication], None]  # Function that writes one file.
