"""Rows of a verdict that follow from an audit: one per attacker, with the basis of each result.

Rows that need the method (an attacker who knows it) or the other tables of a recipe are passed by the caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hitoku.evidence.adjusted import LOOK_ROUNDED, AdjustedAudit
from hitoku.evidence.adjusted import REASONS as MOVED_REASONS
from hitoku.evidence.audit_result import REASONS, Audit, CellOutcome
from hitoku.evidence.derivable_groups import SWITCHED_OFF, DerivableGroups, not_considered
from hitoku.evidence.grid import text
from hitoku.messages import Arguments, Text, join
from hitoku.model import ATTACKERS, WORST_LAST, Finding, Row, Severity, Status, Verdict, counts_units

# Rules that compare contributions, and rules on attributes of groups.
DOMINANCE_RULES = frozenset({"p_percent", "prior_posterior", "dominance"})
ATTRIBUTE_RULES = frozenset({"group_disclosure", "direct_disclosure", "k_disclosure"})

PROVED, NO_CERTIFICATE = Text("the certificate proves it"), Text("audited without a certificate")
WITHOUT_PROOF = Text("audited without a certificate: the values do not add up exactly")
GIVE_DECIMALS = "decimals= (--decimals) rounds the records before they are added up; then there is a proof"
TOO_FEW = "published cells give the total of a group of too few units that this cell is in"
BREAKS_RULE = "published cells give the total of a group, with these cells, that breaks a rule"
# Attackers whose inequalities were tried beside exact totals, by the word of the option.
ATTACKED_BY = {
    "none": "no contributor was considered as an attacker",
    "singletons": "contributors alone in a cell were considered as attackers",
    "contributors": "all contributors were considered as attackers",
}
WITHHOLD_ONE = "withhold one of these cells, merge codes, or publish another table instead"
UNKNOWN_METHOD = Row(
    attacker="method",
    status=Status.NOT_CONSIDERED,
    reason="how the withheld cells were chosen is not known here",
    fix="method blocks protects two-way tables against it, with a proof",
)


def judge(
    audit: Audit,
    scope: Sequence[str],
    *,
    insiders: str = "none",
    groups: DerivableGroups | None = None,
    method: Row = UNKNOWN_METHOD,
    tables: str = "",
    atoms: bool = False,
) -> Verdict:
    """Return the verdict on one release.

    Parameters
    ----------
    audit
        Audit of the release, with insiders where they were considered.
    scope
        Attackers that the colour depends on: see :func:`hitoku.model.verdict.parse_scope`.
    insiders
        Contributors that the audit considered: a word of the vocabulary, or a text with the fields ``word``
        and ``why``.
    groups
        Result for derivable groups. None: rules are not known.
    method
        Row of the attacker who knows the method.
    tables
        Why disclosure by several tables together is undecided; empty for a single table.
    atoms
        The table has the atoms of its tables as cells, so that the rows on cells and derivable groups are
        about everything that follows from all tables.

    Examples
    --------
    >>> from hitoku.evidence import audit
    >>> from hitoku.model import Need, Protection, Release, Table
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> need = Need(unsafe=table.value == 1, lower=1.0, upper=1.0)
    >>> alone = Release.of(table, Protection.withhold(table, need.unsafe))
    >>> verdict = judge(audit(table, need, alone), ["outsider"])
    >>> verdict.colour, verdict["outsider"].reason
    (<Colour.RED: 'red'>, '1 of 1 unsafe cells: 1 recomputable')
    """
    outsider, of_groups = _outsider(audit), _groups(audit, groups)
    # Where no set of records is small, there is nothing to prove about them.
    small = groups is None or not groups.safe or groups.n_examined > 0
    rows = (
        outsider,
        of_groups,
        _dominance(audit, groups, insiders),
        _singletons(audit, insiders),
        _contributors(audit, insiders),
        _attributes(audit),
        method,
        _tables(tables, audit, (outsider, *((of_groups,) if small else ())) if atoms else (), groups),
        Row(
            attacker="released",
            status=Status.NOT_CONSIDERED,
            reason="earlier releases of the same records are not known here",
            fix="hitoku audit judges several release folders together",
        ),
    )
    return Verdict(
        tuple(replace(row, in_scope=row.applies and row.attacker in scope) for row in rows),
        adjusted=isinstance(audit, AdjustedAudit),
    )


def combine(verdicts: Mapping[str, Verdict]) -> Verdict:
    """Return the verdict on several releases together: each row has the worst of their results.

    Parameters
    ----------
    verdicts
        Verdicts by the name of the release.
    """
    if len(verdicts) < 2:
        return next(iter(verdicts.values()), Verdict(()))
    rows = [_worst({name: one[attacker] for name, one in verdicts.items()}) for attacker in ATTACKERS]
    return Verdict(tuple(rows), adjusted=any(one.adjusted for one in verdicts.values()))


def _worst(rows: Mapping[str, Row]) -> Row:
    applying = {name: row for name, row in rows.items() if row.applies}
    if not applying:
        return next(iter(rows.values()))
    found = max(applying.values(), key=lambda row: WORST_LAST.index(row.status))
    names = [
        name for name, row in applying.items() if (row.status, row.reason) == (found.status, found.reason)
    ]
    where = "" if len(names) == len(applying) else ", ".join(names)
    return replace(
        found,
        reason=join([where, found.reason], "{first}: {second}"),
        in_scope=any(row.in_scope for row in applying.values()),
        findings=tuple(finding for row in applying.values() for finding in row.findings),
    )


def _outsider(audit: Audit) -> Row:
    """Return the row of an outsider and single cells."""
    moved = audit if isinstance(audit, AdjustedAudit) else None
    broken = 0 if moved is None else moved.n_broken
    tally = {outcome: list(audit.outcomes.values()).count(outcome) for outcome in CellOutcome}
    failed = [CellOutcome.PUBLISHED, CellOutcome.RECOMPUTABLE, CellOutcome.NARROW]
    n = len(audit.outcomes)
    if any(tally[outcome] for outcome in failed) or broken:
        outcomes = tuple(
            Text("{n:,} {outcome}", n=tally[one], outcome=Text(one)) for one in failed if tally[one]
        )
        cells = Text(
            "{n:,} of {total:,} unsafe cells: {outcomes}",
            n=sum(tally[one] for one in failed),
            total=n,
            outcomes=outcomes,
        )
        sums = Text("{broken:,} sums of the published values do not add up", broken=broken)
        return Row(
            attacker="outsider",
            status=Status.FAILED,
            reason=join([cells if outcomes else "", sums if broken else ""]),
            fix="withhold more cells, or let a method choose them"
            if not moved
            else "adjust the table as a whole",
            findings=_cell_findings(audit),
        )
    if tally[CellOutcome.UNDECIDED]:
        return Row(
            attacker="outsider",
            status=Status.NOT_DECIDED,
            reason=Text(
                "{n:,} of {total:,} unsafe cells could not be decided exactly",
                n=tally[CellOutcome.UNDECIDED],
                total=n,
            ),
            fix="round the values to fewer digits, or audit a smaller table",
            findings=_cell_findings(audit),
        )
    base = None if moved is None else moved.rounding_base
    if base is not None:
        return Row(
            attacker="outsider",
            status=Status.NOT_CONSIDERED,
            reason=Text(
                "the published values are multiples of {base}: {why}", base=text(base), why=LOOK_ROUNDED
            ),
            fix="withhold cells, or adjust them by another method",
        )
    return _protected_row(audit, n)


def _protected_row(audit: Audit, n: int) -> Row:
    """Return the row of an outsider if every unsafe cell is protected."""
    if isinstance(audit, AdjustedAudit):
        how = Text("{n:,} unsafe cells are published far enough from their values", n=n)
        exact = audit.exact
    else:
        how = Text("{n:,} unsafe cells are as uncertain as required", n=n)
        exact = audit.additive
    if audit.certificate is not None:
        return Row(attacker="outsider", status=Status.PROVED, reason=join([how, PROVED]))
    why = Text("no certificate, because another row fails") if exact else WITHOUT_PROOF
    fix = "" if exact else GIVE_DECIMALS
    return Row(attacker="outsider", status=Status.PASSED, reason=join([how, why]), fix=fix)


def _cell_findings(audit: Audit) -> tuple[Finding, ...]:
    return tuple(audit.failing(MOVED_REASONS if isinstance(audit, AdjustedAudit) else REASONS))


def _groups(audit: Audit, groups: DerivableGroups | None) -> Row:
    """Return the row of groups of units derivable by addition and subtraction."""
    if groups is None:
        groups = not_considered("only single cells are considered here")
    n = groups.n_examined
    status = groups.status
    if status is Status.PROVED and (audit.certificate is None or not groups.own):
        # The certificate does not cover them.
        status = Status.PASSED
    how = PROVED if status is Status.PROVED else NO_CERTIFICATE
    held = Text("{n:,} small cells can hold the least number of units", n=n)
    return _of_groups(
        "groups",
        replace(groups, status=status),
        failed=Text(
            "{failing:,} of {n:,} small cells are in a group of too few units that can be derived",
            failing=len(groups.failing),
            n=n,
        ),
        undecided=Text("some of {n:,} small cells could not be decided exactly", n=n),
        held=join([held, how, groups.reason] if n else [Text("no cell is small"), groups.reason]),
        findings=[(audit.table.describe(cell), TOO_FEW) for cell in groups.failing],
    )


def _dominance(audit: Audit, groups: DerivableGroups | None, insiders: str) -> Row:
    """Return the row of derivable groups that break a rule on contributions."""
    totals = None if groups is None else groups.totals
    if totals is None:
        applies = bool(DOMINANCE_RULES & set(audit.need.rules))
        totals = not_considered("only single cells are considered here", required=applies)
    n, word = totals.n_examined, _read_insiders(insiders)[0]
    findings = [
        (each.table.describe(cell), BREAKS_RULE)
        for each in totals.audits
        for cell, outcome in each.outcomes.items()
        if outcome not in {CellOutcome.SAFE, CellOutcome.UNDECIDED}
    ]
    held = Text("{n:,} sets of cells can hold what the rules require", n=n)
    who = ATTACKED_BY.get(word, ATTACKED_BY["none"])
    return _of_groups(
        "dominance",
        totals,
        failed=Text(
            "{failing:,} of {n:,} sets of cells are in a group that breaks a rule and can be derived",
            failing=len(findings),
            n=n,
        ),
        undecided=totals.reason or Text("some of {n:,} sets of cells could not be decided exactly", n=n),
        held=join([held, who] if n else [Text("no set of cells breaks a rule")]),
        findings=findings,
    )


def _of_groups(
    attacker: str,
    groups: DerivableGroups,
    *,
    failed: str,
    undecided: str,
    held: str,
    findings: Sequence[tuple[str, str]],
) -> Row:
    """Return a row about derivable groups from the text of each result."""
    reason, fix = held, ""
    if groups.status is Status.NOT_CONSIDERED:
        reason, fix = (
            groups.reason,
            "leave groups=False (--no-groups) out" if groups.reason == SWITCHED_OFF else "",
        )
    elif groups.status is Status.FAILED:
        reason = failed
        fix = "leave groups=False out, or let another method choose: auto, optimal, circulation, greedy"
    elif groups.status is Status.NOT_DECIDED:
        reason = undecided
    return Row(
        attacker=attacker,
        status=groups.status,
        reason=reason,
        fix=fix,
        applies=groups.required,
        findings=tuple(
            Finding(severity=Severity.FAIL, place=place, reason=said)
            for place, said in (findings if groups.status is Status.FAILED else ())
        ),
    )


def _read_insiders(insiders: str) -> tuple[str, str]:
    """Return the word of the vocabulary, and the reason or the size of coalitions that follows it."""
    fields = insiders.fields if isinstance(insiders, Text) else {}
    return fields.get("word", insiders), fields.get("why", "")


def _singletons(audit: Audit, insiders: str) -> Row:
    """Return the row of contributors who are alone in a cell and know its value."""
    word, why = _read_insiders(insiders)
    found = audit.insiders
    if counts_units(audit.table):
        return _without_contributors("singletons")
    if word not in {"singletons", "contributors"} or found is None:
        return _no_insiders(audit, "singletons", word, why)
    if found.cells and word == "contributors":
        return Row(
            attacker="singletons",
            status=Status.NOT_DECIDED,
            reason="judged together with large contributors, who come too close to some cells",
        )
    return _insiders_row("singletons", audit, why)


def _contributors(audit: Audit, insiders: str) -> Row:
    """Return the row of large contributors, and coalitions if they were considered."""
    word, why = _read_insiders(insiders)
    found = audit.insiders
    if counts_units(audit.table):
        return _without_contributors("contributors")
    if (
        found is not None
        and word != "singletons"
        and (found.cells or found.undecided or word == "contributors")
    ):
        return _insiders_row("contributors", audit, why)
    return _no_insiders(audit, "contributors", word, why)


def _insiders_row(attacker: str, audit: Audit, why: str) -> Row:
    found = audit.insiders
    assert found is not None  # noqa: S101 - for the type checker; callers have looked
    together = isinstance(why, Text) and "n" in why.fields
    tried = Text("{n:,} contributors who know their own amounts", n=found.tried)
    who = join([tried, why if together else ""], "{first}, {second}")
    if found.undecided and not found.cells:
        return Row(
            attacker=attacker,
            status=Status.NOT_DECIDED,
            reason=Text(
                "{who} were tried; the work limit was reached with {n:,} of them open",
                who=who,
                n=found.undecided,
            ),
            fix="withhold more cells, those of several contributors, or give Insider a higher work_limit",
        )
    if not found.cells:
        return Row(attacker=attacker, status=Status.PASSED, reason=Text("{who} were tried", who=who))
    return Row(
        attacker=attacker,
        status=Status.FAILED,
        reason=Text(
            "{who} were tried; they come too close to {n:,} unsafe cells", who=who, n=len(found.cells)
        ),
        fix="withhold more cells, those of several contributors",
        findings=tuple(found.findings(audit.table.describe)),
    )


def _without_contributors(attacker: str) -> Row:
    return Row(
        attacker=attacker,
        status=Status.NOT_CONSIDERED,
        reason="in a table of counts each unit counts as one",
        applies=False,
    )


def _no_insiders(audit: Audit, attacker: str, word: str, why: str) -> Row:
    """Return the reason why contributors were not considered, with the option that considers them."""
    take = Text("insiders={attacker} (--insiders)", attacker=attacker)
    if isinstance(audit, AdjustedAudit):
        reason, fix = "values were adjusted; what contributors can undo is not considered", ""
    elif audit.table.contributors is None and not why:
        reason, fix = (
            "contributions are not known",
            Text("start from records: {arguments}", arguments=Arguments(value=..., unit=...)),
        )
    elif word == "singletons":
        reason, fix = Text("only contributors alone in a cell were tried"), take
    elif word == "none":
        reason, fix = join([Text("insiders=none"), why], "{first}, {second}"), take
    else:
        reason, fix = Text("only {word} were tried", word=word), take
    return Row(attacker=attacker, status=Status.NOT_CONSIDERED, reason=reason, fix=fix)


def _attributes(audit: Audit) -> Row:
    """Return the row of attributes of all members of a group."""
    need = audit.need
    asked = sorted(ATTRIBUTE_RULES & set(need.rules))
    if not asked and not len(need.attributions):
        return Row(
            attacker="attributes",
            status=Status.NOT_CONSIDERED,
            reason="no rule requires it",
            fix="add a rule: group_disclosure, direct_disclosure or k_disclosure",
            applies=False,
        )
    if not len(need.attributions) and not counts_units(audit.table):
        return Row(
            attacker="attributes",
            status=Status.NOT_CONSIDERED,
            reason="the rules on groups judge counts, and these values are not counts",
            fix="judge the table of counts as well",
        )
    failed, undecided, n, findings = _group_results(audit)
    if failed or undecided:
        return Row(
            attacker="attributes",
            status=Status.FAILED if failed else Status.NOT_DECIDED,
            reason=Text(
                "{n:,} of {total:,} groups: the published values show where all but a few of their people "
                "are",
                n=failed,
                total=n,
            )
            if failed
            else Text("{undecided:,} of {n:,} groups could not be decided exactly", undecided=undecided, n=n),
            fix="withhold another cell of each group" if failed else "round the values to fewer digits",
            findings=findings,
        )
    proved = n > 0 and audit.certificate is not None
    how = PROVED if proved else NO_CERTIFICATE
    return Row(
        attacker="attributes",
        status=Status.PROVED if proved else Status.PASSED,
        reason=join([Text("{n:,} groups", n=n), how]) if n else "no group of the true table is at risk",
    )


def _group_results(audit: Audit) -> tuple[int, int, int, tuple[Finding, ...]]:
    """Return how many groups are disclosed, how many are undecided, all of them, and the findings."""
    if isinstance(audit, AdjustedAudit):
        places = {audit.learnt.describe(audit.table.labels, int(i)) for i in np.flatnonzero(audit.given_away)}
        found = tuple(one for one in audit.findings if one.place in places)
        return int(audit.given_away.sum()), 0, len(audit.given_away), found
    groups = audit.groups
    if groups is None:
        return 0, 0, 0, ()
    first = audit.table.n_cells
    place = {int(cell) - first: number for number, cell in enumerate(groups.problem.cells.tolist())}
    undecided = sum(place[int(i)] in groups.proof.undecided for i in np.flatnonzero(~groups.safe))
    return groups.n_open - undecided, undecided, len(groups), tuple(groups.findings(audit.table.labels))


def _tables(why: str, audit: Audit, among_atoms: Sequence[Row], groups: DerivableGroups | None) -> Row:
    """Judge what tables show together: by the rows about a table that has their atoms, if it has them."""
    beside = None if isinstance(audit, AdjustedAudit) else audit.beside
    if beside is not None and not why:
        return _beside(beside.kind, audit)
    if among_atoms and not why:
        applying = [row for row in among_atoms if row.applies]
        status = max((row.status for row in applying), key=WORST_LAST.index)
        worst = next(row for row in applying if row.status is status)
        n = int(np.count_nonzero(audit.table.inner))
        held = Text("what can be derived from all tables was judged by {n:,} sets of records", n=n)
        why_not = "" if worst.holds else Text("{label}: {reason}", label=worst.label, reason=worst.reason)
        return Row(
            attacker="tables",
            status=status,
            reason=join([held, PROVED if status is Status.PROVED else why_not or NO_CERTIFICATE]),
            fix=worst.fix,
            findings=_combinations(audit, groups) if status is Status.FAILED else (),
        )
    if not why:
        return Row(
            attacker="tables",
            status=Status.NOT_CONSIDERED,
            reason="there is a single table",
            applies=False,
        )
    return Row(attacker="tables", status=Status.NOT_DECIDED, reason=why)


def _combinations(audit: Audit, groups: DerivableGroups | None) -> tuple[Finding, ...]:
    """Return what is disclosed by several tables: whose records, and by which published cells."""
    found: dict[str, Finding] = {}
    for each in (audit, *(groups.audits if groups is not None else ())):
        for cell, outcome in each.outcomes.items():
            if outcome not in {CellOutcome.SAFE, CellOutcome.UNDECIDED}:
                place = each.table.describe(cell)
                why = each.combination(cell) or TOO_FEW
                found.setdefault(
                    place,
                    Finding(severity=Severity.FAIL, place=place, reason=why, advice=WITHHOLD_ONE),
                )
    return tuple(found.values())


def _beside(kind: str, audit: Audit) -> Row:
    """Return the row of a release with another published measure, which its audit takes into account."""
    outcomes = set(audit.outcomes.values())
    if outcomes <= {CellOutcome.SAFE}:
        proved = audit.certificate is not None
        how = "the certificate proves it" if proved else "audited without a certificate"
        return Row(
            attacker="tables",
            status=Status.PROVED if proved else Status.PASSED,
            reason=Text(
                "audited together with the {kind} released with it; {how}", kind=Text(kind), how=Text(how)
            ),
        )
    decided = CellOutcome.UNDECIDED not in outcomes
    return Row(
        attacker="tables",
        status=Status.FAILED if decided else Status.NOT_DECIDED,
        reason=Text(
            "some unsafe cells are closer than required, or not decided, when combined with the {kind}",
            kind=Text(kind),
        ),
        fix="let a method choose the withheld cells of both tables: auto, optimal, circulation, greedy",
    )
