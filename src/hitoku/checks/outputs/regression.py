"""Regressions: degrees of freedom, who is behind every coefficient, and what is predicted perfectly."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hitoku.attacks.differencing.partition import COUNTS
from hitoku.checks.evidence import design
from hitoku.checks.evidence.cells import CodedCells
from hitoku.checks.evidence.evidence import Evidence
from hitoku.checks.evidence.left_out import LeftOut
from hitoku.checks.evidence.model import ModelEvidence
from hitoku.checks.ledger import Measure
from hitoku.checks.outputs.facts import Fact
from hitoku.checks.outputs.formula import columns_of, refuse_formula
from hitoku.checks.outputs.membership import Membership, model_membership
from hitoku.checks.outputs.output_type import NOT_WRITTEN, TableClaim
from hitoku.checks.policies.policy import Policy
from hitoku.checks.principles.squares import REASON, largest_share, softened, unknown
from hitoku.checks.principles.verdict import Clearance, Principle, PrincipleVerdict, worst
from hitoku.checks.records import Records
from hitoku.errors import DataError, ParameterError, did_you_mean, some
from hitoku.model.arrays import Floats, Integers
from hitoku.model.tolerance import LIMIT

MODELS = ("ols", "logit", "probit")
# Models whose normal equations hold the sums of the outcome over every dummy.
SUMS_FOLLOW = ("ols", "logit")
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
    result
        What statsmodels returned from ``.fit()``, of a model that is fitted already; no part of a submission.
    """

    kind: ClassVar[str] = "regression"
    evidence: ClassVar[type[Evidence]] = ModelEvidence
    tabular: ClassVar[bool] = False

    formula: str | None = None
    model: str = "ols"
    result: Any = field(default=None, compare=False, repr=False, metadata=NOT_WRITTEN)

    @property
    def variables(self) -> tuple[str, ...]:
        """Terms are no codes of variables."""
        return ()

    @property
    def needs(self) -> tuple[str, ...]:
        """Nothing: who fits a model leaves out what it cannot use."""
        return ()

    @property
    def tells(self) -> frozenset[str]:
        """Counts, which are printed beside most models, and amounts of the outcome where it is a column."""
        outcome = (self.formula or "").partition("~")[0].strip()
        return COUNTS | ({outcome} if outcome else set())

    @property
    def picture(self) -> str:
        """It is shown as numbers."""
        return ""

    @property
    def repeatable(self) -> bool:
        """The data are enough to collect its evidence again: a formula is, a fitted model is not."""
        return self.formula is not None

    def __post_init__(self) -> None:
        if self.formula is not None and self.model not in MODELS:
            raise ParameterError(
                f"no model {self.model!r}", where="model", fix=did_you_mean(self.model, MODELS)
            )

    def fit(self, records: Records) -> Any:
        """Fit the formula; a result that was handed over is what it is."""
        if self.result is not None:
            return self.result
        if self.formula is None:
            raise DataError(
                "a model that was fitted elsewhere is not in the data",
                where="regression",
                fix="give a formula, or the fitted result",
            )
        try:
            # An extra of the package; a fitted result brings its own.
            formulas = importlib.import_module("statsmodels.formula.api")
        except ImportError as error:
            raise ParameterError(
                "a formula needs statsmodels, which is not installed",
                where="regression",
                fix="install hitoku[regression], or hand over a fitted model",
            ) from error
        refuse_formula(self.formula, records.table.column_names)
        try:
            fit = getattr(formulas, self.model)(self.formula, data=records.table.to_pandas())
            return fit.fit() if self.model == "ols" else fit.fit(disp=0)
        except Exception as error:  # noqa: BLE001 - of patsy, statsmodels, numpy; texts may show values
            raise ParameterError(
                f"the formula cannot be fitted: {type(error).__name__}",
                where="formula",
                fix="numbers on the left side, 0 and 1 for logit and probit; text columns as C(column)",
            ) from None

    def collect(self, records: Records) -> ModelEvidence:
        """Look once at the design and the fit."""
        result = self.fit(records)
        exog, endog, names, estimates, errors, freedom = _parts(result)
        rows = design.used(records, result.model, formula=self.repeatable)
        if rows is None and records.repeated:
            raise DataError(
                f"the model was fitted on {len(exog)} records, and nobody can tell whose they are",
                where="regression",
                fix="give the formula, or fit on a frame with the session's records and its index",
            )
        # Where every record is a unit, it does not matter which they are.
        who = np.arange(len(exog)) if rows is None else records.unit[rows]
        influence, rank = design.leverage(exog)
        n_units = len(np.unique(who))
        terms, support = design.support(exog, names, who)
        crossing = design.cells(exog, who)
        predicted = _predict(result, exog, endog, names)
        linear = not predicted.binary and _predicted(result, endog) is not None
        return ModelEvidence(
            names=tuple(names),
            coefficient=np.array(estimates),
            standard_error=np.array(errors),
            n_units=n_units,
            n_records=len(exog),
            sample="all records" if len(exog) == len(records) else "some records",
            n_parameters=rank,
            # Several records of one unit are no more freedom than one.
            freedom=float(min(freedom, n_units - rank)),
            leverage=float(influence.max()),
            n_leverage=len(influence),
            terms=tuple(terms),
            support=np.array(support, dtype=np.int64),
            categorical=crossing.categorical,
            n_cells=crossing.n_cells,
            smallest_cell=crossing.smallest_cell,
            perfect=predicted.perfect,
            binary=predicted.binary,
            separated=predicted.separated,
            residual=None if not linear else _residual_share(result, endog, who, records),
            influence=None if not linear else _influence(exog, endog, who, records),
            left_out=self._left_out(records, len(exog)),
        )

    def _left_out(self, records: Records, n_used: int) -> LeftOut | None:
        """Say which records the model left out, and which columns of the formula they lack."""
        if n_used >= len(records):
            return None
        columns = columns_of(self.formula or "", records.table.column_names)
        missing = records.complete(columns)[1]
        return LeftOut(records=len(records) - n_used, of=len(records), columns=missing)

    def protect(self, evidence: ModelEvidence, policy: Policy) -> ModelEvidence:
        """Withhold all coefficients when something is wrong: they are solved for together."""
        failed = worst(self.judge(evidence, policy)) is Clearance.FAIL
        return replace(evidence, withheld=np.array([failed]))

    def judge(self, evidence: ModelEvidence, policy: Policy) -> tuple[PrincipleVerdict, ...]:
        """Apply the principles; coefficients that are withheld have failed all the same."""
        return (
            _units(evidence, policy),
            _freedom(evidence, policy),
            _support(evidence, policy),
            _table(evidence, policy),
            _leverage(evidence, policy),
            _perfect(evidence),
            *_squares(evidence, policy),
        )

    def publish(self, evidence: ModelEvidence) -> dict[str, list[Any]]:
        """Return what leaves."""
        gone = bool(evidence.withheld[0])
        columns = {
            "coefficient": evidence.coefficient.tolist(),
            "standard_error": evidence.standard_error.tolist(),
        }
        hidden = {name: [None] * len(values) if gone else values for name, values in columns.items()}
        return {"term": list(evidence.names), **hidden}

    def contradictions(self, evidence: ModelEvidence) -> Iterator[str]:
        """Name what cannot be true together in the evidence."""
        yield from evidence.contradictions(formula=self.repeatable, ols=self.model == "ols")

    def facts(self, evidence: ModelEvidence) -> Iterator[Fact]:
        """Say how many records and units there are, where the model used all of them."""
        if evidence.sample == "all records":
            yield Fact({}, ("records",), evidence.n_records)
            yield Fact({}, ("units",), evidence.n_units)

    def cells(self, evidence: ModelEvidence) -> CodedCells | None:  # noqa: ARG002 - for coded groups
        """Return nothing: codes do not say who is behind a model's dummies."""
        return None

    def claim(self, evidence: ModelEvidence, policy: Policy) -> TableClaim | None:  # noqa: ARG002 - for tables
        """Return nothing: coefficients are no table, and have no certificate."""
        return None

    def membership(
        self,
        records: Records,
        evidence: ModelEvidence,  # noqa: ARG002 - the dummies are in the fit
    ) -> Membership | None:
        """Divide the units by the dummies; None for a model whose records are not known."""
        if self.result is None and not self.repeatable:
            return None
        return model_membership(records, self.fit(records), formula=self.repeatable)

    def measures(self, records: Records) -> dict[str, Measure]:
        """Return the outcome: coefficients imply its sums over every set of dummies, where it is a column."""
        if self.formula is None or self.model not in SUMS_FOLLOW:
            return {}
        outcome = self.formula.partition("~")[0].strip()
        known = outcome in records.table.column_names and records.is_numeric(outcome)
        return {outcome: Measure.of(records.per_unit(outcome))} if known else {}


