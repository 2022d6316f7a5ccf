"""Panel data: units come back in every period, and shares and counts are judged within it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.checks.submissions import resealed

import hitoku as ht
from hitoku.checks.principles import Clearance
from hitoku.checks.submission import recheck

UNITS, YEARS = 200, [2019, 2020, 2021]
RANDOM = np.random.default_rng(7)
PANEL = pd.DataFrame(
    {
        "id": np.tile(np.arange(UNITS), 3),
        "year": np.repeat(YEARS, UNITS),
        "job": RANDOM.choice(["a", "b", "c"], 3 * UNITS),
        "income": RANDOM.uniform(1000, 2000, 3 * UNITS),
    }
)


def test_period_with_all_units_is_not_disclosive():
    plain = ht.Session("s", PANEL, unit="id").frequency_table("year")
    assert plain.status is Clearance.FAIL or plain.frame["count"].isna().any()
    assert 'period="year"' in str(plain)
    panel = ht.Session("s", PANEL, unit="id", period="year").frequency_table("year")
    assert panel.status is Clearance.PASS
    assert "period=" not in str(panel)
    assert panel.frame["count"].tolist() == [200, 200, 200, 600]
    assert any("within each year" in v.text for v in panel.verdicts)


@pytest.mark.parametrize(
    "ask",
    [
        lambda w: w.frequency_table(["year", "job"]),
        lambda w: w.crosstab("year", "job"),
        lambda w: w.magnitude_table(["year", "job"], "income"),
    ],
)
def test_yearly_tables_keep_cells_and_are_rechecked(ask, tmp_path):
    work = ht.Session("s", PANEL, unit="id", period="year")
    out = ask(work)
    assert out.status is Clearance.PASS
    assert out.frame.notna().to_numpy().all()
    for given in ({}, {"data": PANEL, "unit": "id"}):
        check = recheck(work.submit(tmp_path / f"s{len(given)}"), **given)
        assert [str(f) for f in check.outputs[0].findings] == []


def test_shares_within_a_year_are_judged():
    # In 2021 nearly all have job a.
    frame = PANEL.assign(job=np.where((PANEL["year"] == 2021) & (PANEL["id"] > 5), "a", PANEL["job"]))
    out = ht.Session("s", frame, unit="id", period="year").frequency_table(["year", "job"])
    assert np.isnan(out.frame.loc["2021", "a"])


def test_variable_without_repeated_units_is_not_a_period():
    frame = PANEL.assign(id=np.arange(len(PANEL)), year=np.where(PANEL.index < 580, 2019, 2020))
    out = ht.Session("s", frame, unit="id", period="year").frequency_table("year")
    assert not out.evidence.repeats
    assert out.status is Clearance.FAIL or out.frame["count"].isna().any()


def test_period_missing_from_definition_is_found(tmp_path):
    work = ht.Session("s", PANEL, unit="id", period="year")
    work.frequency_table(["year", "job"], name="t")
    folder = work.submit(tmp_path / "s")
    resealed(folder, "checker/01-t.json", lambda c: c["evidence"].pop("period"))
    (found,) = recheck(folder).outputs
    assert any("another period" in str(finding) for finding in found.findings)


def test_ledger_compares_units_within_periods():
    work = ht.Session("s", PANEL, unit="id", period="year")
    first = work.crosstab("year", "job")
    assert sum(map(bool, first.membership.cells)) == len(YEARS)  # there are no totals
    assert first.verdicts[-1].text == "nothing before it"
    # The same people but one of 2020, in another coding of the jobs.
    out = np.flatnonzero(PANEL["year"] == 2020)[:1]
    kept = PANEL.assign(other=np.where(PANEL.index.isin(out), "left out", PANEL["job"]))
    again = ht.Session("s", kept, unit="id", period="year")
    again.crosstab("year", "job")
    second = again.crosstab("year", "job", name="second")
    assert second.status is Clearance.PASS
    third = again.output(
        type(first.asked)(("year", "job")), where={"other": ["a", "b", "c"]}, name="without one"
    )
    assert third.status is Clearance.FAIL
    assert "= 1 unit" in third.verdicts[-1].text
    # A table of that year alone is about the same people.
    alone = again.crosstab("job", where={"year": [2020], "other": ["a", "b", "c"]}, name="2020")
    assert alone.status is Clearance.FAIL


def test_absent_unit_is_not_singled_out():
    kept = PANEL.drop(index=[3, 250, 251])
    work = ht.Session("s", kept, unit="id", period="year")
    assert work.crosstab("year", "job").status is Clearance.PASS
    assert work.mean("income", by="year").status is Clearance.PASS


def test_means_by_period_are_compared_across_outputs():
    work = ht.Session("s", PANEL, unit="id", period="year")
    means = work.mean("income", by=["year", "job"])
    assert len(means.membership.codes) == len(YEARS)
    sizes = [np.bincount(codes)[1:].sum() for codes in means.membership.codes]
    assert sizes == [UNITS] * 3
    # Jobs change from year to year: a total over years has people in several cells.
    table = work.frequency_table(["year", "job"])
    assert table.membership is None
    assert table.verdicts[-1].status is Clearance.REVIEW
