"""An outcome that can be written: what a run came to, with the way to its two folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hitoku.errors import ProtectionError
from hitoku.evidence import Outcome
from hitoku.io import ENGLISH, PublicationPlan
from hitoku.io.release import write_release
from hitoku.model import Row
from hitoku.pipeline.known_method import Made
from hitoku.pipeline.verdict import known_method_row


@dataclass(frozen=True, eq=False, repr=False)
class WritableOutcome(Outcome):
    """What :func:`hitoku.protect` returns: an :class:`hitoku.Outcome` that writes its own release folder.

    Parameters
    ----------
    asked
        What was asked for, in words; goes into ``checker/summary.json``.
    made
        Rules, method and width, where the pattern follows from them alone.

    Examples
    --------
    >>> from hitoku.pipeline import protect
    >>> from hitoku.model import Table
    >>> outcome = protect(Table.from_array([[20, 15, 9], [72, 1, 30]]), rules=["min_frequency:n=3"], width=3)
    >>> outcome.audit.safe, int((outcome.frame["status"] == "withheld").sum())
    (True, 4)
    """

    asked: Mapping[str, Any] = field(default_factory=dict)
    made: Made | None = None

    @property
    def known_method(self) -> Row:
        """Row of the verdict about an attacker who knows the method."""
        return known_method_row(self.audit, self.protection, self.made, secret=self.secret)

    def write(
        self,
        folder: str | Path,
        *,
        title: str = "",
        source: str = "",
        footnotes: Sequence[str] = (),
        formats: Sequence[str] | None = None,
        force: bool = False,
        lang: str = ENGLISH,
    ) -> Path:
        """Write ``public/`` and ``checker/``; the folder appears whole or not at all.

        Parameters
        ----------
        folder
            Must not hold anything yet.
        title, source, footnotes
            Words that go out with the table.
        formats
            Files in ``public/`` beside CSV; a web page and a workbook where left out.
        force
            Write a release that is not safe, marked as such.
        lang
            Language of ``checker/report.html``: "en" or "ja".

        Raises
        ------
        ProtectionError
            When the verdict refuses the release, unless ``force`` is given: a row in scope failed, or one
            about this table alone was not decided.
        """
        if self.verdict.refused and not force:
            raise ProtectionError(
                "release_not_safe",
                "the release is not safe, so it is not written",
                where=str(self.verdict),
                fix="look at outcome.verdict and outcome.audit.findings, change rules or method, or say "
                "force=True",
            )
        plan = PublicationPlan(
            title=title, source=source, footnotes=footnotes, formats=formats, recipe=self.asked, lang=lang
        )
        return write_release(folder, self, plan)
