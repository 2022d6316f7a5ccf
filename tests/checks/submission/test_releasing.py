"""What leaves, by whose word, and what the ledger and the receipt say about it."""

from __future__ import annotations

import csv
import hashlib
import json
from datetime import UTC, date, datetime

import pandas as pd
import pytest
from tests.checks.submissions import PEOPLE, resealed, session
from tests.raising import raises

from hitoku.checks import Decision
from hitoku.checks.ledger import Receipt, init, read_store, receipts, verify_store
from hitoku.checks.session import Session
from hitoku.checks.submission import OutputState, recheck, release, write_released

TWO = ("M. Sato", "A. Ito")
DAY = date(2026, 11, 16)


def decided(output, principle=None, decision="release", **more):
    given = {"who": "M. Sato", "when": DAY, "reason": "known to everybody", **more}
    return Decision(output=output, principle=principle, decision=decision, **given)


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "wages.ledger"
    init(path, policy="japan-2017", unit="id")
    return path


def made(name="wages", **options):
    return Session(name, PEOPLE, unit="id", researcher="R. Kimura", **options)


def let_go(folder, ledger, *decisions, **options):
    given = {"data": PEOPLE, "checkers": TWO, **options}
    return release(folder, ledger=ledger, decisions=decisions, **given)


@pytest.mark.parametrize(
    ("checkers", "code"),
    [
        pytest.param(("M. Sato", "M.Sato"), "too_few_checkers", id="one in two ways"),
        pytest.param(("M. Sato", "SATO, M."), "too_few_checkers", id="the other way round"),
        pytest.param(("M. Sato", " . "), "too_few_checkers", id="nobody"),
        pytest.param(("M. Sato", "R.Kimura"), "submitter_cannot_release", id="the researcher"),
    ],
)
def test_spellings_of_one_checker_count_once(tmp_path, ledger, checkers, code):
    work = made()
    work.mean("income", by="region")
    with raises(code):
        let_go(work.submit(tmp_path / "s"), ledger, checkers=checkers)


def rows(folder, name):
    return list(csv.DictReader((folder / name).read_text("utf-8").splitlines()))


def test_passing_outputs_are_released_with_receipt(tmp_path, ledger):
    folder = session(researcher="R. Kimura").submit(tmp_path / "submission")
    now = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)
    done = let_go(folder, ledger, now=now)
    assert done.folder == tmp_path / "submission-released"
    receipt = done.receipt
    assert (receipt.number, receipt.researcher, receipt.checkers) == (1, "R. Kimura", TWO)
    assert receipt.released == "2026-11-16T09:30:00+00:00"
    assert (receipt.unit, receipt.stayed, receipt.policy["name"]) == ("id", {}, "japan-2017")
    assert [each.name for each in receipt.outputs] == ["people", "incomes", "means"]
    written = {path.name: path.read_bytes() for path in done.folder.iterdir()}
    listed = {name: digest for each in receipt.outputs for name, digest in each.files.items()}
    assert {name: hashlib.sha256(written[name]).hexdigest() for name in listed} == listed
    assert set(written) == {*listed, "receipt.json", "receipt.txt"}
    # What leaves is what was in public/: nothing was withheld that needed a word.
    assert written["01-people.csv"] == (folder / "public" / "01-people.csv").read_bytes()
    assert Receipt.from_dict(json.loads(written["receipt.json"]), receipt.head) == receipt
    assert receipts(ledger) == (receipt,)
    assert verify_store(ledger, receipt.head)[-1].head == receipt.head
    assert b"M. Sato, A. Ito" in written["receipt.txt"]


def test_repeated_release_is_idempotent(tmp_path, ledger):
    folder = session().submit(tmp_path / "submission")
    first, second = let_go(folder, ledger), let_go(folder, ledger)
    assert (first.again, second.again) == (False, True)
    assert second.receipt == first.receipt
    assert [each.state for each in second.check.outputs] == [OutputState.RELEASED] * 3
    assert len(read_store(ledger).of("output")) == 3


