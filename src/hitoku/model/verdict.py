"""Findings, and the verdict on a release: one row per attacker, with its result and the basis of that result.

A release is never "safe" in general. It is safe against the attackers that were considered, so the verdict
lists them with what was proved, audited or not considered, and its headline states the scope.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from typing import Any

from hitoku.errors import ParameterError, did_you_mean
from hitoku.messages import Text, join
from hitoku.model.frames import small_table


class Severity(StrEnum):
    """Severity of a finding, in increasing order."""

    PASS = "pass"  # noqa: S105 - a verdict
    NOTE = "note"
    REVIEW = "review"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A remark about a table or an output; it names codes and rules, never a confidential value.

    Parameters
    ----------
    severity, place, reason, advice
        Severity, subject, problem and suggested action.
    tables
        Names of the linked tables that it is about; empty if it is about all or none of them.

    Examples
    --------
    >>> print(Finding(severity=Severity.FAIL, place="region=R03", reason="two persons", advice="merge it"))
    fail: region=R03: two persons (merge it)
    """

    severity: Severity
    place: str
    reason: str
    advice: str = ""
    tables: tuple[str, ...] = ()

    def __str__(self) -> str:
        advice = f" ({self.advice})" if self.advice else ""
        return f"{self.severity}: {self.place}: {self.reason}{advice}"


class Status(StrEnum):
    """The result of one row of a verdict."""

    PROVED = "proved"
    PASSED = "passed"
    FAILED = "failed"
    NOT_DECIDED = "not decided"
    NOT_CONSIDERED = "not considered"


# Results from the best to the worst: several results together are as bad as the worst of them.
WORST_LAST = (Status.PROVED, Status.PASSED, Status.NOT_CONSIDERED, Status.NOT_DECIDED, Status.FAILED)


class Colour(StrEnum):
    """The verdict as a traffic light: every row in scope holds, one is open, or one failed."""

    GREEN = "green"
    AMBER = "amber"
    RED = "red"


# The attackers, in the order of the rows: what the row is called, and its name within a headline.
ATTACKERS: Mapping[str, tuple[str, str]] = {
    "outsider": ("outsider, single cells", "outsiders"),
    "groups": ("derivable groups of units", "derivable groups"),
    "dominance": ("derivable groups under p%, pq, (n,k)", "derivable groups under dominance rules"),
    "singletons": ("contributors alone in a cell", "single contributors"),
    "contributors": ("large contributors and coalitions", "large or colluding contributors"),
    "attributes": ("attribute disclosure (group, direct)", "attribute disclosure"),
    "method": ("an attacker who knows the method", "attackers who know the method"),
    "tables": ("the tables of this recipe together", "differencing between the tables of this recipe"),
    "released": ("earlier releases", "earlier releases"),
}
# Words of ``against``.
SCOPES = tuple(ATTACKERS)
DEFAULT_SCOPE = ("outsider", "groups", "singletons", "attributes", "tables")
# Open rows of these attackers do not stop a release of a single table from being written.
OTHERS = ("singletons", "contributors", "tables", "released")

NOT_THERE = "\N{MIDDLE DOT}"
SYMBOLS: Mapping[Status, str] = {
    Status.PROVED: "✓",
    Status.PASSED: "✓",
    Status.FAILED: "✗",
    Status.NOT_DECIDED: "?",
    Status.NOT_CONSIDERED: "-",
}


