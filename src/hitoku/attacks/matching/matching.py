"""The matching attack: which tables would have led to exactly this release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from hitoku.attacks.attack import Inference
from hitoku.attacks.interval import Interval, null_dimension
from hitoku.attacks.matching.attackers import Attacker, Support, Suppressor
from hitoku.attacks.matching.candidates import attack_by_enumeration, unfinished_attack
from hitoku.attacks.matching.matched import Matched
from hitoku.attacks.matching.shaving import CANDIDATES, NODES, Board, shave_intervals, sift_candidates
from hitoku.attacks.matching.walks import fitting, flat_two_way, inner_intervals, sample_candidates, several
from hitoku.errors import ParameterError
from hitoku.model import Bounds, Integers, Mask, Release
from hitoku.parameters import Count, LimitOrZero, check_parameters
from hitoku.rules import Rule, assess
from hitoku.solver.solution import MINUTES, Deadline

Strategy = Literal["auto", "enumerate", "shave", "sample"]

# At most this many candidates are all examined rather than shaved.
FEW = 2_000
# Steps of the walk with compiled tests, and without: each takes a hundred times as long.
STEPS = CANDIDATES
SLOW_STEPS = STEPS // 100
# Flat two-way releases with more suppressed cells than this are walked without a basis of all deviations.
MANY_CELLS, FAR_STEPS = 100, 100


@dataclass(frozen=True, eq=False, kw_only=True)
class Matching:
    """Infer suppressed cells as an attacker who knows the method.

    An attacker who completes the release in every way that adds up, and suppresses each of the resulting
    tables in the same way, can rule out all those that would have been published differently. The remaining
    tables give the effective feasibility intervals (Minami and Abe, 2019).

    Parameters
    ----------
    method
        Method that made the release: an object with a deterministic ``protect(table, need)``; or a randomised
        one with ``likelihoods(release, candidates)``.
    rules, width, groups
        As passed to :func:`hitoku.assess`.
    attacker
        Decision rule on the candidates: :class:`Support`, :class:`Likelihood` or :class:`Bayes`.
    strategy
        "enumerate": every candidate in turn, as in the paper. "shave": exact as well, without listing
        the candidates; for ``Optimal`` on small two-way counts. "sample": a random walk on the candidates,
        which can prove that a cell is safe, never that it is not. "auto": "shave" if applicable, otherwise
        "enumerate".
    limit
        Work limit: candidates to list, boxes and patterns to examine when shaving, steps of the walk.
        Unfinished cells are ``unknown``.
    seed, walks, n_jobs
        For the walk. On large flat two-way tables with a given start there are ``walks`` of them,
        each with its own seed, in ``n_jobs`` processes, which do not change the result.
    time_limit_s
        Limit in seconds for running the method on the candidates; if some are not reached in time,
        every suppressed cell is ``unknown``. Default: no limit.

    Examples
    --------
    Table 1 of the paper, with the cells that it suppresses. They can be completed in ten ways, and a method
    that suppresses them only if the last is empty discloses it.

    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
    >>> from hitoku.rules import MinFrequency
    >>> class Corners:
    ...     def protect(self, table, need):
    ...         corners = np.isin(np.arange(25), [6, 8, 16, 18])
    ...         return Protection.withhold(table, corners & (table.value[18] == 0))
    >>> table = Table.from_array([[15, 15, 12, 10], [19, 14, 13, 9], [8, 8, 11, 14], [9, 9, 26, 0]])
    >>> release = Release.of(table, Corners().protect(table, None))
    >>> Matching(method=Corners(), rules=[MinFrequency(5, zeros=True)], width=9).run(release)
    Matched(1 of 10 candidates match, null dimension 1, Bounds(25 cells, 25 exact), by enumerate)
    """

    name: ClassVar[str] = "matching"
    assumes: ClassVar[str] = (
        "as for interval, and also that values are integers, and the method with its parameters, the rules "
        "and the width"
    )
    adjusted: ClassVar[bool] = False

    method: Any
    rules: Sequence[Rule]
    width: Any = None
    groups: bool = True
    attacker: Attacker = field(default_factory=Support)
    strategy: Strategy = "auto"
    limit: Count | None = None
    seed: int = 0
    walks: Count = 4
    n_jobs: int | None = None
    time_limit_s: LimitOrZero | None = None

    def __post_init__(self) -> None:
        check_parameters(self)
        if not hasattr(self.method, "protect"):
            raise ParameterError(
                "not_a_method",
                "an object of type {kind} is not a method",
                where="method",
                fix="give the method that made the release, such as Optimal(keep='margins')",
                kind=type(self.method).__name__,
            )
        if self.strategy == "sample" and not isinstance(self.attacker, Support):
            raise ParameterError(
                "walk_is_incomplete",
                "a walk visits only some candidates; likelihoods and posteriors require all of them",
                where="strategy='sample'",
                fix="use attacker=Support(), or another strategy",
            )

    def infer(self, release: Release) -> Inference:
        """Return the effective feasibility interval of every cell."""
        return Inference(bounds=self.bounds(release))

    def bounds(self, release: Release, *, start: ArrayLike | None = None) -> Bounds:
        """Return the effective feasibility interval of every cell; a published cell is its own.

        No matching candidate lies outside. Exact except where ``unknown``.
        """
        board = self._board(release)
        if board is not None and isinstance(self.attacker, Support):
            return shave_intervals(release, board, nodes=self.limit or NODES, values=False).bounds
        return self.run(release, start=start).bounds

    def run(
        self,
        release: Release,
        *,
        start: ArrayLike | None = None,
        progress: Callable[[float, float], None] | None = None,
    ) -> Matched:
        """Attack a release and return the full result: intervals, values, posterior, counts.

        Parameters
        ----------
        release
            Release to attack.
        start
            For strategy "sample": initial values of all cells. An auditor has the true table.
        progress
            If candidates are examined one by one: called with the number done and their total.
        """
        suppressor = Suppressor(self.method, self.rules, self.width, self.groups)
        if self.strategy == "sample":
            return self._sample(release, suppressor, start)
        board = self._board(release)
        if board is None:
            limit, deadline = self.limit or CANDIDATES, Deadline(self.time_limit_s)
            return attack_by_enumeration(release, suppressor, self.attacker, limit, progress, deadline)
        nodes = self.limit or NODES
        if isinstance(self.attacker, Support):
            few = sift_candidates(release, board, self.attacker, candidates=FEW, nodes=nodes)
            return few or shave_intervals(release, board, nodes=nodes, values=True)
        all_of_them = sift_candidates(
            release, board, self.attacker, candidates=self.limit or CANDIDATES, nodes=NODES
        )
        return all_of_them or unfinished_attack(
            board.feasible(release), release, null_dimension(release), "shave"
        )

    def run_all(
        self,
        releases: Sequence[Release],
        *,
        n_jobs: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Matched]:
        """Attack several releases, in several processes.

        The answers do not depend on ``n_jobs``: every release has a seed of its own.

        Parameters
        ----------
        releases
            Releases to attack.
        n_jobs
            Processes; -1 for all processors. None uses ``joblib.parallel_config``, which can also
            run the work on Dask, Ray or Spark.
        progress
            Called with the number done and their total.
        """
        from joblib import Parallel, delayed  # noqa: PLC0415 - only for attacks on several releases

        attacks = [
            replace(self, seed=int(np.random.SeedSequence([self.seed, place]).generate_state(1)[0]))
            for place in range(len(releases))
        ]
        work = (delayed(attack.run)(release) for attack, release in zip(attacks, releases, strict=True))
        if progress is None:
            return list(Parallel(n_jobs=n_jobs)(work))
        done = []
        for matched in Parallel(n_jobs=n_jobs, return_as="generator")(work):
            done.append(matched)
            progress(len(done), len(releases))
        return done

    def _board(self, release: Release) -> Board | None:
        """Set up the release for shaving; None if another strategy must be used."""
        if self.strategy not in {"auto", "shave"}:
            return None
        suppressor = Suppressor(self.method, self.rules, self.width, self.groups)
        board = None if suppressor.random else Board.of(release, suppressor)
        if board is None and self.strategy == "shave":
            raise ParameterError(
                "release_cannot_be_shaved",
                "this release cannot be shaved",
                where="strategy='shave'",
                fix="shaving takes Optimal(keep='margins') with MinFrequency and a width, on small two-way "
                "counts; elsewhere use strategy='enumerate'",
            )
        return board

    def _sample(self, release: Release, suppressor: Suppressor, start: ArrayLike | None) -> Matched:
        many = release.withheld.sum() > MANY_CELLS and not suppressor.random
        if start is not None and many and flat_two_way(release):
            return self._walk_release(release, suppressor, fitting(release, start))
        board = None if suppressor.random else Board.of(release, suppressor)

        def one_by_one(candidates: Integers) -> Mask:
            return suppressor.likelihoods(release, candidates) > 0

        steps = self.limit or (STEPS if board else SLOW_STEPS)
        test = board.reproduces if board else one_by_one
        return sample_candidates(release, test, steps=steps, seed=self.seed, start=start)

    def _walk_release(self, release: Release, suppressor: Suppressor, start: Integers) -> Matched:
        """Walk from a table of a large release; return what its unsafe cells are shown to keep."""
        need = assess(
            release.completed(start), self.rules, width=self.width, groups=suppressor.requires_groups
        )
        low, high = several(
            release,
            partial(suppressor.reproduces, release),
            start,
            np.where(need.unsafe, need.width, 0),
            walks=self.walks,
            steps=self.limit or FAR_STEPS,
            seed=self.seed,
            n_jobs=self.n_jobs,
        )
        met = Bounds(lower=low.astype(np.float64), upper=high.astype(np.float64))
        return inner_intervals(Interval(work_limit=MINUTES).bounds(release), met, null_dimension(release))
