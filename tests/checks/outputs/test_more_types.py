"""Survival curves, histograms, hypothesis tests, numbers of another program, patterns by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.raising import raises

import hitoku as ht
from hitoku.checks.outputs import compare_categories, round_edges
from hitoku.checks.principles import Clearance, Principle
from hitoku.checks.submission import recheck
from hitoku.errors import DataError, ParameterError

RANDOM = np.random.default_rng(9)
N = 600
PEOPLE = pd.DataFrame(
    {
        "id": np.arange(N),
        "arm": RANDOM.choice(["drug", "placebo"], N),
        "region": RANDOM.choice(["N", "S", "W"], N),
        "months": np.ceil(RANDOM.exponential(15, N)),
        "died": RANDOM.integers(0, 2, N),
        "income": RANDOM.uniform(1000, 3000, N).round(1),
    }
)


def session(**options):
    return ht.Session("s", PEOPLE, unit="id", **options)


def kaplan_meier(time, event):
    """The definition, one person at a time."""
    estimate, found = 1.0, {}
    for t in sorted(set(time)):
        at_risk = sum(x >= t for x in time)
        estimate *= 1 - sum(x == t and e == 1 for x, e in zip(time, event, strict=True)) / at_risk
        found[t] = estimate
    return found


def test_survival_curve_equals_kaplan_meier():
    out = session().survival("months", "died", by="arm")
    assert out.status is Clearance.PASS
    units = {
        fact.codes["arm"]: fact.amount for fact in out.asked.facts(out.evidence) if fact.kind == ("units",)
    }
    assert units == PEOPLE["arm"].value_counts().to_dict()
    for arm, rows in out.frame.groupby(level=0):
        own = PEOPLE[PEOPLE["arm"] == arm]
        expected = kaplan_meier(own["months"].tolist(), own["died"].tolist())
        assert rows["survival"].tolist() == pytest.approx([expected[t] for t in rows["months"]])
        # Every step has ten deaths and more, and ten people are left after the last.
        ends = [0.0, *rows["months"]]
        for low, high in pairwise(ends):
            inside = own["months"].between(low, high, inclusive="right")
            assert (inside & (own["died"] == 1)).sum() >= 10
        assert (own["months"] > ends[-1]).sum() >= 10


def test_forged_survival_step_fails():
    out = session().survival("months", "died")
    evidence = out.evidence
    everything = type(evidence).from_dict({**evidence.to_dict(), "withheld": [False] * evidence.n_parts}, "x")
    found, _ = out.asked.judge(everything, session().policy)
    assert found.status is Clearance.FAIL
    forged = {**evidence.to_dict(), "events": [0] * evidence.n_parts}
    assert list(out.asked.contradictions(type(evidence).from_dict(forged, "x")))


def test_survival_needs_one_record_each_and_an_event():
    twice = pd.concat([PEOPLE, PEOPLE])
    with raises("several_records_per_unit_in_curve"):
        ht.Session("s", twice, unit="id").survival("months", "died")
    with raises("event_not_binary"):
        session().survival("months", "region")


def test_cox_model_needs_review():
    sm = pytest.importorskip("statsmodels.api")
    design = PEOPLE[["income"]].assign(drug=(PEOPLE["arm"] == "drug") * 1.0)
    fitted = sm.PHReg(PEOPLE["months"], design, status=PEOPLE["died"]).fit()
    out = session().regression(fitted)
    assert out.status is Clearance.REVIEW
    assert out.frame["coefficient"].tolist() == pytest.approx(fitted.params.tolist())


def test_histogram_counts_match_numpy():
    out = session().histogram("income", [1200, 2000, 2990])
    counts = np.histogram(PEOPLE["income"], [0, 1200, 2000, 2990, 1e9])[0]
    shown = out.frame["count"].to_numpy()[:-1]
    assert [x for x in shown if np.isfinite(x)] == [
        n for n, x in zip(counts, shown, strict=True) if np.isfinite(x)
    ]
    assert out.frame.index[0] == "1: below 1200"
    edges = session().histogram("income", 8).asked.edges
    assert min(edges) >= 0
    assert not set(edges) & set(PEOPLE["income"])
    # From 5 to 95, in one step that is round.
    assert round_edges(np.arange(101.0), 1) == round_edges(np.arange(101.0), 0) == (0.0, 100.0)
    with raises("edges_not_ordered"):
        session().histogram("income", [3, 2, 1])


@pytest.mark.parametrize(
    ("test", "other", "plain"),
    [
        ("f", "region", lambda parts: stats.f_oneway(*parts)),
        ("kruskal", "region", lambda parts: stats.kruskal(*parts)),
        ("mannwhitney", "arm", lambda parts: stats.mannwhitneyu(*parts, method="asymptotic")),
        ("t", "arm", lambda parts: stats.ttest_ind(*parts, equal_var=False)),
    ],
)
def test_hypothesis_tests_match_scipy_and_pass(test, other, plain, tmp_path):
    work = session()
    out = work.test(test, "income", other, name="test")
    found = plain([part["income"].to_numpy() for _, part in PEOPLE.groupby(other)])
    assert out.frame.iloc[0].tolist() == pytest.approx([found.statistic, found.pvalue])
    assert int(out.evidence.freedom[0]) == N - PEOPLE[other].nunique()
    folder = work.submit(tmp_path / "s")
    assert recheck(folder, data=PEOPLE, unit="id").ok
    forged = out.evidence.to_dict()
    forged["value"] = [[found.statistic, 1e-9]]
    said = list(out.asked.contradictions(type(out.evidence).from_dict(forged, "x")))
    assert bool(said) is (test != "mannwhitney")


def test_unused_categories_are_omitted():
    # 10, 5 and 5, 10: n (ad - bc)^2 over the product of the sums is 30 * 75^2 / 15^4.
    value, other = np.repeat([0, 0, 2, 2], [10, 5, 5, 10]), np.repeat([0, 2, 0, 2], [10, 5, 5, 10])
    found, taken, fit = compare_categories(value, other)
    assert found == pytest.approx((10 / 3, stats.chi2.sf(10 / 3, 1)))
    assert taken == 2
    # The square of Cramér's V: chi square over n.
    assert fit == pytest.approx(1 / 9)


def test_two_sample_test_requires_two_categories():
    with raises("test_needs_two_categories", n=3):
        session().test("mannwhitney", "income", "region")


def test_external_numbers_must_match_their_description(tmp_path):
    work = session()
    out = work.hand_over(
        {"coefficient": [1.5, -2.0, 0.5], "se": [0.1, 0.2, 0.3]},
        n=[600, 600, 4],
        freedom=[590, 590, 1],
        method="plm, R 4.4",
        rows=["age", "sex", "rare"],
        name="fixed effects",
    )
    assert out.status is Clearance.REVIEW
    assert out.published["coefficient"] == [1.5, -2.0, None]
    assert "computed elsewhere" in str(out)
    check = recheck(work.submit(tmp_path / "s"), data=PEOPLE, unit="id")
    assert [str(f) for f in check.outputs[0].findings] == []
    assert check.outputs[0].status == Clearance.REVIEW
    indicator = work.hand_over({"gini": 0.31}, n=5, method="ineq")
    assert indicator.status is Clearance.FAIL


@pytest.mark.parametrize(
    "options",
    [
        {"table": {"a": [1.0, 2.0], "b": [1.0]}, "n": 5, "method": "m"},
        {"table": {"a": ["x"]}, "n": 5, "method": "m"},
        {"table": {"a": [1.0, 2.0]}, "n": [5, 6, 7], "method": "m"},
        {"table": {"a": 1.0}, "n": 5, "method": " "},
        {"table": {"a": [1.0, 2.0], "b": 1.0}, "n": 5, "method": "m"},
        {"table": {"a": 1.0}, "method": "m"},
        {"table": {"a": 1.0}, "n": 5},
        {"table": pd.DataFrame({"a": [1.0, 2.0]})},
    ],
)
def test_invalid_tables_raise(options):
    given = dict(options)
    with pytest.raises((DataError, ParameterError)):
        session().hand_over(given.pop("table"), **given)


def test_hand_suppressed_pattern_is_judged_unchanged(tmp_path):
    frame = pd.DataFrame({"g": np.repeat(list("abcd"), [40, 30, 3, 30])})
    alone = ht.Session("s", frame).frequency_table("g", withhold=[{"g": "c"}])
    assert alone.status is Clearance.FAIL  # the total gives it away
    assert {v.principle for v in alone.verdicts if v.status is Clearance.FAIL} >= {Principle.INTERVAL}
    work = ht.Session("s", frame)
    both = work.frequency_table("g", withhold=[{"g": "c"}, {"g": "b"}], name="by hand")
    assert both.status is Clearance.PASS
    assert both.frame["count"].isna().tolist() == [False, True, True, False, False]
    assert recheck(work.submit(tmp_path / "s"), data=frame).ok
    assert ht.Session("s", frame).frequency_table("g", withhold=[]).status is Clearance.FAIL
    with raises("unknown_cell", cell="g=z"):
        work.frequency_table("g", withhold=[{"g": "z"}])
