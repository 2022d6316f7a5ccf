"""A column copied under another name, or written in thousands, is compared as what it is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hitoku as ht
from hitoku.checks import Records
from hitoku.checks.ledger import init
from hitoku.checks.principles import Clearance, Principle
from hitoku.checks.submission import multiples, recheck, release

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


@pytest.mark.parametrize("value", ["income", "copy", "thousands"])
def test_person_is_isolated_under_either_name(value):
    found = [v for v in second(value).verdicts if v.principle is Principle.DIFFERENCING]
    assert any("= 1 unit" in verdict.text for verdict in found)


@pytest.mark.parametrize("value", ["rent", "minus", "nearly"])
def test_other_variables_are_not_subtracted(value):
    assert second(value).status is Clearance.PASS


def test_multiples_are_recognised_by_all_records():
    frame = PEOPLE.loc[np.r_[0:N, np.zeros(2000, dtype=int)]].reset_index(drop=True)
    frame["late"] = frame["income"]
    frame.loc[2050, "late"] += 1
    assert multiples(Records.open(frame), "income") == {"copy": 1.0, "thousands": pytest.approx(0.001)}
    assert multiples(Records.open(frame), "narrow") == {}
    assert multiples(Records.open(frame.assign(zero=0.0)), "zero") == {}


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
