from __future__ import annotations

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from tests.checks.submissions import PEOPLE, reseal, resealed, session
from tests.raising import raises

from hitoku.checks import parse_decisions as parsed
from hitoku.checks.ledger import Ledger, init
from hitoku.checks.session import Session
from hitoku.checks.submission import definition_of, partitions, recheck
from hitoku.evidence import verify as proof

TABLE, SUMS, MEANS = "checker/01-people.json", "checker/02-incomes.json", "checker/03-means.json"


@pytest.fixture
def folder(tmp_path):
    return session().submit(tmp_path / "submission")


def said(check):
    return [str(finding) for each in check.outputs for finding in each.findings]


def test_valid_submission_passes(folder):
    check = recheck(folder, data=PEOPLE, unit="id")
    assert check.ok
    assert said(check) == []
    assert check.tally == {"pass": 3, "review": 0, "fail": 0, "exception granted": 0}
    assert check.matrix["people"] == {
        "individual_value": "-",
        "units": "pass",
        "freedom": "-",
        "dominance": "-",
        "group": "pass",
        "interval": "pass",
        "differencing": "pass",
    }


CHAIN = pd.DataFrame(
    {"id": range(78), "all": "yes", "group": ["a"] * 30 + ["b"] * 25 + ["c"] * 20 + ["d"] * 3}
)


@pytest.mark.parametrize("with_ledger", [False, True])
def test_session_search_is_as_deep_as_recheck(tmp_path, with_ledger):
    """Everybody less those in a, in b and in c are three people."""
    ledger = tmp_path / "x.ledger" if with_ledger else None
    if ledger is not None:
        init(ledger, policy="japan-2017", unit="id", unit_word="person")
    work = Session("chain", CHAIN, unit="id", ledger=ledger, unit_word="person" if ledger else "unit")
    names = ["everybody", "a", "b", "c"]
    for name in names:
        work.frequency_table("all", where={} if name == "everybody" else {"group": [name]}, name=name)
    told = [each.status for each in work.outputs]
    assert told == ["pass", "pass", "pass", "fail"]
    told_of = f"78 - 30 - 25 - 20 = 3 {'persons' if ledger else 'units'}"
    assert told_of in work.outputs[-1].verdicts[-1].text
    folder = work.submit(tmp_path / "submission")
    check = recheck(folder, data=CHAIN, unit="id", ledger=ledger)
    assert [each.status for each in check.outputs] == told
    assert told_of in check.outputs[-1].verdicts[-1].text
    assert "tested up to four outputs together" in check.scope


def test_difference_names_the_other_output(tmp_path):
    work = Session("sides", CHAIN.assign(other=["x"] * 31 + ["y"] * 47), unit="id")
    work.frequency_table("group", where={"group": ["a", "b", "c"]}, name="first")
    work.frequency_table("other", where={"group": ["a", "b", "c"]}, name="second")
    work.hand_over({"b": 1.5}, n=60, freedom=50, method="by hand", name="numbers")
    check = recheck(work.submit(tmp_path / "s"), data=CHAIN.assign(other=["x"] * 31 + ["y"] * 47), unit="id")
    first, second, numbers = check.outputs
    assert (first.status, second.status, numbers.status) == ("pass", "review", "review")
    assert list(check.other_sides(second)) == ["first"]
    # It is compared with nothing: what it is submitted with stands on the same page.
    assert "not testable against first, second" in numbers.verdicts[-1].text
    assert check.other_sides(numbers) == {}


def test_valid_outputs_of_every_type_pass(tmp_path):
    people = PEOPLE.assign(
        # Two records each; employers act as one; losses; a code is missing.
        id=np.arange(240) // 2,
        employer=np.arange(240) % 40,
        profit=np.arange(240) % 37 - 9.5,
        weight=1.0 + np.arange(240) % 5,
        branch=[None, *["x", "y"] * 119, "x"],
    )
    work = Session("all", people, unit="id")
    work.frequency_table(by=["region", "branch"], missing="code")
    for holding, weight in ((None, None), ("employer", None), (None, "weight"), ("employer", "weight")):
        for value in ("income", "profit"):
            work.magnitude_table(by=["region", "job"], value=value, holding=holding, weight=weight)
            work.mean(value, by="region", holding=holding, weight=weight)
            work.sum(value, by=["region", "job"], holding=holding, weight=weight)
    work.percentile("profit", 25, by="region", weight="weight", where={"job": ["a", "b"]})
    work.mode("job", by="region")
    work.concentration("income", by="region", holding="employer")
    for statistic in ("std", "min"):
        work.summary(statistic, "profit", by="region")
    work.test("t", "income", "region", where={"region": ["N", "S"]})
    work.test("chi2", "job", "region")
    folder = work.submit(tmp_path / "submission")
    assert said(recheck(folder)) == []
    assert said(recheck(folder, data=people, unit="id")) == []