def fit_arrays(model: str, endog: Any, exog: Any, options: Mapping[str, Any]) -> Any:
    """Fit a model with statsmodels, of an outcome and a design.

    Parameters
    ----------
    model
        "ols", "logit" or "probit".
    endog, exog, options
        As statsmodels takes them.
    """
    names = {"ols": "OLS", "logit": "Logit", "probit": "Probit"}
    try:
        models = importlib.import_module("statsmodels.api")
    except ImportError as error:
        raise ParameterError(
            "models need statsmodels, which is not installed", where=model, fix="install hitoku[regression]"
        ) from error
    fitted = getattr(models, names[model])(endog, exog, **options)
    return fitted.fit() if model == "ols" else fitted.fit(disp=0)


def _parts(result: Any) -> tuple[Floats, Floats, list[str], list[float], list[float], float]:
    """Read a fitted model: design, outcome, names, estimates, standard errors, residual freedom."""
    try:
        model = result.model
        exog, endog = np.asarray(model.exog, dtype=np.float64), np.asarray(model.endog, dtype=np.float64)
        names = [str(name) for name in model.exog_names]
        estimates = [float(value) for value in np.ravel(result.params)]
        errors = [float(value) for value in np.ravel(result.bse)]
        freedom = float(getattr(result, "df_resid", len(exog) - len(names)))
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


