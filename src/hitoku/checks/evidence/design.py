"""Read fitted models, and count the units behind each coefficient of their design."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hitoku.checks.unit_records import Records
from hitoku.errors import DataError
from hitoku.model import Floats, Integers, Mask


class FittedModel(NamedTuple):
    """Data and results of a fitted model."""

    # exog, endog: design matrix with one column per coefficient, and the outcome.
    exog: Floats
    endog: Floats
    # names, estimates, errors: names, estimates and standard errors of the coefficients; errors are None if
    # the library has none.
    names: list[str]
    estimates: list[float]
    errors: list[float] | None
    freedom: float  # Residual degrees of freedom.
    # Predicted outcomes; None if the model predicts something else, such as hazards.
    predicted: Floats | None
    # Index of the record behind each row, as reported by the library; None if unknown.
    labels: NDArray[Any] | None = None
    units: Sequence[Any] | None = None  # Unit name of each row of a panel model; None if unknown.
    outcome: str = ""  # Name of the outcome.
    in_order: bool = True  # Whether rows are in the order of the records, provided that there are as many.

    def rows(self, records: Records, *, formula: bool) -> Integers | None:
        """Return the indices of the records that the model was fitted on; None if unknown.

        A library that excludes records with missing values reports the frame index of those it kept. For
        frames created here, this is the position; for other frames it is accepted only if it leads to the
        model's outcomes.

        Parameters
        ----------
        records
            Records that were passed to the model.
        formula
            Whether the model was fitted here, from a formula.
        """
        if self.in_order and len(self.endog) == len(records):
            return np.arange(len(records))
        rows = np.asarray(self.labels)
        if rows.shape != self.endog.shape or rows.dtype.kind not in "iu" or len(np.unique(rows)) < len(rows):
            return None
        if rows.min() < 0 or rows.max() >= len(records):
            return None
        if formula:
            return rows
        if self.outcome not in records.table.column_names or not records.is_numeric(self.outcome):
            return None
        column = records.column(self.outcome)
        values = column.cast("float64", safe=False).to_numpy(zero_copy_only=False)
        return rows if np.array_equal(values[rows], self.endog) else None

    def who(self, records: Records, *, formula: bool) -> Integers | None:
        """Return the unit of each row; None if unknown. Parameters as in :meth:`rows`."""
        rows = self.rows(records, formula=formula)
        if rows is not None:
            return np.asarray(records.unit[rows])
        if self.units is None or records.names is None:
            return None
        number = {name: place for place, name in enumerate(records.names.to_pylist())}
        found = [number.get(unit, -1) for unit in self.units]
        return np.array(found) if min(found) >= 0 else None


def read_fitted(result: Any, exog: Any = None, endog: Any = None) -> FittedModel:
    """Read a fitted model, recognised by its attributes.

    Parameters
    ----------
    result
        Result of ``.fit()`` of statsmodels or linearmodels, or a fitted linear model of scikit-learn.
    exog, endog
        Design and outcome of the fit, if the model does not store them.
    """
    try:
        if hasattr(result, "coef_"):
            found = _read_estimator(result, exog, endog)
        elif hasattr(result, "std_errors"):
            found = _read_linearmodels(result)
        else:
            found = _read_statsmodels(result)
    except (AttributeError, TypeError, ValueError) as error:
        raise DataError(
            "not_a_fitted_model",
            "a {kind} is not a fitted model that can be read",
            where="model",
            fix="pass the result of .fit() from statsmodels or linearmodels, a linear model of "
            "scikit-learn with exog= and endog=, or a formula",
            kind=type(result).__name__,
        ) from error
    n_terms = len(found.names)
    if (
        found.exog.ndim != 2
        or found.endog.shape != (len(found.exog),)
        or found.exog.shape[1] != n_terms
        or len(found.estimates) != n_terms
    ):
        raise DataError(
            "model_lengths_differ",
            "design, outcome and coefficients of the model have unequal lengths",
            where="model",
            fix="models with one equation and one coefficient per column are supported",
        )
    return found


def _floats(values: Any) -> list[float]:
    return [float(value) for value in np.ravel(values)]


def _read_statsmodels(result: Any) -> FittedModel:
    model = result.model
    exog, endog = (np.asarray(each, dtype=np.float64) for each in (model.exog, model.endog))
    names = [str(name) for name in model.exog_names]
    try:
        predicted = np.asarray(result.predict(), dtype=np.float64)
    except (TypeError, ValueError, AttributeError):
        predicted = None
    return FittedModel(
        exog=exog,
        endog=endog,
        names=names,
        estimates=_floats(result.params),
        errors=_floats(result.bse),
        freedom=float(getattr(result, "df_resid", len(exog) - len(names))),
        predicted=predicted if predicted is not None and predicted.shape == endog.shape else None,
        labels=getattr(getattr(model, "data", None), "row_labels", None),
        outcome=str(getattr(model, "endog_names", "")),
    )


def _read_linearmodels(result: Any) -> FittedModel:
    """Read an instrumental-variables or panel model; unpublished effects are not part of its design."""
    model = result.model
    dependent = _frame(model.dependent)
    # Instrumented regressors follow the others.
    parts = [_frame(part) for part in (model.exog, getattr(model, "endog", None)) if part is not None]
    exog = np.hstack([np.asarray(part, dtype=np.float64) for part in parts if part.shape[1]])
    endog = np.asarray(dependent, dtype=np.float64).reshape(-1)
    left = np.asarray(result.resids, dtype=np.float64).reshape(-1)
    panel = dependent.index.nlevels > 1
    return FittedModel(
        exog=exog,
        endog=endog,
        names=[str(name) for name in result.params.index],
        estimates=_floats(result.params),
        errors=_floats(result.std_errors),
        freedom=float(result.df_resid),
        predicted=endog - left if left.shape == endog.shape else None,
        labels=None if panel else np.asarray(dependent.index),
        units=dependent.index.get_level_values(0).tolist() if panel else None,
        outcome=str(dependent.columns[0]),
        # A panel is sorted by entity and time, whatever the order of its records.
        in_order=not panel,
    )


def _frame(part: Any) -> Any:
    """Return the variables of linearmodels as a frame; panel and instrument models store them differently."""
    return part.dataframe if hasattr(part, "dataframe") else part.pandas


def _read_estimator(model: Any, exog: Any, endog: Any) -> FittedModel:
    """Read a scikit-learn linear model, which stores no design, outcome or standard errors."""
    if exog is None or endog is None:
        raise DataError(
            "model_without_design",
            "a {kind} does not say what it was fitted on",
            where="model",
            fix="give design and outcome as well: regression(model, exog=X, endog=y)",
            kind=type(model).__name__,
        )
    design, outcome = np.asarray(exog, dtype=np.float64), np.asarray(endog)
    names = [str(name) for name in getattr(exog, "columns", range(1, design.shape[1] + 1))]
    estimates = _floats(model.coef_)
    if getattr(model, "fit_intercept", False):
        design = np.column_stack([np.ones(len(design)), design])
        names, estimates = ["Intercept", *names], [*_floats(model.intercept_), *estimates]
    classes = getattr(model, "classes_", None)
    if classes is None:
        predicted = np.asarray(model.predict(exog), dtype=np.float64)
    else:
        outcome = outcome == classes[-1]
        predicted = (
            np.asarray(model.predict_proba(exog), dtype=np.float64)[:, -1]
            if hasattr(model, "predict_proba")
            else (model.predict(exog) == classes[-1]).astype(np.float64)
        )
    return FittedModel(
        exog=design,
        endog=outcome.astype(np.float64),
        names=names,
        estimates=estimates,
        errors=None,
        freedom=float(len(design) - len(names)),
        predicted=predicted.reshape(-1),
        labels=None if not hasattr(exog, "index") else np.asarray(exog.index),
        outcome=str(getattr(endog, "name", "")),
    )


class Crossing(NamedTuple):
    """Combinations of categories in a design; 0 if some regressor is not categorical."""

    categorical: bool
    n_cells: int
    smallest_cell: int


def support(exog: Floats, names: list[str], who: Integers) -> tuple[list[str], list[int]]:
    """Count the units behind each coefficient.

    A column rests on the records that differ from its most frequent value; for a dummy, the smaller side
    counts. Neighbouring dummies of which at most one is set form a factor, and the records with none set are
    its reference category, described by the intercept.
    """
    labels: list[str] = []
    counts: list[int] = []
    for place, name in enumerate(names):
        column = exog[:, place]
        values, inverse, n = np.unique(column, return_inverse=True, return_counts=True)
        if len(values) == 1:
            continue  # the intercept
        dummy = len(values) == 2
        usual = int(n.argmax())
        sides = [inverse == 0, inverse == 1] if dummy else [inverse != usual]
        labels.append(name)
        counts.append(min(len(np.unique(who[side])) for side in sides))
    for factor in factors(exog):
        rest = ~exog[:, factor].any(axis=1)
        if rest.any() and len(factor) > 1:  # of one dummy both sides are counted already
            labels.append(f"reference of {names[factor[0]]} to {names[factor[-1]]}")
            counts.append(len(np.unique(who[rest])))
    return labels, counts


def factors(exog: Floats) -> list[list[int]]:
    """Find the runs of neighbouring dummies of which at most one is set in every record.

    Examples
    --------
    >>> factors(np.array([[1.0, 0, 0, 3.5], [1, 1, 0, 2], [1, 0, 1, 9]]))
    [[1, 2]]
    """
    found: list[list[int]] = []
    open_run = False
    for place, column in enumerate(exog.T):
        dummy = np.array_equal(np.unique(column), [0.0, 1.0])
        if dummy and open_run and not np.any(column * exog[:, found[-1]].any(axis=1)):
            found[-1].append(place)
        elif dummy:
            found.append([place])
        open_run = dummy
    return found


def categories(exog: Floats, factor: list[int]) -> Integers:
    """Return the category of every record in a factor, 0 for the reference."""
    return np.asarray(exog[:, factor] @ np.arange(1, len(factor) + 1), dtype=np.int64)


def cells(exog: Floats, who: Integers) -> Crossing:
    """Count the cells of a model whose regressors are all categorical."""
    categorical = all(len(np.unique(column)) <= 2 for column in exog.T)
    if not categorical:
        return Crossing(categorical=False, n_cells=0, smallest_cell=0)
    _, cell = np.unique(exog, axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    smallest = min(len(np.unique(who[cell == place])) for place in range(int(cell.max()) + 1))
    return Crossing(categorical=True, n_cells=int(cell.max()) + 1, smallest_cell=smallest)


def implied_groups(exog: Floats, names: list[str]) -> Iterator[tuple[str, Mask]]:
    """Yield the groups for which a model on categories implies the mean of the outcome.

    The normal equations give the sum of the outcome over all records and over every dummy. With as many
    parameters as cells, the means of the cells are sums of coefficients.
    """
    every = np.ones(len(exog), dtype=np.bool_)
    yield "all", every
    for place, name in enumerate(names):
        values = np.unique(exog[:, place])
        if len(values) == 2:
            for value in values.tolist():
                yield f"{name} = {value:g}", np.asarray(exog[:, place] == value)
    for factor in factors(exog):
        rest = ~exog[:, factor].any(axis=1)
        if len(factor) > 1 and rest.any():
            yield f"reference of {names[factor[0]]} to {names[factor[-1]]}", np.asarray(rest)
    _, cell = np.unique(exog, axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    if leverage(exog)[1] >= int(cell.max()) + 1:
        for place in range(int(cell.max()) + 1):
            yield f"cell {place + 1}", np.asarray(cell == place)


def leverage(exog: Floats) -> tuple[Floats, int]:
    """Return the leverage of each record, and the rank of the design."""
    scale = np.linalg.norm(exog, axis=0)
    left, singular, _ = np.linalg.svd(exog / np.where(scale > 0, scale, 1.0), full_matrices=False)
    # Singular values below this share of the largest count as zero.
    rank = int((singular > 1e-10 * singular.max(initial=0.0)).sum())
    found: Any = (left[:, :rank] ** 2).sum(axis=1)
    return found, rank