def test_missing_data_leaves_comparisons_undecided(tmp_path):
    work = session()
    work.mean("income", by="id", where={"id": list(range(20))}, name="single")  # fails, and does not leave
    work.mean("income", by="job", name="by job")
    work.regression("income ~ C(region)", name="model")
    check = recheck(work.submit(tmp_path / "submission"))
    said = {each.output.name: each.row["differencing"] for each in check.outputs}
    assert said == {
        "people": "pass",
        "incomes": "pass",
        "means": "pass",
        "single": "-",
        "by job": "review",
        "model": "review",
    }
    assert (
        "what it discloses with incomes, means can be tested with the data only"
        in check.outputs[4].verdicts[-1].text
    )
    assert "not testable: the units of its parts" in check.outputs[5].verdicts[-1].text
    assert all(each.verdicts[-1].remedy for each in check.outputs[4:])
    assert "safe" not in check.scope


def counted_by(people, **options):
    work = Session("later", people)
    work.frequency_table(by=["area", "age"], name="all")
    work.magnitude_table(by=["area", "age"], value="income", name="some", **options)
    return work


AREAS = pd.DataFrame(
    {
        "area": ["A"] * 60 + ["B"] * 60,
        "age": (["0-18"] * 20 + ["19+"] * 40) * 2,
        "works": (["yes"] * 57 + ["no"] * 3) + ["yes"] * 60,
        "income": np.arange(120.0) + 50,
    }
)


def test_filter_is_joined_through_codes(tmp_path):
    folder = counted_by(AREAS, where={"works": ["yes"]}).submit(tmp_path / "submission")
    check = recheck(folder)
    (verdict,) = [v for v in check.outputs[1].verdicts if v.reason == "small_group"][:1]
    assert verdict.text.startswith("area=A, age=19+, works=any other: 40 - 37 = 3 units, from all and some")
    assert "by definition" in verdict.text
    assert verdict.remedy == "cover the same units as before: the filter on works differs"
    assert not check.ok


def test_ledger_is_joined_without_data(tmp_path):
    path = tmp_path / "areas.ledger"
    first = Session("first", AREAS)
    table = first.frequency_table(by=["area", "age"], name="all")
    ledger = Ledger.open(path, data_hash=first.records.hash, n_units=120, project="first")
    ledger.remember("all", partitions(table), definition_of(table))
    later = Session("later", AREAS)
    later.sum("income", by=["area", "age"], where={"works": ["yes"]}, name="means")
    folder = later.submit(tmp_path / "submission")
    check = recheck(folder, ledger=path)
    assert "40 - 37 = 3 units, from all (project first) and means" in check.outputs[0].verdicts[-1].text
    # An output without a definition: nothing is claimed about it.
    ledger.remember("prose", None)
    (verdict,) = recheck(folder.rename(tmp_path / "again"), ledger=path).outputs[0].verdicts[-1:]
    assert verdict.status == "fail"


def test_undescribed_ledger_outputs_are_named(tmp_path):
    path = tmp_path / "areas.ledger"
    work = Session("later", AREAS)
    work.frequency_table(by=["area"], name="areas")
    ledger = Ledger.open(path, data_hash=work.records.hash, n_units=120, project="first")
    ledger.remember("prose", None)
    check = recheck(work.submit(tmp_path / "submission"), ledger=path)
    assert check.matrix["areas"]["differencing"] == "review"
    assert "prose (project first)" in check.outputs[0].verdicts[-1].text


