"""Decision rules of an attacker who knows the method: candidates they rule out, weights of the others.

A candidate is a feasible table; its likelihood is the probability with which the method, run on it, would
have led to the release that was published. It is
found by running that method on the candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, runtime_checkable

import numpy as np

from hitoku.errors import NeedError
from hitoku.model import Floats, Integers, Mask, Protection, Release
from hitoku.parameters import check_parameters, real
from hitoku.rules import Rule, assess
from hitoku.solver.solution import Deadline


@dataclass(frozen=True, eq=False)
class Suppressor:
    """A method with its rules and its width: the assumed knowledge of the attacker.

    A randomised method provides the probabilities of its patterns: ``likelihoods(release, candidates)``
    returns for every candidate (a row of integers over all cells) the probability, up to one common factor,
    that it would have led to exactly this release. Any other method is assumed to be deterministic: the same
    table, the same pattern.
    """

    method: Any
    rules: Sequence[Rule]
    width: Any
    groups: bool = True

    @property
    def requires_groups(self) -> bool:
        """Whether the method had to keep derivable groups large enough."""
        traits = getattr(self.method, "traits", None)
        return self.groups and (traits is None or (traits.adds_cells and traits.secret))

    @property
    def random(self) -> bool:
        """Whether the method is randomised."""
        return hasattr(self.method, "likelihoods")

    def reproduces(self, release: Release, candidate: Integers) -> bool:
        """Return whether a candidate gets the pattern of the release."""
        table = release.completed(candidate)
        try:
            need = assess(table, self.rules, width=self.width, groups=self.requires_groups)
            protection: Protection = self.method.protect(table, need)
        except NeedError:
            # Nothing could have been published from this table.
            return False
        return bool(np.array_equal(protection.withheld, release.withheld))

    def likelihoods(
        self,
        release: Release,
        candidates: Integers,
        progress: Callable[[float, float], None] | None = None,
        deadline: Deadline | None = None,
    ) -> Floats:
        """Return the probability of every candidate, up to a common factor, to have led to this release.

        NaN for those that were not reached in time.
        """
        if self.random:
            return np.asarray(self.method.likelihoods(release, candidates), dtype=np.float64)
        found = np.full(len(candidates), np.nan)
        for place, candidate in enumerate(candidates):
            if deadline is not None and deadline.over:
                break
            found[place] = self.reproduces(release, candidate)
            if progress is not None:
                progress(place + 1, len(candidates))
        return found


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

    ratio: Annotated[float, real("[1, inf]", "20 means twenty to one")] = 20.0

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
