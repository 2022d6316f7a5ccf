"""Moments and ratios of variables: how each statistic is computed, and what it takes and tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hitoku.checks.outputs.hypothesis_tests import TESTS
from hitoku.checks.principles import SPREAD
from hitoku.model import Floats


def centred(x: Floats, w: Floats) -> Floats:
    """Subtract the mean; values that are all alike differ from it by nothing, not by rounding."""
    return np.zeros(len(x)) if np.ptp(x) == 0 else x - w @ x / w.sum()


def about(x: Floats, w: Floats, order: int) -> Floats:
    """Return deviations from the mean, or the amounts themselves of what is only added up."""
    return x if order == 1 else centred(x, w)


def _moment(x: Floats, w: Floats, order: int) -> Any:
    return w @ centred(x, w) ** order / w.sum()


def _covariance(x: Floats, y: Floats, w: Floats) -> Any:
    # Records over records minus one, whatever the weights add up to: those of equal weight give the usual.
    return w @ (centred(x, w) * centred(y, w)) / w.sum() * len(x) / (len(x) - 1)


def _deviation(x: Floats, w: Floats) -> Any:
    return np.sqrt(_covariance(x, x, w))


EXTREMES = ("min", "max")
# Statistic of one variable and its weights, and how many parameters are estimated on the way.
ONE: dict[str, tuple[Callable[[Floats, Floats], Any], int]] = {
    "variance": (lambda x, w: _covariance(x, x, w), 1),
    "std": (_deviation, 1),
    "skewness": (lambda x, w: _moment(x, w, 3) / _moment(x, w, 2) ** 1.5, 2),
    "kurtosis": (lambda x, w: _moment(x, w, 4) / _moment(x, w, 2) ** 2 - 3, 2),
    "cv": (lambda x, w: _deviation(x, w) / (w @ x / w.sum()), 1),
    "min": (lambda x, _: x.min(), 0),
    "max": (lambda x, _: x.max(), 0),
}
# Of two variables.
TWO: dict[str, tuple[Callable[[Floats, Floats, Floats], Any], int]] = {
    "correlation": (lambda x, y, w: _covariance(x, y, w) / (_deviation(x, w) * _deviation(y, w)), 2),
    "covariance": (_covariance, 2),
    "ratio": (lambda x, y, w: w @ x / (w @ y), 1),
    "index": (lambda x, y, w: 100 * (w @ x) / (w @ y), 1),
}
STATISTICS = (*ONE, *TWO, *TESTS)
# Of variables with few values these say how many units have which.
COUNTS_OF_FEW = {*ONE, *TWO} - {*EXTREMES}
# What a statistic adds up to in a perfect fit is the square of one.
FITTED = ("correlation", "chi2")


# What is known beside a mean once a statistic is; those that give each other have one name.
EQUATIONS: Mapping[str, str] = {
    "variance": SPREAD,
    "std": SPREAD,
    "cv": SPREAD,
    "skewness": "skewness",
    "kurtosis": "kurtosis",
}
# To which power a statistic adds up deviations; ratios add up the amounts themselves.
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
# Within each category of the second variable.
GROUPED = ("t", "f")

# Values of a statistic that there are, whatever the data.
RANGES: Mapping[str, tuple[float, float]] = {
    "correlation": (-1.0, 1.0),
    "std": (0.0, np.inf),
    "variance": (0.0, np.inf),
    "kurtosis": (-2.0, np.inf),
}
