"""A pattern drawn at random, audited against an attacker who knows how it was drawn."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import ParameterError, ScopeError, SolverError
from hitoku.methods.method import Progress, Traits, rules_and_width
from hitoku.methods.randomised.distribution import PATTERN_WORK_LIMIT, PatternDistribution
from hitoku.methods.randomised.public_knowledge import PublicKnowledge
from hitoku.methods.run import run
from hitoku.model import Floats, Integers, Mask, Need, Protection, Release, Table
from hitoku.parameters import Count, Positive, Whole, check_parameters, real
from hitoku.rules import Rule

SEEDED = "randomised, seeded: for experiments only"
CAUTION = (
    "The pattern was drawn with a fixed seed, for an experiment. Anyone who knows or guesses it can undo "
    "the protection: draw again without one."
)
STOPPED = "not decided: stopped at its work limit, so everything is withheld"
# Default levels by number of inner cells: larger tables have many more patterns on each level.
LEVELS = ((36, 3), (64, 2))


@dataclass(frozen=True, eq=False, kw_only=True)
class Randomised:
    """Suppress a pattern drawn at random such that an attacker who knows the method learns little.

    For flat two-way tables of counts with all totals published. A pattern is acceptable if it suppresses the
    unsafe cells and leaves *every* cell it suppresses an interval as wide as required. One is drawn, each
    additional cell making it less likely by a constant factor, and audited: an attacker who discards every
    table that is much less likely to have led to this release must also be left with the required width. A
    draw that fails is repeated; if no draw is left, all inner cells are suppressed. The guarantee and its
    proof are in docs/reference/methods/randomised.md.

    Parameters
    ----------
    rules, width
        As passed to :func:`hitoku.assess`. The method compares the true table with all others that fit, so
        it must know how their unsafe cells would be determined. The rules must assess an inner cell by its
        count and the totals alone. :func:`hitoku.protect` fills them in.
    strength
        Each additional cell makes a pattern less likely by the factor ``exp(-strength)``. Small: more cells
        are suppressed than necessary. Large: more draws fail.
    ratio
        The assumed attacker discards a table if another one is more than this
        many times as likely to have led to the release.
    draws
        Maximum number of draws. Redrawing itself may reveal something, at most a factor of ``draws``; so each
        draw is audited at ``ratio / draws``.
    levels
        Maximum number of cells above the smallest acceptable pattern. Default: three up to 36 inner
        cells, two above.
    total
        Probability of suppressing all inner cells, for any table. With at least ``1 / ratio`` the
        guarantee also holds for that release.
    limit
        Releases consistent with more tables than this are not audited: the draw fails.
    seed
        For experiments: the same draws every time. An attacker who knows it can run the method on every table
        that fits, so the protection is marked as worthless. Default: the operating system's entropy.

    Examples
    --------
    >>> from hitoku.rules import MinFrequency, assess
    >>> table = Table.from_array([[15, 15, 12, 10], [19, 14, 13, 9], [8, 8, 11, 14], [9, 9, 26, 3]])
    >>> rules = [MinFrequency(5)]
    >>> method = Randomised(rules=rules, width=9, seed=1)
    >>> method.protect(table, assess(table, rules, width=9))
    Protection(7 of 25 cells withheld, 6 of them secondary, by randomised, seeded: for experiments only)
    """

    # The pattern must not change after the draw.
    traits: ClassVar[Traits] = Traits(
        scope="flat two-way tables of counts with published totals",
        secret=False,
        adds_cells=False,
        informed=True,
    )

    rules: Sequence[Rule] | None = None
    width: ArrayLike | None = None
    strength: Annotated[float, real("[0, 10]")] = 1.0
    ratio: Positive = 20.0
    draws: Count = 3
    levels: Whole | None = None
    total: Annotated[float, real("(0, 1]", "give a probability above zero: the promise rests on it")] = 1e-3
    limit: Count = 50_000
    seed: int | None = None

    def __post_init__(self) -> None:
        check_parameters(self)
        if not self.ratio > self.draws:
            raise ParameterError(
                "ratio_not_above_draws",
                "ratio must be larger than draws",
                where="Randomised, ratio",
                fix="give a number larger than draws, such as 20",
            )

    def protect(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Draw a pattern.

        Parameters
        ----------
        table, need
            Table and need; the need must follow from ``rules`` and ``width``.
        progress
            Called with the number of draws done and their maximum.
        """
        return run(self, table, need, progress)

    def decide(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Decide over the reals; :func:`hitoku.methods.run.run` does the rest."""
        distribution = self._distribution(table)
        values = np.rint(table.value[distribution.public.inner]).astype(np.int64)
        refuse_other_needs(table, need, distribution.public, values)
        withheld = need.unsafe.copy()
        pattern, note = self._draw(distribution, values, progress)
        withheld[distribution.public.inner] = pattern
        return Protection(
            withheld=withheld,
            value=table.value,
            secondary=withheld & ~need.unsafe,
            cost=float(withheld.sum()),
            method="randomised" if self.seed is None else SEEDED,
            caution="" if self.seed is None else CAUTION,
            note=note,
        )

    def _draw(
        self, distribution: PatternDistribution, values: Integers, progress: Progress | None
    ) -> tuple[Mask, str]:
        """Return a pattern, and a note where the work limit was reached before one was drawn."""
        # Two generators on purpose: a seeded one is predictable, the system's is not.
        dice = random.SystemRandom() if self.seed is None else random.Random(self.seed)  # noqa: S311
        everything = distribution.public.allowed
        if dice.random() < self.total:
            return everything, ""
        try:
            sizes = distribution.sizes(values)
        except SolverError as error:
            if error.code != PATTERN_WORK_LIMIT:
                raise
            return everything, STOPPED
        for turn in range(self.draws):
            if progress is not None:
                progress(turn, self.draws)
            pattern = distribution.draw(values, sizes, dice)
            if self._passes(distribution, pattern, values):
                return pattern, ""
        return everything, ""

    def likelihoods(self, release: Release, candidates: ArrayLike, *, exact: bool = False) -> Floats:
        """Return the probability of this release for each table that fits it, up to a common factor.

        Parameters
        ----------
        release
            A release of this method.
        candidates
            Tables by all cells, in integers, that agree with the release.
        exact
            False: the probability of drawing the pattern, which the redraws change by a factor between 1 and
            ``draws``. True: include this factor, by auditing every pattern that each candidate
            could draw; for very small tables. A release that suppresses everything always uses this.

        Returns
        -------
        One number per candidate. With ``exact`` they are the probabilities themselves.
        """
        tables = np.asarray(candidates, dtype=np.int64)
        if len(tables) == 0:
            return np.zeros(0)
        distribution = self._distribution(release.completed(tables[0]))
        inner = distribution.public.inner
        pattern, values = release.withheld[inner], np.ascontiguousarray(tables[:, inner])
        if np.any(release.withheld.sum() != pattern.sum()):
            return np.zeros(len(tables))
        everything = np.array_equal(pattern, distribution.public.allowed)
        if not exact and not everything:
            return distribution.likelihoods(pattern, values)
        known: dict[tuple[bytes, bytes], bool] = {}
        passing = np.array([self._passing(distribution, row, known) for row in values])
        if everything:
            return np.asarray(self.total + (1 - self.total) * (1 - passing) ** self.draws)
        if not self._passes(distribution, pattern, values[0], known):
            return np.zeros(len(tables))
        drawn = distribution.likelihoods(pattern, values)
        # A first draw that passes, or a second one after a failure, and so on.
        tries = sum((1 - passing) ** turn for turn in range(self.draws))
        return np.asarray((1 - self.total) * drawn * tries)

    def _passing(
        self, distribution: PatternDistribution, values: Integers, known: dict[tuple[bytes, bytes], bool]
    ) -> float:
        """Return the probability that a draw from a table passes the audit."""
        chances = [
            chance
            for pattern, chance in distribution.patterns(values)
            if self._passes(distribution, pattern, values, known)
        ]
        return min(float(sum(chances)), 1.0)

    def _passes(
        self,
        distribution: PatternDistribution,
        pattern: Mask,
        values: Integers,
        known: dict[tuple[bytes, bytes], bool] | None = None,
    ) -> bool:
        if np.array_equal(pattern, distribution.public.allowed):
            # Used when all draws fail; it needs no audit of its own.
            return False
        if known is None:
            return distribution.passes(pattern, values, self.ratio / self.draws, self.limit)
        release = (pattern.tobytes(), np.where(pattern, -1, values).tobytes())
        if release not in known:
            known[release] = distribution.passes(pattern, values, self.ratio / self.draws, self.limit)
        return known[release]

    def _distribution(self, table: Table) -> PatternDistribution:
        rules, width = rules_and_width(self)
        public = PublicKnowledge.of(table, rules, width)
        levels = self.levels
        if levels is None:
            levels = next(extra for cells, extra in LEVELS if len(public.inner) <= cells)
        return PatternDistribution(public, self.strength, levels)


def refuse_other_needs(table: Table, need: Need, public: PublicKnowledge, values: Integers) -> None:
    """Raise if a need is not the one that the rules and the width give."""
    need.require_size(table.n_cells)
    unsafe = np.zeros(table.n_cells, dtype=bool)
    unsafe[public.inner] = public.unsafe(values[None])[0]
    if not np.array_equal(need.unsafe, unsafe):
        raise ScopeError(
            "need_not_of_rules_by_cell",
            "the need marks other cells as unsafe than the rules do, cell by cell",
            where="randomised, rules",
            fix="assess with the same rules; each must judge an inner cell by its count and the totals alone",
        )
    if np.any(need.lower > 0) or np.any(need.upper > 0) or np.any(need.width[public.inner] > public.width):
        raise ScopeError(
            "need_wider_than_method",
            "the need requires a larger width than the method's",
            where="randomised, width",
            fix="give assess the same width and groups=False, and rules no levels of their own",
        )
