from __future__ import annotations

import pytest

from hitoku.io.argus import Few, Remainder, RequestRule, Safety, Share, parse_safety


def parsed(text: str) -> tuple[Safety, list[str]]:
    problems: list[str] = []
    return parse_safety(text, lambda what, _fix: problems.append(what)), problems


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", Safety(), id="nothing: statuses come from the file"),
        pytest.param("P(15,1)", Safety(p=(Remainder(15, 100, 1, False),)), id="p% of one intruder"),
        pytest.param("P(15)", Safety(p=(Remainder(15, 100, 1, False),)), id="one intruder by default"),
        pytest.param("P(20,60,2)", Safety(p=(Remainder(20, 60, 2, False),)), id="prior and posterior"),
        pytest.param("nk(1,75)", Safety(nk=(Share(1, 75, False),)), id="small letters"),
        pytest.param(
            "NK(2,75)|NK(0,0)|NK(1,60)|NK(3,90)",
            Safety(nk=(Share(2, 75, False), Share(1, 60, True), Share(3, 90, True))),
            id="the third and fourth place are holdings, zeros fill a place",
        ),
        pytest.param(
            "FREQ(3,30) | FREQ(2,10)",
            Safety(freq=(Few(3, 30, False), Few(2, 10, True))),
            id="the second frequency is of holdings",
        ),
        pytest.param("REQ(50,70,3,20)", Safety(req=(RequestRule(50, 70, 3, 20, False),)), id="four numbers"),
        pytest.param(
            "ZERO(5)|MAN(25)|WGT(1)|MIS(1)",
            Safety(zero=5, manual=25, weighted=True, missing_safe=True),
            id="switches",
        ),
    ],
)
def test_rules_are_read(text, expected):
    assert parsed(text) == (expected, [])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Q(3)", "'Q(3)' is not a rule"),
        ("P15", "'P15' is not a rule"),
        ("P(a)", "P takes 1 or 2 or 3 numbers, none below zero"),
        ("NK(1)", "NK takes 2 numbers, none below zero"),
        ("FREQ(-1,2)", "FREQ takes 2 numbers, none below zero"),
        ("P(60,50,1)", "P requires p below q, both in percent up to 100"),
        ("NK(1,175)", "NK requires a share above 0 and up to 100 percent"),
        ("FREQ(2.5,10)", "FREQ counts contributors with a number that is not whole"),
        ("WGT(2)", "WGT is a switch"),
        ("MAN(1)|MAN(2)", "MAN stands more than 1 time(s)"),
        ("REQ(50,170,3,20)", "REQ requires more than 100 percent"),
        ("FREQ(nan,20)", "FREQ takes 2 numbers, none below zero"),
        ("NK(inf,75)", "NK takes 2 numbers, none below zero"),
        ("P(10,1e9)", "P counts more than 1,000,000 contributors"),
        ("ZERO(0)", "ZERO requires a range above zero"),
    ],
)
def test_invalid_rule_raises(text, what):
    assert parsed(text)[1] == [what]


@pytest.mark.parametrize(("text", "top"), [("FREQ(3,1)", 1), ("P(10,2)", 3), ("P(10,1)|NK(4,50)", 4)])
def test_safety_rule_sets_number_of_top_contributions(text, top):
    assert parsed(text)[0].top == top
