"""Result of the matching attack."""

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
        Effective feasibility intervals: no matching candidate lies outside. They are exact except where
        ``bounds.unknown``: there a limit was reached, or candidates were only sampled, and a match may be
        missing at either end.
    met
        Least and largest values of known matching candidates, equal to ``bounds`` where these are exact; None
        if none was found.
    feasible
        Feasibility intervals over all feasible tables.
    values
        For a suppressed cell, by its position, the sorted values of matching candidates. An
        interval hides the holes between them. Unfinished cells are missing.
    posterior
        Probability of each value to the attacker; empty unless all candidates were examined.
    n_candidates
        Number of feasible tables; None if there are more than were counted.
    n_matched
        Number of matching tables; None unless all were examined.
    null_dimension
        Null-space dimension of the suppressed cells.
    strategy
        Search strategy: "enumerate", "shave" or "sample".
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
        """Whether every interval is exactly that of the matching candidates."""
        return not bool(self.bounds.unknown.any())

    def below(self, width: float) -> Mask:
        """Return the cells that are proven to be narrower than a width to this attacker.

        They include published cells, which must be filtered by the caller.
        """
        narrow: Mask = self.bounds.width < width
        return narrow

    def safe(self, width: float) -> Mask:
        """Return the cells that are proven to stay this wide: two matching candidates lie so far apart."""
        if self.met is None:
            return np.zeros(len(self.bounds.lower), dtype=np.bool_)
        wide: Mask = self.met.width >= width
        return wide

    @property
    def holes(self) -> Mapping[int, Integers]:
        """Values inside the interval of a cell that no matching candidate has, if there are any."""
        gaps = {
            cell: np.setdiff1d(np.arange(values[0], values[-1] + 1), values)
            for cell, values in self.values.items()
        }
        return {cell: gap for cell, gap in gaps.items() if len(gap)}

    def credible(self, share: float = 0.95) -> Mapping[int, Integers]:
        """Return the fewest, most probable values of each cell that have a total probability of ``share``.

        Equally probable values are included together, so that the result does not depend on their order.
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
                "no posterior, because not all candidates were examined",
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
    """Return the values of every cell over some tables, and the share of the weight of each value."""
    values, posterior = {}, {}
    for place, cell in enumerate(cells):
        distinct, which = np.unique(tables[:, place], return_inverse=True)
        mass = np.bincount(which, weights=weight, minlength=len(distinct))
        values[int(cell)], posterior[int(cell)] = distinct, mass / mass.sum()
    return values, posterior


def over_all(
    published: Floats, cells: Integers, lower: Integers, upper: Integers, unknown: Mask | bool = False
) -> Bounds:
    """Insert intervals of the suppressed cells between the published ones."""
    ends = [published.copy(), published.copy()]
    ends[0][cells], ends[1][cells] = lower, upper
    stopped = np.zeros(len(published), dtype=np.bool_)
    stopped[cells] = unknown
    return Bounds(lower=ends[0], upper=ends[1], unknown=stopped)
