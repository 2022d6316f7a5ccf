"""The distribution of a single draw, and the audit that a draw must pass.

``q0(Z | x)`` is proportional to ``exp(-strength * |Z|)`` over the acceptable patterns of ``x`` that have at
most ``levels`` cells more than its smallest one. Everything is computed by enumerating all patterns and,
for the audit, all tables consistent with a release.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hitoku.errors import SolverError
from hitoku.methods.randomised.public_knowledge import PublicKnowledge
from hitoku.model import ADDITIVITY, Floats, Integers, Mask

# Patterns that may be judged for one table, or in the audit of one release: some minutes.
MAX_PATTERNS = 100_000_000
PATTERN_WORK_LIMIT = "pattern_work_limit"


@dataclass(frozen=True, eq=False)
class PatternSizes:
    """Acceptable patterns of one table by size: the smallest size, and counts from that size on."""

    smallest: int
    counts: Integers
    worth: Floats

    @property
    def chances(self) -> Floats:
        """Probability of each size."""
        share = self.counts * self.worth
        return np.asarray(share / share.sum())


@dataclass(frozen=True, eq=False)
class PatternDistribution:
    """The probability of every pattern, given the table: a function of public knowledge and counts."""

    public: PublicKnowledge  # Public knowledge.
    strength: float  # Factor ``exp(-strength)`` on the probability for every additional cell.
    levels: int  # Maximum number of cells above the smallest pattern.

    @property
    def worth(self) -> Floats:
        """Weight of a pattern by its size."""
        return np.exp(-self.strength * np.arange(len(self.public.inner) + 1.0))

    def sizes(self, values: Integers) -> PatternSizes:
        """Count the patterns that may be drawn for a table.

        Raises
        ------
        SolverError
            When there are more patterns to judge than the limit allows: not decided.
        """
        tally, left = np.zeros(len(values) + 1, dtype=np.int64), _limit()
        smallest = int(self.public.unsafe(values[None]).sum())
        self._survey(values, smallest, tally, left)
        while not tally.any():
            smallest += 1
            self._survey(values, smallest, tally, left)
        top = min(smallest + self.levels, int(self.public.allowed.sum()))
        self._survey(values, top, tally, left)
        return PatternSizes(smallest, tally[smallest : top + 1].copy(), self.worth[: top + 1 - smallest])

    def draw(self, values: Integers, sizes: PatternSizes, dice: random.Random) -> Mask:
        """Draw a pattern: first its size, then one of the patterns of that size."""
        level = dice.choices(range(len(sizes.counts)), weights=sizes.chances.tolist())[0]
        return self.pattern(values, sizes.smallest + level, dice.randrange(int(sizes.counts[level])))

    def pattern(self, values: Integers, cells: int, number: int) -> Mask:
        """Return one of the acceptable patterns of a size, by its number from zero."""
        tally = np.zeros(len(values) + 1, dtype=np.int64)
        return self._survey(values, cells, tally, _limit(), cells, number)

    def patterns(self, values: Integers) -> Iterator[tuple[Mask, float]]:
        """List all patterns that may be drawn for a table, each with its probability."""
        sizes = self.sizes(values)
        for level, chance in enumerate(sizes.chances):
            for number in range(int(sizes.counts[level])):
                yield self.pattern(values, sizes.smallest + level, number), chance / sizes.counts[level]

    def acceptable(self, pattern: Mask, values: Integers) -> bool:
        """Return whether a pattern leaves every cell that it suppresses a wide enough interval."""
        from hitoku.kernels.acceptable import survey  # noqa: PLC0415 - numba takes a second to load

        tally, public = np.zeros(len(values) + 1, dtype=np.int64), self.public
        n = int(pattern.sum())
        survey(
            public.rows, public.columns, values, public.width, pattern, pattern, n, tally, self.worth, np.inf,
            -1, -1, _limit(),
        )  # fmt: skip
        return bool(tally[n] == 1 and not np.any(pattern & ~public.allowed))

    def likelihoods(self, pattern: Mask, candidates: Integers) -> Floats:
        """Return the probability of drawing a pattern for each of several tables of the same release."""
        from hitoku.kernels.acceptable import weights  # noqa: PLC0415 - numba takes a second to load

        found = np.zeros(len(candidates))
        possible = np.flatnonzero(~np.any(self.public.unsafe(candidates) & ~pattern, axis=1))
        if len(possible) and self.acceptable(pattern, candidates[possible[0]]):
            total, left = np.zeros(len(possible)), _limit()
            weights(*self._problem(pattern, candidates[possible]), False, total, left)
            _refuse_beyond(left)
            found[possible] = self.worth[int(pattern.sum())] / total
        return found

    def passes(self, pattern: Mask, values: Integers, ratio: float, limit: int) -> bool:
        """Audit a release: return whether a likelihood-ratio attacker is left with enough width everywhere.

        The tables that fit and are at most ``ratio`` times less likely than the likeliest must leave the
        required width to every suppressed cell that is unsafe in any table that fits. The result depends on
        the release only: it is the same for all tables that fit. The pattern must be acceptable. A release
        whose audit would judge more patterns than the limit allows does not pass.
        """
        from hitoku.kernels.acceptable import spread, weights  # noqa: PLC0415 - numba takes a second to load
        from hitoku.kernels.fibre import list_tables  # noqa: PLC0415 - as above

        if not pattern.any():
            return True
        candidates = list_tables(self.public.columns, values, pattern, limit + 1)
        if len(candidates) > limit:
            return False
        unsafe = self.public.unsafe(candidates)
        # Tables with many unsafe cells have few patterns, each of them likely; then the others stop early.
        candidates = candidates[np.argsort(-unsafe.sum(axis=1), kind="stable")]
        problem = self._problem(pattern, candidates)
        total, left = np.zeros(len(candidates)), _limit()
        weights(*problem, True, total, left)
        # Likelihoods are sums of rounded numbers: use the strict side of the ratio.
        enough = total.min() * ratio * (1 - ADDITIVITY)
        concerned = pattern & unsafe.any(axis=0)
        return bool(np.isfinite(enough) and spread(*problem, enough, concerned, left) and left[0] >= 0)

    def _problem(self, pattern: Mask, candidates: Integers) -> tuple[Any, ...]:
        """Return the kernels' arguments for weighing candidates that may have drawn a pattern."""
        public = self.public
        return (
            public.rows, public.columns, candidates, public.width, public.unsafe(candidates), public.allowed,
            self.levels, int(pattern.sum()), self.worth,
        )  # fmt: skip

    def _survey(
        self, values: Integers, most: int, tally: Integers, left: Integers, wanted: int = -1, number: int = -1
    ) -> Mask:
        from hitoku.kernels.acceptable import survey  # noqa: PLC0415 - numba takes a second to load

        public = self.public
        pattern: Mask = survey(
            public.rows, public.columns, values, public.width, public.unsafe(values[None])[0], public.allowed,
            most, tally, self.worth, np.inf, wanted, number, left,
        )  # fmt: skip
        _refuse_beyond(left)
        return pattern


def _limit() -> Integers:
    return np.full(1, MAX_PATTERNS)


def _refuse_beyond(left: Integers) -> None:
    """Raise when a search has stopped at its limit: what it has counted means nothing."""
    if left[0] < 0:
        raise SolverError(
            PATTERN_WORK_LIMIT,
            "not decided: more than {limit:,} patterns would have to be judged for one table",
            where="randomised",
            fix="merge codes, lower levels, or use the method blocks",
            limit=MAX_PATTERNS,
        )
