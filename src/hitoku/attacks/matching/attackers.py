"""Decision rules of an attacker who knows the method: candidates they rule out, weights of the others.

A candidate is a feasible table; its likelihood is the probability with which the method, run on it, would
have led to the release that was published.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Protocol, runtime_checkable

import numpy as np

from hitoku.model import Floats, Integers, Mask
from hitoku.parameters import check_parameters, real


@runtime_checkable
class Attacker(Protocol):
    """A decision rule over candidates by their likelihood: which to rule out, how to weigh the others."""

    def keeps(self, likelihood: Floats) -> Mask:
        """Return which candidates are not ruled out."""
        ...

    def weights(self, values: Integers, likelihood: Floats) -> Floats:
        """Return posterior weights, up to a factor; ``values`` are candidates by withheld inner cells."""
        ...


@dataclass(frozen=True, slots=True)
class Support:
    """Rule out a candidate whose likelihood is zero: the method cannot have published this release.

    Examples
    --------
    >>> Support().keeps(np.array([0.0, 0.001, 0.2])).tolist()
    [False, True, True]
    """

    def keeps(self, likelihood: Floats) -> Mask:
        return likelihood > 0

    def weights(self, values: Integers, likelihood: Floats) -> Floats:  # noqa: ARG002 - as the protocol has it
        return likelihood


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Rule out a candidate whose likelihood ratio to the most likely one is below ``1 / ratio``.

    Parameters
    ----------
    ratio
        Likelihood ratio; at least 1.

    Examples
    --------
    >>> Likelihood(20).keeps(np.array([0.0, 0.005, 0.01, 0.2])).tolist()
    [False, False, True, True]
    """

    ratio: Annotated[float, real("[1, inf]", "20 asks for twenty to one")] = 20.0

    def __post_init__(self) -> None:
        check_parameters(self)

    def keeps(self, likelihood: Floats) -> Mask:
        # Slack for rounding: likelihoods are sums of rounded numbers.
        least = float(likelihood.max(initial=0.0)) / self.ratio * (1 - 1e-9)
        kept: Mask = (likelihood > 0) & (likelihood >= least)
        return kept

    def weights(self, values: Integers, likelihood: Floats) -> Floats:  # noqa: ARG002 - as the protocol has it
        return np.where(self.keeps(likelihood), likelihood, 0.0)


@dataclass(frozen=True, slots=True)
class Bayes:
    """Weigh candidates by their posterior probability: prior times likelihood.

    Parameters
    ----------
    prior
        Function from integers to prior weights of a cell's value, up to a common factor; cells are
        independent. None: all feasible tables have equal weight.

    Examples
    --------
    >>> rare_when_large = Bayes(lambda value: 0.5**value)
    >>> rare_when_large.weights(np.array([[0, 1], [1, 1]]), np.ones(2)).tolist()
    [1.0, 0.5]
    """

    prior: Callable[[Integers], Floats] | None = None

    def keeps(self, likelihood: Floats) -> Mask:
        return likelihood > 0

    def weights(self, values: Integers, likelihood: Floats) -> Floats:
        if self.prior is None:
            return likelihood
        with np.errstate(divide="ignore"):
            before = np.log(np.asarray(self.prior(values), dtype=np.float64)).sum(axis=1)
        # Products of many small numbers: only their ratios matter.
        largest = before.max(initial=-np.inf, where=np.isfinite(before))
        weights: Floats = likelihood * np.exp(before - largest)
        return weights