def test_repeated_units_are_not_joined_through_codes(tmp_path):
    work = Session("later", AREAS.assign(id=np.arange(120) // 2), unit="id")
    work.frequency_table(by=["area"], name="areas")
    check = recheck(work.submit(tmp_path / "submission"))
    assert "a unit may be in several cells" in check.outputs[0].verdicts[-1].text


def setting(*path, to):
    """Return a change of one entry."""

    def change(content):
        for step in path[:-1]:
            content = content[step]
        content[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("file", "change", "finding"),
    [
        # The table in order: N a, b, c, Total, ...
        pytest.param(TABLE, setting("evidence", "n_units", 2, to=30), "more units than records", id="units"),
        pytest.param(TABLE, setting("evidence", "records", 2, to=30), "cannot be judged", id="records"),
        pytest.param(TABLE, setting("evidence", "value", 2, to=30), "cannot be judged", id="value"),
        pytest.param(TABLE, setting("evidence", "value", to=[30]), "cannot be judged", id="length"),
        pytest.param(TABLE, setting("evidence", "withheld", to=None), "cannot be judged", id="no pattern"),
        pytest.param(TABLE, setting("kind", to="picture"), "another output", id="kind"),
        pytest.param(MEANS, setting("evidence", "largest", 0, 0, to=1e9), "exceed their total", id="largest"),
        pytest.param(MEANS, setting("evidence", "largest", 0, 2, to=1e6), "not in order", id="order"),
        pytest.param(SUMS, setting("evidence", "size", 0, to=1e6), "not the size", id="hidden dominance"),
        pytest.param(
            MEANS, setting("evidence", "n_records", 0, to=1000), "exceeds the sizes", id="n records"
        ),
        pytest.param(SUMS, setting("evidence", "size", 0, to=1.0), "exceed their total", id="size"),
        pytest.param(MEANS, setting("evidence", "n_units", 0, to=3), "units: the session says", id="few"),
        pytest.param(
            MEANS, setting("evidence", "value", 0, to=1.5), "does not follow from the evidence", id="mean"
        ),
        pytest.param(MEANS, setting("policy", "hash", to="0"), "another policy", id="policy"),
    ],
)
def test_tampered_number_with_valid_hash_is_found(folder, file, change, finding):
    resealed(folder, file, change)
    check = recheck(folder)
    assert not check.ok
    assert any(finding in text for text in said(check)), said(check)


def test_recheck_with_data_recomputes_all_evidence(folder):
    # Consistent in itself, and every output about the group forged alike: only the data tell.
    resealed(folder, MEANS, setting("evidence", "largest", 0, 0, to=200.0))
    assert "contradicts incomes about the largest contributions in region=E" in said(recheck(folder))[-1]
    resealed(folder, SUMS, setting("evidence", "largest", 0, 0, to=200.0))
    assert recheck(folder).ok
    assert "other evidence: largest" in said(recheck(folder, data=PEOPLE, unit="id"))[0]


@pytest.mark.parametrize("file", [TABLE, SUMS, MEANS])
def test_forged_number_is_found_with_data(folder, file):
    intact = (folder / file).read_text("utf-8")
    evidence = json.loads(intact)["evidence"]
    numbers = [name for name in evidence if name not in {"by", "codes", "labels", "integer", "measure"}]
    for name in numbers:
        path, inner = [name], evidence[name]
        while isinstance(inner, list) and inner:
            path, inner = [*path, 0], inner[0]
        forged = not inner if isinstance(inner, bool) else [7] if inner == [] else inner + 7
        resealed(folder, file, setting("evidence", *path, to=forged))
        assert not recheck(folder, data=PEOPLE, unit="id").ok, name
        (folder / file).write_text(intact, encoding="utf-8")


def test_shown_suppressed_cell_is_found(folder):
    resealed(folder, TABLE, setting("published", "count", 2, to=3))
    assert any("or is not suppressed" in text for text in said(recheck(folder)))


def test_altered_public_file_is_found(folder):
    resealed(folder, "public/01-people.json", setting("count", 2, to=3))
    assert any("the JSON file to be released differs" in text for text in said(recheck(folder)))


def test_altered_csv_total_is_found(folder):
    path = folder / "public" / "01-people.csv"
    path.write_text(path.read_text("utf-8").replace(",100\n", ",101\n"), encoding="utf-8")
    reseal(folder)
    assert any("CSV" in text for text in said(recheck(folder)))


def uncovered(content):
    content["evidence"]["withheld"] = [False] * len(content["evidence"]["withheld"])


def test_false_session_verdict_is_found(folder):
    # The evidence and what leaves show the small cell; the verdicts still say pass.
    resealed(folder, TABLE, uncovered)
    resealed(folder, "public/01-people.json", setting("count", to=[*_counts()]))
    check = recheck(folder)
    assert check.outputs[0].row["units"] == "fail"
    assert any("units: the session says pass, its evidence fail" in text for text in said(check))


def _counts():
    for region in ("E", "N", "S", None):
        for job in ("a", "b", "c", None):
            own = PEOPLE[
                ((PEOPLE.region == region) | (region is None)) & ((PEOPLE.job == job) | (job is None))
            ]
            yield len(own)


def test_missing_or_worse_verdict_is_reported(folder):
    resealed(folder, MEANS, setting("verdicts", to=[]))
    assert any("the session says nothing, its evidence pass" in text for text in said(recheck(folder)))


def test_missing_or_foreign_certificate_is_found(folder):
    own, other = (folder / "checker" / f"{name}.certificate.json.gz" for name in ("01-people", "02-incomes"))
    own.write_bytes(other.read_bytes())
    reseal(folder)
    assert any("another table" in text for text in said(recheck(folder)))
    own.unlink()
    reseal(folder)
    assert any("proof of its intervals is missing" in text for text in said(recheck(folder)))


@pytest.mark.parametrize(("width", "ok"), [(1, True), (11, False)], ids=["less", "more"])
def test_certificate_of_earlier_version_is_named(folder, width, ok):
    path = folder / "checker" / "01-people.certificate.json.gz"
    content = json.loads(gzip.decompress(path.read_bytes()))
    assert {need["width"] for need in content["unsafe"]} == {10}
    for need in content["unsafe"]:
        need["width"] = width
    content.pop("groups", None)
    del content["sha256"]
    path.write_bytes(gzip.compress(json.dumps({**content, "sha256": proof.fingerprint(content)}).encode()))
    reseal(folder)
    check = recheck(folder)
    assert check.ok is ok
    told = (
        "proves less than is asked now; proved again here" if ok else "its witnesses are not far enough apart"
    )
    assert any(told in text for text in said(check)), said(check)


def test_milder_policy_is_reported_and_ignored(folder):
    resealed(folder, "policy.json", lambda content: content["units"].update(minimum=1))
    check = recheck(folder)
    assert check.policy.units.minimum == 10
    assert any("another policy" in str(finding) for finding in check.findings)
    assert not check.ok


def test_unknown_policy_must_be_passed(folder):
    resealed(folder, "policy.json", lambda content: content.update(name="ours"))
    with raises("policy_not_built_in", policy="ours"):
        recheck(folder)
    assert not recheck(folder, policy="japan-2017").ok


def test_tables_of_one_submission_are_joined_through_codes(tmp_path):
    # Kikuchi and Minami (2017), Table 1: 18 aged 0-18, 1 aged 19-20, 18 aged 21-25, 20 aged 26-30.
    people = pd.DataFrame(
        {
            "first": ["0-18"] * 18 + ["19-25"] * 19 + ["26-30"] * 20,
            "second": ["0-20"] * 19 + ["21-25"] * 18 + ["26-30"] * 20,
        }
    )
    for data in (None, people):
        work = Session("ages", people)
        work.frequency_table(by="first", name="A")
        work.frequency_table(by="second", name="B")
        check = recheck(work.submit(tmp_path / str(data is None)), data=data)
        assert not check.ok
        assert check.matrix["B"]["differencing"] == "fail"


def test_recheck_does_not_write_the_ledger(tmp_path):
    people = pd.DataFrame({"x": ["a"] * 30 + ["b"] * 30, "y": ["a"] * 31 + ["b"] * 29})
    earlier = Session("earlier", people)
    table = earlier.frequency_table(by="x", name="old")
    path = tmp_path / "x.ledger"
    ledger = Ledger.open(path, data_hash=earlier.records.hash, n_units=60, project="earlier")
    ledger.remember("old", partitions(table), definition_of(table))
    before = path.read_bytes()
    later = Session("later", people)
    later.frequency_table(by="y", name="new")
    folder = later.submit(tmp_path / "submission")
    assert recheck(folder, data=people).ok
    found = recheck(folder, data=people, ledger=path)
    assert found.outputs[0].row["differencing"] != "pass"
    assert recheck(folder, ledger=path).matrix["new"]["differencing"] == "review"
    assert path.read_bytes() == before


def test_other_data_raise(folder, tmp_path):
    with raises("data_not_of_submission"):
        recheck(folder, data=PEOPLE.head(100), unit="id")
    path = tmp_path / "other.ledger"
    Ledger.open(path, data_hash="other", n_units=3).remember("old", None)
    with raises("ledger_not_of_submission"):
        recheck(folder, ledger=path)
    with raises("no_ledger"):
        recheck(folder, ledger=tmp_path / "none.ledger")


EXCEPTION = """
[[decision]]
output = "top"
decision = "release"
principle = "individual_value"
reason = "old data"
facts.year = 1920
who = "M. Sato"
when = 2026-11-16
"""


def test_exception_never_turns_failure_into_pass(tmp_path):
    work = Session("wages", PEOPLE, unit="id")
    work.summary("max", "income", name="top")
    folder = work.submit(tmp_path / "submission")
    assert not recheck(folder, data=PEOPLE, unit="id").ok
    check = recheck(folder, data=PEOPLE, unit="id", decisions=parsed(EXCEPTION, "x.toml"))
    assert check.ok
    assert check.matrix["top"]["individual_value"] == "exception granted"
    assert (check.outputs[0].status, check.unused) == ("exception granted", ())


def test_unused_exception_is_reported(folder):
    check = recheck(folder, decisions=parsed(EXCEPTION.replace("top", "people"), "x.toml"))
    assert len(check.unused) == 1
    assert "exception granted" not in check.matrix["people"].values()


def test_exception_does_not_excuse_contradiction(folder):
    resealed(folder, MEANS, setting("evidence", "n_units", 0, to=3))
    words = EXCEPTION.replace("top", "means").replace("individual_value", "units")
    assert not recheck(folder, decisions=parsed(words, "x.toml")).ok


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("facts.year = 1920", "facts.yaer = 1920"), "unknown_key"),
        (("facts.year = 1920", 'facts.year = "old"'), "key_wrong_type"),
        (('who = "M. Sato"\n', ""), "key_missing"),
        (('"individual_value"', '"kindness"'), "key_value_not_allowed"),
        (('reason = "old data"', 'reason = ""'), "key_unusable"),
        (("facts.year = 1920", "facts.sampling_fraction = 1.0"), "key_unusable"),
        (("facts.year = 1920", 'facts.observability = {income = "well"}'), "key_value_not_allowed"),
        (("facts.year = 1920", 'facts.structural_zeros = [""]'), "key_unusable"),
        (("[[decision]]", "[[exception]]"), "unknown_key"),
        (("[[decision]]", "[[decision"), "not_toml"),
    ],
)
def test_invalid_decision_raises(change, code):
    with raises(code):
        parsed(EXCEPTION.replace(*change), "x.toml")


