"""Whom a release is attacked by: what counts as out of the question, and what as likely."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from hitoku.errors import ParameterError
from hitoku.model.arrays import Floats, Integers, Mask


@runtime_checkable
class Attacker(Protocol):
    """Judges candidates by the probability with which each would have led to this very release."""

    def keeps(self, likelihood: Floats) -> Mask:
        """Tell which candidates are not out of the question."""
        ...

    def weights(self, values: Integers, likelihood: Floats) -> Floats:
        """Weigh the candidates; ``values`` are candidates by withheld inner cells."""
        ...


@dataclass(frozen=True, slots=True)
class Support:
    """A candidate is out when it could not have led to this release.

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
    """A candidate is out when another would have led to this release so many times as probably.

    Parameters
    ----------
    ratio
        How many times; at least 1.

    Examples
    --------
    >>> Likelihood(20).keeps(np.array([0.0, 0.005, 0.01, 0.2])).tolist()
    [False, False, True, True]
    """

    ratio: float = 20.0

    def __post_init__(self) -> None:
        if not self.ratio >= 1:
            raise ParameterError(
                "ratio must be at least 1", where="Likelihood", fix="20 asks for twenty to one"
            )

    def keeps(self, likelihood: Floats) -> Mask:
        # A whisker of slack: likelihoods are sums of rounded numbers.
        least = float(likelihood.max(initial=0.0)) / self.ratio * (1 - 1e-9)
        kept: Mask = (likelihood > 0) & (likelihood >= least)
        return kept

    def weights(self, values: Integers, likelihood: Floats) -> Floats:  # noqa: ARG002 - as the protocol has it
        return np.where(self.keeps(likelihood), likelihood, 0.0)


@dataclass(frozen=True, slots=True)
class Bayes:
    """Candidates are weighed by how likely they were before, times how probably they led to this release.

    Parameters
    ----------
    prior
        Given whole numbers, how likely each was for a cell before, up to a common factor; cells count as
        independent. None: all tables that fit were equally likely.

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
