"""Whether a statistic by group can be true together with the units behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil, floor
from typing import Any

import numpy as np

from hitoku.checks.outputs.mode import LISTED
from hitoku.checks.outputs.summary import EXTREMES, ONE, TWO
from hitoku.model.arrays import Floats
from hitoku.model.tolerance import ADDITIVITY

# Values of a statistic that there are, whatever the data.
RANGES: Mapping[str, tuple[float, float]] = {
    "correlation": (-1.0, 1.0),
    "std": (0.0, np.inf),
    "variance": (0.0, np.inf),
    "kurtosis": (-2.0, np.inf),
    "gini": (0.0, 1.0),
    "hhi": (0.0, 1.0),
}


def summaries(evidence: Mapping[str, Any], definition: Mapping[str, Any]) -> Iterator[str]:
    """Compare a summary or test statistic with its degrees of freedom."""
    statistic = definition["statistic"]
    n_units, freedom = np.asarray(evidence["n_units"]), np.asarray(evidence["freedom"])
    alike = np.asarray(evidence["alike"])
    known: dict[str, int] = {name: lost for name, (_, lost) in [*ONE.items(), *TWO.items()]} | {"t": 2}
    if statistic in known and np.any(freedom != n_units - known[statistic]):
        yield f"degrees of freedom are not the units minus {known[statistic]}"
    if statistic in EXTREMES:
        if np.any(alike < 1):
            yield "an extreme that nobody has"
    elif np.any((alike != 0) & (alike != n_units)):
        yield "alike: neither nobody nor all units"
    rows = [row for row in evidence["value"] if None not in row]
    yield from _outside(statistic, np.array([row[0] for row in rows]))
    if statistic in {"t", "chi2"} and rows:
        yield from _tests(
            statistic, rows[0], int(n_units[0]), float(freedom[0]), int(evidence["n_records"][0])
        )


def _tests(statistic: str, row: Any, n_units: int, freedom: float, n_records: int) -> Iterator[str]:
    from scipy import stats  # noqa: PLC0415 - slow to load, and only tests need it

    found, p_value = row
    if statistic == "chi2":
        least = most = float(stats.chi2.sf(found, max(n_units - freedom - 1, 1)))
    else:
        # Welch's degrees of freedom lie somewhere between.
        least, most = (float(2 * stats.t.sf(abs(found), max(df, 1))) for df in (n_records - 2, 1))
    if not least * (1 - 1e-6) - 1e-12 <= p_value <= most * (1 + 1e-6) + 1e-12:
        yield "the p value is not that of the statistic and its degrees of freedom"


def percentiles(evidence: Mapping[str, Any], definition: Mapping[str, Any]) -> Iterator[str]:
    """Compare the units on each side of a percentile with what its definition asks."""
    n_units, n_records = np.asarray(evidence["n_units"]), np.asarray(evidence["n_records"])
    # Units with several records may stand on either side, and weights move the place.
    if definition.get("weight") is not None or not np.array_equal(n_units, n_records):
        return
    place = (n_units - 1) * definition["percent"] / 100
    least_low = np.array([floor(at + 1e-9) + 1 for at in place])
    least_high = n_units - np.array([ceil(at - 1e-9) for at in place])
    if np.any(np.asarray(evidence["low"]) < least_low) or np.any(np.asarray(evidence["high"]) < least_high):
        yield "fewer units on one side than a percentile has"


def modes(evidence: Mapping[str, Any], definition: Mapping[str, Any]) -> Iterator[str]:
    """Compare the units that have a mode with those that tie."""
    fewest, most = np.asarray(evidence["fewest_holders"]), np.asarray(evidence["most_holders"])
    n_tied, n_units = np.asarray(evidence["n_tied"]), np.asarray(evidence["n_units"])
    if np.any(fewest > most) or np.any(fewest < 1) or np.any(n_tied < 1):
        yield "modes that nobody has, or fewest above most"
    if np.any((n_tied == 1) & (fewest != most)):
        yield "one mode, and two numbers of units that have it"
    listed = np.array([str(value).count(" | ") + 1 for value in evidence["value"]])
    if np.any(listed < np.minimum(n_tied, LISTED)):
        yield "fewer modes listed than tie"
    if definition.get("weight") is None and np.array_equal(n_units, evidence["n_records"]):
        if np.any(fewest != most):
            yield "modes that tie have unequal numbers of units"
        if np.any(n_tied * most > n_units):
            yield "modes of more units than the group has"


def concentrations(evidence: Mapping[str, Any], definition: Mapping[str, Any]) -> Iterator[str]:
    """Compare a concentration ratio with the largest contributions, which bound it on both sides."""
    statistic, value = definition["statistic"], np.asarray(evidence["value"])
    yield from _outside(statistic, value)
    if definition.get("weight") is not None:
        return
    size: Floats = np.asarray(evidence["size"], dtype=np.float64)
    share = np.asarray(evidence["largest"], dtype=np.float64) / np.where(size > 0, size, 1.0)[:, None]
    top, rest = share.shape[1], 1 - share.sum(axis=1)
    if statistic.startswith("cr"):
        n = int(statistic[2:])
        low = share[:, :n].sum(axis=1)
        high = np.minimum(1.0, low + max(0, n - top) * share[:, -1])
    elif statistic == "hhi":
        low = (share**2).sum(axis=1)
        high = low + rest * share[:, -1]
    else:
        return
    if np.any(value < low - ADDITIVITY) or np.any(value > high + ADDITIVITY):
        yield "a concentration that its largest contributions rule out"


def _outside(statistic: str, value: Floats) -> Iterator[str]:
    low, high = RANGES.get(statistic, (-np.inf, np.inf))
    if np.any(value < low - ADDITIVITY) or np.any(value > high + ADDITIVITY):
        yield f"no {statistic} has such a value"