def test_lost_release_folder_is_restored(tmp_path, ledger):
    folder = session().submit(tmp_path / "submission")
    first = let_go(folder, ledger)
    before = {path.name: path.read_bytes() for path in first.folder.iterdir()}
    first.folder.rename(tmp_path / "moved")
    again = let_go(folder, ledger)
    assert {path.name: path.read_bytes() for path in again.folder.iterdir()} == before
    write_released(ledger, 1, tmp_path / "third")
    assert {path.name: path.read_bytes() for path in (tmp_path / "third").iterdir()} == before
    with raises("unknown_receipt", number=2):
        write_released(ledger, 2, tmp_path / "fourth")


def test_released_submission_can_be_rechecked(tmp_path, ledger):
    folder = session().submit(tmp_path / "submission")
    let_go(folder, ledger)
    for data in (None, PEOPLE):
        check = recheck(folder, ledger=ledger, data=data)
        assert check.ok
        assert [(each.state, each.receipt) for each in check.outputs] == [(OutputState.RELEASED, 1)] * 3


def test_resubmission_keeps_its_names(tmp_path, ledger):
    let_go(session().submit(tmp_path / "first"), ledger)
    work = made()
    work.frequency_table(by=["region", "job"], name="people")
    work.mean("income", by="job", name="more")
    done = let_go(work.submit(tmp_path / "second"), ledger)
    assert [each.name for each in done.receipt.outputs] == ["people", "more"]
    names = [body["name"] for body in read_store(ledger).of("output")]
    assert names == ["people", "incomes", "means", "people #2", "more"]


@pytest.fixture
def mixed(tmp_path):
    """Two outputs that pass, one that needs review, one that fails."""
    work = made()
    work.frequency_table(by=["region", "job"], name="people")
    work.summary("min", "income", structural=True, name="lowest")
    work.summary("max", "income", name="top")
    work.mean("income", by="region", name="means")
    assert [str(each.status) for each in work.outputs] == ["pass", "review", "fail", "pass"]
    return work.submit(tmp_path / "mixed")


def test_release_folder_contains_only_passing_outputs(mixed):
    names = sorted(path.stem for path in (mixed / "public").iterdir())
    assert names == ["01-people", "01-people", "04-means", "04-means"]


def test_undecided_output_blocks_the_release(mixed, ledger):
    before = ledger.read_bytes()
    done = let_go(mixed, ledger)
    assert done.receipt is None
    assert "lowest (individual_value review)" in done.blocked
    assert "top (individual_value fail)" in done.blocked
    assert not mixed.with_name("mixed-released").exists()
    assert ledger.read_bytes() == before


def test_partial_release_is_completed_later(mixed, ledger):
    first = let_go(mixed, ledger, partial=True)
    assert [each.name for each in first.receipt.outputs] == ["people", "means"]
    assert set(first.receipt.stayed) == {"lowest", "top"}
    reasons = (decided("lowest"), decided("top", decision="refuse", reason="it is somebody's income"))
    second = let_go(mixed, ledger, *reasons)
    assert [each.name for each in second.receipt.outputs] == ["lowest"]
    assert "it is somebody's income" in second.receipt.stayed["top"]
    assert second.folder.name == "mixed-released-2"
    assert second.receipt.previous != second.receipt.head
    assert "known to everybody" in second.receipt.outputs[0].decisions[0]
    third = let_go(mixed, ledger, *reasons)
    assert (third.again, third.receipt) == (True, second.receipt)
    assert [body["name"] for body in read_store(ledger).of("output")] == ["people", "means", "lowest"]


