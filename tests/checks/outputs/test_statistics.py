from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.raising import raises

import hitoku as ht
from hitoku.checks import Records
from hitoku.checks.outputs import Average, Concentration, Mode, Percentile, Summary
from hitoku.checks.policies import policy
from hitoku.checks.principles import Clearance, Principle, worst
from hitoku.errors import HitokuError

JAPAN = policy("japan-2017")


def run(kind, frame, unit=None, rules=JAPAN):
    """Collect, protect, judge, publish; as a session does, without the ledger."""
    evidence = kind.protect(kind.collect(Records.open(frame, unit)), rules)
    verdicts = {verdict.principle: verdict for verdict in kind.judge(evidence, rules)}
    return worst(verdicts.values()), verdicts, kind.publish(evidence)


def spread(n, **columns):
    return pd.DataFrame({"x": np.arange(1.0, n + 1), **columns})


@pytest.mark.parametrize(("n", "status"), [(9, "fail"), (10, "pass")])
def test_mean_needs_ten_units(n, status):
    found, _, published = run(Average("x"), spread(n))
    assert found == status
    assert published["mean_x"] == ([None] if n == 9 else [5.5])


@pytest.mark.parametrize(("largest", "status"), [(50, "pass"), (50.5, "fail")])
def test_dominance_limit_of_a_sum_is_half(largest, status):
    frame = pd.DataFrame({"x": [largest, *((100 - largest) / 190 * np.arange(1, 20))]})
    found, verdicts, _ = run(Average("x", statistic="sum"), frame)
    assert found == status
    assert verdicts[Principle.DOMINANCE].numbers["largest_share"] == pytest.approx(largest / 100)


def test_small_groups_are_suppressed_with_merge_proposal():
    frame = spread(40, age=["0-18"] * 18 + ["19-20"] * 2 + ["21-25"] * 20)
    found, verdicts, published = run(Average("x", ("age",)), frame)
    assert found == "pass"
    assert published["mean_x"][1] is None
    assert published["mean_x"][0] == pytest.approx(np.arange(1, 19).mean())
    assert verdicts[Principle.UNITS].remedy == "merge 19-20 with 0-18"


def test_weighted_mean_counts_units_unweighted():
    frame = spread(12, w=np.arange(1.0, 13))
    _, verdicts, published = run(Average("x", weight="w"), frame)
    assert published["mean_x"][0] == pytest.approx(np.average(frame["x"], weights=frame["w"]))
    assert verdicts[Principle.UNITS].numbers["smallest"] == 12


def test_records_of_one_unit_count_once():
    frame = pd.DataFrame({"x": [1.0] * 40, "id": [0] * 25 + list(range(1, 16))})
    found, verdicts, _ = run(Average("x"), frame, unit="id")
    assert found == "fail"
    assert verdicts[Principle.DOMINANCE].numbers["largest_share"] == pytest.approx(25 / 40)


@pytest.mark.parametrize(("n", "status"), [(18, "fail"), (19, "pass")])
def test_median_needs_ten_units_each_side(n, status):
    # Of 19 the tenth is the median and counts on both sides; of 18 nine are below and nine above.
    found, verdicts, published = run(Percentile("x", 50), spread(n))
    assert found == status
    assert verdicts[Principle.INDIVIDUAL_VALUE].numbers["smallest"] == (9 if n == 18 else 10)
    if found == "pass":
        assert published["p50_x"] == [np.median(np.arange(1, n + 1))]


@pytest.mark.parametrize("percent", [0, 100])
def test_extreme_percentiles_raise_for_any_count(percent):
    found, verdicts, published = run(Percentile("x", percent), spread(1000))
    assert found == "fail"
    assert verdicts[Principle.INDIVIDUAL_VALUE].reason == "individual_value"
    assert published == {f"p{percent}_x": [None]}


def test_weighted_percentile_counts_weight():
    frame = spread(30, w=[1.0] * 15 + [100.0] * 15)
    _, _, published = run(Percentile("x", 20, weight="w"), frame)
    reached = np.cumsum(frame["w"]) / frame["w"].sum()
    assert published["p20_x"] == [frame["x"][int(np.argmax(reached >= 0.2))]]


