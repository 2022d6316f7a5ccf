"""Whatever is computed from a variable with two values says how many units have which: it is a count."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hitoku as ht
from hitoku.checks.principles.verdict import Clearance, Principle
from hitoku.checks.submission.recheck import recheck
from hitoku.errors import DataError

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
def test_both_values_are_those_of_enough_and_neither_of_nearly_all(ask, n_sick, n_well, status):
    assert ask(people(n_sick, n_well)).status is status


def test_a_group_in_which_all_are_alike_is_withheld():
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


def test_a_table_of_sums_of_two_values_is_asked_for_as_the_table_of_counts_it_is():
    data = pd.DataFrame({"area": ["A"] * 40 + ["B"] * 40, "sick": [1] * 2 + [0] * 78})
    with pytest.raises(DataError, match="its sums are counts"):
        ht.Session("sick", data).magnitude_table(by="area", value="sick")


def test_a_ratio_over_a_constant_is_an_average_and_not_a_way_around_dominance():
    data = pd.DataFrame({"income": [1e6, *range(1, 41)], "one": 1})
    out = ht.Session("ratio", data).summary("ratio", "income", "one")
    assert out.status is Clearance.FAIL


def test_the_checker_comes_to_the_same(tmp_path):
    work = people(20, 30)
    work.mean("sick")
    check = recheck(work.submit(tmp_path / "s"), data=work.records.table)
    assert check.matrix["average 1"]["group"] == "pass"
    assert check.ok
