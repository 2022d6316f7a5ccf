"""Distributions of an attacker's guesses around published values, all within the same interval.

Section 3 of Castro (2012) lets the attacker draw values around the published ones "randomly, or using some
distribution", and section 5 draws them uniformly. Every distribution here is a quantile function of the same
uniform number, truncated to the same interval: a replication that guesses high in one guesses high in all.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from hitoku.model import Floats

Draws = Literal["uniform", "normal", "laplace", "lognormal"]
DRAWS: tuple[Draws, ...] = ("uniform", "normal", "laplace", "lognormal")
# Half length of the interval in standard deviations (normal, lognormal) or scales (Laplace).
SPREAD = 2.0


def relative(draws: Draws, uniform: Floats, most: float | Floats) -> Floats:
    """Return guessed deviations as shares of the published value, between minus and plus ``most``.

    Parameters
    ----------
    draws
        "uniform"; "normal" and "laplace", truncated; "lognormal": the logarithm of the factor is
        normal, truncated where the value has moved by ``most``.
    uniform
        Numbers between -1 and 1.
    most
        Largest relative deviation, one for all or one for each.

    Examples
    --------
    >>> middle_and_ends = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    >>> for draws in DRAWS:
    ...     print(draws, relative(draws, middle_and_ends, 0.2).round(3) + 0)
    uniform [-0.2 -0.1  0.   0.1  0.2]
    normal [-0.2   -0.064  0.     0.064  0.2  ]
    laplace [-0.2   -0.057  0.     0.057  0.2  ]
    lognormal [-0.2   -0.06  -0.002  0.059  0.2  ]
    """
    if draws == "uniform":
        return np.asarray(most * uniform)
    if draws == "normal":
        return np.asarray(most * _normal(uniform, -SPREAD, SPREAD) / SPREAD)
    if draws == "laplace":
        # Two exponentials back to back, each truncated at the end of the interval.
        tail = -np.log1p(-np.abs(uniform) * -np.expm1(-SPREAD)) / SPREAD
        return np.asarray(most * np.sign(uniform) * tail)
    with np.errstate(divide="ignore", invalid="ignore"):
        high = np.log1p(np.broadcast_to(most, uniform.shape))
        low = np.log(np.maximum(1.0 - most, 0.0))
        sigma = high / SPREAD
        moved = np.expm1(sigma * _normal(uniform, low / sigma, high / sigma))
    return np.where(high > 0, moved, 0.0)


def _normal(uniform: Floats, low: float | Floats, high: float | Floats) -> Floats:
    """Return quantiles of the standard normal distribution between two ends."""
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - slow to load, and few shapes need it

    first, last = ndtr(low), ndtr(high)
    return np.asarray(np.clip(ndtri(first + (last - first) * (uniform + 1) / 2), low, high))