def test_dummy_regression_is_compared_with_data(tmp_path):
    # Three of the north have another job code in the second model: counts and sums of them follow.
    people = PEOPLE.assign(group=PEOPLE.region, other=PEOPLE.region.where(PEOPLE.id >= 3, "S"))
    work = Session("models", people, unit="id")
    work.regression("income ~ C(group)", name="first")
    work.regression("income ~ C(other)", name="second")
    folder = work.submit(tmp_path / "submission")
    check = recheck(folder, data=people, unit="id")
    assert [row["differencing"] for row in check.matrix.values()] == ["pass", "fail"]
    assert "= 3 units, from first and second" in check.outputs[1].verdicts[-1].text
    assert check.outputs[1].verdicts[-1].remedy


def test_model_fitted_elsewhere_is_not_testable(tmp_path):
    formulas = pytest.importorskip("statsmodels.formula.api")
    work = Session("models", PEOPLE, unit="id")
    work.frequency_table(by=["region"], name="people")
    work.regression(formulas.ols("income ~ C(region)", data=PEOPLE).fit(), name="model")
    check = recheck(work.submit(tmp_path / "submission"), data=PEOPLE, unit="id")
    assert check.matrix["model"]["differencing"] == "review"
    assert "model is not testable against people" in check.outputs[1].verdicts[-1].text
