"""The verdict's colour, refusal and headline follow from its rows."""

import pytest

from hitoku.errors import ParameterError
from hitoku.model.verdict import ATTACKERS, DEFAULT_SCOPE, Colour, Row, Status, Verdict, parse_scope


def verdict(**statuses):
    rows = [
        Row(attacker=name, status=status, in_scope=name in DEFAULT_SCOPE) for name, status in statuses.items()
    ]
    return Verdict(tuple(rows))


@pytest.mark.parametrize(
    ("statuses", "colour", "refused"),
    [
        pytest.param({"outsider": Status.PROVED}, Colour.GREEN, False, id="proved"),
        pytest.param({"outsider": Status.PASSED, "groups": Status.PROVED}, Colour.GREEN, False, id="passed"),
        pytest.param({"outsider": Status.PROVED, "groups": Status.FAILED}, Colour.RED, True, id="failed"),
        pytest.param(
            {"outsider": Status.PROVED, "groups": Status.NOT_DECIDED}, Colour.AMBER, True, id="not decided"
        ),
        pytest.param(
            {"outsider": Status.PROVED, "tables": Status.NOT_DECIDED}, Colour.AMBER, False, id="other tables"
        ),
        pytest.param(
            {"outsider": Status.PROVED, "singletons": Status.NOT_CONSIDERED},
            Colour.AMBER,
            False,
            id="insiders",
        ),
        pytest.param(
            {"outsider": Status.PROVED, "method": Status.FAILED}, Colour.GREEN, False, id="outside the scope"
        ),
    ],
)
def test_colour_and_refusal_follow_from_rows_in_scope(statuses, colour, refused):
    assert (verdict(**statuses).colour, verdict(**statuses).refused) == (colour, refused)


def test_row_that_does_not_apply_is_not_in_scope():
    rows = (
        Row(attacker="outsider", status=Status.PROVED, in_scope=True),
        Row(attacker="tables", status=Status.NOT_CONSIDERED, in_scope=True, applies=False),
    )
    assert Verdict(rows).colour is Colour.GREEN
    assert "tables" not in Verdict(rows).headline


def test_verdict_without_rows_in_scope_is_not_green():
    assert verdict(released=Status.PASSED).colour is Colour.AMBER


def test_headline_names_what_fails_outside_the_scope():
    said = verdict(outsider=Status.PROVED, method=Status.FAILED).headline
    assert said.startswith("Safe against outsiders who do not know the method.")
    assert "Outside the scope and not safe: attackers who know the method." in said


def test_headline_of_adjusted_values_does_not_say_safe():
    row = Row(attacker="outsider", status=Status.PROVED, in_scope=True)
    assert Verdict((row,), adjusted=True).headline.startswith("Moved far enough against outsiders")


def test_json_has_all_rows():
    rows = verdict(**dict.fromkeys(ATTACKERS, Status.PASSED)).as_dict()["rows"]
    assert [row["attacker"] for row in rows] == list(ATTACKERS)


@pytest.mark.parametrize("given", [["outsiders"], [], ["dominance"]])
def test_unknown_scope_raises(given):
    with pytest.raises(ParameterError):
        parse_scope(given)
