from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

import pytest
from tests.checks.submissions import session

from hitoku.checks import Decision
from hitoku.checks.evidence import Unreadable
from hitoku.checks.principles import Principle
from hitoku.checks.submission import Recheck, Rechecked, recheck
from hitoku.io import SIGNS, page
from hitoku.model import Finding, Severity


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


def test_two_way_output_is_shown_crossed(check):
    html = page(only(check, 0))
    assert re.search(
        "<th>region \N{MULTIPLICATION SIGN} job</th>"
        r"(<th scope=\"col\">[abc]</th>){3}<th scope=\"col\">Total",
        html,
    )
    row = re.search(r'<tr><th scope="row">S</th>(.*?)</tr>', html)
    assert re.findall(r"<td[^>]*>(.*?)</td>", row.group(1)) == ["30", "30", "20", "80"]
    assert html.count("<i>x</i>") == check.outputs[0].output.published["count"].count(None)


@pytest.mark.parametrize(
    ("lang", "said"),
    [("en", "by N. Mori, 2026-11-16 21:05 UTC,"), ("ja", "2026年11月16日 21:05(協定世界時)")],
)
def test_submission_time_follows_the_language(check, lang, said):
    submitted = replace(check.submission, researcher="N. Mori", written="2026-11-17T06:05:53+09:00")
    html = page(replace(check, submission=submitted), lang=lang)
    assert said in html
    assert "2026-11-17T" not in html


def test_invalid_time_is_shown_escaped(check):
    assert "yesterday &lt;b&gt;" in page(
        replace(check, submission=replace(check.submission, written="yesterday <b>"))
    )


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
def test_tampered_submission_is_rendered(check, published):
    assert "Output to release" in page(only(check, 0, published=published))


def test_every_status_has_text_and_unique_sign(check):
    html = page(check)
    assert len(set(SIGNS.values())) == len(SIGNS)
    found = re.findall(r'<td class="status (\w+)">', html)
    assert found
    for status in found:
        assert f'<td class="status {status}">{SIGNS[status]} {status}</td>' in html


def test_printed_outputs_are_complete_and_unbroken(check):
    html = page(check)
    printed = html[html.index("@media print") : html.index("</style>")]
    assert ".scroll { overflow: visible;" in printed
    assert ".output { break-inside: avoid; }" in printed
    assert html.count('<section class="output"') == len(check.outputs)


def test_scope_is_printed_and_never_safe(check):
    html = page(check)
    assert "tested through codes, this submission only; not tested with the data" in html
    assert "safe" not in re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7*7 }}\x1b[31m"


def test_submission_texts_are_escaped(check):
    """Whatever field a forger writes into, it is shown as the text it is."""
    first = check.outputs[0]
    verdict = replace(first.verdicts[0], reason=HOSTILE, text=HOSTILE, remedy=HOSTILE)
    output = replace(
        first.output,
        name=HOSTILE,
        kind=HOSTILE,
        definition={HOSTILE: HOSTILE, "by": [HOSTILE]},
        where={HOSTILE: [HOSTILE]},
        evidence=Unreadable(reason=HOSTILE),
        published={HOSTILE: [HOSTILE, None, 3.0]},
        verdicts=(verdict,),
    )
    finding = Finding(severity=Severity.FAIL, place=HOSTILE, reason=HOSTILE, advice=HOSTILE)
    decision = Decision(
        output=HOSTILE,
        decision="release",
        principle=Principle.UNITS,
        who=HOSTILE,
        when=date(2026, 1, 2),
        reason=HOSTILE,
    )
    forged = Recheck(
        submission=replace(
            check.submission, name=HOSTILE, data=HOSTILE, version=HOSTILE, outputs=(output,), stems=(HOSTILE,)
        ),
        policy=check.policy.model_copy(update={"name": HOSTILE, "version": HOSTILE}),
        outputs=(Rechecked(output=output, verdicts=(verdict,), findings=(finding,), decisions=(decision,)),),
        findings=(finding,),
        unused=(decision,),
        scope=HOSTILE,
    )
    html = page(forged)
    assert "<script" not in html
    assert "<img" not in html
    places = html.count("&lt;script&gt;alert(1)&lt;/script&gt;")
    # Nor is it taken for a part of the template; it is in many places.
    assert html.count("{{ 7*7 }}") == places > 25
    # A crossed table shows its codes in other places.
    columns = first.output.published
    codes = {name: [HOSTILE, *column[1:]] for name, column in columns.items()}
    html = page(only(check, 0, published=codes))
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    # Evidence that cannot be read has no cells to open, no notes and no attackers; all else is there.
    tags = set(re.findall(r"<(\w+)", page(check))) | {"ul", "li"}
    assert set(re.findall(r"<(\w+)", page(forged))) == tags - {"br", "details", "small", "summary"}


def test_notebook_repr_escapes_the_name(check):
    shown = replace(check.outputs[0].output, name=HOSTILE)._repr_html_()
    assert "<script" not in shown
    assert "<img" not in shown
    assert "&lt;script&gt;" in shown


def test_check_page_allows_no_script(check):
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page(check))[1]
    assert policy.startswith("default-src &#39;none&#39;;")
    assert "script-src" not in policy
    assert "unsafe" not in policy


def test_box_is_green_only_without_open_attacker(check):
    """Compared through codes, derivable groups are not decided although every principle passes."""
    passing = only(check, 0)
    assert passing.ok
    html = page(passing)
    assert 'class="verdict review"' in html
    assert "all checks passed; an attacker in scope was not decided" in html
    narrow = passing.policy.model_copy(update={"against": ("outsider", "attributes")})
    assert 'class="verdict good"' in page(replace(passing, policy=narrow))