def _predicted(result: Any, endog: Floats) -> Floats | None:
    """Return what the model predicts of its outcomes; None for hazards, which are no outcomes."""
    try:
        predicted = np.asarray(result.predict(), dtype=np.float64)
    except (TypeError, ValueError, AttributeError):
        return None
    return predicted if predicted.shape == endog.shape else None


class _Prediction(NamedTuple):
    perfect: bool
    binary: bool
    separated: tuple[str, ...]


def _predict(result: Any, exog: Floats, endog: Floats, names: list[str]) -> _Prediction:
    """Look at what the model predicts of its own outcomes."""
    predicted = _predicted(result, endog)
    if predicted is None:
        return _Prediction(perfect=False, binary=False, separated=())
    spread = float(np.ptp(endog)) or 1.0
    binary = bool(np.isin(endog, (0.0, 1.0)).all())
    pure = [
        name
        for name, column in zip(names, exog.T, strict=True)
        if binary
        and len(np.unique(column)) == 2
        and any(np.ptp(endog[column == v]) == 0 for v in np.unique(column))
    ]
    # A binary outcome is given away by any prediction on the right side of one half.
    close = 0.5 - PERFECT if binary else PERFECT * spread
    return _Prediction(bool(np.abs(predicted - endog).max() <= close), binary, tuple(pure))


def _verdict(
    principle: Principle, reason: str, text: str, numbers: Mapping[str, float], remedy: str, *, wrong: bool
) -> PrincipleVerdict:
    return PrincipleVerdict(
        principle=principle,
        status=Clearance.FAIL if wrong else Clearance.PASS,
        reason=reason if wrong else "met",
        text=text,
        numbers=numbers,
        remedy=remedy if wrong else "",
    )


def _units(evidence: ModelEvidence, policy: Policy) -> PrincipleVerdict:
    n, minimum = evidence.n_units, policy.units.minimum
    text = f"at least {minimum} units: {n}"
    numbers = {"units": n, "minimum": minimum}
    return _verdict(Principle.UNITS, "too_few_units", text, numbers, "use more units", wrong=n < minimum)


def _freedom(evidence: ModelEvidence, policy: Policy) -> PrincipleVerdict:
    found = evidence.freedom
    return _verdict(
        Principle.FREEDOM,
        "too_few_degrees_of_freedom",
        f"degrees of freedom {policy.freedom}: {found:g} ({evidence.n_units} units)",
        {"freedom": found, "limit": policy.freedom.limit, "parameters": evidence.n_parameters},
        "use more units or fewer parameters",
        wrong=not policy.freedom.met(found),
    )


