"""From records or a table to an audited release, in one call, and the outcome that writes its two folders.

:func:`protect` reads the data and calls :func:`protect_table`, which assesses, protects, attacks and
audits; both return a :class:`WritableOutcome`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hitoku.coalitions import Insiders, choose_insiders
from hitoku.errors import ParameterError, ProtectionError, did_you_mean, must_be
from hitoku.evidence import Outcome, audit, derivable_groups, inferable
from hitoku.io import ENGLISH, PublicationPlan
from hitoku.io.release import write_release
from hitoku.messages import Arguments
from hitoku.methods import (
    METHODS,
    Auto,
    Method,
    Progress,
    Promise,
    against_insiders,
    method_from_spec,
    requires_groups,
    traits_of,
    with_known_rules,
)
from hitoku.model import Need, Protection, Release, Row, Table, frame_parts, parse_scope
from hitoku.pipeline.atom_pattern import SharedCells, protect_with_atoms
from hitoku.pipeline.group_pattern import withhold_for_groups
from hitoku.pipeline.known_method import Made, known_method_row
from hitoku.rules import RULES, Rule, assess, rule_from_spec
from hitoku.tabulation import tabulate


@dataclass(frozen=True, eq=False, repr=False)
class WritableOutcome(Outcome):
    """Result of :func:`hitoku.protect`: an :class:`hitoku.Outcome` that can write its release folder.

    Parameters
    ----------
    asked
        The request, in words; stored in ``checker/summary.json``.
    made
        Rules, method and width, if the pattern follows from them alone.

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
        """Write ``public/`` and ``checker/``; the folder appears atomically.

        Parameters
        ----------
        folder
            Path of a new or empty folder.
        title, source, footnotes
            Texts published with the table.
        formats
            Files in ``public/`` in addition to CSV. Default: a web page and a workbook.
        force
            Write a release that is not safe, marked as such.
        lang
            Language of ``checker/report.html``: "en" or "ja".

        Raises
        ------
        ProtectionError
            If the verdict refuses the release and ``force`` is not set: a row in scope failed, or one
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


# Stages in order, described for the user.
STAGES = {
    "assess": "finding the cells that must not be published",
    "protect": "choosing the cells to withhold with them",
    "groups": "protecting derivable groups",
    "insiders": "protecting from contributors",
    "audit": "proving that it is safe",
    "attack": "attacking the release",
}

Report = Callable[[str], None]


def protect_table(
    table: Table,
    rules: Sequence[Rule],
    *,
    method: Method,
    width: Any = None,
    insiders: Any = None,
    against: Iterable[str] | None = None,
    groups: bool = True,
    shared: SharedCells | None = None,
    report: Report | None = None,
    progress: Progress | None = None,
) -> WritableOutcome:
    """Run all steps from a table to an audited release.

    Parameters
    ----------
    table
        Table to publish.
    rules
        Primary rules; see :func:`hitoku.assess`.
    method
        Method that chooses secondary suppressions.
    width
        Required length of the interval of every unsafe cell.
    insiders
        Insiders from whom to protect the table: "none", "singletons", "contributors", or an
        :class:`hitoku.Insider`. Default: singletons of magnitudes. See
        :func:`hitoku.coalitions.insider_choice.choose_insiders`.
    against
        Attackers that determine the verdict, words of :data:`hitoku.model.verdict.SCOPES`. Default: the
        default scope.
    groups
        Keep groups that can be derived from published cells as large as ``min_frequency`` and
        ``few_contributors`` require; ``outcome.groups`` is the result. Methods with guarantees of their own
        (``Gauss``, ``Blocks``, ``Randomised``, ``Adjust``) choose as without it.
    shared
        Of linked tables with their atoms: the same without atoms, which are protected first.
    report
        Called with the name of each stage as it begins.
    progress
        Passed to the method, which calls it with the amount of work done and the total; then called in the
        same way for insiders.
    """
    tell = report or (lambda _stage: None)
    scope = None if against is None else parse_scope(against)
    tell("assess")
    need = assess(table, rules, width=width, groups=groups and requires_groups(method))
    method = with_known_rules(method, rules, width)
    tell("protect")
    inside = choose_insiders(table, insiders, with_intervals=promises_intervals(method))
    if shared is None:
        protection = method.protect(table, need, progress)
    else:
        protection = protect_with_atoms(
            table, need, method, shared, width=width, groups=groups, progress=progress
        )
    outcome = attack_and_audit(
        table,
        need,
        protection,
        method,
        inside,
        tell,
        progress,
        rules=rules,
        groups=groups,
    )
    made = Made(rules, method, width, groups) if shared is None or table.shown.all() else None
    return replace(outcome, against=scope, made=made)


def attack_and_audit(
    table: Table,
    need: Need,
    protection: Protection,
    method: Method,
    inside: Insiders,
    tell: Report,
    progress: Progress | None = None,
    *,
    rules: Sequence[Rule] | None = None,
    groups: bool = True,
) -> WritableOutcome:
    """Continue from a protection: derivable groups of units, insiders, the attack, the audit.

    Without ``rules``, as in batches of τ-ARGUS, derivable groups are not examined.
    """
    attack = inside.attack
    hints: Sequence[Mapping[int, int]] = ()
    if rules is not None and groups and requires_groups(method):
        tell("groups")
        protection, hints = withhold_for_groups(table, need, rules, protection, method, progress)
    if attack is not None:
        tell("insiders")
        protection = against_insiders(
            table, need, protection, method=method, attack=attack, progress=progress
        )
    release = Release.of(table, protection)
    tell("audit")
    found = audit(
        table,
        need,
        release,
        insiders=attack,
        deviations=protection.deviations,
        # Cells added for insiders depend on the table: then the method's claim is void.
        known_method=protection.known_method if attack is None else None,
    )
    tell("attack")
    bounds = inferable(release, adjusted=traits_of(method).promise is Promise.ADJUSTED)
    return WritableOutcome(
        protection,
        replace(found, intervals=bounds),
        bounds,
        inside.words,
        secret=traits_of(method).secret,
        rules=tuple(rules or ()),
        groups=None
        if rules is None
        else derivable_groups(table, rules, release, own=found, groups=groups, deviations=hints),
    )


def promises_intervals(method: Method) -> bool:
    """Return whether a method guarantees the intervals of unsafe cells."""
    return traits_of(method).promise is Promise.INTERVALS


def protect(
    data: Any,
    by: Sequence[str] = (),
    *,
    value: str | None = None,
    rules: Rule | str | Sequence[Rule | str],
    method: Method | str | None = None,
    width: Any = None,
    insiders: Any = None,
    against: Iterable[str] | None = None,
    groups: bool = True,
    cells: bool = False,
    report: Report | None = None,
    progress: Progress | None = None,
    **making: Any,
) -> WritableOutcome:
    """Make a table, find its unsafe cells, suppress others to protect them, attack the release and audit it.

    Parameters
    ----------
    data
        Records, one per respondent, as for :func:`hitoku.tabulate`. With ``cells=True`` a frame with one
        row per cell, as for :meth:`hitoku.Table.from_frame`. Or a :class:`hitoku.Table`.
    by
        Columns with codes, one variable each.
    value
        Column to add up. Default: count records.
    rules
        Rules that make a cell unsafe: one or several, or their specs, such as ``"p_percent:p=10"``.
    method
        Method that chooses secondary suppressions, or its spec. Default:
        :class:`hitoku.Auto`, which suits the table.
    width
        Required length of the interval of every unsafe cell.
    insiders
        Insiders from whom to protect the table: "none", "singletons", "contributors", or an
        :class:`hitoku.Insider`.
    against
        Attackers that determine the verdict: "outsider", "groups", "singletons", "contributors",
        "attributes", "method", "tables", "released". Default: the default scope. See ``verdict``.
    groups
        Keep groups that can be derived from published cells as large as ``min_frequency`` and
        ``few_contributors`` require of cells. False: only cells are considered.
    cells
        Whether ``data`` has one row per cell.
    report, progress
        Called with the name of each stage as it begins, and within the method.
    making
        Further arguments that make the table: ``unit``, ``holding``, ``weight``, ``hierarchies``, ``total``;
        with cells ``frequency``, ``largest``.

    Returns
    -------
    WritableOutcome
        An :class:`hitoku.Outcome`: ``frame`` is the publication, ``verdict`` has one row per attacker,
        ``audit`` the evidence; ``write(folder)`` writes the release and its evidence.

    Examples
    --------
    >>> import pandas as pd
    >>> records = pd.DataFrame({"town": list("AAAAABBBBBCCCC"), "ill": list("yyynnynnnnyynn")})
    >>> outcome = protect(records, by=["town", "ill"], rules=["min_frequency:n=2"], width=2)
    >>> outcome.audit.safe
    True
    >>> outcome.frame.head(4)
      town    ill  value     status
    0    A      n      2  published
    1    A      y      3  published
    2    A  Total      5  published
    3    B      n   <NA>   withheld
    """
    table = _table(data, by, value, cells, making)
    listed: Sequence[Any] = rules if isinstance(rules, list | tuple) else [rules]
    known = [rule_from_spec(one, RULES) if isinstance(one, str) else one for one in listed]
    chosen = method_from_spec(method, METHODS) if isinstance(method, str) else method or Auto()
    must_be(Method, chosen, "method")
    return protect_table(
        table,
        known,
        method=chosen,
        width=width,
        insiders=insiders,
        against=against,
        groups=groups,
        report=report,
        progress=progress,
    )


def _table(data: Any, by: Sequence[str], value: str | None, cells: bool, making: dict[str, Any]) -> Table:
    if isinstance(data, Table):
        given = [*(["by"] if by else []), *(["value"] if value else []), *making]
        if given:
            raise ParameterError(
                "table_already_made",
                "a table is made already",
                where=given[0],
                fix="leave it out, or give records instead",
            )
        return data
    allowed = list(inspect.signature(frame_parts if cells else tabulate).parameters)
    for name in making:
        if name not in allowed:
            raise ParameterError(
                "unknown_argument",
                "no argument {argument!r}",
                where="protect",
                fix=did_you_mean(name, allowed),
                argument=name,
            )
    if not cells:
        return tabulate(data, by, value=value, **making)
    if value is None:
        raise ParameterError(
            "cells_without_value_option",
            "cells have a value",
            where="value",
            fix="name the column: {arguments}",
            arguments=Arguments(value="turnover"),
        )
    return Table.from_frame(data, by, value, **making)
