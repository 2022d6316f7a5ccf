"""Forged evidence is caught where numbers cannot be true together; honest evidence never is."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.checks.submissions import PEOPLE

from hitoku.checks.outputs import FrequencyTable, Output, find_contradictions
from hitoku.checks.session import Session
from hitoku.checks.submission import disagreements
from hitoku.errors import DataError
from hitoku.model import Hierarchy

DATA = PEOPLE.assign(
    age=20 + np.arange(240) * 13 % 41,
    win=(np.arange(240) * 7 % 11 < 5) * 1.0,
    employer=np.arange(240) % 40,
)
MADE = {
    "magnitude": lambda work: work.magnitude_table(by=["region"], value="income"),
    "held": lambda work: work.magnitude_table(by=["region"], value="income", holding="employer"),
    "mean": lambda work: work.mean("income", by="region"),
    "percentile": lambda work: work.percentile("income", 50, by="region"),
    "mode": lambda work: work.mode("job", by="region"),
    "cr4": lambda work: work.concentration("income", "cr4", by="region"),
    "hhi": lambda work: work.concentration("income", "hhi", by="region"),
    "std": lambda work: work.summary("std", "income", by="region"),
    "min": lambda work: work.summary("min", "age", structural=True),
    "correlation": lambda work: work.summary("correlation", "income", "age"),
    "t": lambda work: work.test("t", "income", "region", where={"region": ["N", "S"]}),
    "chi2": lambda work: work.test("chi2", "job", "region"),
    "ols": lambda work: work.regression("income ~ age + C(region)"),
    "logit": lambda work: work.regression("win ~ age + C(region)", family="logit"),
    "table": lambda work: work.regression("income ~ C(region) * C(win)"),
}


@pytest.fixture(scope="module")
def outputs():
    work = Session("all", DATA, unit="id")
    return {name: make(work) for name, make in MADE.items()}


def found(output, plain):
    """What is wrong with evidence that a file holds: its shape, or that it contradicts itself."""
    try:
        evidence = output.asked.evidence.from_dict(plain, output.name)
    except DataError as error:
        return error.what
    return "; ".join(output.asked.contradictions(evidence))


def forged(output, **fields):
    """The same output with other evidence, which a careful forger has made fit its type."""
    plain = {**output.evidence.to_dict(), **fields}
    return replace(output, evidence=output.asked.evidence.from_dict(plain, output.name))


def test_valid_evidence_has_no_contradiction(outputs):
    said = {name: found(each, each.evidence.to_dict()) for name, each in outputs.items()}
    assert said == dict.fromkeys(outputs, "")
    assert not any(disagreements(list(outputs.values())))


# Groups in order: E with 60 units, N with 100, S with 80. In all of them incomes are 20 to 56.
@pytest.mark.parametrize(
    ("name", "path", "forged", "said"),
    [
        ("magnitude", ("n_contributors", 0), 59, "contributors differ from the units"),
        ("held", ("n_contributors", 0), 61, "more of them than records"),
        ("mean", ("largest", 0), [56.0, 56.0, 1.0], "too small for this number"),
        ("mean", ("n_records", 0), -1, "n_records: a number out of range"),
        ("percentile", ("low", 0), 20, "neither side"),
        ("mode", ("fewest_holders", 0), 21, "fewest above most"),
        ("mode", ("most_holders", 1), 51, "two numbers of units"),
        ("mode", ("n_tied", 1), 2, "fewer modes listed"),
        ("mode", ("n_tied", 1), 0, "modes without units"),
        ("cr4", ("value", 0), 0.9, "impossible with these"),
        ("cr4", ("size", 0), 9000.0, "impossible with these"),
        ("hhi", ("value", 0), 1.01, "no hhi has such a value"),
        ("hhi", ("value", 0), 0.001, "impossible with these"),
        ("std", ("freedom", 0), 58, "units minus 1"),
        ("std", ("alike", 0), 5, "neither no unit nor all units"),
        ("std", ("value", 0, 0), -1.0, "no std"),
        ("min", ("alike", 0), 0, "an extreme without units"),
        ("correlation", ("value", 0, 0), 1.5, "no correlation"),
        ("t", ("value", 0, 1), 0.0, "the p value"),
        ("chi2", ("value", 0, 1), 0.5, "the p value"),
        ("chi2", ("freedom", 0), 239, "the p value"),
        ("ols", ("freedom",), 235.0, "fewer degrees of freedom"),
        ("ols", ("n_parameters",), 5, "more parameters than terms"),
        ("ols", ("n_parameters",), 3, "fewer degrees of freedom"),
        ("ols", ("n_leverage",), 100_000, "not one leverage"),
        ("ols", ("leverage",), 1.5, "outside of 0 to 1"),
        ("ols", ("smallest_cell",), 12, "not a table"),
        ("ols", ("standard_error", 0), -1.0, "below zero"),
        ("ols", ("support", 0), 81, "not all units"),
        ("logit", ("binary",), False, "not binary"),
        ("table", ("smallest_cell",), 200, "more units than the model has"),
        ("table", ("n_cells",), 5, "more parameters than cells"),
        ("table", ("smallest_cell",), 39, "fewer units than the smallest cell"),
    ],
)
def test_impossible_number_is_found(outputs, name, path, forged, said):
    output = outputs[name]
    evidence = output.evidence.to_dict()
    inner = evidence
    for step in path[:-1]:
        inner = inner[step]
    assert inner[path[-1]] != forged
    inner[path[-1]] = forged
    assert said in found(output, evidence)


def test_percentile_sides_match_its_evidence(outputs):
    # The median of 60 has 30 on each side at least, or more where values tie.
    evidence = outputs["percentile"].evidence.to_dict()
    evidence["low"][0], evidence["high"][0] = 29, 60
    assert "too few units on one side" in found(outputs["percentile"], evidence)
    evidence["low"][0], evidence["high"][0] = 60, 30
    assert found(outputs["percentile"], evidence) == ""


def test_group_agrees_with_and_without_filter():
    work = Session("two", DATA, unit="id")
    mean = work.mean("income", by="region")
    north = work.mean("income", where={"region": "N"})
    assert disagreements([mean, forged(north, n_units=[99])]) == [
        [f"it contradicts {north.name} about the units in region=N"],
        [f"it contradicts {mean.name} about the units in region=N"],
    ]


def test_record_totals_agree_across_variables():
    work = Session("two", DATA, unit="id")
    first, second = work.percentile("income", 50, by="region"), work.mode("age", by=["job"])
    first_group, *others = second.evidence.n_records.tolist()
    second = forged(second, n_records=[first_group + 7, *others])
    assert "about the records in all" in disagreements([first, second])[0][0]


def test_largest_values_agree_across_outputs():
    work = Session("two", DATA, unit="id")
    mean, table = work.mean("income", by="region"), work.magnitude_table(by=["region"], value="income")
    (first, second, *more), *others = mean.evidence.to_dict()["largest"]
    forged_mean = forged(mean, largest=[[first, second - 1, *more], *others])
    assert disagreements([mean, table]) == [[], []]
    assert disagreements([forged_mean, table]) == [
        [f"it contradicts {table.name} about the largest contributions in region=E"],
        [f"it contradicts {mean.name} about the largest contributions in region=E"],
    ]


GAPS = DATA.assign(
    income=DATA["income"].where(DATA["id"] % 10 > 0), age=DATA["age"].where(DATA["id"] % 16 > 0)
)


def redefined(output, **fields):
    """The same output with another definition."""
    return Output.from_dict({**output.to_dict(), "definition": {**output.definition, **fields}})


@pytest.mark.parametrize("fields", [{"value": "age"}, {"missing": "error"}])
def test_gaps_of_a_column_are_checked(fields):
    mean = Session("gaps", GAPS, unit="id").mean("income", by="region")
    said = "records left out for a column that the output does not need"
    assert list(find_contradictions(mean.asked, mean.evidence)) == []
    lie = redefined(mean, **fields)
    assert said in list(find_contradictions(lie.asked, lie.evidence))


def test_hierarchy_must_match_evidence():
    def grouped(big, small):
        return {"region": Hierarchy.from_tree({"big": big, "small": small})}

    regions = DATA["region"].unique().tolist()
    given = grouped(regions[:2], regions[2:])
    work = Session("trees", DATA, unit="id")
    tree = work.frequency_table(["region", "job"], hierarchies=given, name="tree")
    flat = work.frequency_table(["region", "job"], name="flat")
    alone = work.frequency_table(
        ["region", "job"], hierarchies={"region": Hierarchy.flat(sorted(regions))}, name="alone"
    )
    for honest in (tree, flat, alone):
        assert found(honest, honest.evidence.to_dict()) == ""
    other = FrequencyTable(("region", "job"), hierarchies=grouped(regions[1:3], [regions[0], *regions[3:]]))
    said = "another hierarchy than the definition says"
    for lie, evidence in ((other, tree), (other, flat), (flat.asked, tree), (tree.asked, alone)):
        assert said in list(lie.contradictions(evidence.evidence))


def test_missing_values_agree_across_outputs():
    work = Session("gaps", GAPS.assign(whole=DATA["income"]), unit="id")
    ages, whole = work.percentile("age", 50, by="region"), work.mean("whole", by="job")
    north = work.percentile("age", 50, where={"region": ["N"]}, name="north")
    assert disagreements([ages, whole, north]) == [[], [], []]
    # Of a column without gaps one says that it is the one that has 15.
    assert disagreements([ages, redefined(whole, value="age"), north]) == [
        [f"it contradicts {whole.name} about the missing values of age"],
        [f"it contradicts {ages.name} about the missing values of age"],
        [],
    ]


@settings(deadline=None, max_examples=5)
@given(seed=st.integers(0, 2**32 - 1))
def test_valid_outputs_of_any_data_pass(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(30, 120))
    letters = np.array(["a", "b", "c"])
    data = pd.DataFrame(
        {
            "id": random.integers(0, n, n) if random.random() < 0.5 else np.arange(n),
            "region": letters[random.integers(0, 3, n)],
            "job": letters[random.integers(0, 2, n)],
            "sex": letters[random.integers(0, 2, n)],
            "branch": [None if random.random() < 0.1 else code for code in letters[random.integers(0, 3, n)]],
            "employer": random.integers(0, 9, n),
            "income": np.round(random.lognormal(3, 1.5, n), random.integers(0, 3)),
            "profit": random.integers(-3, 4, n).astype(float),
            "weight": random.integers(1, 5, n).astype(float),
            "gap": np.where(random.random(n) < 0.2, np.nan, random.lognormal(3, 1, n)),
        }
    )
    work = Session("any", data, unit="id")
    by = [(), ("region",), ("region", "job"), ("branch",)][random.integers(4)]
    where = [None, {"sex": ["a"]}, {"region": ["a", "b"]}][random.integers(3)]
    options = {"by": by, "where": where, "missing": "code"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for holding in (None, "employer"):
            for value in ("income", "profit"):
                work.mean(value, holding=holding, **options)
                work.sum(value, holding=holding, **options)
                if by:
                    work.magnitude_table(value=value, holding=holding, **options)
            work.concentration(
                "income", ["gini", "hhi", "cr4", "cr2"][random.integers(4)], holding=holding, **options
            )
        work.mean("gap", **options)
        work.percentile("gap", 50, **options)
        work.percentile("profit", int(random.integers(1, 100)), **options)
        work.mode("profit", **options)
        work.summary("max", "profit", **options)
        work.summary("correlation", "income", "profit", where=where)
        work.regression("income ~ profit + C(region)", where=where)
        if by:
            work.frequency_table(**options)
    said = {each.name: found(each, each.evidence.to_dict()) for each in work.outputs}
    assert said == {each.name: "" for each in work.outputs}
    assert not any(disagreements(work.outputs))
