"""The verdict's colour, refusal and headline follow from its rows."""

from itertools import combinations

import pytest

from hitoku.errors import ParameterError
from hitoku.model import ATTACKERS, DEFAULT_SCOPE, SCOPES, Colour, Row, Status, Verdict, parse_scope


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


HOLDS, OPEN, FAILED = Status.PASSED, Status.NOT_CONSIDERED, Status.FAILED
UNDECIDED = Status.NOT_DECIDED
SECRET, KNOWN = "as long as the method is secret", "even if the method is known"


@pytest.mark.parametrize(
    ("statuses", "scope", "headline"),
    [
        pytest.param({"outsider": HOLDS}, None, f"Safe against outsiders {SECRET}.", id="one"),
        pytest.param({"groups": HOLDS}, None, f"Safe against derivable groups {SECRET}.", id="no person"),
        pytest.param(
            {"outsider": HOLDS, "attributes": HOLDS},
            None,
            f"Safe against outsiders and attribute disclosure {SECRET}.",
            id="two",
        ),
        pytest.param(
            {"outsider": HOLDS, "groups": HOLDS, "singletons": HOLDS, "released": OPEN},
            None,
            f"Safe against outsiders, derivable groups and single contributors {SECRET}."
            " Not considered: earlier releases.",
            id="three and one outside the scope",
        ),
        pytest.param(
            {"outsider": HOLDS, "singletons": HOLDS, "contributors": HOLDS},
            ("outsider", "singletons", "contributors"),
            f"Safe against outsiders, single contributors and large or colluding contributors {SECRET}.",
            id="coalitions",
        ),
        pytest.param(
            {"outsider": HOLDS, "attributes": HOLDS, "method": HOLDS},
            ("outsider", "attributes", "method"),
            f"Safe against outsiders and attribute disclosure, {KNOWN}.",
            id="known method",
        ),
        pytest.param(
            {"outsider": OPEN, "method": HOLDS},
            ("outsider", "method"),
            "Safe against attackers who know the method. Not considered: outsiders.",
            id="known method alone",
        ),
        pytest.param(
            {"outsider": HOLDS, "method": OPEN},
            ("outsider", "method"),
            f"Safe against outsiders {SECRET}. Not considered: attackers who know the method.",
            id="known method open",
        ),
        pytest.param(
            {"outsider": HOLDS, "method": OPEN}, None, f"Safe against outsiders {SECRET}.", id="said already"
        ),
        pytest.param(
            {"outsider": HOLDS, "method": FAILED},
            None,
            f"Safe against outsiders {SECRET}."
            " Outside the scope and not safe: attackers who know the method.",
            id="fails outside the scope",
        ),
        pytest.param(
            {"outsider": HOLDS, "tables": UNDECIDED, "released": OPEN},
            None,
            f"Safe against outsiders {SECRET}. Not decided: differencing between the tables of this recipe."
            " Not considered: earlier releases.",
            id="tables",
        ),
        pytest.param(
            {"outsider": HOLDS, "tables": HOLDS, "released": HOLDS},
            ("outsider", "tables", "released"),
            "Safe against outsiders, differencing between the tables of this recipe and earlier releases"
            f" {SECRET}.",
            id="tables and releases hold",
        ),
        pytest.param(
            {"outsider": UNDECIDED, "groups": OPEN},
            None,
            "Nothing is claimed. Not decided: outsiders. Not considered: derivable groups.",
            id="nothing holds",
        ),
        pytest.param(
            {"outsider": HOLDS, "groups": FAILED, "attributes": FAILED},
            None,
            "Not safe: derivable groups of units; attribute disclosure (group, direct).",
            id="two fail",
        ),
    ],
)
def test_headline_is_a_sentence(statuses, scope, headline):
    scope = DEFAULT_SCOPE if scope is None else scope
    rows = tuple(
        Row(attacker=name, status=status, in_scope=name in scope) for name, status in statuses.items()
    )
    assert Verdict(rows).headline == headline
    moved = headline.replace("Safe against", "Moved far enough to protect against")
    assert Verdict(rows, adjusted=True).headline == moved.replace("Not safe", "Not moved far enough", 1)


@pytest.mark.parametrize("n", range(1, len(SCOPES) + 1))
def test_headline_names_each_attacker_in_scope_once(n):
    for chosen in combinations(SCOPES, n):
        rows = tuple(Row(attacker=name, status=HOLDS, in_scope=True) for name in chosen)
        headline = Verdict(rows).headline
        named = [name for name in chosen if ATTACKERS[name][1] in headline]
        assert named == [name for name in chosen if name != "method" or n == 1]
        assert (KNOWN in headline, SECRET in headline) == (
            "method" in chosen and n > 1,
            "method" not in chosen,
        )


def test_json_has_all_rows():
    rows = verdict(**dict.fromkeys(ATTACKERS, Status.PASSED)).as_dict()["rows"]
    assert [row["attacker"] for row in rows] == list(ATTACKERS)


@pytest.mark.parametrize("given", [["outsiders"], [], ["dominated"]])
def test_unknown_scope_raises(given):
    with pytest.raises(ParameterError):
        parse_scope(given)
