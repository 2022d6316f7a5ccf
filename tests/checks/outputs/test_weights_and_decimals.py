"""Weights are repetitions of records; rounded numbers blur what follows from them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.checks.outputs.test_statistics import run
from tests.raising import raises

from hitoku.checks.outputs import Average, Concentration, Percentile, Summary
from hitoku.checks.principles import Clearance, Principle
from hitoku.checks.session import Session
from hitoku.checks.submission import recheck

RANDOM = np.random.default_rng(8)
N = 40
FRAME = pd.DataFrame(
    {
        "x": RANDOM.lognormal(3, 0.6, N),
        "y": RANDOM.lognormal(2, 0.5, N),
        "w": RANDOM.integers(1, 6, N).astype(float),
        "id": np.arange(N),
    }
)
# Every record as often as it weighs.
REPEATED = FRAME.loc[FRAME.index.repeat(FRAME["w"].astype(int))].reset_index(drop=True)


@pytest.mark.parametrize("statistic", ["skewness", "kurtosis", "correlation", "ratio", "index"])
def test_weighted_summary_equals_repeated_records(statistic):
    other = "y" if statistic in {"correlation", "ratio", "index"} else None
    _, verdicts, weighted = run(Summary(statistic, "x", other, weight="w"), FRAME)
    _, _, repeated = run(Summary(statistic, "x", other), REPEATED)
    assert weighted[f"{statistic}_x"] == pytest.approx(repeated[f"{statistic}_x"])
    # Units and freedom are those of the records there are.
    assert verdicts[Principle.UNITS].numbers["smallest"] == N


@pytest.mark.parametrize("statistic", ["variance", "covariance"])
def test_weighted_variance_uses_record_degrees_of_freedom(statistic):
    other = "y" if statistic == "covariance" else None
    (found,) = run(Summary(statistic, "x", other, weight="w"), FRAME)[2][f"{statistic}_x"]
    (plain,) = run(Summary(statistic, "x", other), FRAME.assign(w=1.0))[2][f"{statistic}_x"]
    whole = np.cov(REPEATED["x"], REPEATED[other or "x"], ddof=0)[0, 1]
    assert found == pytest.approx(whole * N / (N - 1))
    assert run(Summary(statistic, "x", other, weight="w"), FRAME.assign(w=7.5))[2][f"{statistic}_x"] == [
        pytest.approx(plain)
    ]


def test_deviation_is_suppressed_with_the_variance():
    (variance,) = run(Summary("variance", "x", weight="w"), FRAME)[2]["variance_x"]
    mean = np.average(FRAME["x"], weights=FRAME["w"])
    assert run(Summary("std", "x", weight="w"), FRAME)[2]["std_x"] == [pytest.approx(variance**0.5)]
    assert run(Summary("cv", "x", weight="w"), FRAME)[2]["cv_x"] == [pytest.approx(variance**0.5 / mean)]


def test_equal_values_have_zero_deviation_for_any_weights():
    found = run(Summary("std", "x", weight="w"), FRAME.assign(x=0.1, w=FRAME["w"] / 3))[2]["std_x"]
    assert found == [None]


@pytest.mark.parametrize("statistic", ["gini", "hhi", "cr4", "cr30"])
def test_weighted_concentration_equals_repeated_contributors(statistic):
    _, verdicts, weighted = run(Concentration("x", statistic, weight="w"), FRAME)
    _, _, repeated = run(Concentration("x", statistic), REPEATED.drop(columns="id"))
    assert weighted[f"{statistic}_x"] == pytest.approx(repeated[f"{statistic}_x"])
    assert verdicts[Principle.UNITS].numbers["smallest"] == N


def test_records_of_a_contributor_average_their_weights():
    # Contributor 0 has two records of weight 2: one amount, twice.
    others = [4.0 + k / 10 for k in range(20)]
    frame = pd.DataFrame({"x": [3.0, 5.0, *others], "w": 2.0, "id": [0, 0, *range(1, 21)]})
    amounts = [8.0, 8.0, *others, *others]
    (found,) = run(Concentration("x", "hhi", weight="w"), frame, unit="id")[2]["hhi_x"]
    assert found == pytest.approx(sum(a**2 for a in amounts) / sum(amounts) ** 2)


def test_weight_makes_contributor_dominant():
    frame = FRAME.assign(x=1.0 + np.arange(N) % 7 / 10, w=[99.0, *[1.0] * (N - 1)])
    assert run(Concentration("x", "gini"), frame)[0] is Clearance.PASS
    assert run(Concentration("x", "gini", weight="w"), frame)[0] is Clearance.FAIL


@pytest.mark.parametrize("statistic", ["min", "max", "t", "chi2"])
def test_extremes_and_tests_reject_weights(statistic):
    other = None if statistic in {"min", "max"} else "y"
    with raises("statistic_without_weights"):
        Summary(statistic, "x", other, weight="w")


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda s: s.mean("x", weight="w"), id="mean"),
        pytest.param(lambda s: s.percentile("x", 50, weight="w"), id="percentile"),
        pytest.param(lambda s: s.summary("std", "x", weight="w"), id="summary"),
        pytest.param(lambda s: s.concentration("x", weight="w"), id="concentration"),
        pytest.param(lambda s: s.magnitude_table("g", "x", weight="w"), id="table"),
    ],
)
def test_zero_weight_records_raise(ask):
    frame = FRAME.assign(w=[*[0.0] * 35, *[1.0] * 5], g=["a", "b"] * 20)
    with raises("weights_not_positive", n=35):
        ask(Session("s", frame, unit="id"))


@pytest.mark.parametrize(
    ("kind", "column", "digits"),
    [
        pytest.param(Average("x", decimals=1), "mean_x", 1, id="mean"),
        pytest.param(Average("x", decimals=-1), "mean_x", -1, id="tens"),
        pytest.param(Average("x", statistic="sum", decimals=0), "sum_x", 0, id="sum"),
        pytest.param(Percentile("x", 50, decimals=1), "p50_x", 1, id="percentile"),
        pytest.param(Summary("std", "x", decimals=2), "std_x", 2, id="summary"),
        pytest.param(Concentration("x", "gini", decimals=2), "gini_x", 2, id="concentration"),
    ],
)
def test_published_values_are_rounded(kind, column, digits):
    (shown,) = run(kind, FRAME)[2][column]
    exact = {name: value for name, value in vars(kind).items() if name != "decimals"}
    (value,) = run(type(kind)(**exact), FRAME)[2][column]
    assert shown == round(value, digits)
    assert shown != value


@pytest.mark.parametrize("decimals", [1.5, True, "2", 99])
def test_decimals_must_be_an_integer(decimals):
    for kind in (Average, Concentration):
        with raises("parameter_not_whole", name="decimals", given=decimals):
            kind("x", decimals=decimals)


# 15 of 3,000 people are left when one mean is taken from the other; one of them has three quarters of what
# they have. Rounding to whole numbers blurs their sum by about 0.5 times 6,000.
CROWD = pd.DataFrame({"income": 100.0 + np.arange(3000) % 13, "part": ["a"] * 2985 + ["b"] * 15})
CROWD.loc[2985, "income"] = 4200.0


@pytest.mark.parametrize(
    ("decimals", "status"),
    [
        pytest.param(None, Clearance.FAIL, id="all digits"),
        pytest.param(3, Clearance.FAIL, id="thousandths: 3 are under a tenth of 4,200"),
        pytest.param(0, Clearance.PASS, id="whole numbers: 2,992 are more"),
    ],
)
def test_rounded_means_protect_their_difference(decimals, status, tmp_path):
    work = Session("s", CROWD)
    work.mean("income", decimals=decimals, name="all")
    out = work.mean("income", decimals=decimals, where={"part": "a"}, name="most")
    (found,) = [v for v in out.verdicts if v.principle is Principle.DIFFERENCING]
    assert found.status is status
    check = recheck(work.submit(tmp_path / "submission"), data=CROWD)
    assert check.matrix["most"]["differencing"] == str(status)
    assert [each.findings for each in check.outputs] == [(), ()]


def test_weighted_and_plain_sums_are_distinct():
    frame = CROWD.assign(w=2.0)
    work = Session("s", frame)
    weighted = work.sum("income", weight="w")
    ((name, measure),) = weighted.asked.measures(work.records).items()
    assert name == "income times w"
    assert np.sum(vars(measure)["values"]) == pytest.approx(2 * frame["income"].sum())
    assert work.mean("income", weight="w").asked.measures(work.records) == {}
    out = work.sum("income", weight="w", where={"part": "a"})
    assert out.status is Clearance.FAIL


def test_model_implies_sums_of_outcome():
    pytest.importorskip("statsmodels")
    # Forty are left out, twenty of each sex; one of them has most of what they have.
    frame = pd.DataFrame({"income": 90.0 + np.arange(3000) % 21, "sex": ["f", "m"] * 1500, "part": "a"})
    frame.loc[2960:, "part"] = "b"
    frame.loc[2999, "income"] = 9000.0
    work = Session("s", frame)
    work.mean("income", by="sex")
    model = work.regression("income ~ C(sex)", where={"part": "a"})
    (found,) = [v for v in model.verdicts if v.principle is Principle.DIFFERENCING]
    assert found.status is Clearance.FAIL
    assert "income fails dominance" in found.text
