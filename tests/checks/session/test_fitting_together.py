"""Outputs that fit together: what is published is what is subtracted; patterns; totals; taking back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.raising import raises

import hitoku as ht
from hitoku.checks.principles import Clearance, Principle
from hitoku.checks.submission import recheck


def people():
    """4,320 people by group and sex, two of them in group e; amounts without giants."""
    group = np.repeat(list("abcde"), [1440, 1924, 758, 196, 2])
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "group": group,
            "sex": np.resize(["m", "f"], len(group)),
            "x": rng.uniform(1000, 2000, len(group)),
            "y": rng.uniform(1000, 2000, len(group)),
        }
    )


def test_count_table_and_statistics_pass_together(tmp_path):
    frame = people()
    work = ht.Session("s", frame)
    work.frequency_table("group")
    work.mean("x", by="group")
    work.percentile("x", 50, by="group")
    work.summary("std", "y", by="group")
    assert [each.status for each in work.outputs] == [Clearance.PASS] * 4
    # The mean of group d leaves although its count, 196, does not: it tells no count.
    assert np.isnan(work.outputs[0].frame.loc["d", "count"])
    assert np.isfinite(work.outputs[1].frame.loc["d", "mean_x"])
    folder = work.submit(tmp_path / "s")
    for given in ({"data": frame}, {}):
        assert all(each.status == Clearance.PASS for each in recheck(folder, **given).outputs)


def test_means_before_sums_get_advice():
    frame = people().query("group != 'e' or sex == 'm'")
    work = ht.Session("s", frame)
    means = work.mean("x", by=["group", "sex"], name="means")
    sums = work.magnitude_table(["group", "sex"], "x", name="sums")
    assert (means.status, sums.status) == (Clearance.PASS, Clearance.FAIL)
    told = "remove means and request it again after this one: it adopts the suppression pattern of this one"
    assert told in sums.remedies
    work.remove("means")  # what is left is compared again
    work.mean("x", by=["group", "sex"], name="means")
    assert [(each.name, each.status) for each in work.outputs] == [("sums", "pass"), ("means", "pass")]


def test_output_inherits_suppressed_totals():
    frame = people()
    frame.loc[frame.index[frame["group"] == "c"][0], "x"] = 3e6  # more than half of all in c
    work = ht.Session("s", frame)
    table = work.crosstab("group", "sex", values="x", aggfunc="mean", margins=True, name="table")
    hidden = table.frame.index[table.frame["Total"].isna()].tolist()
    assert "c" in hidden
    several = work.table("group", "x", ["mean", "median"])
    assert (several.status, several.like) == (Clearance.PASS, "table")
    assert several.frame.index[several.frame["mean"].isna()].tolist() == hidden


def test_unprinted_totals_are_not_inherited():
    work = ht.Session("s", people())
    work.crosstab("group", "sex", name="table")
    by_group = work.table("group", "x", ["count", "mean"], like="table")
    assert by_group.frame["count"].notna().sum() >= 3


def test_missing_values_are_reported_with_remedy():
    place = np.arange(4320)
    frame = people().assign(age=np.where(place % 700 == 0, None, np.where(place % 4 < 2, "old", "young")))
    work = ht.Session("s", frame)
    work.crosstab("sex", "age")
    counts = work.table("sex", "x", ["count", "mean"])
    assert counts.status is Clearance.FAIL
    assert any(
        "records without age are left out of one and not of the other" in text for text in counts.remedies
    )
    # As advised.
    again = work.table("sex", "x", ["count", "mean"], where={"age": ["old", "young"]})
    assert again.status is Clearance.PASS


def test_exception_for_unknown_principle_raises():
    work = ht.Session("s", people())
    work.frequency_table("group", name="t")
    with raises("key_value_not_allowed"):
        work.request_exception("t", principle="unit", reason="x")


BANDS = pd.DataFrame(
    {
        "narrow": ["0-18"] * 38 + ["19-25"] * 39 + ["26-30"] * 40,
        "wide": ["0-20"] * 39 + ["21-25"] * 38 + ["26-30"] * 40,
        "x": 100.0 + np.arange(117) % 17,
        "y": 100.0 + np.arange(117) % 13,
    }
)
KINDS = {
    "count": lambda work, by: work.frequency_table(by),
    "mean of x": lambda work, by: work.mean("x", by=by),
    "sum of x": lambda work, by: work.sum("x", by=by),
    "sums of x": lambda work, by: work.magnitude_table(by, "x"),
    "std of x": lambda work, by: work.summary("std", "x", by=by),
    "mean of y": lambda work, by: work.mean("y", by=by),
}
# What a reader has of the one person in between: a head less, or something of x.
TOGETHER = {
    ("count", "sum of x"),
    ("count", "sums of x"),
    ("mean of x", "sum of x"),
    ("mean of x", "sums of x"),
    ("mean of x", "std of x"),
    ("sum of x", "sums of x"),
    ("sum of x", "std of x"),
    ("sums of x", "std of x"),
}


@pytest.mark.parametrize("one", KINDS)
@pytest.mark.parametrize("two", KINDS)
def test_only_equal_statistics_are_subtracted(one, two):
    work = ht.Session("s", BANDS)
    assert KINDS[one](work, "narrow").status is Clearance.PASS
    found = KINDS[two](work, "wide")
    due = one == two or (one, two) in TOGETHER or (two, one) in TOGETHER
    assert (found.status is Clearance.FAIL) is due


@pytest.mark.parametrize("seed", range(6))
def test_table_passes_with_its_own_totals(seed):
    rng = np.random.default_rng(seed)
    n = 700
    frame = pd.DataFrame(
        {
            "region": rng.choice(list("NSEW"), n),
            "age": rng.choice([f"a{k}" for k in range(6)], n, p=[0.4, 0.3, 0.26, 0.02, 0.01, 0.01]),
        }
    )
    out = ht.Session("s", frame).frequency_table(["region", "age"])
    assert out.status is Clearance.PASS
    counts = pd.crosstab(frame["region"], frame["age"], margins=True, margins_name="Total")
    shown = out.frame
    assert shown.isna().to_numpy().any()
    assert (shown.isna() | (shown == counts.loc[shown.index, shown.columns])).to_numpy().all()
    # What a total less the cells beside it tells is nobody, or ten and more.
    hidden = shown.isna().iloc[:-1, :-1]
    for axis, total in ((1, shown["Total"].iloc[:-1]), (0, shown.loc["Total"].iloc[:-1])):
        told = (
            counts.loc[hidden.index, hidden.columns].where(hidden, 0).sum(axis=axis)[total.notna().to_numpy()]
        )
        assert ((told == 0) | (told >= 10)).all()


def test_small_unsafe_cells_get_a_secondary_suppression():
    frame = pd.DataFrame({"g": np.repeat(list("abcd"), [40, 30, 3, 4])})
    out = ht.Session("s", frame).frequency_table("g")
    assert out.status is Clearance.PASS
    assert out.frame["count"].isna().to_dict() == {
        "a": False,
        "b": True,
        "c": True,
        "d": True,
        "Total": False,
    }


def test_second_output_inherits_pattern_and_reports_it(tmp_path):
    frame = people()
    work = ht.Session("s", frame)
    table = work.frequency_table("group", name="counts")
    sums = work.sum("x", by="group", name="sums")
    assert sums.status is Clearance.PASS
    assert sums.like == "counts"
    assert sums.frame["sum_x"].isna().tolist() == table.frame["count"].isna().tolist()[:-1]
    assert "cells suppressed in 'counts' are suppressed here, too" in str(sums)
    median = work.percentile("x", 50, by="group", like="counts")
    assert (median.like, int(median.frame.isna().sum().iloc[0])) == ("counts", 2)
    check = recheck(work.submit(tmp_path / "s"), data=frame)
    assert check.ok
    assert [each.output.like for each in check.outputs] == ["", "counts", "counts"]
    with raises("unknown_output", output="count"):
        work.mean("x", like="count")


def test_withdrawn_output_blocks_nothing():
    work = ht.Session("s", BANDS)
    work.frequency_table("narrow", name="narrow")
    work.comment("narrow", "by narrow bands")
    assert work.frequency_table("wide", name="wide").status is Clearance.FAIL
    work.remove("narrow")
    assert [(each.name, each.status) for each in work.outputs] == [("wide", Clearance.PASS)]
    assert work.comments == {}
    # And the other way round.
    assert work.frequency_table("narrow").status is Clearance.FAIL
    with raises("unknown_output"):
        work.remove("wid")


def test_failed_output_blocks_nothing():
    work = ht.Session("s", BANDS)
    assert work.summary("max", "x", name="best").status is Clearance.FAIL
    again = work.mean("x", name="best")
    assert work.outputs == [again]
    with raises("output_exists", name="best"):
        work.mean("y", name="best")


def test_output_can_be_renamed_and_commented():
    work = ht.Session("s", BANDS)
    work.frequency_table("narrow")
    work.comment("frequency_table 1", "first line")
    work.comment("frequency_table 1", "second line")
    work.mean("x", by="narrow", like="frequency_table 1", name="means")
    named = work.rename("frequency_table 1", "ages")
    assert (named.name, work.outputs[1].like) == ("ages", "ages")
    assert work.comments == {"ages": "first line\nsecond line"}
    with raises("output_exists"):
        work.rename("ages", "means")
    verdicts = [v for v in work.outputs[1].verdicts if v.principle is Principle.DIFFERENCING]
    assert len(verdicts) == 1


def test_session_prints_pending_submission():
    work = ht.Session("wages", BANDS)
    work.frequency_table("narrow", name="ages")
    work.summary("max", "x", name="best")
    work.comment("ages", "as agreed")
    said = str(work)
    assert said.splitlines()[0] == "wages: 2 output(s) would be submitted"
    assert "  ages (frequency_table): pass" in said
    assert "comment: as agreed" in said
    assert "  best (summary): fail" in said
    assert "individual_value: the max is the value of one unit" in said


def test_exception_names_cell_and_principle(tmp_path):
    frame = people()
    work = ht.Session("s", frame)
    work.frequency_table("group", name="counts")
    asked = work.request_exception(
        "counts", principle="units", reason="a census of 1920", cells=[{"group": "e"}], facts={"year": 1920}
    )
    assert str(asked) in str(work)
    work.rename("counts", "groups")
    folder = work.submit(tmp_path / "s")
    (read,) = recheck(folder).submission.requests
    assert (read.output, read.cells, read.facts.year) == ("groups", ({"group": "e"},), 1920)
    work.remove("groups")
    assert work.requests == []


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"principle": "unit", "reason": "r"}, "key_value_not_allowed"),
        ({"principle": "units", "reason": ""}, "key_unusable"),
        ({"principle": "units", "reason": "r", "facts": {"yaer": 1}}, "unknown_key"),
        ({"principle": "units", "reason": "r", "cells": [{"group": "z"}]}, "unknown_cell"),
    ],
)
def test_invalid_exception_request_raises(given, code):
    work = ht.Session("s", people())
    work.frequency_table("group", name="counts")
    with raises(code):
        work.request_exception("counts", **given)
