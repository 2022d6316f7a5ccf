from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.checks.submissions import session

from hitoku.checks.submission.recheck import Recheck, Rechecked, recheck
from hitoku.io.check_page import SIGNS, STYLE, page


@pytest.fixture
def check(tmp_path):
    return recheck(session().submit(tmp_path / "submission"))


def only(check, number, **changes):
    output = replace(check.outputs[number].output, **changes)
    return Recheck(
        submission=check.submission,
        policy=check.policy,
        outputs=(Rechecked(output=output, verdicts=check.outputs[number].verdicts),),
    )


def test_a_two_way_table_is_set_as_it_is_printed(check):
    html = page(only(check, 0))
    assert re.search(
        "<th>region \N{MULTIPLICATION SIGN} job</th>"
        r"(<th scope=\"col\">[abc]</th>){3}<th scope=\"col\">Total",
        html,
    )
    row = re.search(r'<tr><th scope="row">S</th>(.*?)</tr>', html)
    assert re.findall(r"<td[^>]*>(.*?)</td>", row.group(1)) == ["30", "30", "20", "80"]
    assert html.count("<i>x</i>") == check.outputs[0].output.published["count"].count(None)


def test_other_outputs_are_listed(check):
    html = page(only(check, 2))
    assert '<th scope="col">region</th><th scope="col">mean_income</th>' in html


@pytest.mark.parametrize(
    "published",
    [
        {"region": ["N"], "job": ["a", "b"], "count": []},
        {"region": ["N", "N"], "job": ["a", "a"], "count": [1, 2]},
        {"else": [1]},
        {},
    ],
)
def test_what_was_tampered_with_is_shown_somehow(check, published):
    assert "What would leave" in page(only(check, 0, published=published))


def test_every_status_has_a_word_and_a_sign_of_its_own(check):
    html = page(check)
    assert len(set(SIGNS.values())) == len(SIGNS)
    for status in re.findall(r'<td class="status (\w+)">', html):
        assert f'<td class="status {status}">{SIGNS[status]} {status}</td>' in html


def test_in_print_nothing_is_cut_off_and_every_output_has_its_page():
    printed = STYLE[STYLE.index("@media print") :]
    assert ".scroll { overflow: visible; }" in printed
    assert "section { break-before: page; }" in printed


def test_the_scope_is_told_and_never_safe(check):
    html = page(check)
    assert "tested through codes, this submission only; what only the data tell was not tested" in html
    assert "safe" not in re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
