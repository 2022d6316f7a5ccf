"""Whatever is computed from a variable with two values says how many units have which: it is a count."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.raising import raises

import hitoku as ht
from hitoku.checks.evidence import count_values
from hitoku.checks.evidence.table_evidence import FEW_FIELDS
from hitoku.checks.principles import Clearance, Principle
from hitoku.checks.submission import recheck

ASKED = {
    "mean": lambda work: work.mean("sick"),
    "sum": lambda work: work.sum("sick"),
    "hhi": lambda work: work.concentration("sick"),
    "gini": lambda work: work.concentration("sick", "gini"),
    "std": lambda work: work.summary("std", "sick"),
    "skewness": lambda work: work.summary("skewness", "sick"),
    "ratio": lambda work: work.summary("ratio", "sick", "other"),
}


def people(n_sick, n_well, unit=None):
    sick = np.repeat([1, 0], [n_sick, n_well])
    data = pd.DataFrame({"sick": sick, "other": 1.0 + np.arange(len(sick)) % 7})
    return ht.Session(
        "sick", data if unit is None else data.assign(id=unit), unit=None if unit is None else "id"
    )


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize(
    ("n_sick", "n_well", "status"),
    [
        (9, 50, Clearance.FAIL),  # nine are sick
        (10, 50, Clearance.PASS),
        (50, 9, Clearance.FAIL),  # nine are not
        (90, 10, Clearance.PASS),  # 90 % is not above 90 %
        (100, 11, Clearance.FAIL),  # 90.1 % is
    ],
)
def test_both_values_need_enough_units(ask, n_sick, n_well, status):
    assert ask(people(n_sick, n_well)).status is status


def test_homogeneous_group_is_suppressed():
    data = pd.DataFrame({"area": ["A"] * 40 + ["B"] * 40, "sick": [1] * 20 + [0] * 20 + [0] * 40})
    out = ht.Session("sick", data).mean("sick", by="area")
    assert out.published["mean_sick"] == [0.5, None]
    verdict = next(each for each in out.verdicts if each.principle is Principle.GROUP)
    assert (verdict.status, verdict.reason, verdict.numbers["unsafe"]) == (Clearance.PASS, "withheld", 1)


def test_units_are_counted_not_records():
    # Twenty records of sick people, who are two.
    work = people(20, 20, unit=[0] * 10 + [1] * 10 + list(range(2, 22)))
    verdict = next(each for each in work.mean("sick").verdicts if each.reason == "two_values")
    assert verdict.numbers["smallest"] == 2


def test_magnitude_table_of_two_values_raises():
    data = pd.DataFrame({"area": ["A"] * 40 + ["B"] * 40, "sick": [1] * 2 + [0] * 78})
    with raises("two_valued_column"):
        ht.Session("sick", data).magnitude_table(by="area", value="sick")


def test_ratio_over_constant_obeys_dominance():
    data = pd.DataFrame({"income": [1e6, *range(1, 41)], "one": 1})
    out = ht.Session("ratio", data).summary("ratio", "income", "one")
    assert out.status is Clearance.FAIL


def test_recheck_reaches_the_same_verdict(tmp_path):
    work = people(20, 30)
    work.mean("sick")
    check = recheck(work.submit(tmp_path / "s"), data=work.records.table)
    assert check.matrix["average 1"]["group"] == "pass"
    assert check.ok


@pytest.mark.parametrize("n_people", [60, 200], ids=["several records each", "one record each"])
def test_value_counts_match_hand_count(n_people):
    rng = np.random.default_rng(n_people)
    group, value = rng.integers(0, 5, 200), rng.integers(0, 7, 200).astype(float)
    who = np.arange(200) if n_people == 200 else rng.integers(0, n_people, 200)
    found = count_values(group, who, value, 6)
    for place in range(6):
        own = group == place
        units = [len(set(who[own & (value == each)])) for each in set(value[own])]
        assert found.n_values[place] == len(units)
        assert found.holders[place].tolist() == [*sorted(units, reverse=True), *[0] * 5][:5]


def test_cells_are_counted_with_totals():
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"a": rng.integers(0, 3, 400).astype(str), "b": rng.integers(0, 4, 400).astype(str)})
    # Few values where a is 0, many elsewhere.
    data["x"] = np.where(data["a"] == "0", rng.integers(0, 3, 400) * 10.0, rng.random(400) * 100)
    evidence = ht.Session("few", data).magnitude_table(by=["a", "b"], value="x").evidence
    found = {
        cell: (values, most, least)
        for cell, values, most, least in zip(
            *(getattr(evidence, name).tolist() for name in FEW_FIELDS), strict=True
        )
    }
    for cell, codes in enumerate(evidence.cells.named()):
        own = data
        for name, code in codes.items():
            own = own[own[name] == code]
        counts = own["x"].value_counts()
        expected = (len(counts), counts.max(), counts.min()) if len(counts) <= 10 else None
        assert found.get(cell) == expected, codes
    assert len(found) == 5