def test_incomplete_comparison_needs_a_decision(tmp_path, ledger, monkeypatch):
    work = made()
    work.frequency_table(by="region", name="regions")
    work.frequency_table(by="job", name="jobs")
    folder = work.submit(tmp_path / "long")
    monkeypatch.setattr("hitoku.attacks.differencing.comparing.MAX_DERIVED", 0)
    monkeypatch.setattr("hitoku.attacks.differencing.atoms.MAX_TOGETHER", 1)
    done = let_go(folder, ledger, decided("regions", "differencing"), partial=True)
    assert [each.name for each in done.receipt.outputs] == ["regions"]
    assert set(done.receipt.stayed) == {"jobs"}
    jobs = done.check.outputs[1]
    assert (jobs.row["differencing"], jobs.state) == ("review", OutputState.UNDECIDED)
    later = let_go(folder, ledger, decided("jobs", "differencing"), partial=True)
    assert [each.name for each in later.receipt.outputs] == ["jobs"]


def test_exception_releases_named_numbers(mixed, ledger):
    for cells, shown in (((), "x"), (({},), "56.0"), ("all", "56.0")):
        word = decided("top", "individual_value", cells=cells)
        check = recheck(mixed, data=PEOPLE, ledger=ledger, decisions=[word])
        top = check.outputs[2]
        assert (top.status, top.state) == ("exception granted", OutputState.RELEASABLE)
        assert str(top.output.published["max_income"][0] or "x") == shown
    done = let_go(mixed, ledger, word, partial=True)
    assert PEOPLE.income.max() == 56.0
    assert rows(done.folder, "03-top.csv") == [{"max_income": "56.0"}]


def test_decision_releases_one_cell(tmp_path, ledger):
    work = made()
    work.frequency_table(by=["region", "job"], name="people")
    folder = work.submit(tmp_path / "submission")
    cell = {"region": "N", "job": "c"}
    word = decided("people", "units", cells=[cell])
    (found,) = recheck(folder, ledger=ledger, data=PEOPLE, decisions=[word]).outputs
    assert found.opened == 1
    assert (found.row["units"], found.row["interval"], found.state) == (
        "exception granted",
        "exception granted",
        OutputState.RELEASABLE,
    )
    done = let_go(folder, ledger, word)
    shown = {(row["region"], row["job"]): row["count"] for row in rows(done.folder, "01-people.csv")}
    assert shown["N", "c"] == "3"
    # The ledger knows that it left: the same cell again gives nothing new away, one person less does.
    (entry,) = read_store(ledger).of("output")
    assert 3 in entry["parts"][0]["sizes"]


def test_decision_covers_only_its_cells(tmp_path, ledger):
    people = pd.DataFrame(
        {
            "id": range(66),
            "region": ["N"] * 40 + ["S"] * 20 + ["W"] * 4 + ["E"] * 2,
            "income": 10.0 + pd.Series(range(66)) % 7,
        }
    )
    work = Session("few", people, unit="id")
    work.mean("income", by="region", name="means")
    folder = work.submit(tmp_path / "submission")

    def state(*words):
        (found,) = recheck(folder, data=people, ledger=ledger, decisions=words).outputs
        return found.state

    small, smaller = [{"region": "W"}], [{"region": "E"}]
    assert state(decided("means", "units", cells=small)) is OutputState.RELEASABLE
    # The second is opened for another reason: nobody has said that two people are enough.
    words = decided("means", "units", cells=small), decided("means", "dominance", cells=smaller)
    assert state(*words) is OutputState.UNDECIDED
    assert state(*words, decided("means", "units", cells=smaller)) is OutputState.RELEASABLE
    # Two people are also dominated by one of them.
    assert state(decided("means", "units", cells=[*small, *smaller])) is OutputState.UNDECIDED
    assert state(decided("means", cells=[*small, *smaller])) is OutputState.RELEASABLE


def test_missing_cells_raise_with_their_names(mixed, ledger):
    for output, cells in (
        ("people", [{"region": "X"}]),
        ("people", [{"regoin": "N"}]),
        ("top", [{"a": "b"}]),
    ):
        with raises("decision_on_unknown_cell"):
            recheck(mixed, ledger=ledger, decisions=[decided(output, "units", cells=cells)])


def test_total_is_named_by_omission_or_code(mixed, ledger):
    for cell in ({"region": "N"}, {"region": "N", "job": "Total"}):
        word = decided("people", "units", cells=[cell])
        assert recheck(mixed, ledger=ledger, decisions=[word]).outputs[0].opened == 0  # published anyway


