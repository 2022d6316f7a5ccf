"""A column copied, rescaled, shifted or added up from others is compared as what it is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hitoku as ht
from hitoku.checks import Records
from hitoku.checks.ledger import init
from hitoku.checks.principles import Clearance, Principle
from hitoku.checks.submission import LinearRelations, recheck, release, same_variable

N = 57
RNG = np.random.default_rng(4)
INCOME = RNG.uniform(2000, 4000, N).round(2)
# The bandings of Kikuchi and Minami (2017): one person is 19 or 20.
PEOPLE = pd.DataFrame(
    {
        "id": np.arange(N),
        "narrow": np.repeat(["0-18", "19-25", "26-30"], [18, 19, 20]),
        "wide": np.repeat(["0-20", "21-25", "26-30"], [19, 18, 20]),
        "income": INCOME,
        "copy": INCOME,
        "thousands": INCOME / 1000,
        "rent": RNG.uniform(300, 900, N).round(2),
        "minus": -INCOME,
        "nearly": np.where(np.arange(N) == 18, INCOME + 1, INCOME),
    }
)


def second(value):
    work = ht.Session("s", PEOPLE, unit="id")
    assert work.sum("income", by="narrow", name="first").status is Clearance.PASS
    # Of means nobody is told how many there are: only what is said of one variable can be subtracted.
    return work.mean(value, by="wide", name="second")


@pytest.mark.parametrize("value", ["income", "copy", "thousands", "minus"])
def test_person_is_isolated_under_either_name(value):
    found = [v for v in second(value).verdicts if v.principle is Principle.DIFFERENCING]
    assert any("= 1 unit" in verdict.text for verdict in found)


def test_other_variables_are_not_subtracted():
    assert second("rent").status is Clearance.PASS


def test_variable_that_differs_for_one_person_is_reviewed():
    work = ht.Session("s", PEOPLE, unit="id")
    assert work.mean("income").status is Clearance.PASS
    found = work.mean("nearly")
    assert found.status is Clearance.REVIEW
    assert any("nearly follows" in v.text and "all but 1 unit" in v.text for v in found.verdicts)


def test_same_variable_is_recognised_by_all_records():
    frame = PEOPLE.loc[np.r_[0:N, np.zeros(2000, dtype=int)]].reset_index(drop=True)
    frame["late"] = frame["income"]
    frame.loc[2050, "late"] += 1
    found = same_variable(Records.open(frame), "income")
    assert found == {
        "copy": pytest.approx((1, 0)),
        "thousands": pytest.approx((0.001, 0)),
        "minus": pytest.approx((-1, 0)),
    }
    assert same_variable(Records.open(frame), "narrow") == {}
    assert same_variable(Records.open(frame.assign(zero=0.0)), "zero") == {}
    shifted = PEOPLE.assign(more=2 * PEOPLE["rent"] + 7)
    assert same_variable(Records.open(shifted), "rent") == {"more": pytest.approx((2, 7))}


# All people but one, who has the last record.
FEW = 400
DRAWN = np.random.default_rng(7)
PARTS = pd.DataFrame(
    {
        "wages": DRAWN.integers(1000, 9000, FEW).astype(float),
        "rents": DRAWN.lognormal(5, 1, FEW),
        "gifts": DRAWN.integers(0, 50, FEW) / 4,
        "age": DRAWN.integers(18, 90, FEW).astype(float),
        "one": np.repeat([1.0, 0, 0, 0], FEW // 4),
        "half": ["a", "b"] * (FEW // 2),
        "kept": ["yes"] * (FEW - 1) + ["no"],
    }
)
PARTS = PARTS.assign(
    total=PARTS.wages + PARTS.rents,
    every=PARTS.wages + PARTS.rents + PARTS.gifts,
    mixed=3 * PARTS.wages - 0.5 * PARTS.rents + 100,
    shifted=PARTS.wages + 1,
    turned=5 - 2 * PARTS.rents,
    others=1 - PARTS.one,
)
ATTACKS = [
    ["wages", "shifted"],
    ["rents", "turned"],
    ["one", "others"],
    ["wages", "rents", "total"],
    ["wages", "total", "rents"],
    ["total", "rents", "wages"],
    ["wages", "rents", "mixed"],
    ["total", "mixed", "wages"],
    ["shifted", "turned", "total"],
    ["wages", "rents", "gifts", "every"],
    ["every", "gifts", "wages", "rents"],
    ["every", "gifts", "total"],
]
HARMLESS = [
    ["wages", "rents"],
    ["wages", "age"],
    ["wages", "gifts", "total"],
    ["wages", "rents", "every"],
    ["one", "age"],
]


def differenced(session) -> list[str]:
    return [v.status for v in session.verdicts if v.principle is Principle.DIFFERENCING]


@pytest.mark.parametrize("values", ATTACKS, ids=" ".join)
@pytest.mark.parametrize("statistic", ["mean", "sum"])
def test_sums_of_dependent_variables_isolate_a_person(values, statistic):
    work = ht.Session("s", PARTS)
    for value in values[:-1]:
        assert work.mean(value).status is Clearance.PASS
    last = getattr(work, statistic)(values[-1], where={"kept": "yes"})
    assert Clearance.FAIL in differenced(last)


@pytest.mark.parametrize("values", HARMLESS, ids=" ".join)
def test_sums_of_independent_variables_do_not(values):
    work = ht.Session("s", PARTS)
    for value in values[:-1]:
        assert work.mean(value).status is Clearance.PASS
    assert differenced(work.mean(values[-1], where={"kept": "yes"})) == [Clearance.PASS]


def test_independent_until_a_table_of_the_sum_is_released():
    work = ht.Session("s", PARTS)
    assert work.mean("wages").status is Clearance.PASS
    assert work.mean("rents", where={"kept": "yes"}).status is Clearance.PASS
    assert Clearance.FAIL in differenced(work.mean("total"))


def test_wages_of_one_person_and_rents_of_another_follow():
    # total - wages - rents leaves the wages of one person and the rents of another.
    people = PARTS.assign(also=["no"] + ["yes"] * (FEW - 1))
    work = ht.Session("s", people)
    assert work.mean("wages", where={"kept": "yes"}).status is Clearance.PASS
    assert work.mean("rents", where={"also": "yes"}).status is Clearance.PASS
    found = work.mean("total").verdicts
    (failed,) = [v for v in found if v.status is Clearance.FAIL]
    assert failed.numbers["units"] == 2
    # Neither of them follows alone.
    assert sum(v.status is Clearance.REVIEW for v in found) == 2


def test_groups_of_dependent_variables_that_together_hold_everybody():
    work = ht.Session("s", PARTS)
    assert work.mean("wages", by="half").status is Clearance.PASS
    assert work.mean("rents").status is Clearance.PASS
    assert Clearance.FAIL in differenced(work.mean("total", where={"kept": "yes"}))


def test_relations_among_missing_values():
    gone = PARTS.assign(shifted=PARTS.shifted.where(PARTS.index != 3))
    found = LinearRelations(Records.open(gone), 10).among(["wages", "age", "shifted"])
    assert found.parts["shifted"] == {"wages": pytest.approx(1)}
    rare = PARTS.assign(shifted=PARTS.shifted.where(PARTS.index < 4))
    found = LinearRelations(Records.open(rare), 10).among(["wages", "age", "shifted"])
    assert found.undecided == {"shifted"}


def test_variables_that_the_data_lack_are_undecided():
    found = LinearRelations(Records.open(PARTS), 10).among(["wages", "I(wages + 1)", "half"])
    assert found.undecided == {"I(wages + 1)"}
    work = ht.Session("s", PARTS)
    assert work.mean("wages").status is Clearance.PASS
    unknown = work.regression("I(wages + 1) ~ C(half)", where={"kept": "yes"})
    assert Clearance.REVIEW in differenced(unknown)


@pytest.mark.parametrize(("kept", "status"), [("yes", Clearance.REVIEW), ("half", Clearance.PASS)])
def test_without_the_data_any_two_variables_may_depend(tmp_path, kept, status):
    people = PARTS.assign(kept=PARTS["kept"].where(PARTS.index >= 100, "half"))
    work = ht.Session("s", people)
    work.mean("wages", by="half")
    where = {"kept": ["yes", "half"] if kept == "yes" else [kept]}
    work.mean("age", by="half", where=where)
    check = recheck(work.submit(tmp_path / "s"))
    (found,) = [v for v in check.outputs[1].verdicts if v.principle is Principle.DIFFERENCING]
    assert found.status is status


def test_release_under_another_name_is_remembered(tmp_path):
    book = tmp_path / "s.ledger"
    init(book, policy="japan-2017", unit="id")
    first = ht.Session("one", PEOPLE, unit="id", researcher="R")
    first.sum("income", by="narrow", name="sums")
    gone = release(first.submit(tmp_path / "one"), ledger=book, data=PEOPLE, checkers=["M. Sato", "A. Ito"])
    assert gone.receipt is not None
    after = ht.Session("two", PEOPLE, unit="id", researcher="R")
    after.mean("copy", by="wide", name="means")
    (found,) = recheck(after.submit(tmp_path / "two"), ledger=book, data=PEOPLE).outputs
    texts = [v.text for v in found.verdicts if v.principle is Principle.DIFFERENCING]
    assert any("= 1 unit" in text for text in texts)
