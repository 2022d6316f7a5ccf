from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from tests.raising import raises

import hitoku as ht
from hitoku.checks import Records
from hitoku.checks.outputs import Regression
from hitoku.checks.policies import policy
from hitoku.checks.principles import Clearance, Principle, worst
from hitoku.checks.submission import recheck

JAPAN = policy("japan-2017")


def least_squares(y, **columns):
    """Fit by hand what statsmodels would fit, with the attributes of its result."""
    exog = np.column_stack([np.ones(len(y)), *columns.values()])
    coefficients = np.linalg.lstsq(exog, y, rcond=None)[0]
    return SimpleNamespace(
        model=SimpleNamespace(exog=exog, endog=np.asarray(y, float), exog_names=["Intercept", *columns]),
        params=coefficients,
        bse=np.ones(len(coefficients)),
        df_resid=len(y) - np.linalg.matrix_rank(exog),
        predict=lambda: exog @ coefficients,
    )


def run(fitted, n):
    kind = Regression(result=fitted)
    records = Records.open(pd.DataFrame({"row": np.arange(n)}))
    evidence = kind.protect(kind.collect(records), JAPAN)
    verdicts = kind.judge(evidence, JAPAN)
    return worst(verdicts), verdicts, kind.publish(evidence)


def noise(n):
    return np.random.default_rng(5).normal(size=n)


def dummies(*sizes):
    """One factor with so many units per category, the first one the reference."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    return {f"g{k}": (group == k).astype(float) for k in range(1, len(sizes))}


def failing(verdicts):
    return {verdict.reason for verdict in verdicts if verdict.status is Clearance.FAIL}


def test_coefficient_revealing_one_income_fails():
    # Groups of 20, 20 and 1: degrees of freedom 38, and the last coefficient is what one person earns more.
    income = 3000 + 100 * noise(41)
    fitted = least_squares(income, **dummies(20, 20, 1))
    assert fitted.df_resid == 38
    assert fitted.params[0] + fitted.params[2] == pytest.approx(income[-1])
    status, verdicts, published = run(fitted, 41)
    assert status is Clearance.FAIL
    expected = {"coefficient_of_few", "saturated_with_small_cells", "leverage", "dominated_squares"}
    assert failing(verdicts) == expected
    assert set(published["coefficient"]) == {None}


def test_reference_category_of_one_person_fails():
    status, verdicts, _ = run(least_squares(noise(41), **dummies(1, 20, 20)), 41)
    assert status is Clearance.FAIL
    assert "coefficient_of_few" in failing(verdicts)


@pytest.mark.parametrize(("n", "wrong"), [(9, True), (10, False)])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_category_needs_ten_units(n, wrong, place):
    sizes = [20, 20, 20]
    sizes[place] = n
    status, verdicts, _ = run(least_squares(noise(sum(sizes)), **dummies(*sizes)), sum(sizes))
    assert ("coefficient_of_few" in failing(verdicts)) is wrong
    assert ("saturated_with_small_cells" in failing(verdicts)) is wrong
    assert (status is Clearance.FAIL) is wrong


@pytest.mark.parametrize(("n", "wrong"), [(13, True), (14, False)])
def test_too_few_degrees_of_freedom_fail(n, wrong):
    # Two parameters: 13 units leave 11, which is not greater than 11.
    _, verdicts, _ = run(least_squares(noise(n), x=np.linspace(-1, 1, n)), n)
    assert ("too_few_degrees_of_freedom" in failing(verdicts)) is wrong


def test_continuous_regressor_passes():
    status, _, published = run(least_squares(noise(60), x=np.linspace(-1, 1, 60)), 60)
    assert status is Clearance.PASS
    assert published["term"] == ["Intercept", "x"]
    assert None not in published["coefficient"]


def test_small_interaction_cell_fails():
    a, b = np.repeat([0.0, 1.0], 40), np.tile([0.0, 1.0], 40)
    b[40:75] = 0.0
    both = a * b
    assert 0 < both.sum() < 10
    _, verdicts, _ = run(least_squares(noise(80), a=a, b=b, ab=both), 80)
    assert {"coefficient_of_few", "saturated_with_small_cells"} <= failing(verdicts)


def test_slope_in_small_group_fails():
    group = np.repeat([1.0, 0.0], [5, 75])
    _, verdicts, _ = run(least_squares(noise(80), x_in_group=group * noise(80)), 80)
    assert "coefficient_of_few" in failing(verdicts)


@pytest.mark.parametrize(
    ("outlier", "status"),
    [
        pytest.param(1.0, Clearance.PASS, id="as others"),
        pytest.param(10.0, Clearance.REVIEW, id="decides much: review"),
        pytest.param(1000.0, Clearance.FAIL, id="decides all: fail"),
    ],
)
def test_leverage_decides_the_status(outlier, status):
    x = np.linspace(-1, 1, 100)
    x[-1] = outlier
    found, verdicts, _ = run(least_squares(noise(100), x=x), 100)
    leverage = next(v for v in verdicts if v.principle is Principle.INDIVIDUAL_VALUE)
    deviation = (x - x.mean()) ** 2
    assert leverage.numbers["leverage"] == pytest.approx((0.01 + deviation / deviation.sum()).max())
    assert leverage.status is status
    assert found is status


def test_perfect_prediction_fails():
    x = np.linspace(-1, 1, 50)
    _, verdicts, _ = run(least_squares(2 + 3 * x, x=x), 50)
    assert failing(verdicts) == {"perfect_prediction"}


def test_dummy_determining_outcome_fails():
    group = np.repeat([1.0, 0.0], 30)
    outcome = np.where(group == 1, 1.0, np.tile([0.0, 1.0], 30))
    _, verdicts, _ = run(least_squares(outcome, group=group), 60)
    assert "perfect_prediction" in failing(verdicts)


def test_records_of_one_unit_add_no_freedom():
    frame = pd.DataFrame({"id": np.repeat(np.arange(12), 10)})
    fitted = least_squares(noise(120), x=np.linspace(-1, 1, 120))
    evidence = Regression(result=fitted).collect(Records.open(frame, "id"))
    assert evidence.freedom == 10


def test_invalid_model_raises():
    with raises("not_a_fitted_model"):
        run(SimpleNamespace(), 10)
    with raises("unknown_model"):
        Regression("y ~ x", "logti")


def test_unequal_lengths_raise():
    fitted = least_squares(noise(30), x=np.arange(30.0))
    fitted.model.endog = fitted.model.endog[:-1]
    with raises("model_lengths_differ"):
        run(fitted, 30)


def test_statsmodels_formulas_and_results_are_read():
    formulas = pytest.importorskip("statsmodels.formula.api")
    frame = pd.DataFrame({"y": noise(90), "g": ["a"] * 30 + ["b"] * 30 + ["c"] * 30, "x": np.arange(90.0)})
    work = ht.Session("s", frame)
    out = work.regression("y ~ x + C(g)")
    assert out.status is Clearance.PASS
    fitted = formulas.ols("y ~ x + C(g)", data=frame).fit()
    assert out.frame["coefficient"].tolist() == pytest.approx(fitted.params.tolist())
    assert work.regression(fitted, name="once more").status is Clearance.PASS


def test_models_of_nearly_equal_samples_are_compared():
    frame = pd.DataFrame({"y": noise(93), "x": np.arange(93.0), "late": ["no"] * 90 + ["yes"] * 3})
    work = ht.Session("s", frame)
    everybody = least_squares(frame["y"].to_numpy(), x=frame["x"].to_numpy())
    assert work.regression(everybody).status is Clearance.PASS
    fewer = least_squares(frame["y"].to_numpy()[:90], x=frame["x"].to_numpy()[:90])
    out = work.regression(fewer, where={"late": "no"})
    found = [verdict for verdict in out.verdicts if verdict.principle is Principle.DIFFERENCING]
    assert out.status is not Clearance.PASS
    assert found[0].numbers["units"] == 3


def incomplete():
    """Ninety-three people, of whom two do not say how old they are."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"y": noise(93), "g": ["a", "b", "c"] * 31, "age": rng.uniform(20, 60, 93)})
    frame.loc[[8, 12], "age"] = np.nan
    return frame