def test_expired_decision_is_ignored(mixed, ledger):
    word = decided("lowest", expires=date(2026, 12, 31))
    for day, state in (
        (date(2026, 12, 31), OutputState.RELEASABLE),
        (date(2027, 1, 1), OutputState.UNDECIDED),
    ):
        assert (
            recheck(mixed, ledger=ledger, data=PEOPLE, decisions=[word], today=day).outputs[1].state is state
        )
    late = let_go(mixed, ledger, word, partial=True, now=datetime(2027, 1, 1, tzinfo=UTC))
    assert "lowest" in late.receipt.stayed
    assert late.check.unused == (word,)


@pytest.mark.parametrize(
    ("checkers", "code"),
    [
        (["M. Sato"], "too_few_checkers"),
        (["M. Sato", " m.  sato "], "too_few_checkers"),
        (["", "M. Sato"], "too_few_checkers"),
        (["M. Sato", "r. kimura"], "submitter_cannot_release"),
    ],
)
def test_release_requires_other_checkers_than_the_researcher(mixed, ledger, checkers, code):
    with raises(code):
        let_go(mixed, ledger, checkers=checkers, partial=True)


def test_decision_by_researcher_raises(mixed, ledger):
    with raises("submitter_cannot_decide"):
        recheck(mixed, ledger=ledger, decisions=[decided("top", who="R. KIMURA")])


def test_release_requires_initialised_ledger(mixed, tmp_path):
    with raises("no_ledger"):
        let_go(mixed, tmp_path / "mistyped.ledger")
    assert not (tmp_path / "mistyped.ledger").exists()


def test_forged_output_is_never_released(mixed, ledger):
    resealed(mixed, "checker/04-means.json", lambda output: output["evidence"]["n_units"].__setitem__(0, 3))
    assert (
        "means (what was submitted is wrong)"
        in let_go(mixed, ledger, decided("lowest"), decided("top")).blocked
    )
    done = let_go(mixed, ledger, decided("lowest"), decided("top"), decided("means"), partial=True)
    assert [each.name for each in done.receipt.outputs] == ["people", "lowest", "top"]
    assert done.receipt.stayed == {"means": "what was submitted is wrong"}


def test_existing_release_folder_stops_release(mixed, ledger, tmp_path):
    before = ledger.read_bytes()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("mine")
    with raises("folder_not_empty"):
        let_go(mixed, ledger, partial=True, out=tmp_path / "mine")
    assert ledger.read_bytes() == before


def test_ledger_defines_the_unit(tmp_path):
    # Two people with 20 rows: a mean over two.
    rows_of = pd.DataFrame({"person": [1] * 10 + [2] * 10, "wage": [float(n) for n in range(20)]})
    work = Session("two", rows_of, researcher="R. Kimura")
    work.mean("wage", name="mean")
    folder = work.submit(tmp_path / "submission")
    assert recheck(folder, data=rows_of).ok  # nobody said that there are persons
    ledger = tmp_path / "x.ledger"
    init(ledger, policy="japan-2017", unit="person")
    for data in (None, rows_of):
        check = recheck(folder, ledger=ledger, data=data)
        assert not check.ok
        assert "the session counted every record as a unit, the centre counts by person" in str(
            check.findings[0]
        )
    assert "the centre counts by person" in let_go(folder, ledger, data=rows_of, partial=True).blocked
    with raises("ledger_counts_other_unit", ledger_unit="person"):
        recheck(folder, ledger=ledger, unit="wage")


def test_ledger_defines_the_policy(tmp_path):
    ledger = tmp_path / "x.ledger"
    init(ledger, policy="essnet-2009", unit="id")
    folder = session().submit(tmp_path / "submission")  # under japan-2017
    check = recheck(folder, ledger=ledger, data=PEOPLE)
    assert check.policy.name == "essnet-2009"
    assert "another policy" in str(check.findings[0])
    assert "another policy" in let_go(folder, ledger, partial=True).blocked
    with raises("policy_not_of_ledger"):
        recheck(folder, ledger=ledger, policy="japan-2017")
    with raises("ledger_has_settings"):
        init(ledger, policy="japan-2017", unit="id")


