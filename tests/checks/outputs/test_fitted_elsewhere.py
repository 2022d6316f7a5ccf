"""Models of linearmodels and scikit-learn are judged as those of statsmodels are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.checks.submissions import resealed
from tests.raising import raises

import hitoku as ht
from hitoku.checks.evidence import read_fitted
from hitoku.checks.principles import Clearance, Principle
from hitoku.checks.submission import recheck

N = 240
RNG = np.random.default_rng(2)
PEOPLE = pd.DataFrame(
    {
        "age": RNG.uniform(20, 60, N).round(1),
        "x": RNG.normal(size=N).round(3),
        "win": RNG.integers(0, 2, N),
        "one": (np.arange(N) == 7) * 1.0,
    }
)
PEOPLE["income"] = (1000 + 30 * PEOPLE["age"] + RNG.normal(0, 200, N)).round()
TERMS = ["age", "x"]


def same_as_statsmodels(out, terms=TERMS, outcome="income"):
    formulas = pytest.importorskip("statsmodels.formula.api")
    fitted = formulas.ols(f"{outcome} ~ {' + '.join(terms)}", PEOPLE).fit()
    ours = ht.Session("other", PEOPLE).regression(fitted)
    order = [out.evidence.names.index(name) for name in terms]
    theirs = [ours.evidence.names.index(name) for name in terms]
    assert out.evidence.coefficient[order] == pytest.approx(ours.evidence.coefficient[theirs])
    for name in ("leverage", "residual", "influence"):
        assert getattr(out.evidence, name) == pytest.approx(getattr(ours.evidence, name)), name
    for name in ("n_units", "n_parameters", "freedom"):
        assert getattr(out.evidence, name) == getattr(ours.evidence, name), name
    assert [v.status for v in out.verdicts] == [v.status for v in ours.verdicts]


def test_scikit_learn_linear_model_is_read(tmp_path):
    models = pytest.importorskip("sklearn.linear_model")
    fitted = models.LinearRegression().fit(PEOPLE[TERMS], PEOPLE["income"])
    work = ht.Session("s", PEOPLE)
    out = work.regression(fitted, exog=PEOPLE[TERMS], endog=PEOPLE["income"], name="model")
    assert out.status is Clearance.PASS
    same_as_statsmodels(out)
    assert list(out.published) == ["term", "coefficient"]
    assert recheck(work.submit(tmp_path / "s")).outputs[0].findings == ()
    assert recheck(tmp_path / "s", data=PEOPLE).outputs[0].findings == ()


def test_dummy_of_one_person_fails_in_any_library():
    models = pytest.importorskip("sklearn.linear_model")
    columns = PEOPLE[["age", "one"]]
    out = ht.Session("s", PEOPLE).regression(
        models.Ridge(alpha=0.1).fit(columns, PEOPLE["income"]), exog=columns, endog=PEOPLE["income"]
    )
    assert out.status is Clearance.FAIL
    assert set(out.published["coefficient"]) == {None}


def test_classifier_is_a_binary_outcome_model():
    models = pytest.importorskip("sklearn.linear_model")
    words = np.where(PEOPLE["win"] == 1, "yes", "no")
    fitted = models.LogisticRegression().fit(PEOPLE[TERMS], words)
    out = ht.Session("s", PEOPLE).regression(fitted, exog=PEOPLE[TERMS], endog=words)
    assert out.evidence.binary
    assert not out.evidence.perfect
    assert out.status is Clearance.PASS
    # Three classes are three equations.
    three = models.LogisticRegression().fit(PEOPLE[TERMS], np.arange(N) % 3)
    with raises("model_lengths_differ"):
        ht.Session("s", PEOPLE).regression(three, exog=PEOPLE[TERMS], endog=np.arange(N) % 3)


def test_estimator_without_design_raises():
    models = pytest.importorskip("sklearn.linear_model")
    fitted = models.LinearRegression().fit(PEOPLE[TERMS], PEOPLE["income"])
    with raises("model_without_design") as caught:
        ht.Session("s", PEOPLE).regression(fitted)
    assert "exog=X, endog=y" in caught.value.fix


def test_tree_without_coefficients_raises():
    trees = pytest.importorskip("sklearn.tree")
    fitted = trees.DecisionTreeRegressor(max_depth=2).fit(PEOPLE[TERMS], PEOPLE["income"])
    with raises("not_a_fitted_model"):
        ht.Session("s", PEOPLE).regression(fitted, exog=PEOPLE[TERMS], endog=PEOPLE["income"])


def test_linearmodels_least_squares_and_instruments_are_read(tmp_path):
    iv = pytest.importorskip("linearmodels.iv")
    exog = PEOPLE[TERMS].assign(const=1.0)
    fitted = iv.IV2SLS(PEOPLE["income"], exog, None, None).fit(cov_type="unadjusted")
    work = ht.Session("s", PEOPLE)
    out = work.regression(fitted, name="model")
    same_as_statsmodels(out)
    sealed = work.submit(tmp_path / "s")
    for data in (None, PEOPLE):
        (again,) = recheck(sealed, data=data).outputs
        assert again.findings == ()
        assert dict(again.output.published) == dict(out.published)
    # What a forger writes into it is found, by the statistic that no longer fits its error.
    resealed(
        sealed, "checker/01-model.json", lambda plain: plain["evidence"]["coefficient"].__setitem__(0, 99.0)
    )
    assert recheck(sealed).outputs[0].findings
    assert (out.evidence.standard_error > 0).all()
    instrumented = iv.IV2SLS(
        PEOPLE["income"], exog[["const", "x"]], PEOPLE[["age"]], (PEOPLE[["age"]] + PEOPLE[["x"]].to_numpy())
    ).fit()
    out = ht.Session("s", PEOPLE).regression(instrumented)
    assert out.evidence.names == ("const", "x", "age")
    assert out.evidence.coefficient == pytest.approx(instrumented.params.to_numpy())


@pytest.mark.parametrize("effects", [False, True])
def test_panel_counts_units_not_records(effects, tmp_path):
    panel = pytest.importorskip("linearmodels.panel")
    rng = np.random.default_rng(3)
    # In any order: the library sorts.
    frame = pd.DataFrame({"firm": np.tile(np.arange(40), 5), "year": np.repeat(np.arange(5), 40)})
    frame["x"] = rng.normal(size=200)
    frame["y"] = frame["x"] + rng.normal(size=200)
    frame = frame.sample(frac=1, random_state=1).reset_index(drop=True)
    indexed = frame.set_index(["firm", "year"])
    fitted = panel.PanelOLS(indexed["y"], indexed[["x"]], entity_effects=effects).fit()
    work = ht.Session("s", frame, unit="firm")
    out = work.regression(fitted)
    assert (out.evidence.n_units, out.evidence.n_records) == (40, 200)
    (again,) = recheck(work.submit(tmp_path / "s"), data=frame, unit="firm").outputs
    assert again.findings == ()
    assert str(again.status) == str(out.status)
    assert out.evidence.freedom <= 39
    assert out.status is Clearance.PASS
    # The share of one unit is that of all its records.
    left = fitted.resids.to_numpy().reshape(-1) ** 2
    firms = fitted.resids.index.get_level_values(0).to_numpy()
    assert out.evidence.residual == pytest.approx(np.bincount(firms, left).max() / left.sum())


def test_panel_decided_by_one_unit_fails():
    panel = pytest.importorskip("linearmodels.panel")
    frame = pd.DataFrame({"firm": np.repeat(np.arange(40), 5), "year": np.tile(np.arange(5), 40)})
    frame["x"] = np.random.default_rng(3).normal(size=200)
    frame["y"] = np.where(frame["firm"] == 7, 9e6 * frame["x"], frame["x"] ** 2)
    indexed = frame.set_index(["firm", "year"])
    fitted = panel.PooledOLS(indexed["y"], indexed[["x"]]).fit()
    out = ht.Session("s", frame, unit="firm").regression(fitted)
    (found,) = [v for v in out.verdicts if v.principle is Principle.DOMINANCE]
    assert found.status is Clearance.FAIL


def test_unknown_model_object_raises():
    with raises("not_a_fitted_model"):
        read_fitted(object())
