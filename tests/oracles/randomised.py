"""The randomised method straight from its definition: all tables, all patterns, in plain Python.

Nothing is imported from the package. Tables are tuples of inner cells; patterns are sets of places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

Cells = tuple[int, ...]
Pattern = frozenset[int]


@dataclass(frozen=True)
class World:
    """All tables with the same totals, and a mechanism that draws patterns for them."""

    rows: int
    columns: int
    example: Cells
    threshold: int
    need: int
    strength: float
    levels: int
    ratio: float
    draws: int
    total: float
    zeros: bool = False

    def __hash__(self) -> int:
        return id(self)

    @property
    def n(self) -> int:
        return self.rows * self.columns

    def totals(self, table: Cells) -> tuple[int, ...]:
        by_row = [sum(table[i * self.columns : (i + 1) * self.columns]) for i in range(self.rows)]
        return (*by_row, *(sum(table[j :: self.columns]) for j in range(self.columns)))

    @cached_property
    def tables(self) -> list[Cells]:
        """Every table of non-negative whole numbers with the totals of the example."""
        wanted = self.totals(self.example)
        row_choices = []
        for i in range(self.rows):
            choices = product(range(wanted[i] + 1), repeat=self.columns)
            row_choices.append([c for c in choices if sum(c) == wanted[i]])
        found = []
        for lines in product(*row_choices):
            table = tuple(x for line in lines for x in line)
            if self.totals(table) == wanted:
                found.append(table)
        return found

    def unsafe(self, table: Cells) -> Pattern:
        return frozenset(k for k, x in enumerate(table) if x < self.threshold and (x > 0 or self.zeros))

    def fitting(self, table: Cells, pattern: Pattern) -> tuple[Cells, ...]:
        """List the tables that agree with this one outside the pattern."""
        shown = tuple(x for k, x in enumerate(table) if k not in pattern)
        return self._by_release[pattern][shown]

    @cached_property
    def _by_release(self) -> dict[Pattern, dict[Cells, tuple[Cells, ...]]]:
        found: dict[Pattern, dict[Cells, tuple[Cells, ...]]] = {}
        for pattern in self.patterns:
            groups: dict[Cells, list[Cells]] = {}
            for table in self.tables:
                shown = tuple(x for k, x in enumerate(table) if k not in pattern)
                groups.setdefault(shown, []).append(table)
            found[pattern] = {shown: tuple(group) for shown, group in groups.items()}
        return found

    @cached_property
    def patterns(self) -> list[Pattern]:
        """List all sets of cells that the totals leave open."""
        cells = sorted(self.everything)
        return [frozenset(c) for size in range(len(cells) + 1) for c in combinations(cells, size)]

    @cached_property
    def everything(self) -> Pattern:
        return frozenset(k for k in range(self.n) if spread(self.tables, k) > 0)

    @cached_property
    def width(self) -> dict[int, int]:
        """What each cell needs: the required width, or what is possible when everything is withheld."""
        return {k: min(self.need, spread(self.tables, k)) for k in range(self.n)}

    def acceptable(self, table: Cells) -> list[Pattern]:
        found = []
        for pattern in self.patterns:
            if self.unsafe(table) <= pattern:
                fitting = self.fitting(table, pattern)
                if all(spread(fitting, k) >= self.width[k] for k in pattern):
                    found.append(pattern)
        return found

    @cached_property
    def first_draw(self) -> dict[Cells, dict[Pattern, float]]:
        """For every table, what it draws with what probability."""
        found = {}
        for table in self.tables:
            patterns = self.acceptable(table)
            least = min(len(p) for p in patterns)
            weight = {p: math.exp(-self.strength * len(p)) for p in patterns if len(p) <= least + self.levels}
            whole = math.fsum(weight.values())
            found[table] = {p: w / whole for p, w in weight.items()}
        return found

    def passes(self, table: Cells, pattern: Pattern) -> bool:
        """Audit a release against the attacker of the first draw, at the ratio divided by the draws."""
        if pattern == self.everything:
            return False
        fitting = self.fitting(table, pattern)
        likelihood = {x: self.first_draw[x].get(pattern, 0.0) for x in fitting}
        kept = left(likelihood, self.ratio / self.draws)
        may_be_unsafe = {k for x in fitting for k in self.unsafe(x)}
        return all(spread(kept, k) >= self.width[k] for k in pattern & may_be_unsafe)

    @cached_property
    def law(self) -> dict[Cells, dict[Pattern, float]]:
        """For every table, what is published with what probability."""
        found = {}
        for table in self.tables:
            draws = self.first_draw[table]
            good = [p for p in draws if self.passes(table, p)]
            passing = math.fsum(draws[p] for p in good)
            tries = math.fsum((1 - passing) ** turn for turn in range(self.draws))
            chances = {p: (1 - self.total) * draws[p] * tries for p in good}
            chances[self.everything] = self.total + (1 - self.total) * (1 - passing) ** self.draws
            found[table] = chances
        return found


def spread(tables: list[Cells] | tuple[Cells, ...], cell: int) -> int:
    """Width of a cell over several tables."""
    return max(x[cell] for x in tables) - min(x[cell] for x in tables)


def left(likelihood: dict[Cells, float], ratio: float) -> list[Cells]:
    """Leave what is at most ``ratio`` times less likely than the likeliest: the likelihood-ratio attacker."""
    best = max(likelihood.values())
    return [x for x, chance in likelihood.items() if chance > 0 and chance * ratio >= best * (1 - 1e-12)]
