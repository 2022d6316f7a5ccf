"""End to end in three lines: any frame in, the same kind of frame out, a release folder written."""

from __future__ import annotations

import csv

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hitoku as ht
from hitoku.errors import ParameterError, ProtectionError

COLUMNS = {"town": list("AAAAABBBBBCCCC"), "ill": list("yyynnynnnnyynn"), "cost": [7.5] * 13 + [1.25]}
KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
COUNTED = {("A", "y"): 3, ("A", "n"): 2, ("B", "y"): 1, ("B", "n"): 4, ("C", "y"): 2, ("C", "n"): 2}


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


def by_codes(frame):
    wide = nw.from_native(frame, eager_only=True)
    return {(row["town"], row["ill"]): row for row in wide.rows(named=True)}


def test_protect_returns_frame_of_caller_type(kind):
    records = kind(COLUMNS)
    outcome = ht.protect(records, by=["town", "ill"], rules=[ht.MinFrequency(2)], width=2)
    assert type(outcome.frame) is type(records)
    assert outcome.audit.safe
    rows = by_codes(outcome.frame)
    assert len(rows) == 4 * 3
    assert rows["B", "y"]["status"] == "withheld"
    for codes, count in COUNTED.items():
        row = rows[codes]
        hidden = row["status"] == "withheld"
        assert hidden == (row["value"] is None or row["value"] is pd.NA)
        assert hidden or row["value"] == count
    assert rows["Total", "Total"]["value"] == 14


def test_counts_with_suppressions_stay_integers(kind):
    outcome = ht.protect(kind(COLUMNS), by=["town", "ill"], rules=["min_frequency:n=2"], width=2)
    assert nw.from_native(outcome.frame, eager_only=True)["value"].dtype == nw.Int64


@pytest.mark.parametrize("alone", [ht.MinFrequency(2), "min_frequency:n=2"])
def test_single_rule_needs_no_list(alone):
    found = ht.protect(pd.DataFrame(COLUMNS), by=["town", "ill"], rules=alone, width=2)
    listed = ht.protect(pd.DataFrame(COLUMNS), by=["town", "ill"], rules=[alone], width=2)
    assert found.protection.withheld.any()
    assert np.array_equal(found.protection.withheld, listed.protection.withheld)


def test_outcome_frame_matches_the_release():
    outcome = ht.protect(pd.DataFrame(COLUMNS), by=["town", "ill"], rules=["min_frequency:n=2"], width=2)
    pd.testing.assert_frame_equal(outcome.frame, outcome.release.frame)


def test_public_frame_hides_primary_from_secondary(kind):
    outcome = ht.protect(kind(COLUMNS), by=["town", "ill"], rules=["min_frequency:n=2"], width=2)
    assert {row["status"] for row in by_codes(outcome.frame).values()} == {"published", "withheld"}
    rows = by_codes(outcome.confidential_frame)
    assert rows["B", "y"]["status"] == "primary"
    assert rows["B", "y"]["value"] == 1
    assert rows["B", "y"]["rules"].startswith("min_frequency")
    assert {row["status"] for row in rows.values()} == {"published", "primary", "secondary"}


def test_frame_matches_numbers_of_public_file(tmp_path, kind):
    records = kind({"town": list("AABBCC"), "ill": list("ynynyn"), "cost": [0.1, 0.2, 0.3, 0.4, 0.7, 0.1]})
    unsafe = ht.Given(np.zeros(12, dtype=bool))
    outcome = ht.protect(records, by=["town", "ill"], value="cost", rules=[unsafe], insiders="none")
    folder = outcome.write(tmp_path / "release")
    with (folder / "public" / "table.csv").open(encoding="utf-8") as file:
        printed = {(row["town"], row["ill"]): row["value"] for row in csv.DictReader(file)}
    assert printed["A", "Total"] == "0.3"  # not 0.30000000000000004
    assert {codes: row["value"] for codes, row in by_codes(outcome.frame).items()} == {
        codes: float(text) for codes, text in printed.items()
    }


def test_cell_frame_gives_the_same_outcome(kind):
    cells = kind(
        {
            "town": [a for a, _ in COUNTED],
            "ill": [b for _, b in COUNTED],
            "n": list(COUNTED.values()),
        }
    )
    outcome = ht.protect(
        cells, ["town", "ill"], value="n", frequency="n", cells=True, rules=["min_frequency:n=2"], width=2
    )
    again = ht.protect(kind(COLUMNS), by=["town", "ill"], rules=["min_frequency:n=2"], width=2)
    assert outcome.audit.safe
    assert by_codes(outcome.frame) == by_codes(again.frame)


def test_column_named_like_variable_keeps_codes():
    records = pd.DataFrame({"status": list("aabb"), "value": list("xyxy")})
    outcome = ht.protect(records, by=["status", "value"], rules=["min_frequency:n=1"])
    assert list(outcome.frame.columns) == ["status", "value", "value_", "status_"]


def test_written_release_verifies(tmp_path):
    outcome = ht.protect(pd.DataFrame(COLUMNS), by=["town", "ill"], rules=["min_frequency:n=2"], width=2)
    folder = outcome.write(tmp_path / "release", title="Health", formats=["csv"])
    assert ht.verify(folder).ok
    assert (folder / "checker" / "report.html").is_file()


def test_unsafe_release_requires_force(tmp_path):
    outcome = ht.protect(
        pd.DataFrame(COLUMNS), by=["town", "ill"], rules=["min_frequency:n=2"], width=2, method="gauss"
    )
    blank = ht.Protection.withhold(outcome.table, outcome.need.unsafe, outcome.need)
    found = ht.audit(outcome.table, outcome.need, ht.Release.of(outcome.table, blank))
    unsafe = ht.WritableOutcome(blank, found)
    with pytest.raises(ProtectionError, match="not safe"):
        unsafe.write(tmp_path / "release")
    assert not (tmp_path / "release").exists()
    assert (unsafe.write(tmp_path / "release", force=True) / "NOT_SAFE.txt").is_file()


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        pytest.param({"holdings": "ill"}, "did you mean 'holding'", id="misspelt argument"),
        pytest.param({"cells": True}, "value=", id="cells without a value"),
    ],
)
def test_contradictory_arguments_raise(given, fix):
    with pytest.raises(ParameterError) as refused:
        ht.protect(pd.DataFrame(COLUMNS), by=["town", "ill"], rules=["min_frequency:n=2"], **given)
    assert fix in refused.value.fix


def test_given_table_is_used_unchanged():
    table = ht.Table.from_array([[20, 15, 9], [72, 1, 30]])
    assert ht.protect(table, rules=[ht.MinFrequency(3)], width=3).table is table
    with pytest.raises(ParameterError, match="made already"):
        ht.protect(table, by=["row"], rules=[ht.MinFrequency(3)])
