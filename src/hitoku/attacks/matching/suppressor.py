"""The method that made a release, run by an attacker: the pattern that a candidate would have got."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hitoku.errors import NeedError
from hitoku.model import Floats, Integers, Protection, Release
from hitoku.rules import Rule, assess
from hitoku.solver.work import Deadline


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