def test_output_differing_from_rejected_one_is_released(tmp_path, ledger):
    # "most" leaves three people out of "regions"; "regions" is refused, so nobody can subtract.
    work = made()
    work.frequency_table(by=["region"], name="regions")
    work.frequency_table(by=["region"], where={"id": list(range(3, 240))}, name="most")
    folder = work.submit(tmp_path / "submission")
    assert let_go(folder, ledger).blocked.startswith("1 output(s) are undecided: most (differencing fail)")
    done = let_go(folder, ledger, decided("regions", decision="refuse"))
    assert [each.name for each in done.receipt.outputs] == ["most"]
    # Handed in again, "regions" would give the three away together with what has left.
    again = made("again")
    again.frequency_table(by=["region"], name="regions")
    assert "differencing fail" in let_go(again.submit(tmp_path / "again"), ledger).blocked


# Six people of E are too few for anything about them to pass.
FEW = PEOPLE.iloc[:186].assign(early=PEOPLE["id"] % 2)
E_INCOMES = sorted(FEW.income[FEW.region == "E"])


def survived():
    """What a life table says of the people of E, interval by interval, by the actuarial estimate."""
    own, left, told = FEW[FEW.region == "E"], 1.0, []
    for start, end in ((0, 30), (30, 40), (40, 10**9)):
        entered = own[own.income >= start]
        inside = entered[entered.income < end]
        events = int(inside.early.sum())
        lost = len(inside) - events
        left *= 1 - events / (len(entered) - lost / 2)
        told.append([len(entered), events, lost, left])
    return told


SEALED = [
    pytest.param(
        lambda work: work.quantile_groups("income", 2, by="region", name="x"),
        ("mean_income",),
        [[sum(E_INCOMES[:3]) / 3], [sum(E_INCOMES[3:]) / 3]],
        id="means of quantile groups",
    ),
    pytest.param(
        lambda work: work.lorenz("income", 2, by="region", name="x"),
        ("lorenz_income",),
        [[sum(E_INCOMES[:3]) / sum(E_INCOMES)], [1.0]],
        id="Lorenz curve",
    ),
    pytest.param(
        lambda work: work.life_table("income", "early", [0, 30, 40], by="region", name="x"),
        ("entered", "events", "last_seen", "survival"),
        survived(),
        id="life table",
    ),
]


@pytest.mark.parametrize(("ask", "columns", "expected"), SEALED)
def test_decision_releases_suppressed_numbers_from_data(tmp_path, ledger, ask, columns, expected):
    work = Session("wages", FEW, unit="id", researcher="R. Kimura")
    assert "E" not in ask(work).published["region"]
    folder = work.submit(tmp_path / "submission")
    assert all("E," not in path.read_text("utf-8") for path in (folder / "public").glob("*.csv"))
    done = let_go(folder, ledger, decided("x", cells="all"), data=FEW)
    told = [row for row in rows(done.folder, "01-x.csv") if row["region"] == "E"]
    assert [[float(row[name]) for name in columns] for row in told] == [
        pytest.approx(line) for line in expected
    ]
    # Nothing of it is withheld any more, nor looks so.
    assert all("x" not in row.values() for row in told)


def test_released_file_equals_submitted_bytes(tmp_path, ledger):
    mine = tmp_path / "mine.do"
    mine.write_bytes(b"regress y x\r\n")
    work = made()
    assert work.hand_over_file(mine, "how it was fitted", name="x").status == "review"
    folder = work.submit(tmp_path / "submission")
    assert let_go(folder, ledger).receipt is None
    done = let_go(folder, ledger, decided("x"))
    (left,) = (
        path for path in done.folder.iterdir() if path.suffix not in {".csv", ".json"} and "x" in path.stem
    )
    assert left.read_bytes() == mine.read_bytes()
