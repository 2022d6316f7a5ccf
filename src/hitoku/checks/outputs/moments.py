"""Moments, ratios and hypothesis tests: formulas, and the properties that the principles need.

For tests these include the p value, the degrees of freedom, and the groups that enter the test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from hitoku.checks.evidence import count_values
from hitoku.checks.principles import SPREAD
from hitoku.checks.unit_records import per_contributor
from hitoku.errors import DataError
from hitoku.model import Floats, Integers

# Tests of a variable between groups: Welch's t, one-way analysis of variance, rank tests of two and of more
# groups. Test of two categorical variables: chi square.
TESTS = ("t", "f", "mannwhitney", "kruskal", "chi2")
# Tests that compare exactly two groups.
OF_TWO = ("t", "mannwhitney")


class Tested(NamedTuple):
    """A computed statistic."""

    values: tuple[float, ...]  # The statistic; for a test also the p value.
    parameters: int  # Number of parameters that are estimated on the way.
    fit: float = 0.0  # Square of the correlation, or of Cramér's V for chi square.


class Entering(NamedTuple):
    """Numbers of units that enter a test."""

    groups: Integers  # Units of each group; for chi square, of each category of both variables.
    # For chi square, units of each cell. For other tests, two numbers per group: the units with each of the
    # group's two values, or zeros if it has more.
    parts: Integers
    # For each part, the units of its group; for a cell, of the smaller of its two categories.
    wholes: Integers


def count_entering(groups: Integers, n_groups: int, who: Integers, values: Floats) -> Entering:
    """Count the units of each group of a test, and the units with each value in groups of two values."""
    *_, units = per_contributor(groups, who, values, n_groups)
    found = count_values(groups, who, values, n_groups)
    two = np.where(found.n_values[:, None] <= 2, found.holders[:, :2], 0)
    return Entering(units, two.reshape(-1), np.repeat(units, 2))


def count_cells(values: Integers, groups: Integers, shape: tuple[int, int], who: Integers) -> Entering:
    """Count the units of each category of two variables, and of each cell."""
    nothing = np.zeros(len(who))
    rows, columns, cells = (
        per_contributor(codes, who, nothing, n)[2]
        for codes, n in (
            (values, shape[0]),
            (groups, shape[1]),
            (values * shape[1] + groups, shape[0] * shape[1]),
        )
    )
    return Entering(np.concatenate([rows, columns]), cells, np.minimum.outer(rows, columns).reshape(-1))


def compare_groups(test: str, values: Floats, groups: Integers, name: str) -> Tested:
    """Test the values of a variable between groups.

    Parameters
    ----------
    test
        Any test but "chi2".
    values, groups
        Value and group of each record.
    name
        Grouping variable, for messages.
    """
    from scipy import stats  # noqa: PLC0415 - slow to load, and only tests need it

    parts = [values[groups == place] for place in np.unique(groups)]
    if len(parts) != 2 and test in OF_TWO:
        raise DataError(
            "test_needs_two_categories",
            "column {column!r} has {n} categories, a {test} test compares two",
            where="other",
            fix="select two with where=...",
            column=name,
            n=len(parts),
            test=test,
        )
    if len(parts) < 2 or min(map(len, parts)) < 2:
        raise DataError(
            "test_group_too_small",
            "a group of the {test} test has fewer than 2 records",
            where="other",
            fix="use larger groups",
            test=test,
        )
    if test == "t":
        found = stats.ttest_ind(*parts, equal_var=False)
    elif test == "f":
        found = stats.f_oneway(*parts)
    elif test == "mannwhitney":
        found = stats.mannwhitneyu(*parts, method="asymptotic")
    else:
        found = stats.kruskal(*parts)
    return Tested((float(found.statistic), float(found.pvalue)), len(parts))


def compare_categories(values: Integers, groups: Integers) -> Tested:
    """Test two categorical variables by chi square, without categories that do not occur."""
    from scipy import stats  # noqa: PLC0415 - as above

    counts = np.zeros((int(values.max()) + 1, int(groups.max()) + 1))
    np.add.at(counts, (values, groups), 1)
    counts = counts[np.ix_(counts.sum(axis=1) > 0, counts.sum(axis=0) > 0)]
    if min(counts.shape) < 2:
        raise DataError(
            "single_category",
            "a variable has one category only",
            where="value, other",
            fix="use variables with at least two categories",
        )
    found = stats.chi2_contingency(counts, correction=False)
    fit = float(found.statistic) / (counts.sum() * (min(counts.shape) - 1))
    return Tested((float(found.statistic), float(found.pvalue)), int(found.dof) + 1, fit)


def compare_cells(
    row: Any, fit: float, freedom: int, entering: Integers, parts: Integers, wholes: Integers
) -> Iterator[str]:
    """Yield contradictions between a chi square and its cells, where each unit has one record."""
    rows = [
        n
        for n in range(1, len(entering))
        if n * (len(entering) - n) == len(parts)
        and np.array_equal(parts.reshape(n, -1).sum(axis=1), entering[:n])
        and np.array_equal(parts.reshape(n, -1).sum(axis=0), entering[n:])
    ]
    if not rows:
        yield "the cells of a chi square do not add up to its categories"
        return
    cells = parts.reshape(rows[0], -1)
    if not np.array_equal(wholes, np.minimum.outer(cells.sum(axis=1), cells.sum(axis=0)).reshape(-1)):
        yield "wholes: not the smaller category of every cell"
    codes = [np.repeat(axis.reshape(-1), parts) for axis in np.indices(cells.shape)]
    try:
        found = compare_categories(codes[0], codes[1])
    except DataError:
        yield "a chi square with one category"
        return
    if not np.allclose([*row, fit], [*found.values, found.fit], rtol=1e-6, atol=1e-12):
        yield "the chi square is not that of its cells"
    if freedom != int(cells.sum()) - found.parameters:
        yield "degrees of freedom are not those of the cells"


def compare_p_value(test: str, row: Any, n_units: int, n_records: int, freedom: int) -> Iterator[str]:
    """Yield a contradiction if the p value does not match the statistic and its degrees of freedom."""
    from scipy import stats  # noqa: PLC0415 - as above

    found, p_value = row
    parameters = max(n_units - freedom, 2)
    if test == "t":
        # Welch's degrees of freedom lie between 1 and the number of records minus 2.
        least, most = (float(2 * stats.t.sf(abs(found), max(df, 1))) for df in (n_records - 2, 1))
    elif test == "f":
        least = most = float(stats.f.sf(found, parameters - 1, max(n_records - parameters, 1)))
    elif test == "mannwhitney":
        least, most = 0.0, 1.0
    else:
        least = most = float(stats.chi2.sf(found, parameters - 1))
    if not least * (1 - 1e-6) - 1e-12 <= p_value <= most * (1 + 1e-6) + 1e-12:
        yield "the p value is not that of the statistic and its degrees of freedom"


def subtract_mean(x: Floats, w: Floats) -> Floats:
    """Subtract the mean; equal values give exact zeros, without rounding errors."""
    return np.zeros(len(x)) if np.ptp(x) == 0 else x - w @ x / w.sum()


def about(x: Floats, w: Floats, order: int) -> Floats:
    """Return deviations from the mean; for order 1, the amounts themselves."""
    return x if order == 1 else subtract_mean(x, w)


def _moment(x: Floats, w: Floats, order: int) -> Any:
    return w @ subtract_mean(x, w) ** order / w.sum()


def _covariance(x: Floats, y: Floats, w: Floats) -> Any:
    # The factor n / (n - 1) counts records, not weights, so equal weights give the unweighted covariance.
    return w @ (subtract_mean(x, w) * subtract_mean(y, w)) / w.sum() * len(x) / (len(x) - 1)


def _deviation(x: Floats, w: Floats) -> Any:
    return np.sqrt(_covariance(x, x, w))


EXTREMES = ("min", "max")
# Statistics of one variable and its weights, with the number of estimated parameters.
ONE: dict[str, tuple[Callable[[Floats, Floats], Any], int]] = {
    "variance": (lambda x, w: _covariance(x, x, w), 1),
    "std": (_deviation, 1),
    "skewness": (lambda x, w: _moment(x, w, 3) / _moment(x, w, 2) ** 1.5, 2),
    "kurtosis": (lambda x, w: _moment(x, w, 4) / _moment(x, w, 2) ** 2 - 3, 2),
    "cv": (lambda x, w: _deviation(x, w) / (w @ x / w.sum()), 1),
    "min": (lambda x, _: x.min(), 0),
    "max": (lambda x, _: x.max(), 0),
}
# Statistics of two variables and weights, with the number of estimated parameters.
TWO: dict[str, tuple[Callable[[Floats, Floats, Floats], Any], int]] = {
    "correlation": (lambda x, y, w: _covariance(x, y, w) / (_deviation(x, w) * _deviation(y, w)), 2),
    "covariance": (_covariance, 2),
    "ratio": (lambda x, y, w: w @ x / (w @ y), 1),
    "index": (lambda x, y, w: 100 * (w @ x) / (w @ y), 1),
}
STATISTICS = (*ONE, *TWO, *TESTS)
# For variables with few values, these statistics disclose how many units have which value.
COUNTS_OF_FEW = {*ONE, *TWO} - {*EXTREMES}
# Statistics that measure a fit: 1 means a perfect one.
FITTED = ("correlation", "chi2")


# Equation that a statistic adds to the mean; statistics that follow from each other share a name.
EQUATIONS: Mapping[str, str] = {
    "variance": SPREAD,
    "std": SPREAD,
    "cv": SPREAD,
    "skewness": "skewness",
    "kurtosis": "kurtosis",
}
# Power of the deviations that a statistic sums; ratios sum the amounts themselves.
POWERS: Mapping[str, int] = {
    "variance": 2,
    "std": 2,
    "cv": 2,
    "skewness": 3,
    "kurtosis": 4,
    "correlation": 2,
    "covariance": 2,
    "ratio": 1,
    "index": 1,
    "t": 2,
    "f": 2,
}
# Tests that sum squares within each category of the second variable.
GROUPED = ("t", "f")

# Range of a statistic for any data.
RANGES: Mapping[str, tuple[float, float]] = {
    "correlation": (-1.0, 1.0),
    "std": (0.0, np.inf),
    "variance": (0.0, np.inf),
    "kurtosis": (-2.0, np.inf),
}
