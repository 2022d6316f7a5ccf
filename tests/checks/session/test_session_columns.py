"""Columns as researchers have them: every kind of code, names that collide, filters of every kind."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.raising import raises

import hitoku as ht
from hitoku.checks.principles import Clearance, Principle
from hitoku.checks.submission import recheck


def half(first, second):
    return [first] * 30 + [second] * 30


KINDS = {
    "text": (half("北海道", "Zürich"), ["Zürich", "北海道"]),
    "boolean": (half(True, False), ["false", "true"]),
    "whole": (half(2, 10), ["2", "10"]),
    "float": (half(1.5, 2.0), ["1.5", "2"]),
    "date": (half(dt.date(2020, 1, 1), dt.date(2021, 1, 1)), ["2020-01-01", "2021-01-01"]),
    "band": (pd.cut(np.arange(60), [-1, 29, 60]), ["(-1, 29]", "(29, 60]"]),
    "interval": (pd.IntervalIndex.from_tuples(half((0, 1), (1, 2))), ["(0, 1]", "(1, 2]"]),
    "period": (pd.PeriodIndex(half("2020", "2021"), freq="Y"), ["2020", "2021"]),
    "category": (pd.Categorical(half("a", "b"), categories=["b", "a", "nobody"]), ["a", "b"]),
}


@pytest.mark.parametrize(("column", "codes"), KINDS.values(), ids=KINDS)
def test_column_codes_agree_in_all_outputs(column, codes, tmp_path):
    data = pd.DataFrame({"g": column, "x": np.arange(60)})
    work = ht.Session("kinds", data)
    assert work.frequency_table(by="g").frame.index.tolist() == [*codes, "Total"]
    assert work.magnitude_table(by="g", value="x").frame.index.tolist() == [*codes, "Total"]
    assert work.mean("x", by="g").frame.index.tolist() == codes
    assert recheck(work.submit(tmp_path / "s"), data=data).tally["pass"] == 3


def test_timestamps_become_codes():
    times = pd.to_datetime(half("2020-01-01", "2021-01-01"))
    work = ht.Session("times", pd.DataFrame({"g": times, "x": np.arange(60)}))
    table = work.frequency_table(by="g").frame
    assert [code[:10] for code in table.index] == ["2020-01-01", "2021-01-01", "Total"]
    out = work.mean("x", by="g", where={"g": [times[0]]})
    assert out.where["g"] == out.frame.index.tolist()


def test_missing_code_beside_word_missing_raises():
    data = pd.DataFrame({"g": ["a"] * 20 + [None] * 20 + ["missing"] * 20, "x": range(60)})
    work = ht.Session("gone", data)
    for ask in (work.frequency_table, lambda **how: work.mean("x", **how)):
        with raises("missing_code_is_taken"):
            ask(by="g", missing="code")


def test_variable_named_like_count_column_keeps_codes():
    data = pd.DataFrame({"count": half("a", "b"), "mean_x": half("u", "v"), "x": range(60)})
    work = ht.Session("names", data)
    table, mean = work.frequency_table(by="count"), work.mean("x", by="mean_x")
    assert table.published == {"count": ["a", "b", "Total"], "count_": [30, 30, 60]}
    assert mean.published == {"mean_x": ["u", "v"], "mean_x_": [14.5, 44.5]}


@pytest.mark.parametrize(
    "kept",
    [True, [True], (True,), {True}, np.array([True]), pd.Series([True]), pl.Series([True])],
    ids=["value", "list", "tuple", "set", "array", "pandas", "polars"],
)
def test_filter_is_stored_by_codes(kept):
    data = pd.DataFrame({"area": ["A"] * 60 + ["B"] * 60, "works": [True] * 57 + [False] * 3 + [True] * 60})
    work = ht.Session("filters", data)
    assert work.frequency_table(by="area").status is Clearance.PASS
    out = work.frequency_table(by="area", where={"works": kept})
    assert out.where == {"works": ["true"]}
    # The three of A who do not work, by the definitions of both tables.
    found = [verdict for verdict in out.verdicts if verdict.principle is Principle.DIFFERENCING]
    assert found[0].status is Clearance.FAIL
    assert "by definition" in found[0].text


def test_filter_on_table_variable_is_reported():
    data = pd.DataFrame({"g": half(1.0, 2.5), "x": range(60)})
    out = ht.Session("filters", data).mean("x", by="g", where={"g": 1.0})
    assert (out.where, out.frame.index.tolist()) == ({"g": ["1"]}, ["1"])


def test_records_without_a_code_can_be_kept():
    data = pd.DataFrame({"g": half("a", None), "x": range(60)})
    out = ht.Session("filters", data).mean("x", by="g", where={"g": [None]}, missing="code")
    assert (out.where, out.frame.index.tolist(), out.status) == ({"g": [None]}, ["missing"], Clearance.PASS)


@pytest.mark.parametrize("where", ["g == 'a'", [True] * 60])
def test_invalid_filter_raises(where):
    work = ht.Session("filters", pd.DataFrame({"g": half("a", "b"), "x": range(60)}))
    with raises("filter_invalid"):
        work.mean("x", where=where)


@pytest.mark.parametrize(
    ("where", "fix"),
    [
        pytest.param({"town": "Gulhaven"}, "did you mean 'Gullhaven'?", id="misspelt"),
        pytest.param(
            {"town": ["Gullhaven", "Elmwood"], "job": "smiht"}, "did you mean 'smith'?", id="second"
        ),
        pytest.param({"town": "Zzz"}, "check its values", id="like nothing"),
        pytest.param({"town": "Elmwood", "job": "smith"}, "check its values", id="codes that never meet"),
        pytest.param({"income": 4712}, "check its values", id="a number is somebody's"),
        pytest.param({"person": "p 61"}, "check its values", id="a unit is not named"),
    ],
)
def test_empty_filter_suggests_nearest_code(where, fix):
    data = pd.DataFrame(
        {
            "person": [f"p{k}" for k in range(60)],
            "town": half("Gullhaven", "Elmwood"),
            "job": half("smith", "baker"),
            "income": range(4711, 4711 + 120, 2),
        }
    )
    with raises("filter_keeps_no_record") as refused:
        ht.Session("filters", data, unit="person").mean("income", where=where)
    assert (refused.value.where, refused.value.fix) == ("where", fix)


def test_output_names_are_unique_unless_failed():
    work = ht.Session("names", pd.DataFrame({"x": range(60)}))
    work.summary("max", "x", name="same")
    work.percentile("x", 50, name="same")
    with raises("output_exists", name="same"):
        work.mean("x", name="same")


def test_unknown_output_name_raises():
    work = ht.Session("names", pd.DataFrame({"x": range(60)}))
    work.mean("x", name="mean")
    with raises("output_without_type"):
        work.output("mean")


def test_modes_that_tie_beyond_nine_are_counted():
    out = ht.Session("ties", pd.DataFrame({"x": list(range(12)) * 12})).mode("x")
    assert out.frame["mode_x"].tolist() == ["0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | and 3 more"]


def test_remedy_merges_neighbours_in_natural_order():
    ages = ["5-9"] * 40 + ["10-14"] * 4 + ["15-19"] * 30 + ["100+"] * 40
    data = pd.DataFrame({"age": ages, "x": range(114)})
    assert ht.Session("n", data).frequency_table(by="age").remedies == ("merge age 10-14 with 15-19",)
    assert ht.Session("x", data).mean("x", by="age").remedies == ("merge 10-14 with 15-19",)


def test_unnamed_units_raise_in_any_frame_type():
    data = pl.DataFrame({"id": [1.0] * 20 + [float("nan")] * 20, "x": range(40)})
    with raises("records_without_unit", n=20):
        ht.Session("units", data, unit="id")


def test_unnamed_columns_raise():
    with raises("numbered_columns"):
        ht.Session("names", pd.DataFrame({0: half("a", "b")}))


def test_percent_must_be_a_number(tmp_path):
    data = pd.DataFrame({"x": range(60)})
    work = ht.Session("percent", data)
    with raises("parameter_range", name="percent", given="50"):
        work.percentile("x", "50")
    work.percentile("x", np.int64(50))
    assert recheck(work.submit(tmp_path / "s"), data=data).ok


def test_decimal_commas_of_a_file_are_read_as_tabulate_reads_them(tmp_path):
    file = tmp_path / "firms.csv"
    lines = [f"{'small' if k % 2 else 'large'};{k},5" for k in range(80)]
    file.write_text("\n".join(["size;turnover", *lines]) + "\n", encoding="utf-8")
    mean = ht.Session("commas", file).mean("turnover", by="size").frame
    assert mean["mean_turnover"].to_dict() == {"large": 39.5, "small": 40.5}
    assert ht.tabulate(file, by=["size"], value="turnover").value.tolist() == [40 * 39.5, 40 * 40.5, 80 * 40]
