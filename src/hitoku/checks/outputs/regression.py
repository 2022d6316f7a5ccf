"""Regressions: degrees of freedom, who is behind every coefficient, and what is predicted perfectly."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hitoku.checks.evidence import Evidence, design
from hitoku.checks.outputs.formula import refuse_formula
from hitoku.checks.policies.policy import Policy
from hitoku.checks.principles.verdict import Principle, Status, Verdict, worst
from hitoku.checks.records import Records
from hitoku.errors import DataError, ParameterError, did_you_mean, some
from hitoku.model.arrays import Floats

MODELS = ("ols", "logit", "probit")
# Predictions this close to the outcome, as a share of its spread, are the outcome.
PERFECT = 1e-6


@dataclass(frozen=True)
class Regression:
    """Coefficients of a model and their standard errors.

    Parameters
    ----------
    formula
        Such as "income ~ age + C(region)", fitted with statsmodels; None for a model that is fitted already.
    model
        "ols", "logit" or "probit", for a formula.
    """

    kind: ClassVar[str] = "regression"

    formula: str | None = None
    model: str = "ols"

    def __post_init__(self) -> None:
        if self.formula is not None and self.model not in MODELS:
            raise ParameterError(
                f"no model {self.model!r}", where="model", fix=did_you_mean(self.model, MODELS)
            )

    def fitted(self, records: Records) -> Any:
        """Fit the formula."""
        try:
            # An extra of the package; a fitted result brings its own.
            formulas = importlib.import_module("statsmodels.formula.api")
        except ImportError as error:
            raise ParameterError(
                "a formula needs statsmodels, which is not installed",
                where="regression",
                fix="install hitoku[regression], or hand over a fitted model",
            ) from error
        refuse_formula(str(self.formula), records.table.column_names)
        try:
            fit = getattr(formulas, self.model)(self.formula, data=records.table.to_pandas())
            return fit.fit() if self.model == "ols" else fit.fit(disp=0)
        except Exception as error:  # noqa: BLE001 - of patsy, statsmodels, numpy; texts may show values
            raise ParameterError(
                f"the formula cannot be fitted: {type(error).__name__}",
                where="formula",
                fix="numbers on the left side, 0 and 1 for logit and probit; text columns as C(column)",
            ) from None

    def collect(self, records: Records, fitted: Any = None) -> Evidence:
        """Look once at the design and the fit."""
        result = self.fitted(records) if fitted is None else fitted
        exog, endog, names, estimates, errors, freedom = _parts(result)
        rows = design.used(records, result.model, formula=self.formula is not None)
        if rows is None and records.repeated:
            raise DataError(
                f"the model was fitted on {len(exog)} records, and nobody can tell whose they are",
                where="regression",
                fix="give the formula, or fit on a frame with the session's records and its index",
            )
        # Where every record is a unit, it does not matter which they are.
        who = np.arange(len(exog)) if rows is None else records.unit[rows]
        same = len(exog) == len(records)
        influence, rank = design.leverage(exog)
        n_units = len(np.unique(who))
        return {
            "names": names,
            "coefficient": estimates,
            "standard_error": errors,
            "n_units": n_units,
            "n_records": len(exog),
            "sample": "all records" if same else "some records",
            "n_parameters": rank,
            # Several records of one unit are no more freedom than one.
            "freedom": float(min(freedom, n_units - rank)),
            "leverage": float(influence.max()),
            "n_leverage": len(influence),
            **design.support(exog, names, who),
            **design.cells(exog, who),
            **_prediction(result, exog, endog, names),
        }

    def protect(self, evidence: Evidence, policy: Policy) -> Evidence:
        """Withhold all coefficients when something is wrong: they are solved for together."""
        found = worst(self.judge({**evidence, "withheld": [False]}, policy))
        return {**evidence, "withheld": [found is Status.FAIL]}

    def judge(self, evidence: Mapping[str, Any], policy: Policy) -> tuple[Verdict, ...]:
        """Apply the principles; coefficients that are withheld have failed all the same."""
        return (
            _units(evidence, policy),
            _freedom(evidence, policy),
            _support(evidence, policy),
            _table(evidence, policy),
            _leverage(evidence, policy),
            _perfect(evidence),
        )

    def publish(self, evidence: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Return what leaves."""
        gone = bool(evidence["withheld"][0])
        columns = {name: evidence[name] for name in ("coefficient", "standard_error")}
        hidden = {name: [None] * len(values) if gone else list(values) for name, values in columns.items()}
        return {"term": list(evidence["names"]), **hidden}


def _parts(result: Any) -> tuple[Floats, Floats, list[str], list[float], list[float], float]:
    """Read a fitted model: design, outcome, names, estimates, standard errors, residual freedom."""
    try:
        model = result.model
        exog, endog = np.asarray(model.exog, dtype=np.float64), np.asarray(model.endog, dtype=np.float64)
        names = [str(name) for name in model.exog_names]
        estimates = [float(value) for value in np.ravel(result.params)]
        errors = [float(value) for value in np.ravel(result.bse)]
        freedom = float(result.df_resid)
    except (AttributeError, TypeError, ValueError) as error:
        raise DataError(
            f"a {type(result).__name__} is no fitted model that can be read",
            where="regression",
            fix="hand over what statsmodels returns from .fit(), or a formula",
        ) from error
    if (
        exog.ndim != 2
        or endog.shape != (len(exog),)
        or len(names) != exog.shape[1]
        or len(names) != len(estimates)
    ):
        raise DataError(
            "design, outcome and coefficients of the model have unequal lengths",
            where="regression",
            fix="models with one equation and one coefficient per column are supported",
        )
    return exog, endog, names, estimates, errors, freedom


