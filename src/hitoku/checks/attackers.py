"""What the principles say about one output, as rows of a verdict: one per attacker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hitoku.checks.principles import Clearance, Principle, PrincipleVerdict, worst
from hitoku.messages import join
from hitoku.model import Row, Status, Verdict

# A principle that needs review is decided by a person, not by the program.
STATUSES = {
    Clearance.PASS: Status.PASSED,
    Clearance.REVIEW: Status.NOT_DECIDED,
    Clearance.FAIL: Status.FAILED,
}
# Verdicts on intervals that are about contributors who know their own amounts.
INSIDERS = ("insiders_kept_out", "open_to_insiders", "insiders_not_tried")


def output_verdict(
    verdicts: Sequence[PrincipleVerdict],
    *,
    ledger: bool,
    units: bool = True,
    against: Sequence[str] | None = None,
) -> Verdict:
    """Return the verdict on one output of a session or submission.

    Outputs are judged by principles, so that rows are passed and never proved. Attackers who know the method,
    and groups under dominance rules, have no row.

    Parameters
    ----------
    verdicts
        What the principles say about the output.
    ledger
        Whether it was compared with everything released before.
    units
        Whether it is known who is in its cells; otherwise outputs are compared through their codes.
    against
        Attackers that the colour depends on, ``policy.against``; None for all that the principles consider.

    Examples
    --------
    >>> few = PrincipleVerdict(
    ...     principle=Principle.UNITS, status=Clearance.FAIL, reason="too_few", text="3 units, 10 needed"
    ... )
    >>> verdict = output_verdict([few], ledger=False)
    >>> verdict.colour, verdict["outsider"].reason
    (<Colour.RED: 'red'>, '3 units, 10 needed')
    """
    inside = [each for each in verdicts if each.reason in INSIDERS]
    compared = [each for each in verdicts if each.principle is Principle.DIFFERENCING]
    about = {Principle.GROUP, Principle.DIFFERENCING}
    cells = [each for each in verdicts if each.principle not in about and each not in inside]
    groups = [each for each in verdicts if each.principle is Principle.GROUP]
    # What the output reveals by itself; and together with others, or how far that was tested.
    alone = [each for each in compared if _found(each) and each.numbers.get("outputs") == 1]
    together = [each for each in compared if each not in alone]
    stopped = [each for each in compared if each.status is Clearance.REVIEW and not _found(each)]
    through_codes = Row(
        attacker="groups",
        status=Status.NOT_DECIDED,
        reason="compared through codes; who is in the cells is not known",
        fix="check it with the data: --data",
        in_scope=True,
    )
    found = Verdict(
        (
            _row("outsider", cells),
            _searched("groups", compared, alone or stopped)
            if units or alone or not compared
            else through_codes,
            _row("singletons", inside),
            _row("contributors", [each for each in inside if each.numbers.get("largest")]),
            _row("attributes", groups),
            _searched("released", compared, together)
            if ledger or worst(together) is Clearance.FAIL
            else Row(
                attacker="released",
                status=Status.NOT_CONSIDERED,
                reason="without a ledger, outputs are compared with those of the same submission only",
                fix="give the ledger: --ledger, or Session(ledger=...)",
            ),
        )
    )
    if against is None:
        return found
    return Verdict(
        tuple(replace(row, in_scope=row.applies and row.attacker in against) for row in found.rows)
    )


def _found(verdict: PrincipleVerdict) -> bool:
    """Return whether a comparison found something, and does not only say how far it went."""
    return verdict.reason in {"small_group", "magnitude"}


def _row(attacker: str, verdicts: Sequence[PrincipleVerdict]) -> Row:
    """Return the row that some verdicts make; without any, the attacker does not exist for this output."""
    if not verdicts:
        why = "no principle concerns this attacker"
        return Row(attacker=attacker, status=Status.NOT_CONSIDERED, reason=why, applies=False)
    status = worst(verdicts)
    deciding = [each for each in verdicts if each.status is status]
    return Row(
        attacker=attacker,
        status=STATUSES[status],
        reason=join(dict.fromkeys(each.text for each in deciding)),
        # What would let more of the output pass is no remedy against an attacker who gets nothing.
        fix="" if status is Clearance.PASS else join(dict.fromkeys(each.remedy for each in deciding)),
        in_scope=True,
    )


def _searched(
    attacker: str,
    compared: Sequence[PrincipleVerdict],
    own: Sequence[PrincipleVerdict],
) -> Row:
    """Return the row of a search; ``own`` are those of its verdicts that are about this attacker."""
    if own:
        return _row(attacker, own)
    if compared:
        return Row(attacker=attacker, status=Status.PASSED, reason="searched, nothing found", in_scope=True)
    return Row(
        attacker=attacker,
        status=Status.NOT_CONSIDERED,
        reason="an output that fails is not compared with others",
        in_scope=True,
    )
