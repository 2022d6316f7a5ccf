"""A formula is run as a program by who fits it, also on the checker's side."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.checks.submissions import resealed
from tests.raising import raises

import hitoku as ht
from hitoku.checks.outputs import refuse_formula
from hitoku.checks.submission import recheck

COLUMNS = ["income", "age", "region", "my column"]


@pytest.mark.parametrize(
    "formula",
    [
        "income ~ age",
        "income ~ age + C(region) - 1",
        "np.log(income) ~ I(age ** 2) + age:C(region)",
        "income ~ C(region, Treatment(reference='N')) * age",
        "income ~ Q('my column') + I(age >= 65)",
    ],
)
def test_common_formulas_are_accepted(formula):
    refuse_formula(formula, COLUMNS)


@pytest.mark.parametrize(
    "formula",
    [
        "income ~ __import__('os').system('x')",
        "income ~ open('x')",
        "income ~ age.__class__",
        "income ~ np.load('x')",
        "income ~ np.log.__self__",
        "income ~ Q('open')",
        "income ~ (Q)('open')",
        "income ~ f'{open}'",
        "income ~ (lambda: 1)()",
        "income ~ [each for each in age]",
        "income ~ age; age",
        "income ~ wages",
    ],
)
def test_formula_with_other_words_than_columns_raises(formula):
    with raises("formula_word_not_allowed"):
        refuse_formula(formula, COLUMNS)


def test_incomplete_formula_raises():
    with raises("formula_incomplete"):
        refuse_formula("income ~ (age", COLUMNS)


def test_checker_does_not_evaluate_submitted_formula(tmp_path):
    pytest.importorskip("statsmodels")
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"y": rng.normal(size=90), "x": rng.normal(size=90)})
    work = ht.Session("s", data)
    work.regression("y ~ x", name="model")
    folder, trace = work.submit(tmp_path / "s"), tmp_path / "trace"
    evil = f"y ~ x + open({str(trace)!r}, 'w').write('1')"
    resealed(folder, "checker/01-model.json", lambda output: output["definition"].update(formula=evil))
    check = recheck(folder, data=data)
    assert not trace.exists()
    assert "'open' is not allowed in a formula" in str(check.outputs[0].findings[0])


def test_unfittable_formula_raises_without_values():
    pytest.importorskip("statsmodels")
    work = ht.Session("s", pd.DataFrame({"y": [12345.0] * 30, "g": ["a", "b", "c"] * 10}))
    with raises("formula_not_fitted") as error:
        work.regression("y ~ g", family="logit")
    assert "12345" not in str(error.value)