def _support(evidence: ModelEvidence, policy: Policy) -> PrincipleVerdict:
    needed, support = policy.regression.support, evidence.support.tolist()
    weak = [f"{term}: {n}" for term, n in zip(evidence.terms, support, strict=True) if n < needed]
    smallest = min(support, default=evidence.n_units)
    return _verdict(
        Principle.UNITS,
        "coefficient_of_few",
        f"every dummy and interaction on at least {needed} units: "
        + (f"not {some(weak, 3)}" if weak else f"met, smallest {smallest}"),
        {"support": needed, "smallest": smallest, "terms": len(weak)},
        "merge these categories with others, or leave the terms out",
        wrong=bool(weak),
    )


def _table(evidence: ModelEvidence, policy: Policy) -> PrincipleVerdict:
    n_cells, smallest, needed = evidence.n_cells, evidence.smallest_cell, policy.units.minimum
    # As many parameters as cells: each cell's mean is a sum of coefficients.
    saturated = evidence.categorical and evidence.n_parameters >= n_cells
    if not saturated:
        text = "not a table: some regressor is a measurement, or there are fewer parameters than cells"
    else:
        text = f"a table of {n_cells} means, each of at least {needed} units: smallest {smallest}"
    return _verdict(
        Principle.GROUP,
        "saturated_with_small_cells",
        text,
        {"cells": n_cells, "parameters": evidence.n_parameters, "smallest": smallest, "minimum": needed},
        "merge categories until every cell has enough units, or leave interactions out",
        wrong=bool(saturated) and smallest < needed,
    )


def _leverage(evidence: ModelEvidence, policy: Policy) -> PrincipleVerdict:
    rule, found = policy.regression, evidence.leverage
    status = (
        Clearance.FAIL
        if found >= rule.leverage_fail
        else Clearance.LOOK
        if found >= rule.leverage_look
        else Clearance.PASS
    )
    remedy = "leave out the term that one record decides, or the record"
    return PrincipleVerdict(
        principle=Principle.INDIVIDUAL_VALUE,
        status=status,
        reason="met" if status is Clearance.PASS else "leverage",
        text=f"no record with leverage of {rule.leverage_fail:g} or more: largest {found:.2f}",
        numbers={"leverage": found, "fail": rule.leverage_fail, "look": rule.leverage_look},
        remedy="" if status is Clearance.PASS else remedy,
    )


def _residual_share(result: Any, endog: Floats, who: Integers, records: Records) -> float:
    """Return the largest share of one unit in the residual sum of squares, which standard errors tell."""
    residual = (endog - np.asarray(result.predict(), dtype=np.float64)) ** 2
    return largest_share(residual, who, repeated=records.repeated)


def _influence(exog: Floats, endog: Floats, who: Integers, records: Records) -> float:
    """Return the largest share of one unit in what adds up to a coefficient.

    A coefficient of least squares is a weighted sum of outcomes; a slope is one of their deviations. Other
    linear models are judged as if they were fitted so.
    """
    weights = np.linalg.pinv(exog)
    slopes = np.abs(weights.sum(axis=1)) <= 1e-9 * np.abs(weights).sum(axis=1)
    parts = np.abs(weights * np.where(slopes[:, None], endog - endog.mean(), endog))
    return max(largest_share(each, who, repeated=records.repeated) for each in parts)


def _squares(evidence: ModelEvidence, policy: Policy) -> tuple[PrincipleVerdict, ...]:
    """Say whether one unit decides a coefficient, or makes up the residuals."""
    rule = policy.squares
    if rule is None or evidence.binary:
        return ()
    if evidence.residual is None or evidence.influence is None:
        return (unknown(),)
    found = max(evidence.residual, evidence.influence)
    verdict = _verdict(
        Principle.DOMINANCE,
        REASON,
        f"no unit with more than {rule.k:g} % of the residual sum of squares, or of what adds up to a "
        f"coefficient: largest {found:.0%}",
        {"k": rule.k, "residual": evidence.residual, "influence": evidence.influence},
        "take the logarithm of the outcome, or leave out the unit that decides",
        wrong=found - rule.k / 100 > LIMIT,
    )
    return (softened(verdict, policy),)


def _perfect(evidence: ModelEvidence) -> PrincipleVerdict:
    perfect, separated = evidence.perfect, evidence.separated
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
