"""Ways to choose among cheapest patterns that are not hitoku's: a solver left to itself, and lots.

Both are methods as an attacker sees them; neither is meant for use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from hitoku.attacks import Interval
from hitoku.errors import NeedError
from hitoku.methods import Progress
from hitoku.methods.optimal import Optimal
from hitoku.model import Floats, Integers, Need, Protection, Release, Table
from hitoku.rules import Rule, assess
from hitoku_papers.minami_abe_2019.reading import Reading

# What a cell costs at most beyond the others: all of a table's together less than one cell.
FEW = 1000


def method_of(reading: Reading) -> Any:
    """Return the suppressor of a reading."""
    if reading.ties == "values":
        return ByValues()
    return AnyOptimum(reading.rules, reading.width) if reading.ties == "any" else cheapest()


def cheapest() -> Optimal:
    """Return the paper's suppressor: fewest cells, margins published."""
    return Optimal(cost="unit", keep="margins")


@dataclass(frozen=True, slots=True)
class ByValues:
    """A cheapest pattern that follows no rule that a reader could use: it changes whenever a value does."""

    def protect(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Withhold as few cells as possible, of those patterns one drawn from a hash of all values."""
        text = table.value.astype(np.int64).astype("<i8").tobytes()
        extra = [
            int.from_bytes(blake2b(text, digest_size=4, salt=cell.to_bytes(8, "little")).digest(), "little")
            % FEW
            for cell in range(table.n_cells)
        ]
        cost = FEW * table.n_cells + np.array(extra, dtype=np.float64)
        return Optimal(cost=cost, keep="margins").protect(table, need, progress)


@dataclass(frozen=True, slots=True)
class AnyOptimum:
    """One of the cheapest patterns, without a rule for ties."""

    rules: Sequence[Rule]
    width: int

    def protect(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Withhold as few cells as possible."""
        return cheapest().protect(table, need, progress)

    def likelihoods(self, release: Release, candidates: Integers) -> Floats:
        """Tell for which candidates the pattern is sufficient, and no larger than it must be."""
        n_withheld = int(release.withheld.sum())
        # Every candidate leaves an outsider with the same intervals.
        narrow = Interval().bounds(release).width < self.width
        found = np.zeros(len(candidates))
        for place, candidate in enumerate(candidates):
            table = release.completed(candidate)
            need = assess(table, self.rules, width=self.width)
            if not np.any(need.unsafe & narrow):
                try:
                    found[place] = self.protect(table, need).withheld.sum() == n_withheld
                except NeedError:
                    continue
        return found
