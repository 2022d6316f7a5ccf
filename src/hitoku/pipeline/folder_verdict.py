"""The verdict on a release folder as it is now, and on several of them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hitoku.errors import HitokuError
from hitoku.evidence import UNKNOWN_METHOD, Audit, DerivableGroups, derivable_groups, judge
from hitoku.methods import traits_of
from hitoku.model import Protection, Row, Verdict, parse_scope
from hitoku.pipeline.attack import AttackedFolder
from hitoku.pipeline.verdict import known_method_row
from hitoku.rules import Rule

NOT_TRIED, BY_ATTACK = "not tried by this command", "hitoku attack RELEASE --attack insider"
TOGETHER = (
    "cells that are the same by their names or records were judged together, other combinations of cells "
    "were not"
)
LINKED = "the folder has several tables: sums that they share were audited, other combinations were not"
BESIDE = "it was made together with other tables, which are not in this folder"


def judge_folder(folder: AttackedFolder, audit: Audit) -> Verdict:
    """Return the verdict on a release folder, as far as its evidence goes.

    Parameters
    ----------
    folder
        The folder, read.
    audit
        Audit of its public table against its evidence.
    """
    recipe = folder.summary.get("recipe", {})
    linked = len(folder.summary.get("protected_together", ())) > 1
    beside = len(recipe.get("tables", ())) > 1 or "kind" in recipe
    verdict = judge(
        audit,
        parse_scope(recipe.get("against"), secret="method" not in _scope_then(folder)),
        groups=_groups(folder, audit),
        method=_method(folder, audit),
        tables=LINKED if linked else BESIDE if beside else "",
    )
    return name_attacks(verdict)


def judge_cells(audit: Audit, rules: Sequence[Rule] | None, *, groups: bool = True) -> Verdict:
    """Return the verdict on cells that were marked by hand; None where their rules are not known."""
    found = None
    if rules is not None:
        found = derivable_groups(audit.table, rules, audit.release, own=audit, groups=groups)
    return name_attacks(judge(audit, parse_scope(None), groups=found))


def judge_together(audit: Audit) -> Verdict:
    """Return the verdict on several release folders that were audited as one."""
    return name_attacks(judge(audit, parse_scope(None), tables=TOGETHER))


def name_attacks(verdict: Verdict) -> Verdict:
    """Name the command that tries contributors, which an audit of files does not."""
    return replace(
        verdict,
        rows=tuple(
            replace(row, reason=NOT_TRIED, fix=BY_ATTACK)
            if row.attacker in {"singletons", "contributors"} and row.applies
            else row
            for row in verdict.rows
        ),
    )


def _scope_then(folder: AttackedFolder) -> set[str]:
    """Return the attackers in the scope of the verdict that was written with the release."""
    written = folder.summary.get("verdict")
    rows = written.get("rows", ()) if isinstance(written, dict) else ()
    return {row["attacker"] for row in rows if row.get("in_scope")}


def _groups(folder: AttackedFolder, audit: Audit) -> DerivableGroups | None:
    try:
        rules, groups = folder.rules, folder.recipe.keys.groups
    except HitokuError:
        return None
    return derivable_groups(folder.units, rules, folder.release, own=audit, groups=groups)


def _method(folder: AttackedFolder, audit: Audit) -> Row:
    """Judge an attacker who knows the method, where the folder names it."""
    try:
        made = folder.made
    except HitokuError:
        return UNKNOWN_METHOD
    if not traits_of(made.method).secret:
        return replace(UNKNOWN_METHOD, reason="not checked by this command", fix="hitoku verify RELEASE")
    pattern = Protection(
        withheld=audit.release.withheld,
        value=audit.table.value,
        secondary=audit.release.withheld & ~audit.need.unsafe,
    )
    return known_method_row(audit, pattern, made, secret=True)