@pytest.mark.parametrize("by_formula", [True, False])
def test_models_with_and_without_missing_values_are_compared(by_formula, tmp_path):
    formulas = pytest.importorskip("statsmodels.formula.api")
    frame = incomplete()
    work = ht.Session("s", frame)
    asked = ("y ~ C(g)", "y ~ C(g) + age")
    first, second = (
        work.regression(each if by_formula else formulas.ols(each, data=frame).fit()) for each in asked
    )
    found = [verdict for verdict in second.verdicts if verdict.principle is Principle.DIFFERENCING]
    assert (first.status, second.status) == (Clearance.PASS, Clearance.FAIL)
    assert found[0].numbers["units"] <= 2
    # The checker fits formulas again; of a fitted model, the session's bad news is not forgotten.
    check = recheck(work.submit(tmp_path / "s"), data=frame)
    assert check.matrix["regression 2"]["differencing"] == "fail"


def test_excluded_records_of_sample_units_are_counted():
    pytest.importorskip("statsmodels")
    # One person has all but ten of the records.
    frame = incomplete().assign(id=[0] * 83 + list(range(1, 11)))
    out = ht.Session("s", frame, unit="id").regression("y ~ age")
    assert (out.evidence.n_records, out.evidence.n_units, out.status) == (91, 11, Clearance.FAIL)


def test_repeated_records_without_unit_raise():
    frame = incomplete().assign(id=[0] * 83 + list(range(1, 11)))
    fitted = least_squares(frame["y"].to_numpy()[:60], x=np.arange(60.0))
    with raises("model_records_unknown"):
        ht.Session("s", frame, unit="id").regression(fitted)


def test_index_not_matching_outcomes_raises():
    formulas = pytest.importorskip("statsmodels.formula.api")
    frame = incomplete()
    moved = frame.iloc[::-1].reset_index(drop=True)
    out = ht.Session("s", frame).regression(formulas.ols("y ~ C(g) + age", data=moved).fit())
    assert out.membership is None


def test_perfectly_predicted_binary_outcome_fails():
    # Who is above forty: no coefficient is infinite after so many steps, and everybody is told.
    age = np.arange(20.0, 60.0)
    above = (age > 40).astype(float)
    fitted = least_squares(above, x=age)
    told = 1 / (1 + np.exp(-2.0 * (age - 40.5)))
    fitted.predict = lambda: told
    status, verdicts, _ = run(fitted, 40)
    assert status is Clearance.FAIL
    assert verdicts[-1].reason == "perfect_prediction"