@pytest.mark.parametrize(
    ("values", "principle", "status", "mode"),
    [
        pytest.param([1] * 18 + [2] * 2, None, "pass", "1", id="exactly 90 percent"),
        pytest.param([1] * 19 + [2], Principle.GROUP, "fail", None, id="95 percent alike"),
        pytest.param([1] * 10 + [2] * 10, None, "pass", "1 | 2", id="a tie of many is listed"),
        pytest.param(list(range(30)), Principle.INDIVIDUAL_VALUE, "fail", None, id="all tie: one unit each"),
        pytest.param([1] * 9 + [2, 3], Principle.INDIVIDUAL_VALUE, "fail", None, id="nine have it"),
        pytest.param([1] * 5 + [2] * 4, Principle.UNITS, "fail", None, id="nine units"),
    ],
)
def test_mode_matches_expected_value(values, principle, status, mode):
    found, verdicts, published = run(Mode("x"), pd.DataFrame({"x": values}))
    assert found == status
    assert published["mode_x"] == [mode]
    if principle is not None:
        assert verdicts[principle].status is Clearance.FAIL


def test_concentration_matches_definitions():
    frame = pd.DataFrame({"x": [3.0, 1.0] * 10})
    shares = frame["x"] / frame["x"].sum()
    assert run(Concentration("x", "hhi"), frame)[2]["hhi_x"] == [pytest.approx((shares**2).sum())]
    # Half of the sum of all differences, over n squared times the mean.
    differences = np.abs(np.subtract.outer(*[frame["x"].to_numpy()] * 2)).sum()
    gini = differences / (2 * len(frame) ** 2 * frame["x"].mean())
    assert run(Concentration("x", "gini"), frame)[2]["gini_x"] == [pytest.approx(gini)]
    assert run(Concentration("x", "cr4"), frame)[2]["cr4_x"] == [pytest.approx(12 / 40)]


@pytest.mark.parametrize(
    ("statistic", "values", "status"),
    [
        pytest.param("hhi", [1.0 + k for k in range(9)], "fail", id="nine units"),
        pytest.param("hhi", [1.0 + k for k in range(10)], "pass", id="ten units"),
        pytest.param("gini", [51.0] + [49 / 19] * 19, "fail", id="dominated"),
        pytest.param("cr1", [1.0] * 100, "fail", id="the share of one"),
    ],
)
def test_concentration_status_follows_units(statistic, values, status):
    assert run(Concentration("x", statistic), pd.DataFrame({"x": values}))[0] == status


def test_concentration_counts_holdings():
    frame = pd.DataFrame({"x": [1.0] * 20, "h": ["a", "b"] * 10})
    found, verdicts, _ = run(Concentration("x", "gini", holding="h"), frame)
    assert found == "fail"
    assert verdicts[Principle.UNITS].numbers["smallest"] == 2


def test_concentration_of_negative_amounts_raises():
    with raises("amounts_below_zero", n=1):  # none is no negative one
        run(Concentration("x"), pd.DataFrame({"x": [1.0] * 20 + [0.0, -1.0]}))


@pytest.mark.parametrize(
    ("statistic", "n", "status"),
    [
        pytest.param("variance", 12, "fail", id="12 - 1 is not greater than 11"),
        pytest.param("variance", 13, "pass", id="13 - 1 is"),
        pytest.param("skewness", 13, "fail", id="13 - 2 is not greater than 11"),
        pytest.param("skewness", 14, "pass", id="14 - 2 is"),
    ],
)
def test_summary_statistics_need_degrees_of_freedom(statistic, n, status):
    found, verdicts, _ = run(Summary(statistic, "x"), spread(n))
    assert found == status
    assert "> 11" in verdicts[Principle.FREEDOM].text


def test_statistic_equals_expected_value():
    frame = spread(30, y=np.arange(30.0) ** 2)
    assert run(Summary("std", "x"), frame)[2]["std_x"] == [pytest.approx(frame["x"].std())]
    shares = pd.DataFrame({"x": [0.0, 0.5, 1.0] * 10})  # 20 of 30 are a half away from the mean
    assert run(Summary("variance", "x"), shares)[2]["variance_x"] == [pytest.approx(20 * 0.25 / 29)]
    expected = frame["x"].corr(frame["y"])
    assert run(Summary("correlation", "x", "y"), frame)[2]["correlation_x"] == [pytest.approx(expected)]
    assert run(Summary("index", "x", "y"), frame)[2]["index_x"] == [
        pytest.approx(100 * frame["x"].sum() / frame["y"].sum())
    ]


