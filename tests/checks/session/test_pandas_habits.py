"""crosstab, pivot_table, describe, tables of statistics: the numbers of pandas, withheld where need be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.raising import raises

import hitoku as ht
from hitoku.checks.principles import Clearance
from hitoku.checks.submission import recheck

N = 900
RANDOM = np.random.default_rng(4)
PEOPLE = pd.DataFrame(
    {
        "id": np.arange(N),
        "region": RANDOM.choice(["N", "S", "W"], N),
        "age": RANDOM.choice(["a", "b", "c", "d"], N, p=[0.5, 0.3, 0.18, 0.02]),
        "income": RANDOM.uniform(1000, 5000, N).round(1),
        "year": RANDOM.choice([2019, 2020], N),
    }
)


def session(frame=PEOPLE):
    return ht.Session("s", frame, unit="id")


def agree(out, expected, *, least=1):
    """What leaves is what pandas says, and some of it does not leave."""
    assert out.status is Clearance.PASS
    shown = out.frame
    expected = expected.loc[shown.index, shown.columns].astype(float)
    kept = shown.notna().to_numpy()
    assert np.allclose(shown.to_numpy(dtype=float)[kept], expected.to_numpy()[kept])
    assert least <= (~kept).sum() < kept.size


@pytest.mark.parametrize(
    "given", [("region", "age"), (PEOPLE["region"], PEOPLE["age"]), (["region"], ["age"])]
)
def test_counts_without_totals_match_pandas(given):
    out = session().crosstab(*given)
    agree(out, pd.crosstab(PEOPLE["region"], PEOPLE["age"]))
    assert "Total" not in str(out)


def test_counts_with_totals_match_pandas():
    expected = pd.crosstab(PEOPLE["region"], PEOPLE["age"], margins=True, margins_name="Total")
    agree(session().crosstab("region", "age", margins=True), expected)


@pytest.mark.parametrize(
    ("normalize", "of"), [("index", "row"), ("columns", "column"), ("all", "all"), (True, "all")]
)
def test_percentages_match_pandas(normalize, of):
    expected = 100 * pd.crosstab(PEOPLE["region"], PEOPLE["age"], normalize=normalize)
    agree(session().crosstab("region", "age", normalize=normalize), expected)
    rounded = session().percentages(["region", "age"], of)
    agree(rounded, expected.round(1))


def test_percentages_and_counts_have_equal_suppressions():
    work = session()
    counts, rows = work.crosstab("region", "age"), work.crosstab("region", "age", normalize="index")
    assert counts.frame.isna().equals(rows.frame.isna())
    # The one-way tables beside them give nothing more away.
    assert work.crosstab("region", margins=True).status is Clearance.PASS
    assert work.crosstab("age", margins=True).status is Clearance.PASS


@pytest.mark.parametrize(
    ("aggfunc", "column"),
    [
        ("mean", "mean_income"),
        (np.mean, "mean_income"),
        ("sum", "sum_income"),
        ("std", "std"),
        ("median", "median"),
    ],
)
def test_crosstab_with_one_aggregate_matches_pandas(aggfunc, column):
    out = session().crosstab("region", "age", values="income", aggfunc=aggfunc)
    expected = PEOPLE.groupby(["region", "age"])["income"].agg(
        aggfunc if isinstance(aggfunc, str) else "mean"
    )
    agree(out, expected.to_frame(column))
    same = session().pivot_table("income", "region", "age", aggfunc)
    assert dict(same.published) == dict(out.published)


def test_means_are_suppressed_with_their_sums():
    out = session().crosstab("region", "age", values="income", aggfunc="mean", margins=True)
    expected = pd.crosstab(
        PEOPLE["region"], PEOPLE["age"], PEOPLE["income"], aggfunc="mean", margins=True, margins_name="Total"
    )
    sums = session().crosstab("region", "age", values="income", aggfunc="sum", margins=True)
    assert (out.kind, out.status) == ("magnitude_table", Clearance.PASS)
    agree(out, expected)
    assert out.frame.isna().equals(sums.frame.isna())
    assert out.frame.isna().any(axis=None)
    same = session().pivot_table("income", "region", "age", "mean", margins=True)
    assert dict(same.published) == dict(out.published)


def test_mean_of_empty_cell_is_missing():
    frame = pd.DataFrame(
        {
            "region": ["N"] * 40 + ["S"] * 40,
            "job": (["a"] * 20 + ["b"] * 20) + ["a"] * 20 + ["c"] * 20,
            "income": np.arange(80.0) + 100,
        }
    )
    out = ht.Session("gaps", frame).crosstab("region", "job", values="income", aggfunc="mean", margins=True)
    expected = frame.pivot_table(
        "income", "region", "job", "mean", margins=True, margins_name="Total", dropna=False
    )
    assert out.frame.loc["N"].isna().tolist()[2]
    shown = out.frame.notna()
    np.testing.assert_allclose(out.frame.to_numpy()[shown], expected.to_numpy()[shown])


def test_means_with_totals_reveal_only_counts_and_sums():
    """Who knows the means and the counts knows the sums; with this pattern these are withheld as well."""
    work = session()
    counts = work.crosstab("region", "age", margins=True, name="counts")
    means = work.crosstab("region", "age", values="income", aggfunc="mean", margins=True)
    assert means.status is Clearance.PASS
    # Row by row: a sum that follows from a total and all others but one would be told.
    known = (means.frame * counts.frame).isna()
    assert known.any(axis=None)
    assert (known.sum(axis=1) != 1).all()
    assert (known.sum(axis=0) != 1).all()


def test_sums_with_totals_are_a_magnitude_table():
    out = session().crosstab("region", "age", values="income", aggfunc="sum", margins=True)
    expected = pd.crosstab(
        PEOPLE["region"], PEOPLE["age"], PEOPLE["income"], aggfunc="sum", margins=True, margins_name="Total"
    )
    assert out.kind == "magnitude_table"
    agree(out, expected)


def test_several_statistics_per_call_match_pandas(tmp_path):
    work = session()
    asked = ["count", "mean", "std", "median", "p90", "sum"]
    out = work.table(["region", "age"], "income", asked)
    groups = PEOPLE.groupby(["region", "age"])["income"]
    expected = groups.agg(["count", "mean", "std", "median", "sum"]).assign(p90=groups.quantile(0.9))
    agree(out, expected[asked])
    # n beside statistics is the frequency table, cell by cell.
    out = work.table(["region", "age"], "income", ["count", "mean"])
    counts = work.frequency_table(["region", "age"])
    inner = counts.frame.iloc[:-1, :-1].to_numpy(dtype=float).ravel()
    assert out.frame["count"].isna().tolist() == np.isnan(inner).tolist()
    folder = work.submit(tmp_path / "s")
    for given in ({}, {"data": PEOPLE, "unit": "id"}):
        check = recheck(folder, **given)
        assert check.ok
        assert [str(f) for each in check.outputs for f in each.findings] == []


def test_describe_has_neither_minimum_nor_maximum():
    out = session().describe("income")
    expected = PEOPLE["income"].describe()
    assert list(out.frame.columns) == ["count", "mean", "std", "p25", "median", "p75"]
    assert out.frame.iloc[0].tolist() == pytest.approx(
        expected[["count", "mean", "std", "25%", "50%", "75%"]].tolist()
    )
    with raises("statistic_of_one_unit", statistic="max"):
        session().table("region", "income", ["mean", "max"])


def test_integers_print_without_decimals():
    said = str(session().table("region", "income", ["count", "mean"]))
    n = int((PEOPLE["region"] == "N").sum())
    assert f"N         {n}" in said


def test_missing_codes_may_be_a_code():
    frame = PEOPLE.assign(age=PEOPLE["age"].where(PEOPLE.index % 10 > 0))
    assert "missing" in session(frame).crosstab("region", "age", dropna=False).frame.columns
    assert "missing" not in session(frame).crosstab("region", "age").frame.columns


@pytest.mark.parametrize(
    ("call", "code"),
    [
        pytest.param(
            lambda w: w.crosstab("region", "age", values="income"),
            "values_without_aggfunc",
            id="half",
        ),
        pytest.param(
            lambda w: w.crosstab("region", values="income", aggfunc=lambda x: x.max()),
            "aggregation_is_a_function",
            id="own",
        ),
        pytest.param(
            lambda w: w.crosstab("region", values="income", aggfunc=["mean", "std"], margins=True),
            "no_totals_of_output",
            id="margins",
        ),
        pytest.param(
            lambda w: w.crosstab("region", values="income", aggfunc="sum", normalize=True),
            "shares_of_aggregate",
            id="shares",
        ),
        pytest.param(
            lambda w: w.crosstab("region", "age", normalize="rows"),
            "unknown_normalize",
            id="word",
        ),
        pytest.param(
            lambda w: w.crosstab(PEOPLE["region"].str.lower()), "not_the_column_of_data", id="recoded"
        ),
        pytest.param(lambda w: w.crosstab(7), "not_a_column", id="number"),
        pytest.param(lambda w: w.pivot_table(["income", "year"], "region"), "several_variables", id="two"),
        pytest.param(
            lambda w: w.table("region", "income", ["meen"]),
            "unknown_statistic",
            id="misspelt",
        ),
        pytest.param(lambda w: w.table("region", "income", []), "statistics_repeated_or_none", id="none"),
        pytest.param(
            lambda w: w.percentages("region", "row"), "percentages_need_two_variables", id="one way"
        ),
        pytest.param(lambda w: w.percentages("region", "rows"), "word_not_allowed", id="rows"),
    ],
)
def test_unsupported_arguments_raise(call, code):
    with raises(code):
        call(session())


def test_extremes_in_a_list_raise():
    """ACRO prints an unsafe cell when values and aggfunc are lists of one; here a list is no way around."""
    out = session().crosstab("region", "age", values=["income"], aggfunc=["mean"])
    assert out.frame["mean_income"].isna().any()


def test_published_total_without_totals_is_a_contradiction():
    work = session()
    out = work.crosstab("region", "age")
    evidence = out.evidence
    forged = type(evidence).from_dict({**evidence.to_dict(), "withheld": [False] * evidence.n_parts}, "x")
    assert "a total of a table without totals is published" in list(out.asked.contradictions(forged))
