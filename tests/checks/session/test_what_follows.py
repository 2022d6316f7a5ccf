"""What passed and gave people away: each trial as it was found, and the arithmetic by which it did.

Trials S22 to S28 of the notes on false claims. An output that gives somebody away fails, or withholds the
group; the checker comes to the same from the evidence, with the data and without.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from tests.checks.submissions import resealed
from typer.testing import CliRunner

import hitoku as ht
from hitoku.checks.ledger import init
from hitoku.checks.principles import Clearance
from hitoku.checks.submission import recheck, release
from hitoku.cli import FOUND, app

POLICIES = ("japan-2017", "essnet-2009")
both = pytest.mark.parametrize("policy", POLICIES)


def check(work, folder, data):
    """Submit a session and check it by the command; return the exit codes without the data and with them."""
    sub, file = work.submit(folder / "sub"), folder / "data.csv"
    data.to_csv(file, index=False)
    done = [CliRunner().invoke(app, ["check", str(sub), *more]) for more in ([], ["--data", str(file)])]
    return [each.exit_code for each in done]


def opened(work, folder, name):
    """Submit a session, publish what an output withholds, and return what the checker says of it."""
    sub = work.submit(folder / "opened")
    place = [each.name for each in work.outputs].index(name)
    file = min((sub / "checker").glob(f"{place + 1:02}-*.json"))
    made = work.outputs[place]
    evidence = type(made.evidence).from_dict(
        {**made.evidence.to_dict(), "withheld": [False] * len(made.evidence.withheld)}, "x"
    )

    def change(plain):
        plain["evidence"]["withheld"] = evidence.withheld.tolist()
        plain["published"] = json.loads(json.dumps(made.asked.publish(evidence)))

    resealed(sub, str(file.relative_to(sub)), change)
    return next(each for each in recheck(sub).outputs if each.output.name == name)


def reasons(output):
    return {v.reason for v in output.verdicts if v.status is not Clearance.PASS}


# S22: 20 is 50.0 % of a withheld total.
CROSSED = pd.DataFrame(
    [
        (f"r{i}", f"c{j}")
        for i, row in enumerate([[20, 20], [40, 3], [12, 60], [3, 0]])
        for j, n in enumerate(row)
        for _ in range(n)
    ],
    columns=["r", "c"],
)


@both
@pytest.mark.parametrize("by", [["r", "c"], ["c", "r"]], ids=" by ".join)
@pytest.mark.parametrize("of", ["row", "column"])
def test_percentages_do_not_reveal_suppressed_totals(policy, by, of, tmp_path):
    work = ht.Session("study", CROSSED, policy=policy)
    table, shares = work.frequency_table(["r", "c"]), work.percentages(by, of)
    # What a percentage is of leaves with the table as well.
    axis = by[0] if of == "row" else by[1]
    wholes = table.frame["Total"] if axis == "r" else table.frame.loc["Total"]
    shown = [
        shares.published[axis][place]
        for place, percent in enumerate(shares.published["percent"])
        if shares.status is Clearance.PASS and percent is not None
    ]
    assert wholes[shown].notna().all()
    assert check(work, tmp_path, CROSSED) == ([0, 0] if shares.status is Clearance.PASS else [FOUND, FOUND])


@both
def test_percentages_do_not_reveal_uniform_row(policy):
    shares = ht.Session("study", CROSSED, policy=policy).percentages(["r", "c"], "row")
    assert shares.frame.loc["r3"].isna().all()
    assert shares.frame.loc["r0"].isna().all()


@both
def test_hand_printed_share_of_suppressed_total_fails(policy):
    work = ht.Session("study", CROSSED, policy=policy)
    cells = [{"r": r, "c": c} for r, c in (("r1", "c0"), ("r1", "c1"), ("r3", "c0"))]
    made = work.percentages(
        ["r", "c"], "row", withhold=[*cells, {"r": "r0"}, {"r": "r3"}, {"c": "c0"}], name="p"
    )
    assert "share_of_withheld" in reasons(made)


# S23: p10 to p90 of 101 people are 81 people's incomes.
def incomes(n):
    rng = np.random.default_rng(5)
    return pd.DataFrame({"income": rng.permutation(np.unique(rng.lognormal(10, 0.6, 3 * n).round())[:n])})


@both
def test_percentiles_are_not_values_of_consecutive_units(policy, tmp_path):
    people = incomes(101)
    work = ht.Session("study", people, policy=policy)
    out = work.table((), "income", [f"p{p}" for p in range(10, 91)])
    assert out.status is Clearance.FAIL
    assert "percentiles_too_near" in reasons(out)
    assert not [x for column in out.published.values() for x in column if x is not None]
    assert check(work, tmp_path, people) == [FOUND, FOUND]


@both
@pytest.mark.parametrize(
    ("second", "status"),
    [
        # Of 101 people p50 is the 51st: the 59th and the 60th.
        pytest.param(58, Clearance.FAIL, id="nine from one to the next"),
        pytest.param(59, Clearance.PASS, id="ten from one to the next"),
    ],
)
def test_percentiles_of_two_outputs_are_judged_together(policy, second, status, tmp_path):
    people = incomes(101)
    work = ht.Session("study", people, policy=policy)
    assert work.percentile("income", 50).status is Clearance.PASS
    out = work.percentile("income", second)
    assert out.status is status
    assert (reasons(out) == {"percentiles_too_near"}) is (status is Clearance.FAIL)
    assert check(work, tmp_path, people) == ([FOUND, FOUND] if status is Clearance.FAIL else [0, 0])


@both
def test_adjacent_percentiles_of_two_units_fail(policy):
    people = incomes(40)
    # 24 and 25 percent of 39 steps: between the tenth and the eleventh of 40 people.
    work = ht.Session("study", people, policy=policy)
    assert work.percentile("income", 25).status is Clearance.PASS
    assert reasons(work.percentile("income", 24)) == {"percentiles_too_near"}
    ordered = np.sort(people["income"])
    steps = [[10 - 39 * p / 100, 39 * p / 100 - 9] for p in (24, 25)]
    found = np.linalg.solve(steps, [np.percentile(ordered, p) for p in (24, 25)])
    assert np.allclose(found, ordered[9:11])
    # Percentiles that are the same value, with weights or without, say nothing of those beside it.
    alike = pd.DataFrame({"x": np.repeat([1.0, 2.0, 3.0], [15, 11, 15]), "w": 1.0})
    again = ht.Session("alike", alike, policy=policy)
    for asked in ({"percent": 50}, {"percent": 50, "weight": "w"}, {"percent": 52}):
        assert again.percentile("x", **asked).status is Clearance.PASS


def test_earlier_releases_are_counted(tmp_path):
    people = incomes(101).assign(id=range(101))
    ledger = tmp_path / "wages.ledger"
    init(ledger, policy="japan-2017", unit="id")
    work = ht.Session("before", people, unit="id", ledger=ledger, researcher="R")
    work.percentile("income", 50, name="median")
    release(work.submit(tmp_path / "before"), ledger=ledger, data=people, checkers=["C", "D"])
    later = ht.Session("after", people, unit="id", ledger=ledger, researcher="R")
    out = later.percentile("income", 51, name="next")
    assert reasons(out) == {"percentiles_too_near"}
    assert "median (project before)" in next(v.text for v in out.verdicts if v.status is Clearance.FAIL)
    folder = later.submit(tmp_path / "after")
    for data in (None, people):
        assert not recheck(folder, ledger=ledger, data=data).ok


# S24: mean and deviation of 62, and a t test of 2 against 60, give the two incomes.
def patients(n_rare):
    rng = np.random.default_rng(3)
    rare = rng.normal(45000, 8000, n_rare).round()
    values = np.r_[rng.normal(30000, 8000, 60).round(), rare]
    return pd.DataFrame({"disease": ["none"] * 60 + ["rare"] * n_rare, "income": values})


@both
@pytest.mark.parametrize("test", ["t", "f", "mannwhitney", "kruskal"])
@pytest.mark.parametrize(
    ("n_rare", "status"), [(2, Clearance.FAIL), (9, Clearance.FAIL), (10, Clearance.PASS)]
)
def test_two_sample_test_needs_enough_units(policy, test, n_rare, status, tmp_path):
    people = patients(n_rare)
    work = ht.Session("study", people, policy=policy)
    work.mean("income")
    work.summary("std", "income")
    out = work.summary(test, "income", "disease")
    assert out.status is status
    assert ("group_of_few" in reasons(out)) is (status is Clearance.FAIL)
    if test == "t":
        assert check(work, tmp_path, people) == ([FOUND, FOUND] if status is Clearance.FAIL else [0, 0])


# S25: 3 of 100 are sick.
def sick():
    rng = np.random.default_rng(1)
    people = pd.DataFrame(
        {"region": np.repeat(["N", "S"], 100), "income": rng.integers(100, 900, 200), "sick": 0}
    )
    people.loc[:2, "sick"] = 1
    people.loc[100:150, "sick"] = 1
    people["percent"], people["coded"] = 100 * people["sick"], people["sick"]
    people.loc[199, "coded"] = 9
    return people


OUTPUTS = {
    "mean": lambda work: work.mean("sick", by="region"),
    "std": lambda work: work.summary("std", "sick", by="region"),
    "covariance": lambda work: work.summary("covariance", "sick", "sick", by="region"),
    "with income": lambda work: work.summary("covariance", "income", "sick", by="region"),
    "correlation": lambda work: work.summary("correlation", "sick", "income", by="region"),
    "ratio": lambda work: work.summary("ratio", "income", "sick", by="region"),
    "index": lambda work: work.summary("index", "sick", "income", by="region"),
    "0 and 100": lambda work: work.mean("percent", by="region"),
    "a third code elsewhere": lambda work: work.mean("coded", by="region"),
    "sum": lambda work: work.sum("coded", by="region"),
    "table of sums": lambda work: work.magnitude_table("region", "coded"),
    "table of means": lambda work: work.magnitude_table("region", "coded", statistic="mean"),
    "gini": lambda work: work.concentration("coded", "gini", by="region"),
    "several": lambda work: work.table("region", "coded", ["mean", "std"]),
}
MODELS = {
    "ols": lambda work: work.regression("sick ~ C(region)"),
    "logit": lambda work: work.regression("sick ~ C(region)", family="logit"),
    "probit": lambda work: work.regression("sick ~ C(region)", family="probit"),
    "coded": lambda work: work.regression("coded ~ C(region)"),
    "percent": lambda work: work.regression("percent ~ C(region)"),
    "t": lambda work: work.summary("t", "sick", "region"),
    "f": lambda work: work.summary("f", "coded", "region"),
    "kruskal": lambda work: work.summary("kruskal", "percent", "region"),
}


@both
@pytest.mark.parametrize("ask", OUTPUTS.values(), ids=OUTPUTS)
def test_count_of_three_is_never_published(policy, ask, tmp_path):
    people = sick()
    work = ht.Session("study", people, policy=policy)
    work.mean("income", by="region", name="incomes")
    out = ask(work)
    *_, numbers = out.published.values()
    assert numbers[0] is None
    if out.kind != "statistics":
        assert {"two_values"} <= reasons(opened(work, tmp_path, out.name))


@both
@pytest.mark.parametrize("ask", MODELS.values(), ids=MODELS)
def test_count_of_three_is_not_published_by_model_or_test(policy, ask, tmp_path):
    people = sick()
    work = ht.Session("study", people, policy=policy)
    out = ask(work)
    assert out.status is Clearance.FAIL
    assert "two_values" in reasons(out)
    assert check(work, tmp_path, people) == [FOUND, FOUND]


@both
def test_paths_stay_open_with_ten_units_each(policy):
    people = sick()
    people.loc[:29, "sick"] = 1
    people["coded"] = people["percent"] = people["sick"]
    for ask in (*MODELS.values(), *OUTPUTS.values()):
        # Coded 0 and 3: a table of sums of zeros and ones is refused as such.
        work = ht.Session("study", people.assign(coded=people["coded"] * 3), policy=policy)
        assert ask(work).status is Clearance.PASS


@both
def test_statistics_of_three_values_determine_their_counts(policy, tmp_path):
    # 60 have none, 35 one, 5 two cars: mean and deviation are two equations for two unknown counts.
    cars = pd.DataFrame({"cars": np.repeat([0, 1, 2], [60, 35, 5])})
    alone = ht.Session("study", cars, policy=policy)
    assert alone.table((), "cars", ["mean", "std"]).status is Clearance.FAIL
    work = ht.Session("study", cars, policy=policy)
    assert work.mean("cars").status is Clearance.PASS
    assert reasons(work.summary("std", "cars")) == {"counts_follow", "few_values"}
    assert check(work, tmp_path, cars) == [FOUND, FOUND]


# S26: all 100 have 500.
def alike():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "region": np.repeat(["N", "S"], 100),
            "income": np.r_[np.full(100, 500), rng.integers(100, 900, 100)],
        }
    )


ALIKE = {
    "std": lambda work: work.summary("std", "income", by="region"),
    "mean": lambda work: work.mean("income", by="region"),
    "gini": lambda work: work.concentration("income", "gini", by="region"),
    "hhi": lambda work: work.concentration("income", "hhi", by="region"),
    "cr4": lambda work: work.concentration("income", "cr4", by="region"),
    "p25": lambda work: work.percentile("income", 25, by="region"),
    "median": lambda work: work.percentile("income", 50, by="region"),
}


@both
@pytest.mark.parametrize("ask", ALIKE.values(), ids=ALIKE)
def test_uniform_group_is_not_revealed(policy, ask, tmp_path):
    work = ht.Session("study", alike(), policy=policy)
    out = ask(work)
    assert out.status is Clearance.PASS
    *_, (low, high) = out.published.values()
    assert (low, high is None) == (None, False)
    assert reasons(opened(work, tmp_path, out.name)) & {"nearly_all_equal", "two_values", "all_equal"}


@both
def test_extreme_percentiles_of_equal_values_fail(policy):
    people = alike()
    work = ht.Session("study", people[people["region"] == "N"], policy=policy)
    for percent in (10, 90):
        assert "nearly_all_equal" in reasons(work.percentile("income", percent))


# S27: y = 3 x + 7.
def line():
    data = pd.DataFrame({"x": np.random.default_rng(1).integers(1, 1000, 100).astype(float)})
    data["a"], data["b"] = np.repeat(["x", "y"], 50), np.repeat(["p", "q"], 50)
    return data.assign(y=3 * data["x"] + 7, near=3 * data["x"] + np.arange(100) % 7 * 50)


@both
@pytest.mark.parametrize("other", ["y", "x"])
def test_perfect_correlation_fails(policy, other, tmp_path):
    work = ht.Session("study", line(), policy=policy)
    out = work.summary("correlation", "x", other)
    assert "perfect_fit" in reasons(out)
    assert check(work, tmp_path, line()) == [FOUND, FOUND]
    assert (
        ht.Session("study", line(), policy=policy).summary("correlation", "x", "near").status
        is Clearance.PASS
    )


@both
def test_chi_square_equal_to_n_reveals_category(policy, tmp_path):
    work = ht.Session("study", line(), policy=policy)
    out = work.summary("chi2", "a", "b")
    assert "perfect_fit" in reasons(out)
    assert check(work, tmp_path, line()) == [FOUND, FOUND]


@both
@pytest.mark.parametrize(
    ("counts", "status"),
    [
        pytest.param([[40, 10], [10, 40]], Clearance.PASS, id="ten in every cell"),
        pytest.param([[41, 9], [10, 40]], Clearance.FAIL, id="nine in one of four cells"),
        pytest.param([[41, 9, 10], [10, 40, 30]], Clearance.REVIEW, id="nine in one of six cells"),
    ],
)
def test_chi_square_constrains_its_cells(policy, counts, status):
    data = pd.DataFrame(
        [(f"a{i}", f"b{j}") for i, row in enumerate(counts) for j, n in enumerate(row) for _ in range(n)],
        columns=["a", "b"],
    )
    assert ht.Session("study", data, policy=policy).summary("chi2", "a", "b").status is status
    rounded = ht.Session("study", data, policy=policy).summary("chi2", "a", "b", decimals=2)
    assert rounded.status is (Clearance.FAIL if status is Clearance.FAIL else Clearance.PASS)


# S28: 188 of 200 had the event at month 3.
@both
@pytest.mark.parametrize(("n", "shown"), [(188, False), (181, False), (180, True)])
def test_survival_curve_hides_nearly_uniform_group(policy, n, shown, tmp_path):
    rng = np.random.default_rng(1)
    month = np.r_[np.full(n, 3.0), rng.integers(10, 20, 200 - n), rng.integers(1, 30, 200)]
    event = np.r_[np.ones(200), rng.integers(0, 2, 200)].astype(int)
    trial = pd.DataFrame({"group": np.repeat(["a", "b"], 200), "month": month, "event": event})
    work = ht.Session("study", trial, policy=policy)
    out = work.survival("month", "event", by="group")
    assert ("a" in out.published["group"]) is shown
    assert "b" in out.published["group"]
    if not shown:
        assert "group_disclosure" in reasons(opened(work, tmp_path, out.name))


# Models and quantile groups are equations about the values of their groups as well.
def cars():
    # 60 have none, 35 one, 5 two; of the others more of each.
    return pd.DataFrame(
        {
            "sex": ["f"] * 100 + ["m"] * 60,
            "cars": [*np.repeat([0, 1, 2], [60, 35, 5]), *np.repeat([0, 1, 2], [20, 20, 20])],
            "age": np.arange(160) * 7 % 53 + 20,
        }
    )


@both
def test_model_means_and_deviations_determine_counts(policy, tmp_path):
    work = ht.Session("study", cars(), policy=policy)
    assert work.regression("cars ~ C(sex)").status is Clearance.PASS
    out = work.summary("std", "cars", where={"sex": ["f"]})
    assert reasons(out) == {"counts_follow", "few_values"}
    assert check(work, tmp_path, cars()) == [FOUND, FOUND]
    # 100 m = 45 and 99 s² = 35 + 4 · 5 - 45² / 100: two equations for the 35 and the 5.
    f = cars()[cars()["sex"] == "f"]["cars"]
    found = np.linalg.solve([[1, 2], [1, 4]], [100 * f.mean(), 99 * f.var() + 100 * f.mean() ** 2])
    assert np.allclose(found, [35, 5])


@both
def test_model_reveals_mean_and_deviation(policy, tmp_path):
    """Standard errors tell the squares that are left, and the means of groups all others."""
    few = cars().replace({"cars": {2: 1}})
    few.loc[:4, "cars"] = 2
    work = ht.Session("study", few, policy=policy)
    assert "counts_follow" in reasons(work.regression("cars ~ C(sex)"))
    assert check(work, tmp_path, few) == [FOUND, FOUND]
    assert ht.Session("study", few, policy=policy).table((), "cars", ["mean"]).status is Clearance.PASS


@both
def test_model_with_measurement_reveals_no_counts(policy):
    few = cars().replace({"cars": {2: 1}})
    few.loc[:4, "cars"] = 2
    work = ht.Session("study", few, policy=policy)
    assert work.regression("cars ~ age").status is Clearance.PASS
    assert work.mean("cars").status is Clearance.PASS


@pytest.mark.parametrize(
    ("n", "policy", "found"),
    [
        # Mean, deviation, skewness, kurtosis and a product: units less four, more than 11 in the one policy.
        (16, "japan-2017", set()),
        (15, "japan-2017", {"too_few_degrees_of_freedom"}),
        (15, "essnet-2009", set()),
    ],
)
def test_model_limits_other_statistics(n, policy, found):
    people = pd.DataFrame({"a": np.linspace(-1, 1, n), "y": np.arange(n) * 7 % n + 0.5})
    statistics = ["mean", "std", "skewness", "kurtosis"]
    work = ht.Session("study", people, policy=policy)
    assert work.regression("y ~ a").status is Clearance.PASS
    assert reasons(work.table((), "y", statistics)) == found
    alone = ht.Session("study", people, policy=policy)
    assert alone.table((), "y", statistics).status is Clearance.PASS


@both
def test_quantile_groups_and_deviations_determine_counts(policy, tmp_path):
    # Five different amounts: 30, 30, 20, 15 and 5 have them.
    people = pd.DataFrame({"x": np.repeat([1.0, 2.0, 5.0, 6.0, 8.0], [30, 30, 20, 15, 5])})
    work = ht.Session("study", people, policy=policy)
    first = work.mean("x")
    assert first.status is Clearance.PASS
    made = work.quantile_groups("x", 2, statistic="share")
    assert made.published["to_percent"] == [60.0, 100.0]
    assert made.status is Clearance.PASS
    assert reasons(work.summary("std", "x")) == {"counts_follow", "few_values"}
    assert check(work, tmp_path, people) == [FOUND, FOUND]


@both
def test_two_valued_step_is_a_count(policy, tmp_path):
    # The upper half has 5.0, and three 9.0: its mean says how many.
    people = pd.DataFrame({"x": np.r_[np.arange(50) / 60, np.full(47, 5.0), np.full(3, 9.0)]})
    work = ht.Session("study", people, policy=policy)
    made = work.quantile_groups("x", 2)
    assert made.published["to_percent"] == [100.0]
    assert "two_values" in reasons(opened(work, tmp_path, made.name))


@both
@pytest.mark.parametrize("of", ["row", "column", "all"])
def test_fully_suppressed_percentages_fail(policy, of, tmp_path):
    # Both cells of the small row, so their total, and for each another: nothing remains.
    people = pd.DataFrame({"r": ["a"] * 9 + ["b"] * 30, "c": (["x"] * 4 + ["y"] * 5) + ["x", "y"] * 15})
    work = ht.Session("study", people, policy=policy)
    out = work.percentages(["r", "c"], of)
    assert out.published["percent"] == [None] * 4
    assert reasons(out) == {"nothing_left"}
    assert out.remedies
    assert check(work, tmp_path, people) == [FOUND, FOUND]


@both
@pytest.mark.parametrize("statistic", ["gini", "hhi", "cr4", "std", "skewness", "kurtosis"])
def test_enumerable_three_valued_counts_need_review(policy, statistic):
    # Of 51 people 4 have 3: of the 1,378 ways to divide them one alone gives the statistic, to all digits.
    people = pd.DataFrame({"rooms": np.repeat([1, 2, 3], [17, 30, 4])})
    ask = "concentration" if statistic in {"gini", "hhi", "cr4"} else "summary"

    def made(**how):
        work = ht.Session("study", people, policy=policy)
        given = {"value": "rooms", "statistic": statistic, **how}
        return getattr(work, ask)(**given)

    assert reasons(made()) == {"few_values"}
    assert made(decimals=2).status is Clearance.PASS
