"""Complete cases per output: left out, counted, shown; the data set stays one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.checks.submissions import resealed
from tests.raising import raises

import hitoku as ht
from hitoku.checks.principles import Clearance
from hitoku.checks.submission import recheck

N = 612


def people():
    rng = np.random.default_rng(19)
    frame = pd.DataFrame(
        {
            "id": np.arange(N),
            "region": np.resize(["N", "S", "E"], N).astype(object),
            "job": np.resize(["a", "a", "b", "b", "b"], N),
            "income": rng.uniform(1000, 9000, N).round(2),
            "wealth": rng.normal(0, 5000, N).round(2),
            "weight": 1.0 + np.arange(N) % 3,
        }
    )
    frame.loc[np.arange(37) * 16, "income"] = np.nan
    frame.loc[np.arange(40) * 15 + 1, "wealth"] = np.nan
    frame.loc[np.arange(30) * 20 + 7, "region"] = None
    return frame


ASKED = {
    "count": lambda work: work.frequency_table(["region", "job"]),
    "sums": lambda work: work.magnitude_table("job", "income"),
    "mean": lambda work: work.mean("income", by="job"),
    "median": lambda work: work.percentile("income", 50, by="region"),
    "mode": lambda work: work.mode("region", by="job"),
    "gini": lambda work: work.concentration("income", "gini", by="job"),
    "std": lambda work: work.summary("std", "income", by="job"),
    "correlation": lambda work: work.summary("correlation", "income", "wealth"),
}


@pytest.mark.parametrize("name", ASKED)
def test_numbers_use_complete_cases(name):
    frame = people()
    out = ASKED[name](ht.Session("s", frame, unit="id"))
    columns = [*out.asked.variables, *out.asked.needs]
    whole = frame.dropna(subset=columns)
    same = ASKED[name](ht.Session("s", whole, unit="id"))
    assert dict(out.published) == dict(same.published)
    gone = out.evidence.left_out
    assert (gone.records, gone.of) == (N - len(whole), N)
    assert gone.columns == {
        c: int(frame[c].isna().sum()) for c in dict.fromkeys(columns) if frame[c].isna().any()
    }
    assert same.evidence.left_out is None
    assert f"{N - len(whole)} of {N} records left out: " in str(out)


def test_missing_values_are_counted_in_notes():
    out = ht.Session("s", people(), unit="id").mean("income", by="job")
    assert out.notes == ("37 of 612 records left out: income missing",)
    assert "37 of 612 records left out: income missing" in out._repr_html_()


def test_all_outputs_share_the_data_hash(tmp_path):
    frame = people()
    work = ht.Session("s", frame, unit="id")
    for ask in ASKED.values():
        ask(work)
    assert {each.data for each in work.outputs} == {work.records.hash}
    folder = work.submit(tmp_path / "s")
    with_data, without = recheck(folder, data=frame, unit="id"), recheck(folder)
    for check in (with_data, without):
        assert [str(f) for each in check.outputs for f in each.findings] == []
        assert [f"{n}" for n in (check.findings)] == []
    again = [each.output.evidence.left_out for each in with_data.outputs]
    assert again == [each.evidence.left_out for each in work.outputs]


def test_missing_error_option_raises():
    work = ht.Session("s", people(), unit="id")
    with raises("values_not_finite", n=37):
        work.mean("income", missing="error")
    with raises("missing_codes", n=30):
        work.frequency_table("region", missing="error")
    with raises("missing_option_invalid"):
        work.frequency_table("region", missing="drop")
    coded = work.mean("income", by="region", missing="code")
    assert "missing" in coded.frame.index
    assert coded.evidence.left_out.columns == {"income": 37}


def test_column_without_values_raises():
    frame = people().assign(income=np.nan)
    with raises("every_record_has_missing_value", columns="income"):
        ht.Session("s", frame).mean("income")


def test_missing_values_form_a_group_singled_out(tmp_path):
    # Three people of region S have no age: counts with and without age differ by them.
    frame = pd.DataFrame({"region": ["N"] * 60 + ["S"] * 60, "age": (["young"] * 20 + ["old"] * 40) * 2})
    frame.loc[[70, 80, 100], "age"] = None
    work = ht.Session("s", frame)
    first, second = work.frequency_table("region"), work.frequency_table(["region", "age"])
    assert (first.status, second.status) == (Clearance.PASS, Clearance.FAIL)
    folder = work.submit(tmp_path / "s")
    for given in ({"data": frame}, {}):
        found = recheck(folder, **given).outputs[1]
        assert found.status == Clearance.FAIL
        assert "= 3 units" in " ".join(v.text for v in found.verdicts)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param({"of": 700}, "records used and left out", id="fewer were offered"),
        pytest.param({"columns": {"income": 40}}, "other records left out", id="more gaps than records"),
        pytest.param({"columns": {"wealth": 37}}, "does not need", id="another column"),
    ],
)
def test_forged_missing_counts_are_found_without_data(tmp_path, change, said):
    work = ht.Session("s", people(), unit="id")
    work.mean("income", by="job", name="means")
    folder = work.submit(tmp_path / "s")
    resealed(folder, "checker/01-means.json", lambda c: c["evidence"]["left_out"].update(change))
    (found,) = recheck(folder).outputs
    assert any(said in str(finding) for finding in found.findings)


def test_model_reports_excluded_records():
    pytest.importorskip("statsmodels")
    work = ht.Session("s", people(), unit="id")
    assert work.regression("weight ~ C(job)").evidence.left_out is None
    out = work.regression("income ~ wealth + C(job)")
    n = int(people()[["income", "wealth"]].isna().any(axis=1).sum())
    assert out.notes[0] == f"{n} of 612 records left out: income missing (37), wealth missing (40)"
