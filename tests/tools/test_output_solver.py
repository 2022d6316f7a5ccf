"""The attacker on released numbers, without hitoku: it finds what follows, and nothing where nothing does.

Numbers are computed here by numpy, pandas and scipy, as a reader would see them.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tools.output_solver import Attacker
from tools.released import Released


def kinds(people, codes, *outputs):
    found = Attacker(people, codes).attack([Released(*each) for each in outputs])
    assert all(claim.true for claim in found), found
    return {claim.kind for claim in found}


def by_region(method, people, value, compute, **options):
    """Return a statistic of every region as an output."""
    found = people.groupby("region")[value].apply(compute)
    columns = {"region": list(found.index), f"{options.get('statistic', method)}_{value}": list(found)}
    return (method, {"value": value, "by": "region", **options}, columns)


COUNTS = [[20, 20], [40, 3], [12, 60], [3, 0]]


def crossed(counts):
    return pd.DataFrame(
        [(f"r{i}", f"c{j}") for i, row in enumerate(counts) for j, n in enumerate(row) for _ in range(n)],
        columns=["r", "c"],
    )


def counted(entries, name="count"):
    """Return a table of two variables, rows one after the other; the last column and row are totals."""
    wide = len(entries[0])
    rows = ["r0", "r1", "r2", "r3", "Total"][: len(entries)]
    columns = ["c0", "c1", "Total"][:wide]
    return {
        "r": [row for row in rows for _ in range(wide)],
        "c": columns * len(rows),
        name: [entry for row in entries for entry in row],
    }


TABLE = [[20, None, None], [None, None, 43], [12, 60, 72], [None, 0, None], [75, 83, 158]]
PERCENT = [[50.0, None], [None, None], [16.7, 83.3], [None, 0.0]]


def test_percentages_of_suppressed_total_reveal_counts():
    people = crossed(COUNTS)
    table = ("frequency_table", {"by": ["r", "c"]}, counted(TABLE))
    shares = ("percentages", {"by": ["r", "c"], "of": "row"}, counted(PERCENT, "percent"))
    assert "withheld count" in kinds(people, ["r", "c"], table, shares)
    assert "withheld count" not in kinds(people, ["r", "c"], table)
    # A row of which nothing but a zero is shown: everybody in it has the other code.
    assert "withheld share, one table" in kinds(people, ["r", "c"], shares)


def test_sufficiently_suppressed_table_reveals_nothing():
    people = crossed([[20, 4], [30, 5], [40, 60], [25, 25]])
    entries = [[None, None, 24], [None, None, 35], [40, 60, 100], [25, 25, 50], [115, 94, 209]]
    table = ("frequency_table", {"by": ["r", "c"]}, counted(entries))
    assert kinds(people, ["r", "c"], table) == set()


INCOMES = pd.DataFrame({"income": np.random.default_rng(5).permutation(np.arange(101) ** 2 + 1000.0)})


@pytest.mark.parametrize(
    ("percents", "found"), [(range(10, 91), {"percentiles close"}), ([10, 50, 90], set()), ([50], set())]
)
def test_adjacent_percentiles_are_individual_values(percents, found):
    columns = {f"p{p}": [float(np.percentile(INCOMES["income"], p))] for p in percents}
    asked = {"by": (), "value": "income", "statistics": list(columns)}
    assert kinds(INCOMES, [], ("table", asked, columns)) == found


@pytest.mark.parametrize(("n_alike", "found"), [(1, {"percentiles close"}), (7, set())])
def test_percentile_distance_counts_people_between(n_alike, found):
    """From the 51st to the 54th there are four people; ten where seven have the value of the 51st."""
    values = np.arange(101) ** 2 + 1000.0
    values[50 - n_alike + 1 : 51] = values[50]
    people = pd.DataFrame({"income": values})
    columns = {f"p{p}": [float(np.percentile(values, p))] for p in (50, 53)}
    asked = {"by": (), "value": "income", "statistics": list(columns)}
    assert kinds(people, [], ("table", asked, columns)) == found


def test_more_percentiles_than_people_reveal_all_values():
    """62 people and 99 percentiles between them: each is an equation with two unknowns."""
    people = INCOMES.iloc[:62]
    columns = {f"p{p}": [float(np.percentile(people["income"], p))] for p in range(1, 100)}
    asked = {"by": (), "value": "income", "statistics": list(columns)}
    (claim,) = Attacker(people, []).attack([Released("table", asked, columns)])
    assert "62 people" in claim.text
    assert claim.true


@pytest.mark.parametrize("statistic", ["t", "f"])
@pytest.mark.parametrize(("n_rare", "found"), [(2, {"test"}), (7, {"test"}), (25, set())])
def test_test_statistic_of_few_people_discloses_mean(statistic, n_rare, found):
    rng = np.random.default_rng(3)
    people = pd.DataFrame(
        {
            "disease": ["none"] * 60 + ["rare"] * n_rare,
            "income": np.r_[rng.normal(30_000, 8_000, 60), rng.normal(45_000, 9_000, n_rare)].round(),
        }
    )
    parts = [own["income"] for _, own in people.groupby("disease")]
    tested = stats.ttest_ind(*parts, equal_var=False) if statistic == "t" else stats.f_oneway(*parts)
    outputs = [
        ("mean", {"value": "income"}, {"mean_income": [people["income"].mean()]}),
        ("summary", {"statistic": "std", "value": "income"}, {"std_income": [people["income"].std()]}),
        (
            "test",
            {"statistic": statistic, "value": "income", "other": "disease"},
            {statistic: [float(tested.statistic)], "p_value": [float(tested.pvalue)]},
        ),
    ]
    assert kinds(people, ["disease"], *outputs) == found
    assert kinds(people, ["disease"], *outputs[1:]) == set()


def sick(n_sick):
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"region": np.repeat(["N", "S"], 100), "income": rng.integers(100, 900, 200)})
    people["sick"] = [*([1] * n_sick + [0] * (100 - n_sick)), *([1] * 50 + [0] * 50)]
    people["percent"], people["coded"] = 100 * people["sick"], people["sick"]
    people.loc[199, "coded"] = 9
    return people


def logit_of(people):
    share = people.groupby("region")["sick"].mean()
    base, other = np.log(share / (1 - share))
    return {"term": ["Intercept", "C(region)[T.S]"], "coefficient": [base, other - base]}


OUTPUTS = {
    "mean": lambda p: [by_region("mean", p, "sick", "mean")],
    "sum": lambda p: [by_region("sum", p, "sick", "sum")],
    "0/100": lambda p: [by_region("mean", p, "percent", "mean")],
    "variance": lambda p: [by_region("summary", p, "sick", "var", statistic="variance")],
    "covariance": lambda p: [by_region("summary", p, "sick", "var", statistic="covariance", other="sick")],
    "hhi": lambda p: [
        by_region("concentration", p, "sick", lambda x: ((x / x.sum()) ** 2).sum(), statistic="hhi")
    ],
    "ratio": lambda p: [
        by_region("mean", p, "income", "mean"),
        (
            "summary",
            {"statistic": "ratio", "value": "income", "other": "sick", "by": "region"},
            {
                "region": ["N", "S"],
                "ratio_income": [own["income"].sum() / own["sick"].sum() for _, own in p.groupby("region")],
            },
        ),
    ],
    "logit": lambda p: [("regression", {"model": "sick ~ C(region)", "family": "logit"}, logit_of(p))],
}


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize(("n_sick", "found"), [(3, {"few values"}), (96, {"few values"}), (40, set())])
def test_rare_attribute_is_counted_through_every_output(output, n_sick, found):
    people = sick(n_sick)
    assert kinds(people, ["region"], *OUTPUTS[output](people)) == found


def test_standard_errors_reveal_total_deviation():
    """Of 160 people 5 have two cars: mean and deviation of all follow from a model on sex, and then the 5."""
    people = pd.DataFrame({"sex": ["f"] * 100 + ["m"] * 60, "cars": 0})
    people.loc[:39, "cars"], people.loc[100:120, "cars"], people.loc[:4, "cars"] = 1, 1, 2
    parts = [own["cars"] for _, own in people.groupby("sex")]
    left = sum(((own - own.mean()) ** 2).sum() for own in parts) / (len(people) - 2)
    model = {
        "term": ["Intercept", "C(sex)[T.m]"],
        "coefficient": [parts[0].mean(), parts[1].mean() - parts[0].mean()],
        "standard_error": [np.sqrt(left / 100), np.sqrt(left / 100 + left / 60)],
    }
    asked = ("regression", {"model": "cars ~ C(sex)"}, model)
    assert kinds(people, ["sex"], asked) == {"few values"}
    hidden = ("regression", {"model": "cars ~ C(sex)"}, {**model, "standard_error": [None, None]})
    assert kinds(people, ["sex"], hidden) == set()


def test_additional_code_elsewhere_protects_nothing():
    people = sick(3)
    assert kinds(people, ["region"], by_region("mean", people, "coded", "mean")) == {"few values"}


def test_homogeneous_group_is_found():
    people = pd.DataFrame(
        {"region": np.repeat(["N", "S"], 100), "income": [500.0] * 100 + list(np.arange(100.0) + 400)}
    )
    gini = ("concentration", {"value": "income", "statistic": "gini", "by": "region"})
    shares = (*gini, {"region": ["N", "S"], "gini_income": [0.0, 0.12]})
    mean = by_region("mean", people, "income", "mean")
    ends = [
        ("percentile", {"value": "income", "percent": p, "by": "region"},
         {"region": ["N", "S"],
          f"p{p}_income": [float(np.percentile(own["income"], p)) for _, own in people.groupby("region")]})
        for p in (1, 99)
    ]  # fmt: skip
    assert kinds(people, ["region"], shares) == set()
    assert kinds(people, ["region"], shares, mean) == {"alike"}
    assert kinds(people, ["region"], *ends) == {"percentiles alike"}
    varied = people[people["region"] == "S"]
    assert kinds(varied, ["region"], by_region("mean", varied, "income", "mean")) == set()


@pytest.mark.parametrize(("noise", "found"), [(0.0, {"formula by correlation"}), (1.0, set())])
def test_correlation_of_one_reveals_values(noise, found):
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"x": rng.integers(1, 1000, 100).astype(float)})
    people["y"] = 3 * people["x"] + 7 + noise * rng.normal(0, 50, 100)
    outputs = [
        ("summary", {"statistic": "correlation", "value": "y", "other": "x"},
         {"correlation_y": [people.corr().iloc[0, 1]]}),
        *(("table", {"by": (), "value": v, "statistics": ["mean", "std"]},
           {"mean": [people[v].mean()], "std": [people[v].std()]}) for v in "xy"),
    ]  # fmt: skip
    assert kinds(people, [], *outputs) == found
    assert kinds(people, [], outputs[0]) == set()


@pytest.mark.parametrize(("moved", "found"), [(0, {"chi square"}), (15, set())])
def test_chi_square_of_n_reveals_categories(moved, found):
    people = pd.DataFrame({"a": np.repeat(["x", "y"], 50), "b": np.repeat(["p", "q"], 50)})
    people.loc[: moved - 1, "b"] = "q"
    chi2 = stats.chi2_contingency(pd.crosstab(people["a"], people["b"]), correction=False)
    asked = {"statistic": "chi2", "value": "a", "other": "b"}
    columns = {"chi2": [float(chi2.statistic)], "p_value": [float(chi2.pvalue)]}
    assert kinds(people, ["a", "b"], ("test", asked, columns)) == found


@pytest.mark.parametrize(("n_early", "found"), [(188, {"survival"}), (150, set())])
def test_large_survival_step_is_found(n_early, found):
    people = pd.DataFrame({"month": [3.0] * n_early + [12.0] * (200 - n_early), "event": 1})
    curve = {"month": [3.0], "survival": [1 - n_early / 200]}
    assert kinds(people, [], ("survival", {"duration": "month", "event": "event"}, curve)) == found


def test_differences_of_sums_are_found():
    people = pd.DataFrame({"region": ["N"] * 30 + ["S"] * 20 + ["E"], "income": np.arange(51.0) ** 2})
    all_of_them = ("sum", {"value": "income"}, {"sum_income": [people["income"].sum()]})
    parts = by_region("sum", people[people["region"] != "E"], "income", "sum")
    assert kinds(people, ["region"], all_of_them, parts) == {"difference"}
    assert kinds(people, ["region"], all_of_them) == set()


def test_differences_of_largest_shares_are_found():
    people = pd.DataFrame({"income": np.arange(1.0, 51.0)})
    total = people["income"].sum()
    shares = [
        ("concentration", {"value": "income", "statistic": f"cr{k}"},
         {f"cr{k}_income": [np.sort(people["income"])[-k:].sum() / total]})
        for k in (4, 5)
    ]  # fmt: skip
    mean = ("mean", {"value": "income"}, {"mean_income": [people["income"].mean()]})
    assert kinds(people, [], *shares, mean) == {"largest"}
    assert kinds(people, [], shares[0], mean) == set()


def test_means_of_a_sum_and_its_parts_leave_one_person():
    rng = np.random.default_rng(2)
    people = pd.DataFrame({"wages": rng.normal(30, 5, 50), "rents": rng.normal(9, 2, 50), "kept": "yes"})
    people.loc[7, "kept"] = "no"
    people["total"] = people.wages - 2 * people.rents + 3
    kept = people[people.kept == "yes"]

    def mean(frame, value):
        where = {} if frame is people else {"where": {"kept": ["yes"]}}
        return ("mean", {"value": value, **where}, {f"mean_{value}": [float(frame[value].mean())]})

    two = [mean(people, "wages"), mean(people, "rents")]
    assert "related" in kinds(people, ["kept"], *two, mean(kept, "total"))
    assert "related" not in kinds(people, ["kept"], *two)
    assert "related" not in kinds(people, ["kept"], two[0], mean(kept, "total"))
