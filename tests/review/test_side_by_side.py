"""What a checker sees beside the table: sums over outputs and over what has left, and charts as pictures."""

from __future__ import annotations

import json
import shutil

import pytest
import sqlalchemy as sa
from tests.checks.submissions import PEOPLE

from hitoku.review import checking

PNG = b"\x89PNG\r\n"


def test_difference_shows_both_tables_and_cells(after_a_release):
    folder, _ = after_a_release
    drawn = json.loads((folder / "found" / "sums.json").read_text("utf-8"))
    few = PEOPLE[(PEOPLE.region == "N") & (PEOPLE.job == "c")]
    [one] = [each for each in drawn if each["output"] == "without c"]
    assert one["units"] == len(few) == 3
    before, new = one["sides"]
    assert (before["place"], before["name"], new["place"]) == (None, "everybody", 0)
    # The cells are where the numbers stand that the sum is made of, and they add up to the group.
    view = json.loads((folder / "found" / "000.json").read_text("utf-8"))
    for side, shown in ((before, before["cells"]["shown"]), (new, view["cells"]["shown"])):
        assert {cell: shown[int(cell)] for cell in side["terms"]} == {
            cell: f"{term['units']:,}" for cell, term in side["terms"].items()
        }
    total = sum(
        int(term["times"]) * term["units"] for side in one["sides"] for term in side["terms"].values()
    )
    assert total == len(few)


def test_page_shows_tables_side_by_side(centre, after_a_release):
    folder, _ = after_a_release
    number = centre.submit(folder=folder / "second", checked=folder / "found")
    page = centre.browser("yui").get(f"/requests/{number}/pairs").text
    assert "released before" in page
    assert "in this submission" in page
    assert page.count('<b class="times">') == 2
    assert "</b> 100</td>" in page
    assert "</b> 97</td>" in page


def test_missing_earlier_file_keeps_verdicts_visible(centre, after_a_release, tmp_path):
    folder, _ = after_a_release
    shutil.copytree(folder / "found", tmp_path / "old")
    (tmp_path / "old" / "sums.json").unlink()
    number = centre.submit(folder=folder / "second", checked=tmp_path / "old")
    answer = centre.browser("yui").get(f"/requests/{number}/pairs")
    assert answer.status_code == 200
    assert "Results of the check" in answer.text


def test_histogram_has_picture_and_table_none(centre, after_a_release):
    folder, _ = after_a_release
    number = centre.submit(folder=folder / "second", checked=folder / "found")
    table, _, bars = centre.outputs(number)
    for login in ("yui", "ren"):
        answer = centre.browser(login).get(f"/outputs/{bars}/picture.png")
        assert answer.headers["content-type"] == "image/png"
        assert answer.content.startswith(PNG)
        assert f"/outputs/{bars}/picture.png" in centre.browser(login).get(f"/outputs/{bars}").text
    assert centre.browser("yui").get(f"/outputs/{table}/picture.png").status_code == 422
    assert "picture.png" not in centre.browser("yui").get(f"/outputs/{table}").text


def test_same_numbers_give_same_picture(after_a_release, tmp_path):
    folder, _ = after_a_release
    task = {"submission": str(folder / "second"), "out": str(tmp_path / "again")}
    checking.check(task, lambda *_: None)
    assert (tmp_path / "again" / "002.png").read_bytes() == (folder / "found" / "002.png").read_bytes()


def test_check_reports_progress_per_output(after_a_release):
    _, told = after_a_release
    names = ("without c", "jobs", "income bars")
    assert [said for _, _, said in told] == [
        "reading",
        *(f"judging {name}" for name in names),
        *(f"comparing {name} with everything released" for name in names),
        *(f"drawing {name}" for name in names),
    ]
    steps = told[1:]
    assert [done for done, _, _ in steps] == list(range(9))
    assert {total for _, total, _ in steps} == {9}


@pytest.fixture
def in_phase_2(centre):
    number = centre.submit()
    for login in ("yui", "sota"):
        centre.vote(number, login, ["approve"] * 3)
    centre.browser("yui").post(f"/requests/{number}/settle")
    return number


def decision(centre, place):
    with centre.context.engine.connect() as connection:
        return connection.execute(sa.text("SELECT * FROM decision WHERE output = :o"), {"o": place}).first()


def test_decision_with_cells_and_expiry_is_shown(centre, in_phase_2):
    haru = centre.browser("haru")
    place = centre.outputs(in_phase_2)[0]
    page = haru.get(f"/outputs/{place}").text
    # Of the nine inner cells, N and c has three people: it is withheld, and can be let go.
    cell = page.split('name="open-')[1].split('"')[0]
    assert "region=N, job=c" in page
    data = {"choice": "approve", "reason": "of 1920", "expires": "2999-12-31", "zeros": "region=S, job=x"}
    assert haru.post(f"/outputs/{place}/decision", data={**data, f"open-{cell}": "yes"}).status_code == 303
    made = decision(centre, place)
    assert made.expires == "2999-12-31"
    assert len(json.loads(made.cells)) == 1
    page = haru.get(f"/outputs/{place}").text
    for words in ("leaves although withheld: ", "until 2999-12-31", "empty by definition: region=S, job=x"):
        assert words in page


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"expires": "2001-01-01"}, "passed"),
        ({"expires": "tomorrow"}, "2027-03-31"),
        ({"open-9999": "yes"}, "not withheld"),
        ({"reason": ""}, "needs a reason"),
    ],
)
def test_invalid_decision_raises(centre, in_phase_2, wrong, word):
    haru = centre.browser("haru")
    place = centre.outputs(in_phase_2)[0]
    cell = haru.get(f"/outputs/{place}").text.split('name="open-')[1].split('"')[0]
    answer = haru.post(
        f"/outputs/{place}/decision",
        data={"choice": "approve", "reason": "r", f"open-{cell}": "yes", **wrong},
    )
    assert answer.status_code in {409, 422}
    assert word in answer.text
    assert decision(centre, place) is None