@pytest.mark.parametrize("statistic", ["min", "max"])
def test_minimum_and_maximum_fail(statistic):
    found, _, published = run(Summary(statistic, "x"), spread(1000))
    assert found == "fail"
    assert published == {f"{statistic}_x": [None]}


@pytest.mark.parametrize(("n_at_the_end", "status"), [(9, "review"), (10, "pass")])
def test_structural_minimum_passes_or_needs_review(n_at_the_end, status):
    frame = pd.DataFrame({"x": [0.0] * n_at_the_end + list(range(1, 60))})
    found, verdicts, published = run(Summary("min", "x", structural=True), frame)
    assert found == status
    assert verdicts[Principle.INDIVIDUAL_VALUE].numbers["smallest"] == n_at_the_end
    assert published == {"min_x": [0.0]}


def test_homogeneous_group_is_suppressed():
    frame = pd.DataFrame({"x": [5.0] * 30 + list(range(30)), "g": ["a"] * 30 + ["b"] * 30})
    found, verdicts, published = run(Summary("std", "x", by=("g",)), frame)
    assert found == "pass"
    assert published["std_x"][0] is None
    assert verdicts[Principle.GROUP].numbers["unsafe"] == 1


def test_unsafe_group_keeps_other_groups():
    frame = spread(45, g=["a"] * 20 + ["b"] * 5 + ["c"] * 20)
    _, _, published = run(Summary("std", "x", by=("g",)), frame)
    assert [value is None for value in published["std_x"]] == [False, True, False]


def test_correlation_without_spread_is_suppressed():
    assert run(Summary("correlation", "x", "y"), spread(30, y=1.0))[2]["correlation_x"] == [None]


def test_hypothesis_tests_match_scipy():
    frame = spread(40, g=["a"] * 20 + ["b"] * 20, h=["u", "v"] * 20)
    found, _, published = run(Summary("t", "x", "g"), frame)
    a, b = frame["x"][:20], frame["x"][20:]
    t = (a.mean() - b.mean()) / np.sqrt(a.var() / 20 + b.var() / 20)
    assert published["t"] == [pytest.approx(t)]
    assert found == "pass"
    assert run(Summary("chi2", "g", "h"), frame)[2]["chi2"] == [pytest.approx(0.0)]


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda s: s.summary("medain", "x"), id="unknown statistic"),
        pytest.param(lambda s: s.summary("correlation", "x"), id="second variable missing"),
        pytest.param(lambda s: s.summary("std", "x", "y"), id="second variable too many"),
        pytest.param(lambda s: s.summary("std", "x", structural=True), id="no extreme"),
        pytest.param(lambda s: s.test("z", "x", "y"), id="unknown test"),
        pytest.param(lambda s: s.concentration("x", "theil"), id="unknown concentration"),
        pytest.param(lambda s: s.percentile("x", 101), id="beyond 100"),
        pytest.param(lambda s: s.mean("z"), id="unknown column"),
        pytest.param(lambda s: s.mean("g"), id="text"),
        pytest.param(lambda s: s.mean("x", by="z"), id="unknown group"),
    ],
)
def test_invalid_statistic_raises(call):
    work = ht.Session("s", spread(30, y=1.0, g="a"))
    with pytest.raises(HitokuError) as caught:
        call(work)
    assert caught.value.fix
    assert work.outputs == []


def test_unknown_statistic_suggests_nearest():
    with raises("word_not_allowed", name="statistic", given="varianc") as caught:
        Summary("varianc", "x")
    assert caught.value.fix.fields == {"name": "variance"}


def test_missing_numbers_raise_with_count():
    with raises("values_not_finite", n=1):
        run(Average("x"), pd.DataFrame({"x": [1.0] * 20 + [np.nan]}))


def test_output_definition_contains_filter():
    work = ht.Session("s", spread(60, g=["a"] * 30 + ["b"] * 30))
    out = work.mean("x", where={"g": ["b"]})
    assert out.frame["mean_x"].tolist() == [pytest.approx(45.5)]
    assert out.to_dict()["where"] == {"g": ["b"]}
