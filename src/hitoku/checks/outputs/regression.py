"""Regressions: fitted from a formula, or fitted elsewhere and read."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hitoku.attacks.differencing import COUNTS
from hitoku.checks.evidence import (
    FIT_ROUNDING,
    Evidence,
    FittedModel,
    LeftOut,
    ModelEvidence,
    count_values,
    design,
    read_fitted,
)
from hitoku.checks.ledger import Measure
from hitoku.checks.outputs.formula import columns_of, has_terms, named_column, refuse_formula
from hitoku.checks.outputs.membership import Membership, model_membership
from hitoku.checks.outputs.output_type import NOT_WRITTEN, Fact, OutputType
from hitoku.checks.policies import Policy
from hitoku.checks.principles import (
    MEAN,
    SPREAD,
    Applied,
    Said,
    judge_model,
    largest_share,
    own_verdicts,
)
from hitoku.checks.unit_records import CODE, Records
from hitoku.errors import DataError, ParameterError, did_you_mean
from hitoku.model import Integers, Mask

MODELS = ("ols", "logit", "probit")
# Models whose normal equations give the sum of the outcome over each dummy.
SUMS_FOLLOW = ("ols", "logit")


@dataclass(frozen=True)
class Regression(OutputType[ModelEvidence]):
    """Coefficients and standard errors of a model."""

    kind: ClassVar[str] = "regression"
    evidence: ClassVar[type[Evidence]] = ModelEvidence

    # Formula such as "income ~ age + C(region)", fitted with statsmodels; None for a fitted model.
    formula: str | None = None
    model: str = "ols"  # Model for a formula: "ols", "logit" or "probit".
    # Fitted model: the result of ``.fit()`` of statsmodels or linearmodels, or a linear model of
    # scikit-learn. Not part of the definition.
    result: Any = field(default=None, compare=False, repr=False, metadata=NOT_WRITTEN)
    # exog, endog: design and outcome of a model that does not keep them. Not part of the definition.
    exog: Any = field(default=None, compare=False, repr=False, metadata=NOT_WRITTEN)
    endog: Any = field(default=None, compare=False, repr=False, metadata=NOT_WRITTEN)

    @property
    def publishes(self) -> frozenset[str]:
        """Counts, which most programs print with a model, and the outcome if it is a column."""
        outcome = (self.formula or "").partition("~")[0].strip()
        return COUNTS | ({outcome} if outcome else set())

    @property
    def repeatable(self) -> bool:
        """Whether the model has a formula, which can be fitted again."""
        return self.formula is not None

    def __post_init__(self) -> None:
        if self.formula is not None and self.model not in MODELS:
            raise ParameterError(
                "unknown_model",
                "no model {model!r}",
                where="model",
                fix=did_you_mean(self.model, MODELS),
                model=self.model,
            )

    def fit(self, records: Records) -> Any:
        """Fit the formula, or return the result that was given."""
        if self.result is not None:
            return self.result
        if self.formula is None:
            raise DataError(
                "model_not_in_data",
                "a model fitted elsewhere cannot be collected from the data",
                where="regression",
                fix="pass a formula, or the fitted result",
            )
        try:
            # Optional dependency, which only formulas need.
            formulas = importlib.import_module("statsmodels.formula.api")
        except ImportError as error:
            raise ParameterError(
                "formula_needs_statsmodels",
                "a formula needs statsmodels, which is not installed",
                where="regression",
                fix="install hitoku[regression], or pass a fitted model",
            ) from error
        refuse_formula(self.formula, records.table.column_names)
        try:
            fit = getattr(formulas, self.model)(self.formula, data=records.table.to_pandas())
            return fit.fit() if self.model == "ols" else fit.fit(disp=0)
        except Exception as error:  # noqa: BLE001 - of patsy, statsmodels or numpy; their messages may show values
            raise ParameterError(
                "formula_not_fitted",
                "the formula cannot be fitted: {kind}",
                where="formula",
                fix="use a numeric outcome (0 and 1 for logit and probit), and C(column) for text columns",
                kind=type(error).__name__,
            ) from None

    def _read_fit(self, records: Records) -> FittedModel:
        return read_fitted(self.fit(records), self.exog, self.endog)

    def collect(self, records: Records) -> ModelEvidence:
        """Collect the evidence from the design and the fit."""
        fitted = self._read_fit(records)
        exog, names = fitted.exog, fitted.names
        who = fitted.who(records, formula=self.repeatable)
        if who is None and records.repeated:
            raise DataError(
                "model_records_unknown",
                "cannot match the model's {n} observations to the session's records",
                where="regression",
                fix="pass a formula, or fit on a frame with the records and index of the session",
                n=len(exog),
            )
        # If every record is a unit, counts do not depend on which records they are.
        who = np.arange(len(exog)) if who is None else who
        influence, rank = design.leverage(exog)
        n_units = len(np.unique(who))
        terms, support = design.support(exog, names, who)
        crossing = design.cells(exog, who)
        predicted = _predict(fitted)
        linear = not predicted.binary and fitted.predicted is not None
        return ModelEvidence(
            names=tuple(names),
            coefficient=np.array(fitted.estimates),
            standard_error=None if fitted.errors is None else np.array(fitted.errors),
            n_units=n_units,
            n_records=len(exog),
            sample="all records" if len(exog) == len(records) else "some records",
            n_parameters=rank,
            # Several records of one unit add no more freedom than one.
            freedom=float(min(fitted.freedom, n_units - rank)),
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
            residual=None if not linear else _residual_share(fitted, who, records),
            influence=None if not linear else _influence(fitted, who, records),
            **(
                _outcomes(fitted, who, self._regressor_codes(records, fitted)) if crossing.categorical else {}
            ),
            left_out=self._left_out(records, len(exog)),
        )

    def _regressor_codes(
        self, records: Records, fitted: FittedModel
    ) -> dict[str, tuple[list[str], Integers]]:
        """Return the codes of the regressors of a formula for the records that it was fitted on."""
        rows = fitted.rows(records, formula=True) if self.repeatable else None
        if rows is None:
            return {}
        right = (self.formula or "").partition("~")[2]
        coded = {
            name: records.coded(name, CODE) for name in columns_of(f"~{right}", records.table.column_names)
        }
        return {name: (codes, place[rows]) for name, (codes, place) in coded.items()}

    def _left_out(self, records: Records, n_used: int) -> LeftOut | None:
        """Return how many records the model left out, and their missing values in columns of the formula."""
        if n_used >= len(records):
            return None
        columns = columns_of(self.formula or "", records.table.column_names)
        missing = records.complete(columns)[1]
        return LeftOut(records=len(records) - n_used, of=len(records), columns=missing)

    def tests(self, evidence: ModelEvidence, policy: Policy) -> Iterator[Applied]:
        """Yield the verdicts on all coefficients together, which are estimated jointly."""
        yield from judge_model(evidence, policy)
        yield from own_verdicts(self._said(evidence), policy)

    def said(self, evidence: ModelEvidence) -> Iterator[Said]:
        """Yield the moments of the outcome that follow from published coefficients."""
        return iter(()) if evidence.withheld[0] else self._said(evidence)

    def _said(self, evidence: ModelEvidence) -> Iterator[Said]:
        """Yield the moments of the outcome that follow from the coefficients of a formula.

        With categorical regressors only, these are the means of groups and, with the standard errors of least
        squares, the overall standard deviation. Otherwise each coefficient gives a product of the outcome
        with a regressor.
        """
        if self.formula is None:
            return
        outcome = named_column(self.formula.partition("~")[0])
        terms = [f"product with {name}" for name in evidence.names if name != "Intercept"]
        errors = self.model == "ols" and evidence.standard_error is not None
        if not evidence.categorical:
            for each in (MEAN, *terms, *([SPREAD] if errors else [])):
                yield Said(codes={}, variable=outcome, statistic=each, n_units=evidence.n_units, joint=True)
            return
        codes, units = evidence.outcome_codes, evidence.outcome_units
        values, holders = evidence.outcome_values, evidence.outcome_holders
        if codes is None or units is None or values is None or holders is None:
            return
        for place, own in enumerate(codes):
            if own is None:
                continue
            for each in (MEAN, SPREAD) if errors and not own else (MEAN,):
                yield Said(
                    codes=dict(own),
                    variable=outcome,
                    statistic=each,
                    n_units=int(units[place]),
                    n_values=int(values[place]),
                    holders=tuple(holders[place].tolist()),
                )

    def publish(self, evidence: ModelEvidence) -> dict[str, list[Any]]:
        """Return the published columns, with None for suppressed numbers."""
        gone = bool(evidence.withheld[0])
        columns = {"coefficient": evidence.coefficient.tolist()}
        if evidence.standard_error is not None:
            columns["standard_error"] = evidence.standard_error.tolist()
        hidden = {name: [None] * len(values) if gone else values for name, values in columns.items()}
        return {"term": list(evidence.names), **hidden}

    def contradictions(self, evidence: ModelEvidence) -> Iterator[str]:
        """Yield contradictions within the evidence."""
        yield from evidence.contradictions(formula=self.repeatable, ols=self.model == "ols")
        if self.formula is not None and not has_terms(self.formula, evidence.names):
            yield "terms that are not in the formula"
        pairs = [pair for own in evidence.outcome_codes or () for pair in own or ()]
        if any(name not in columns_of(self.formula or "", [name]) for name, _ in pairs):
            yield "outcome_codes: a column that is not in the formula"

    def facts(self, evidence: ModelEvidence) -> Iterator[Fact]:
        """Yield the records and units, and the units of groups, if the model used all records."""
        if evidence.sample == "all records":
            yield Fact({}, ("records",), evidence.n_records)
            yield Fact({}, ("units",), evidence.n_units)
            if evidence.outcome_codes is not None and evidence.outcome_units is not None:
                groups = zip(evidence.outcome_codes, evidence.outcome_units.tolist(), strict=True)
                yield from (Fact(dict(codes), ("units",), n) for codes, n in groups if codes)

    def membership(
        self,
        records: Records,
        evidence: ModelEvidence,  # noqa: ARG002 - the dummies are in the fit
    ) -> Membership | None:
        """Partition the units by the dummies; None for a model whose records are not known."""
        if self.result is None and not self.repeatable:
            return None
        return model_membership(records, self._read_fit(records), formula=self.repeatable)

    def measures(self, records: Records) -> dict[str, Measure]:
        """Return the outcome if it is a column; coefficients imply its sums over every set of dummies."""
        if self.formula is None or self.model not in SUMS_FOLLOW:
            return {}
        outcome = self.formula.partition("~")[0].strip()
        known = outcome in records.table.column_names and records.is_numeric(outcome)
        return {outcome: Measure.of(records.per_unit(outcome))} if known else {}


def fit_arrays(model: str, endog: Any, exog: Any, options: Mapping[str, Any]) -> Any:
    """Fit a model with statsmodels to an outcome and a design.

    Parameters
    ----------
    model
        "ols", "logit" or "probit".
    endog, exog, options
        Arguments of statsmodels.
    """
    names = {"ols": "OLS", "logit": "Logit", "probit": "Probit"}
    try:
        models = importlib.import_module("statsmodels.api")
    except ImportError as error:
        raise ParameterError(
            "model_needs_statsmodels",
            "models need statsmodels, which is not installed",
            where=model,
            fix="install hitoku[regression]",
        ) from error
    fitted = getattr(models, names[model])(endog, exog, **options)
    return fitted.fit() if model == "ols" else fitted.fit(disp=0)


def _outcomes(
    fitted: FittedModel, who: Integers, coded: Mapping[str, tuple[list[str], Integers]]
) -> dict[str, Any]:
    """Return evidence fields that count the different outcomes in groups whose means follow."""
    labels, codes, units, values, holders = [], [], [], [], []
    for name, own in design.implied_groups(fitted.exog, fitted.names):
        codes.append(_codes_of(own, coded))
        counted = count_values(np.zeros(int(own.sum()), dtype=np.int64), who[own], fitted.endog[own], 1)
        labels.append(name)
        units.append(len(np.unique(who[own])))
        values.append(int(counted.n_values[0]))
        holders.append(counted.holders[0])
    return {
        "outcome_groups": tuple(labels),
        "outcome_codes": tuple(codes),
        "outcome_units": np.array(units),
        "outcome_values": np.array(values),
        "outcome_holders": np.array(holders),
    }


def _codes_of(
    own: Mask, coded: Mapping[str, tuple[list[str], Integers]]
) -> tuple[tuple[str, str], ...] | None:
    """Return the codes that define a group, shared by its records and no others; None if there are none."""
    alike = {name: int(place[own][0]) for name, (_, place) in coded.items() if np.ptp(place[own]) == 0}

    def holds(names: Collection[str]) -> bool:
        inside = np.ones(len(own), dtype=np.bool_)
        for name in names:
            inside &= coded[name][1] == alike[name]
        return np.array_equal(inside, own)

    if not holds(alike):
        return None
    for name in list(alike):
        if holds(rest := [each for each in alike if each != name]):
            alike = {each: alike[each] for each in rest}
    return tuple((name, coded[name][0][place]) for name, place in alike.items())


class _Prediction(NamedTuple):
    perfect: bool
    binary: bool
    separated: tuple[str, ...]


def _predict(fitted: FittedModel) -> _Prediction:
    """Compare the predictions of a model with its outcomes."""
    endog, predicted = fitted.endog, fitted.predicted
    if predicted is None:
        return _Prediction(perfect=False, binary=False, separated=())
    spread = float(np.ptp(endog)) or 1.0
    binary = bool(np.isin(endog, (0.0, 1.0)).all())
    pure = [
        name
        for name, column in zip(fitted.names, fitted.exog.T, strict=True)
        if binary
        and len(np.unique(column)) == 2
        and any(np.ptp(endog[column == v]) == 0 for v in np.unique(column))
    ]
    # Any prediction on the right side of one half discloses a binary outcome.
    close = 0.5 - FIT_ROUNDING if binary else FIT_ROUNDING * spread
    left, squares = endog - predicted, float(((endog - endog.mean()) ** 2).sum())
    explained = not binary and squares > 0 and 1 - float(left @ left) / squares >= 1 - FIT_ROUNDING
    return _Prediction(bool(np.abs(left).max() <= close) or explained, binary, tuple(pure))


def _residual_share(fitted: FittedModel, who: Integers, records: Records) -> float | None:
    """Return the largest share of one unit in the residual sum of squares, which standard errors disclose."""
    if fitted.predicted is None:
        return None
    return largest_share((fitted.endog - fitted.predicted) ** 2, who, repeated=records.repeated)


def _influence(fitted: FittedModel, who: Integers, records: Records) -> float:
    """Return the largest share of one unit in the sum that gives a coefficient.

    A coefficient of least squares is a weighted sum of outcomes; a slope is a weighted sum of their
    deviations. Other linear models are judged as if they were fitted by least squares.
    """
    endog, weights = fitted.endog, np.linalg.pinv(fitted.exog)
    slopes = np.abs(weights.sum(axis=1)) <= 1e-9 * np.abs(weights).sum(axis=1)
    parts = np.abs(weights * np.where(slopes[:, None], endog - endog.mean(), endog))
    return max(largest_share(each, who, repeated=records.repeated) for each in parts)