def _prediction(result: Any, exog: Floats, endog: Floats, names: list[str]) -> Evidence:
    predicted = np.asarray(result.predict(), dtype=np.float64)
    spread = float(np.ptp(endog)) or 1.0
    binary = bool(np.isin(endog, (0.0, 1.0)).all())
    pure = [
        name
        for name, column in zip(names, exog.T, strict=True)
        if binary
        and len(np.unique(column)) == 2
        and any(np.ptp(endog[column == v]) == 0 for v in np.unique(column))
    ]
    # Of two outcomes, each predicted on its side says the same as all digits.
    close = 0.5 - PERFECT if binary else PERFECT * spread
    return {
        "perfect": bool(np.abs(predicted - endog).max() <= close),
        "binary": binary,
        "separated": pure,
    }


def _verdict(
    principle: Principle, reason: str, text: str, numbers: Mapping[str, float], remedy: str, *, wrong: bool
) -> Verdict:
    return Verdict(
        principle=principle,
        status=Status.FAIL if wrong else Status.PASS,
        reason=reason if wrong else "met",
        text=text,
        numbers=numbers,
        remedy=remedy if wrong else "",
    )


def _units(evidence: Mapping[str, Any], policy: Policy) -> Verdict:
    n, minimum = evidence["n_units"], policy.units.minimum
    text = f"at least {minimum} units: {n}"
    numbers = {"units": n, "minimum": minimum}
    return _verdict(Principle.UNITS, "too_few_units", text, numbers, "use more units", wrong=n < minimum)


def _freedom(evidence: Mapping[str, Any], policy: Policy) -> Verdict:
    found = evidence["freedom"]
    return _verdict(
        Principle.FREEDOM,
        "too_few_degrees_of_freedom",
        f"degrees of freedom {policy.freedom}: {found:g} ({evidence['n_units']} units)",
        {"freedom": found, "limit": policy.freedom.limit, "parameters": evidence["n_parameters"]},
        "use more units or fewer parameters",
        wrong=not policy.freedom.met(found),
    )


def _support(evidence: Mapping[str, Any], policy: Policy) -> Verdict:
    needed = policy.regression.support
    weak = [
        f"{term}: {n}" for term, n in zip(evidence["terms"], evidence["support"], strict=True) if n < needed
    ]
    smallest = min(evidence["support"], default=evidence["n_units"])
    return _verdict(
        Principle.UNITS,
        "coefficient_of_few",
        f"every dummy and interaction on at least {needed} units: "
        + (f"not {some(weak, 3)}" if weak else f"met, smallest {smallest}"),
        {"support": needed, "smallest": smallest, "terms": len(weak)},
        "merge these categories with others, or leave the terms out",
        wrong=bool(weak),
    )


def _table(evidence: Mapping[str, Any], policy: Policy) -> Verdict:
    n_cells, smallest, needed = evidence["n_cells"], evidence["smallest_cell"], policy.units.minimum
    # As many parameters as cells: each cell's mean is a sum of coefficients.
    saturated = evidence["categorical"] and evidence["n_parameters"] >= n_cells
    if not saturated:
        text = "not a table: some regressor is a measurement, or there are fewer parameters than cells"
    else:
        text = f"a table of {n_cells} means, each of at least {needed} units: smallest {smallest}"
    return _verdict(
        Principle.GROUP,
        "saturated_with_small_cells",
        text,
        {"cells": n_cells, "parameters": evidence["n_parameters"], "smallest": smallest, "minimum": needed},
        "merge categories until every cell has enough units, or leave interactions out",
        wrong=bool(saturated) and smallest < needed,
    )


def _leverage(evidence: Mapping[str, Any], policy: Policy) -> Verdict:
    rule, found = policy.regression, evidence["leverage"]
    status = (
        Status.FAIL
        if found >= rule.leverage_fail
        else Status.LOOK
        if found >= rule.leverage_look
        else Status.PASS
    )
    remedy = "leave out the term that one record decides, or the record"
    return Verdict(
        principle=Principle.INDIVIDUAL_VALUE,
        status=status,
        reason="met" if status is Status.PASS else "leverage",
        text=f"no record with leverage of {rule.leverage_fail:g} or more: largest {found:.2f}",
        numbers={"leverage": found, "fail": rule.leverage_fail, "look": rule.leverage_look},
        remedy="" if status is Status.PASS else remedy,
    )


def _perfect(evidence: Mapping[str, Any]) -> Verdict:
    perfect, separated = evidence["perfect"], evidence["separated"]
    if perfect:
        text = "the model predicts every outcome: coefficients and regressors give everybody's value"
    elif separated:
        text = f"all units with one value of {some(separated, 3)} have the same outcome"
    else:
        text = "no perfect prediction"
    return _verdict(
        Principle.GROUP,
        "perfect_prediction",
        text,
        {"separated": len(separated)},
        "leave these terms out, or merge their categories",
        wrong=bool(perfect or separated),
    )
