"""A filter that leaves one category tells that everybody it keeps has it."""

from __future__ import annotations

import pandas as pd
import pytest
from tests.raising import raises

import hitoku as ht
from hitoku.checks import Records
from hitoku.checks.evidence import TableEvidence
from hitoku.checks.principles import Clearance
from hitoku.checks.submission import recheck

# Everybody in Bergen is "serious".
PEOPLE = pd.DataFrame(
    [("Oslo", "none")] * 29
    + [("Oslo", "light")] * 28
    + [("Oslo", "serious")] * 27
    + [("Bergen", "serious")] * 42,
    columns=["city", "injury"],
)
PEOPLE["year"], PEOPLE["pay"] = "2020", [float(1000 + x) for x in range(len(PEOPLE))]
BERGEN = {"city": ["Bergen"]}


def session(policy="japan-2017"):
    return ht.Session("injuries", PEOPLE, policy=policy)


def failing(out):
    return {v.reason for v in out.verdicts if v.status is Clearance.FAIL}


@pytest.mark.parametrize("policy", ["japan-2017", "essnet-2009"])
@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda work: work.frequency_table("injury", where=BERGEN), id="table"),
        pytest.param(
            lambda work: work.frequency_table(["city", "injury"], where=BERGEN), id="with the filter"
        ),
        pytest.param(lambda work: work.crosstab("injury", "year", where=BERGEN), id="cross table"),
        pytest.param(lambda work: work.magnitude_table("injury", "pay", where=BERGEN), id="amounts"),
    ],
)
def test_single_category_behind_a_filter_fails(policy, ask):
    made = ask(session(policy))
    assert made.status is Clearance.FAIL
    assert "group_disclosure" in failing(made)


@pytest.mark.parametrize(
    ("by", "where"),
    [
        pytest.param("injury", {}, id="no filter"),
        pytest.param("city", BERGEN, id="variable of the filter"),
        pytest.param("year", BERGEN, id="the same for the whole file"),
        pytest.param(["city", "year"], BERGEN, id="both"),
        pytest.param("injury", {"city": ["Bergen"], "injury": ["serious"]}, id="both in the filter"),
    ],
)
def test_known_single_category_passes(by, where):
    assert session().frequency_table(by, where=where).status is Clearance.PASS


def test_missing_filter_mark_is_found_with_data(tmp_path, monkeypatch):
    with monkeypatch.context() as forged:
        forged.setattr(Records, "narrowed", lambda _records, _name: False)
        work = session()
        assert work.frequency_table("injury", where=BERGEN).status is Clearance.PASS
        work.submit(tmp_path / "submission")
    again = recheck(tmp_path / "submission", data=PEOPLE)
    assert any("the data give other evidence" in fault.reason for fault in again.outputs[0].findings)


@pytest.mark.parametrize("only", [("city",), ("size",)])
def test_mark_on_variable_with_several_codes_raises(only):
    plain = session().frequency_table("injury").evidence.to_dict()
    with raises("evidence_invalid"):
        TableEvidence.from_dict({**plain, "by": ["city"], "only": list(only)}, "table")
