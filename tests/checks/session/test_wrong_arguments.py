"""Whatever stands in the place of an argument, the answer is an output or an error in our words."""

import numpy as np
import pandas as pd
import pytest
from tests.raising import raises

import hitoku as ht
from hitoku.checks.session import OutputMethods, PandasApi
from hitoku.errors import HitokuError

rng = np.random.default_rng(11)
PEOPLE = pd.DataFrame(
    {
        "year": rng.choice([2010, 2011], 200),
        "region": rng.choice(["N", "S"], 200),
        "income": np.round(rng.lognormal(10, 0.5, 200)),
        "weight": np.ones(200),
        "event": rng.integers(0, 2, 200),
    }
)
# Calls that are right, but for the argument that is exchanged.
CALLS = {
    "frequency_table": {
        "by": ["year", "region"], "where": {"region": ["N"]}, "missing": "complete", "hierarchies": {},
    },
    "magnitude_table": {"by": ["year", "region"], "value": "income", "holding": "event", "statistic": "sum"},
    "mean": {"value": "income", "by": "region", "weight": "weight", "decimals": 1},
    "sum": {"value": "income", "by": "region"},
    "percentile": {"value": "income", "percent": 50, "by": "region"},
    "mode": {"value": "event", "by": "region"},
    "concentration": {"value": "income", "statistic": "cr4", "by": "region"},
    "quantile_groups": {"value": "income", "n_groups": 5, "by": "region", "statistic": "mean"},
    "lorenz": {"value": "income", "n_groups": 5, "by": "region"},
    "summary": {"statistic": "std", "value": "income", "other": None, "by": "region"},
    "test": {"statistic": "t", "value": "income", "other": "region"},
    "regression": {"model": "income ~ year", "family": "ols"},
    "histogram": {"value": "income", "bins": 5, "where": None},
    "survival": {"duration": "income", "event": "event", "by": "region"},
    "life_table": {"duration": "income", "event": "event", "edges": [0, 1e4, 1e5], "by": "region"},
    "hand_over": {"table": {"b": [1.5]}, "n": [60], "freedom": 50, "method": "plm", "rows": ["x"]},
    "hand_over_file": {"path": "nowhere.txt", "what": "a map"},
    "crosstab": {
        "index": "year", "columns": "region", "values": "income", "aggfunc": "mean", "normalize": False,
        "name": "a", "like": None,
    },
    "pivot_table": {"values": "income", "index": "region", "columns": "year", "aggfunc": "mean"},
    "table": {"by": "region", "value": "income", "statistics": ["count", "mean"], "weight": None},
    "describe": {"value": "income", "by": "region", "withhold": None},
    "percentages": {"by": ["year", "region"], "of": "row"},
    "request_exception": {
        "output": "first", "cells": [], "principle": "units", "reason": "known", "facts": None,
    },
    "rename": {"output": "first", "name": "other"},
    "comment": {"output": "first", "text": "see page 3"},
    "remove": {"output": "first"},
}  # fmt: skip
WRONG = (None, True, 1.5, 10**30, "nope", [], ["region", ["year"]], object())


@pytest.mark.parametrize("method", CALLS)
def test_wrong_arguments_pass_or_raise_hitoku_error(method):
    fixes = []
    for argument in CALLS[method]:
        work = ht.Session("study", PEOPLE)
        for wrong in WRONG:
            if not any(each.name == "first" for each in work.outputs):
                work.frequency_table("region", name="first")
            try:
                getattr(work, method)(**{**CALLS[method], argument: wrong})
            except HitokuError as error:
                fixes.append(error.fix)
    assert fixes
    assert all(fixes)


def test_every_output_method_is_tried():
    asking = {
        name for kind in (OutputMethods, PandasApi) for name in vars(kind) if not name.startswith("_")
    } - {
        "output",
        "records",
        "scatter",
    }
    assert asking <= CALLS.keys()


@pytest.mark.parametrize("method", ["crosstab", "mean", "describe", "regression"])
def test_misspelt_option_raises(method):
    # Without its filter the output would be about everybody, and nobody would notice.
    call = {name: given for name, given in CALLS[method].items() if name != "name"}
    with raises("unknown_option", option="wher") as refused:
        getattr(ht.Session("study", PEOPLE), method)(**call, wher={"region": ["N"]})
    assert refused.value.fix == "did you mean 'where'?"


def test_column_argument_stands_for_its_name():
    named = ht.Session("study", PEOPLE).mean("income", by="region", weight="weight")
    given = ht.Session("study", PEOPLE).mean(PEOPLE.income, by=[PEOPLE.region], weight=PEOPLE.weight)
    assert given.definition == named.definition


@pytest.mark.parametrize(
    ("word", "of"),
    [(True, "all"), ("all", "all"), ("index", "row"), (0, "row"), ("columns", "column"), (1, "column")],
)
def test_shares_match_pandas(word, of):
    # pd.crosstab: all or True, index or 0, columns or 1.
    assert ht.Session("study", PEOPLE).crosstab("year", "region", normalize=word).definition["of"] == of
