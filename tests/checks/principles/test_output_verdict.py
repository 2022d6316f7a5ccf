"""Principles' verdicts on an output as rows of a verdict: nothing is claimed that no principle says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.checks.submissions import PEOPLE

from hitoku.checks.policies import Policy, policy
from hitoku.checks.principles import Clearance, Principle, PrincipleVerdict, output_verdict
from hitoku.checks.session import Session
from hitoku.checks.submission import fault, recheck
from hitoku.model import Colour, Status


def said(principle, status=Clearance.PASS, reason="met", text="a sentence", **numbers):
    return PrincipleVerdict(principle=principle, status=status, reason=reason, text=text, numbers=numbers)


SEARCHED = said(Principle.DIFFERENCING, reason="nothing_found")


@pytest.mark.parametrize(
    ("principle", "attacker"),
    [
        (Principle.INDIVIDUAL_VALUE, "outsider"),
        (Principle.UNITS, "outsider"),
        (Principle.FREEDOM, "outsider"),
        (Principle.DOMINANCE, "outsider"),
        (Principle.INTERVAL, "outsider"),
        (Principle.GROUP, "attributes"),
    ],
)
@pytest.mark.parametrize(
    ("status", "result", "colour"),
    [
        (Clearance.PASS, Status.PASSED, Colour.GREEN),
        (Clearance.REVIEW, Status.NOT_DECIDED, Colour.AMBER),
        (Clearance.FAIL, Status.FAILED, Colour.RED),
    ],
)
def test_principle_decides_the_row_of_its_attacker(principle, attacker, status, result, colour):
    verdict = output_verdict([SEARCHED, said(principle, status)], ledger=True)
    assert verdict[attacker].status is result
    assert verdict[attacker].reason == "a sentence"
    assert verdict.colour is colour


def test_failing_principle_fails_its_row():
    """A principle that fails makes some row fail, whichever it is."""
    for principle in Principle:
        assert output_verdict([said(principle, Clearance.FAIL)], ledger=False).colour is Colour.RED, principle


def test_worst_principle_decides_a_row():
    verdicts = [said(Principle.UNITS), said(Principle.INTERVAL, Clearance.FAIL, text="too narrow")]
    row = output_verdict(verdicts, ledger=True)["outsider"]
    assert (row.status, row.reason) == (Status.FAILED, "too narrow")


@pytest.mark.parametrize(
    ("outputs", "attacker", "other"), [(1, "groups", "released"), (2, "released", "groups")]
)
def test_small_group_is_reported_for_its_outputs(outputs, attacker, other):
    found = said(Principle.DIFFERENCING, Clearance.FAIL, "small_group", "3 units", outputs=outputs)
    verdict = output_verdict([said(Principle.UNITS), found], ledger=True)
    assert verdict[attacker].status is Status.FAILED
    assert verdict[other].status is Status.PASSED


def test_failing_difference_is_in_scope_without_a_ledger():
    found = said(Principle.DIFFERENCING, Clearance.FAIL, "small_group", "3 units", outputs=2)
    assert output_verdict([found], ledger=False).colour is Colour.RED


def test_stopped_search_is_not_decided():
    stopped = said(Principle.DIFFERENCING, Clearance.REVIEW, "limit_of_work", "stopped")
    verdict = output_verdict([said(Principle.UNITS), stopped], ledger=True)
    assert {verdict[name].status for name in ("groups", "released")} == {Status.NOT_DECIDED}


def test_verdict_without_units_leaves_groups_undecided():
    verdict = output_verdict([said(Principle.UNITS), SEARCHED], ledger=True, units=False)
    assert verdict["groups"].status is Status.NOT_DECIDED


def test_without_a_ledger_earlier_releases_are_not_considered():
    verdict = output_verdict([said(Principle.UNITS), SEARCHED], ledger=False)
    assert verdict["released"].status is Status.NOT_CONSIDERED
    assert not verdict["released"].in_scope
    assert "Not considered: earlier releases." in verdict.headline


def test_output_that_was_not_compared_is_not_green():
    verdict = output_verdict([said(Principle.UNITS)], ledger=True)
    assert verdict["groups"].status is verdict["released"].status is Status.NOT_CONSIDERED
    assert verdict.colour is Colour.AMBER


@pytest.mark.parametrize(
    ("largest", "contributors"),
    [pytest.param(1, True, id="sole and largest"), pytest.param(0, False, id="sole alone")],
)
def test_contributors_have_separate_rows(largest, contributors):
    inside = said(Principle.INTERVAL, Clearance.REVIEW, "open_to_insiders", largest=largest)
    verdict = output_verdict([said(Principle.INTERVAL), inside, SEARCHED], ledger=True)
    assert verdict["outsider"].status is Status.PASSED
    assert verdict["singletons"].status is Status.NOT_DECIDED
    assert verdict["contributors"].applies is contributors


def test_session_lists_the_verdict_of_every_output():
    work = Session("wages", PEOPLE, unit="id")
    made = work.frequency_table(by=["region", "job"], name="jobs")
    verdict = work.verdict("jobs")
    assert verdict.headline == work.verdict(made).headline
    assert f"      {verdict}" in str(work).splitlines()
    assert verdict["outsider"].status is Status.PASSED


def test_broken_output_claims_nothing(tmp_path):
    work = Session("wages", PEOPLE, unit="id")
    work.frequency_table(by=["region"], name="regions")
    folder = work.submit(tmp_path / "submission")
    checked = recheck(folder)
    (each,) = checked.outputs
    told = checked.to_dict()["outputs"][0]["verdict"]
    assert told == checked.verdict_of(each).as_dict()
    assert told["colour"] == "amber"
    assert checked.verdict_of(broken(each)).headline == "Nothing is claimed."


def broken(each):
    wrong = fault("regions", "not as it was written", "ask for it again")
    return replace(each, findings=(wrong,))


def test_policy_names_attackers_that_decide_the_colour():
    few = said(Principle.UNITS, Clearance.FAIL)
    assert output_verdict([few, SEARCHED], ledger=True).colour is Colour.RED
    narrow = output_verdict([few, SEARCHED], ledger=True, against=("released",))
    assert narrow.colour is Colour.GREEN
    assert narrow.scope == (narrow["released"],)
    assert "Outside the scope and not safe: outsiders" in narrow.headline


def test_policy_has_a_scope():
    own = policy("japan-2017")
    given = own.model_dump(exclude_none=True)
    assert own.against is None
    narrow = Policy.model_validate(given | {"against": ["released", "outsider"]})
    assert narrow.against == ("outsider", "released")
    assert narrow.hash != own.hash
    assert Policy.model_validate(given).hash == own.hash
    work = Session("study", PEOPLE, policy=narrow)
    shown = work.verdict(work.frequency_table(["region"]))
    assert {row.attacker for row in shown.rows if row.in_scope} <= {"outsider", "released"}
    with pytest.raises(ValueError, match="no attacker 'outsiders'"):
        Policy.model_validate(given | {"against": ["outsiders"]})
