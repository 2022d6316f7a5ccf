"""What the matching attack found out about a release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from hitoku.errors import ParameterError
from hitoku.model import Bounds, Floats, Integers, Mask


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Matched:
    """The candidates that reproduce a release, cell by cell.

    Parameters
    ----------
    bounds
        Effective feasibility intervals: no candidate that matches lies outside. They are exact except where
        ``bounds.unknown``: there a limit was hit, or candidates were only sampled, and a match may be missing
        at either end.
    met
        Least and largest values of candidates that do match, equal to ``bounds`` where these are exact; None
        when none was met.
    feasible
        Feasibility intervals, for which every table that fits counts.
    values
        For a withheld cell, by its position, the values that candidates that match have there, in order. An
        interval hides the holes between them. Cells that were not finished are left out.
    posterior
        Beside each value its probability to the attacker; empty when not all candidates were looked at.
    n_candidates
        Tables that fit; None when there are more than were counted.
    n_matched
        How many of them match; None when not all were looked at.
    null_dimension
        Independent ways in which the withheld cells can move.
    strategy
        How it was found: "enumerate", "shave" or "sample".
    """

    bounds: Bounds
    met: Bounds | None
    feasible: Bounds
    values: Mapping[int, Integers] = field(default_factory=dict)
    posterior: Mapping[int, Floats] = field(default_factory=dict)
    n_candidates: int | None = None
    n_matched: int | None = None
    null_dimension: int = 0
    strategy: str = "enumerate"

    @property
    def complete(self) -> bool:
        """Every interval is exactly that of the candidates that match."""
        return not bool(self.bounds.unknown.any())

    def below(self, width: float) -> Mask:
        """Cells that are proven to be narrower than a width to this attacker.

        Published cells are: ask for the cells that you care about.
        """
        narrow: Mask = self.bounds.width < width
        return narrow

    def safe(self, width: float) -> Mask:
        """Cells that are proven to stay as wide as this: two candidates that match lie so far apart."""
        if self.met is None:
            return np.zeros(len(self.bounds.lower), dtype=np.bool_)
        wide: Mask = self.met.width >= width
        return wide

    @property
    def holes(self) -> Mapping[int, Integers]:
        """Values inside the interval of a cell that no candidate that matches has, where there are any."""
        gaps = {
            cell: np.setdiff1d(np.arange(values[0], values[-1] + 1), values)
            for cell, values in self.values.items()
        }
        return {cell: gap for cell, gap in gaps.items() if len(gap)}

    def credible(self, share: float = 0.95) -> Mapping[int, Integers]:
        """Fewest values of each cell that together are as probable as ``share``: the most probable ones.

        Equally probable values are taken together, so that the answer does not depend on their order.
        """
        if not 0 < share <= 1:
            raise ParameterError(
                "share_outside_unit_interval",
                "share must lie in (0, 1]",
                where="credible",
                fix="0.95 for 95 percent",
            )
        if not self.posterior:
            raise ParameterError(
                "posterior_incomplete",
                "there is no posterior: not all candidates were looked at",
                where="credible",
                fix="raise limit, or attack a smaller table",
            )
        chosen = {}
        for cell, probability in self.posterior.items():
            ranked = np.sort(probability)[::-1]
            enough = int(np.searchsorted(np.cumsum(ranked), share * (1 - 1e-12)))
            least = ranked[min(enough, len(ranked) - 1)]
            chosen[cell] = self.values[cell][probability >= least * (1 - 1e-12)]
        return chosen

    def __repr__(self) -> str:
        if self.n_candidates is None:
            many = "more candidates than counted"
        elif self.n_matched is None:
            many = f"{self.n_candidates:_} candidates"
        else:
            many = f"{self.n_matched:_} of {self.n_candidates:_} candidates match"
        return f"Matched({many}, null dimension {self.null_dimension}, {self.bounds!r}, by {self.strategy})"


def summed_up(
    cells: Integers, tables: Integers, weight: Floats
) -> tuple[dict[int, Integers], dict[int, Floats]]:
    """Values of every cell over some tables, and the share of the weight that each value has."""
    values, posterior = {}, {}
    for place, cell in enumerate(cells):
        distinct, which = np.unique(tables[:, place], return_inverse=True)
        mass = np.bincount(which, weights=weight, minlength=len(distinct))
        values[int(cell)], posterior[int(cell)] = distinct, mass / mass.sum()
    return values, posterior


def over_all(
    published: Floats, cells: Integers, lower: Integers, upper: Integers, unknown: Mask | bool = False
) -> Bounds:
    """Put intervals of the withheld cells between the published ones."""
    ends = [published.copy(), published.copy()]
    ends[0][cells], ends[1][cells] = lower, upper
    stopped = np.zeros(len(published), dtype=np.bool_)
    stopped[cells] = unknown
    return Bounds(lower=ends[0], upper=ends[1], unknown=stopped)