def parse_scope(
    given: Iterable[str] | None, *, secret: bool = True, where: str = "against"
) -> tuple[str, ...]:
    """Return the attackers that a release is judged against, in the order of the rows.

    Parameters
    ----------
    given
        Words of ``SCOPES``; None takes the default scope.
    secret
        The default scope assumes that the method stays secret; False adds the attacker who knows it.

    Raises
    ------
    ParameterError
        A word that is not in ``SCOPES``, or no word at all.

    Examples
    --------
    >>> parse_scope(["released", "outsider"])
    ('outsider', 'released')
    >>> "method" in parse_scope(None), "method" in parse_scope(None, secret=False)
    (False, True)
    """
    if given is None:
        chosen = {*DEFAULT_SCOPE, *(() if secret else ("method",))}
    else:
        chosen = {given} if isinstance(given, str) else set(given)
        for word in sorted(chosen):
            if word not in SCOPES:
                raise ParameterError(
                    "unknown_attacker",
                    "no attacker {word!r}",
                    where=where,
                    fix=did_you_mean(word, SCOPES),
                    word=word,
                )
        if not chosen:
            raise ParameterError(
                "no_attacker",
                "no attacker is named",
                where=where,
                fix="choose from {scopes}",
                scopes=", ".join(SCOPES),
            )
    return tuple(name for name in SCOPES if name in chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The result for one attacker."""

    attacker: str
    """Key in ``ATTACKERS``."""
    status: Status
    """Result."""
    reason: str = ""
    """Basis of the result, or reason for its absence; without confidential values."""
    fix: str = ""
    """Option that considers this attacker, or remedy for what was disclosed; may be empty."""
    in_scope: bool = False
    """Whether the colour of the verdict depends on this row."""
    applies: bool = True
    """Whether the attacker exists for this release, such as other tables of the same recipe. A row that
    does not apply is not in scope."""
    findings: tuple[Finding, ...] = ()
    """Disclosures, if the row failed."""

    @property
    def label(self) -> str:
        """Name of the attacker in tables."""
        return ATTACKERS[self.attacker][0]

    @property
    def holds(self) -> bool:
        """Whether the release withstands this attacker."""
        return self.status in {Status.PROVED, Status.PASSED}

    @property
    def result(self) -> str:
        """The status with its symbol, or that the attacker does not exist for this release."""
        sign, word = (
            (SYMBOLS[self.status], str(self.status)) if self.applies else (NOT_THERE, "does not apply")
        )
        return Text("{sign} {word}", sign=sign, word=Text(word))

    def as_dict(self) -> dict[str, Any]:
        """Return the row for JSON; findings name cells and rules, never values."""
        return {
            "attacker": self.attacker,
            "label": self.label,
            "status": str(self.status),
            "reason": self.reason,
            "fix": self.fix,
            "in_scope": self.in_scope,
            "applies": self.applies,
            "disclosed": [str(finding) for finding in self.findings],
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """One row per attacker, a headline that states its scope, and a colour.

    Parameters
    ----------
    rows
        In the order of ``ATTACKERS``.
    adjusted
        Values were moved instead of suppressed: the headline says "moved far enough" instead of "safe".

    Examples
    --------
    >>> verdict = Verdict(
    ...     (
    ...         Row(attacker="outsider", status=Status.PROVED, in_scope=True),
    ...         Row(attacker="groups", status=Status.PROVED, in_scope=True),
    ...         Row(attacker="released", status=Status.NOT_CONSIDERED),
    ...     )
    ... )
    >>> for sentence in verdict.sentences():
    ...     print(sentence)
    Safe against outsiders and derivable groups as long as the method is secret.
    Not considered: earlier releases.
    >>> verdict.colour, verdict.refused
    (<Colour.GREEN: 'green'>, False)
    """

    rows: Sequence[Row]
    adjusted: bool = False

    def __getitem__(self, attacker: str) -> Row:
        """Return the row of an attacker."""
        return next(row for row in self.rows if row.attacker == attacker)

    @property
    def scope(self) -> tuple[Row, ...]:
        """Rows on which the colour depends."""
        return tuple(row for row in self.rows if row.in_scope and row.applies)

    @property
    def colour(self) -> Colour:
        """Red if a row in scope failed, amber if one is undecided or not considered, green otherwise."""
        if any(row.status is Status.FAILED for row in self.scope):
            return Colour.RED
        return Colour.GREEN if self.scope and all(row.holds for row in self.scope) else Colour.AMBER

    @property
    def refused(self) -> bool:
        """Whether the release is not written without ``force``, and commands exit with 1.

        True if a row in scope failed, or was not decided although it concerns this table alone.
        """
        undecided = (row for row in self.scope if row.status is Status.NOT_DECIDED)
        return self.colour is Colour.RED or any(row.attacker not in OTHERS for row in undecided)

    @property
    def headline(self) -> str:
        """The verdict in one or two sentences, with its scope."""
        return " ".join(self.sentences())

    def sentences(self, say: Callable[[str], str] = str) -> list[str]:
        """Return the sentences of the headline: the claim, then open points.

        Parameters
        ----------
        say
            Translates the names of attackers, the words that join them, and the sentences.
        """
        said = [self._claim()]
        applying = [row for row in self.rows if row.applies]
        # The claim already states that the attacker does not know the method.
        left_out = [
            row
            for row in applying
            if row.status is Status.NOT_CONSIDERED and (row.in_scope or row.attacker != "method")
        ]
        undecided = [row for row in applying if row.status is Status.NOT_DECIDED]
        failing = [row for row in applying if row.status is Status.FAILED and not row.in_scope]
        about = (
            ("Not decided: {attackers}.", undecided),
            ("Not considered: {attackers}.", left_out),
            ("Outside the scope and not safe: {attackers}.", failing),
        )
        said += [Text(template, attackers=_list_attackers(rows)) for template, rows in about if rows]
        return [say(sentence) for sentence in said]

    def _claim(self) -> Text:
        failed = [row for row in self.scope if row.status is Status.FAILED]
        if failed:
            each = (join([Text(row.label), row.reason], "{first}: {second}") for row in failed)
            return Text(
                "Not moved far enough: {disclosures}." if self.adjusted else "Not safe: {disclosures}.",
                disclosures=join(each),
            )
        holding = [row for row in self.scope if row.holds]
        if not holding:
            return Text("Nothing is claimed.")
        knows = any(row.attacker == "method" for row in holding)
        others = [row for row in holding if row.attacker != "method"]
        template = _CLAIMS[self.adjusted][(0 if not others else 1 if knows else 2)]
        return Text(template, attackers=_list_attackers(others or holding))

    @property
    def lines(self) -> tuple[str, ...]:
        """The rows that apply as lines of text: result, attacker, basis and suggested action."""
        return tuple(
            f"{SYMBOLS[row.status]} {row.label}: {row.status}"
            f"{'' if row.in_scope else ' (outside the scope)'}"
            f"{f'; {row.reason}' if row.reason else ''}{f' ({row.fix})' if row.fix else ''}"
            for row in self.rows
            if row.applies
        )

    def as_dict(self) -> dict[str, Any]:
        """Return headline, colour and all rows for JSON."""
        return {
            "headline": self.headline,
            "colour": str(self.colour),
            "refused": self.refused,
            "rows": [row.as_dict() for row in self.rows],
        }

    def __str__(self) -> str:
        return self.headline

    def _repr_html_(self) -> str:
        rows = [(row.label, row.result, row.reason, row.fix if row.applies else "") for row in self.rows]
        table = small_table(["attacker", "result", "basis", "what to do"], rows)
        return f"<div><b>{escape(self.headline)}</b>{table}</div>"


# Templates of the claim, by whether values were adjusted: on the method alone, with the method known, secret.
_CLAIMS = {
    False: (
        "Safe against {attackers}.",
        "Safe against {attackers}, even if the method is known.",
        "Safe against {attackers} as long as the method is secret.",
    ),
    True: (
        "Moved far enough to protect against {attackers}.",
        "Moved far enough to protect against {attackers}, even if the method is known.",
        "Moved far enough to protect against {attackers} as long as the method is secret.",
    ),
}


def _list_attackers(rows: Sequence[Row]) -> Text:
    """List attackers in prose: "a, b and c"."""
    names = tuple(Text(ATTACKERS[row.attacker][1]) for row in rows)
    return Text("{first} and {last}", first=names[:-1], last=names[-1]) if len(names) > 1 else names[0]
