"""A request through both phases, over HTTP, and what must not be possible on the way."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
import sqlalchemy as sa
from tests.review.conftest import packed

from hitoku.checks.submission import recheck
from hitoku.review import differences, log, reading, replay, stored_state, verify_log


def text_of(response):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.text))


def to_phase_2(centre, number):
    assert centre.vote(number, "yui", ["approve"] * 3).status_code == 303
    assert centre.vote(number, "sota", ["approve"] * 3).status_code == 303
    assert centre.browser("yui").post(f"/requests/{number}/settle").status_code == 303
    assert centre.state(number) == "phase 2"


def test_request_is_reviewed_settled_and_decided(centre):
    number = centre.submit()
    assert centre.state(number) == "phase 1"
    to_phase_2(centre, number)
    haru = centre.browser("haru")
    assert haru.post(f"/requests/{number}/finish").status_code == 409  # nothing decided yet
    assert haru.post(f"/requests/{number}/approve-passing").status_code == 303
    assert haru.post(f"/requests/{number}/finish").status_code == 303
    assert centre.state(number) == "approved"


def test_votes_are_blind_until_all_are_frozen(centre):
    number = centre.submit()
    first = centre.outputs(number)[0]
    centre.browser("yui").post(
        f"/outputs/{first}/vote", data={"choice": "change", "text": "yui saw a small cell"}
    )
    sota = centre.browser("sota")
    for path in (f"/requests/{number}", f"/outputs/{first}"):
        page = sota.get(path).text
        assert "yui saw" not in page
        assert "Yui Tanaka" not in page
    assert centre.vote(number, "yui", ["change", "approve", "approve"]).status_code == 303
    assert "yui saw" not in sota.get(f"/requests/{number}").text  # frozen, but sota's own is not in
    assert centre.vote(number, "sota", ["approve"] * 3).status_code == 303
    page = sota.get(f"/requests/{number}").text
    assert "yui saw" in page
    assert "Votes differ on 1 output" in text_of(sota.get(f"/requests/{number}"))


def test_submitted_vote_cannot_be_changed(centre):
    number = centre.submit()
    assert centre.vote(number, "yui", ["approve"] * 3).status_code == 303
    first = centre.outputs(number)[0]
    assert centre.browser("yui").post(f"/outputs/{first}/vote", data={"choice": "change"}).status_code == 403
    with reading(centre.context.engine) as connection:
        choices = connection.scalars(sa.text("SELECT choice FROM vote")).all()
    assert choices == ["approve"] * 3


def test_incomplete_review_raises_with_reason(centre):
    number = centre.submit()
    yui = centre.browser("yui")
    first, second, third = centre.outputs(number)
    yui.post(f"/outputs/{first}/vote", data={"choice": "approve"})
    refused = yui.post(f"/requests/{number}/review")
    assert refused.status_code == 409
    assert "2 undecided" in text_of(refused)
    yui.post(f"/outputs/{second}/vote", data={"choice": "approve"})
    yui.post(f"/outputs/{third}/vote", data={"choice": "change"})
    assert "say why something must change" in text_of(yui.post(f"/requests/{number}/review"))


def test_third_reviewer_is_rejected(centre):
    number = centre.submit()
    for login in ("yui", "sota"):
        centre.vote(number, login, ["approve"] * 3)
    first = centre.outputs(number)[0]
    assert centre.browser("emi").post(f"/outputs/{first}/vote", data={"choice": "approve"}).status_code == 403


def test_disagreeing_reviewers_must_agree_first(centre):
    number = centre.submit()
    centre.vote(number, "yui", ["change", "approve", "approve"])
    centre.vote(number, "sota", ["approve"] * 3)
    yui = centre.browser("yui")
    assert yui.post(f"/requests/{number}/settle").status_code == 409
    first = centre.outputs(number)[0]
    assert yui.post(f"/requests/{number}/settle", data={f"choice-{first}": "approve"}).status_code == 303
    assert centre.state(number) == "phase 2"


def test_reviewer_cannot_decide(centre):
    number = centre.submit()
    centre.vote(number, "kai", ["approve"] * 3)
    centre.vote(number, "yui", ["approve"] * 3)
    centre.browser("yui").post(f"/requests/{number}/settle")
    first = centre.outputs(number)[0]
    assert (
        centre.browser("kai").post(f"/outputs/{first}/decision", data={"choice": "approve"}).status_code
        == 403
    )


def test_author_never_reviews_own_request(centre):
    number = centre.submit("kai")
    first = centre.outputs(number)[0]
    kai = centre.browser("kai")
    assert kai.post(f"/outputs/{first}/vote", data={"choice": "approve"}).status_code == 403
    to_phase_2(centre, number)
    assert kai.post(f"/outputs/{first}/decision", data={"choice": "approve"}).status_code == 403
    assert "Yui Tanaka" not in kai.get(f"/requests/{number}").text


def test_rejection_and_overriding_approval_need_a_reason(centre):
    number = centre.submit()
    to_phase_2(centre, number)
    haru = centre.browser("haru")
    first, second, third = centre.outputs(number)
    assert haru.post(f"/outputs/{first}/decision", data={"choice": "refuse"}).status_code == 409
    with centre.context.engine.begin() as connection:
        connection.execute(sa.text("UPDATE output SET status = 'review' WHERE id = :id"), {"id": second})
    assert haru.post(f"/outputs/{second}/decision", data={"choice": "approve"}).status_code == 409
    assert haru.post(f"/requests/{number}/approve-passing").status_code == 409
    facts = {"sampling_fraction": "0.05", "year": "1998", "seen-region": "hidden"}
    assert (
        haru.post(
            f"/outputs/{second}/decision", data={"choice": "approve", "reason": "old sample", **facts}
        ).status_code
        == 303
    )
    for place in (first, third):
        assert (
            haru.post(
                f"/outputs/{place}/decision", data={"choice": "refuse", "reason": "merge regions"}
            ).status_code
            == 303
        )
    assert haru.post(f"/requests/{number}/finish").status_code == 303
    assert centre.state(number) == "approved"
    page = centre.browser("ren").get(f"/outputs/{first}").text
    assert "merge regions" in page
    with reading(centre.context.engine) as connection:
        kept = connection.scalar(sa.text("SELECT facts FROM decision WHERE output = :id"), {"id": second})
    assert json.loads(kept) == {
        "sampling_fraction": 0.05,
        "year": 1998,
        "observability": {"region": "hidden"},
    }


def test_refusing_all_outputs_rejects_the_request(centre):
    number = centre.submit()
    to_phase_2(centre, number)
    haru = centre.browser("haru")
    for place in centre.outputs(number):
        haru.post(f"/outputs/{place}/decision", data={"choice": "refuse", "reason": "no"})
    assert haru.post(f"/requests/{number}/finish").status_code == 303
    assert centre.state(number) == "rejected"


def test_returning_requires_a_comment_for_the_researcher(centre):
    number = centre.submit()
    first = centre.outputs(number)[0]
    yui = centre.browser("yui")
    yui.post(f"/outputs/{first}/vote", data={"choice": "change", "text": "among us"})
    for place in centre.outputs(number)[1:]:
        yui.post(f"/outputs/{place}/vote", data={"choice": "approve"})
    yui.post(f"/requests/{number}/review")
    centre.vote(number, "sota", ["approve"] * 3)
    assert yui.post(f"/requests/{number}/return").status_code == 409
    yui.post(
        f"/requests/{number}/comments", data={"text": "merge N with S", "public": "yes", "output": str(first)}
    )
    ren = centre.browser("ren")
    assert "merge N with S" not in ren.get(f"/requests/{number}").text  # half a review is none
    assert yui.post(f"/requests/{number}/return").status_code == 303
    page = ren.get(f"/requests/{number}").text
    assert "merge N with S" in page
    assert "among us" not in page


@pytest.fixture
def resubmitted(centre, tmp_path):
    """A request in its second turn: one output changed, two did not."""
    number = centre.submit()
    centre.vote(number, "yui", ["change", "approve", "approve"])
    centre.vote(number, "sota", ["approve"] * 3)
    centre.browser("yui").post(f"/requests/{number}/return")
    source = centre.submission / "first-check"
    changed = tmp_path / "second-check"
    changed.mkdir()
    for path in source.iterdir():
        (changed / path.name).write_bytes(path.read_bytes())
    view = json.loads((changed / "000.json").read_text("utf-8"))
    column = list(view["published"])[-1]
    view["published"][column][0] = 21
    (changed / "000.json").write_text(json.dumps(view), "utf-8")
    summary = json.loads((changed / "summary.json").read_text("utf-8"))
    summary["outputs"][0]["digest"] = "f" * 64
    (changed / "summary.json").write_text(json.dumps(summary), "utf-8")
    sent = {"nonce": "second-turn"}
    files = {"submission": ("s.zip", packed(centre.submission / "first"), "application/zip")}
    ren = centre.browser("ren")
    for _ in range(2):  # a double click makes one turn
        answer = ren.post(f"/requests/{number}/turns", data=sent, files=files)
    assert answer.status_code in {303, 403}
    centre.check(number, changed)
    return number


def test_changed_output_loses_votes_others_keep_them(centre, resubmitted):
    number = resubmitted
    first, second, third = centre.outputs(number)
    with reading(centre.context.engine) as connection:
        rows = connection.execute(
            sa.text(
                "SELECT p.login, v.output FROM vote v JOIN review r ON r.id = v.review "
                "JOIN person p ON p.id = r.person WHERE v.output IN (:a, :b, :c) ORDER BY p.login, v.output"
            ),
            {"a": first, "b": second, "c": third},
        ).all()
        assert connection.scalar(sa.text("SELECT turn FROM request")) == 2
        assert connection.scalar(sa.text("SELECT count(*) FROM submission")) == 2
    assert [tuple(row) for row in rows] == [
        ("sota", second),
        ("sota", third),
        ("yui", second),
        ("yui", third),
    ]


def test_resubmission_shows_changed_cells(centre, resubmitted):
    first, second, _ = centre.outputs(resubmitted)
    page = text_of(centre.browser("yui").get(f"/outputs/{first}"))
    assert "Changed since turn 1 : 1 cell of the output" in page
    assert re.search(r"E, a +20 +21", page)
    assert "The same as in turn 1" in text_of(centre.browser("yui").get(f"/outputs/{second}"))


def test_state_can_be_replayed_from_the_log(centre, resubmitted):
    number = centre.submit(title="Another")
    to_phase_2(centre, number)
    haru = centre.browser("haru")
    haru.post(f"/requests/{number}/approve-passing")
    haru.post(f"/requests/{number}/finish")
    with reading(centre.context.engine) as connection:
        entries = list(log.entries(connection))
        told = replay(entries)
        assert told == stored_state(connection)
        assert differences(connection, entries) == []
    assert set(told.states) == {resubmitted, number}
    assert len(told.votes) == 6 + 4 + 6
    assert len(told.decisions) == 3
    # A vote that somebody put into the table shows.
    with centre.context.engine.begin() as connection:
        connection.execute(sa.text("UPDATE vote SET choice = 'change' WHERE output = 1"))
    assert verify_log(centre.context.engine)[1] == ["votes are not those of the log"]


def test_repeated_form_is_ignored(centre):
    number = centre.submit()
    yui = centre.browser("yui")
    for place in centre.outputs(number):
        for _ in range(2):
            assert yui.post(f"/outputs/{place}/vote", data={"choice": "approve"}).status_code == 303
    assert [yui.post(f"/requests/{number}/review").status_code for _ in range(2)] == [303, 303]
    with reading(centre.context.engine) as connection:
        events = [entry["event"] for entry in log.entries(connection, number)]
    assert events.count("vote") == 3
    assert events.count("review submitted") == 1


def test_request_can_be_claimed_and_unclaimed(centre):
    number = centre.submit()
    yui = centre.browser("yui")
    assert yui.post(f"/requests/{number}/claim").status_code == 303
    assert "Yui Tanaka" in centre.browser("sota").get("/queue").text
    assert "1 request;" in text_of(yui.get("/queue?claimed=mine"))
    assert yui.post(f"/requests/{number}/unclaim").status_code == 303
    assert "0 requests" in text_of(yui.get("/queue?claimed=mine"))


def test_request_can_be_withdrawn_before_decision(centre):
    number = centre.submit()
    ren = centre.browser("ren")
    assert ren.post(f"/requests/{number}/withdraw").status_code == 303
    assert centre.state(number) == "withdrawn"
    assert ren.post(f"/requests/{number}/withdraw").status_code == 403


def test_output_shows_one_row_per_attacker(centre):
    """The same words and rows as ``hitoku check``, for checkers and for the author."""
    number = centre.submit()
    outputs = centre.outputs(number)
    checked = recheck(centre.submission / "first")
    for login in ("yui", "ren"):
        for output, each in zip(outputs, checked.outputs, strict=True):
            verdict = checked.verdict_of(each)
            told = unescape(text_of(centre.browser(login).get(f"/outputs/{output}")))
            assert verdict.headline in told
            for row in verdict.rows:
                assert row.label in told
                assert row.reason in told


def test_layers_and_drawer_match_the_evidence(centre):
    """In N 3 of 100 have job c: withheld, and with N/b, E/b and E/c known to lie in intervals of 23."""
    number = centre.submit()
    first = centre.outputs(number)[0]
    yui = centre.browser("yui")
    assert ">3</td>" not in yui.get(f"/outputs/{first}").text
    assert ">3</td>" in yui.get(f"/outputs/{first}?layer=units").text
    told = text_of(yui.get(f"/outputs/{first}/cells/6"))
    assert "region=N, job=c" in told
    assert "3 units are behind it" in told
    assert "23 wide, 10 needed" in told
    assert yui.get(f"/outputs/{first}/cells/999").status_code == 422
    ren = centre.browser("ren")
    assert ">3</td>" not in ren.get(f"/outputs/{first}?layer=units").text
    assert ren.get(f"/outputs/{first}/cells/6").status_code == 403


def test_pages_follow_the_browser_language(centre):
    """Texts of templates, statuses and rows are translated; names of outputs and people are not."""
    output = centre.outputs(centre.submit())[0]
    with_header = {"accept-language": "ja,en;q=0.8"}
    browser = centre.browser("yui")
    japanese, english = (browser.get(f"/outputs/{output}", headers=each).text for each in (with_header, {}))
    assert '<html lang="ja">' in japanese
    assert '<html lang="en">' in english
    for text in ("待ち行列", "方針の原則", "自分の票"):
        assert text in japanese
        assert text not in english
    heading = re.compile("<h1>(.*?) ")
    assert heading.search(japanese)[1] == heading.search(english)[1]
    assert ">Queue<" in english
    assert ">Queue<" not in japanese
