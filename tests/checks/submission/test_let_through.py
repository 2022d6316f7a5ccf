"""What another program was seen to let through: each case is caught here (the project's notes, section 2)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.raising import raises

import hitoku as ht
from hitoku.checks.ledger import Ledger
from hitoku.checks.principles import Clearance, Principle
from hitoku.checks.submission import definition_of, partitions


def ages(*bands):
    return [band for band, n in bands for _ in range(n)]


# Table 1 of Kikuchi and Minami (2017): one person of area A is 19 or 20.
TABLE_1 = pd.DataFrame(
    {
        "narrow": ages(("0-18", 18), ("19-25", 19), ("26-30", 20)),
        "wide": ages(("0-20", 19), ("21-25", 18), ("26-30", 20)),
    }
)


def grid(counts):
    rows = [(f"r{i}", f"c{j}") for (i, j), n in np.ndenumerate(np.asarray(counts)) for _ in range(n)]
    return pd.DataFrame(rows, columns=["region", "job"])


def test_second_banding_of_the_paper_is_found():
    work = ht.Session("ages", TABLE_1)
    assert work.frequency_table(by="narrow").status is Clearance.PASS
    second = work.frequency_table(by="wide")
    found = [v for v in second.verdicts if v.principle is Principle.DIFFERENCING]
    assert second.status is not Clearance.PASS
    assert any("= 1 " in verdict.text for verdict in found)


def test_failed_output_does_not_block_next():
    work = ht.Session("ages", TABLE_1)
    work.frequency_table(by="narrow")
    work.frequency_table(by="wide")
    assert work.frequency_table(by="narrow", name="again").status is Clearance.PASS


def test_earlier_session_release_is_counted(tmp_path):
    path = tmp_path / "ages.ledger"
    before = ht.Session("before", TABLE_1, ledger=path)
    first = before.frequency_table(by="narrow")
    assert not path.exists()
    ledger = Ledger.open(path, data_hash=first.data, n_units=before.records.n_units, project="before")
    ledger.remember(first.name, partitions(first), definition_of(first), published=dict(first.published))
    untouched = path.read_bytes()
    second = ht.Session("after", TABLE_1, ledger=path).frequency_table(by="wide")
    assert second.status is not Clearance.PASS
    assert path.read_bytes() == untouched


def test_small_cell_is_not_derivable_by_subtraction():
    frame = grid([[3, 50, 40], [45, 60, 55], [45, 40, 35]])
    work = ht.Session("margins", frame)
    table = work.frequency_table(by=["region", "job"])
    one_way = work.frequency_table(by="region")
    assert table.frame.loc["r0", "Total"] == one_way.frame.loc["r0"].iloc[0] == 93
    assert table.frame.isna().to_numpy().sum() >= 4


def test_unsafe_cell_is_never_printed():
    frame = grid([[3, 50, 40], [45, 60, 55], [45, 40, 35]])
    frame["income"] = np.resize([99.0, 100, 101, 95, 105, 90, 110, 85, 115, 80, 120], len(frame))
    table = ht.Session("s", frame).magnitude_table(by=["region", "job"], value="income")
    assert np.isnan(table.frame.loc["r0", "c0"])
    assert " 300.0" not in str(table)


@pytest.mark.parametrize("statistic", ["min", "max"])
def test_extreme_values_are_kept(statistic):
    frame = grid([[30, 50], [45, 60]]).assign(income=np.arange(185.0))
    assert ht.Session("s", frame).summary(statistic, "income", by=["region", "job"]).status is Clearance.FAIL


def test_share_of_91_percent_is_group_disclosure():
    table = ht.Session("s", grid([[91, 9, 0], [300, 310, 320], [300, 320, 310]])).frequency_table(
        by=["region", "job"]
    )
    assert np.isnan(table.frame.loc["r0", "c0"])


def test_top_contributor_of_63_percent_dominates():
    frame = grid([[60, 60], [60, 60]]).assign(income=37 / 59)
    frame.loc[0, "income"] = 63.0
    assert ht.Session("s", frame).mean("income", where={"region": "r0", "job": "c0"}).status is Clearance.FAIL


def test_unsafe_cell_keeps_other_deviations():
    frame = grid([[3, 50], [45, 60]]).assign(income=np.arange(158.0))
    out = ht.Session("s", frame).summary("std", "income", by=["region", "job"])
    assert out.frame["std_income"].isna().tolist() == [True, False, False, False]


def test_tied_mode_of_few_units_fails():
    frame = pd.DataFrame({"x": [1] * 5 + [2] * 5 + [3] * 2})
    assert ht.Session("s", frame).mode("x").status is Clearance.FAIL


def test_unequal_lengths_raise():
    with raises("not_a_data_frame"):
        ht.Session("s", {"region": ["a"] * 5, "job": ["b"] * 6})


def test_missing_categories_have_their_own_message():
    frame = grid([[30, 50], [45, 60]])
    frame.loc[0, "region"] = np.nan
    with raises("missing_codes", column="region", n=1):
        ht.Session("s", frame).mean("region", by="region", missing="error")


def test_quantiles_by_group_pass():
    frame = grid([[30, 50], [45, 60]]).assign(income=np.arange(185.0))
    out = ht.Session("s", frame).percentile("income", 25, by=["region", "job"])
    expected = frame.groupby(["region", "job"])["income"].quantile(0.25)
    shown = out.frame["p25_income"]
    assert shown.dropna().tolist() == expected[shown.notna().to_numpy()].tolist()
    assert shown.notna().any()


def test_zero_cell_is_published():
    table = ht.Session("s", grid([[0, 50, 40], [45, 60, 55], [45, 40, 35]])).frequency_table(
        by=["region", "job"]
    )
    assert table.status is Clearance.PASS
    assert table.frame.loc["r0", "c0"] == 0


def test_safe_table_passes_without_review():
    table = ht.Session("s", grid([[30, 50, 40], [45, 60, 55], [45, 40, 35]])).frequency_table(
        by=["region", "job"]
    )
    assert {verdict.status for verdict in table.verdicts} == {Clearance.PASS}
