"""Fast search for the optimal method on small two-way counts: the candidates are never listed.

A method declares that this search applies by ``two_way(table)``: the comparison of its patterns, in integers,
independent of the suppressed counts. See :mod:`hitoku.kernels.shave` for the algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hitoku.attacks.interval import null_dimension
from hitoku.attacks.matching.attackers import Attacker, Suppressor
from hitoku.attacks.matching.candidates import no_candidate, summarise_verdict
from hitoku.attacks.matching.matched import Matched, over_all
from hitoku.kernels import MASK_BITS
from hitoku.model import Bounds, Integers, Mask, Release
from hitoku.rules import MinFrequency

# Counts up to this are handled individually.
MAX_COUNTS = 10_000
# Limit on candidates listed and examined one by one, or counted if they are not listed.
CANDIDATES = 200_000
# Limit on boxes and patterns examined. A candidate that is unsettled by then counts as no match: the walk
# that uses it gives inner intervals anyway.
NODES = 10_000_000


@dataclass(frozen=True, eq=False, kw_only=True)
class Board:
    """A release as passed to the kernels: inner cells only."""

    inner: Integers
    """Positions of the inner cells in the release."""
    shape: Integers
    """Rows, columns, first unsafe count, first safe count above it, weight per count."""
    values: Integers
    """One feasible table."""
    withheld: Mask
    allowed: Mask
    """The pattern; cells that may be suppressed."""
    width: Integers
    fixed: Integers
    """Required width of an unsafe cell; constant weight of a cell."""

    @classmethod
    def of(cls, release: Release, suppressor: Suppressor) -> Board | None:
        """Set up a release; None if this search does not apply."""
        hook = getattr(suppressor.method, "two_way", None)
        unsafe = unsafe_counts(suppressor)
        if hook is None or unsafe is None or not flat(release):
            return None
        whole = first_table(release)
        if whole is None:
            return None
        plan = hook(release.completed(whole))
        if plan is None:
            return None
        rows, columns = len(plan.inner) // plan.columns, plan.columns
        sums = np.delete(release.published, plan.inner)
        width = np.broadcast_to(np.asarray(suppressor.width, dtype=np.float64), (release.n_cells,))
        withheld = release.withheld[plan.inner]
        hidden_risk = np.any((sums >= unsafe[0]) & (sums < unsafe[1]))
        shown = whole[plan.inner][~withheld]
        if (
            hidden_risk
            or np.any((shown >= unsafe[0]) & (shown < unsafe[1]))
            or np.any(withheld & ~plan.allowed)
        ):
            raise no_candidate()
        return cls(
            inner=plan.inner,
            shape=np.array([rows, columns, *unsafe, plan.per_value], dtype=np.int64),
            values=whole[plan.inner],
            withheld=withheld,
            allowed=plan.allowed,
            width=np.maximum(np.ceil(width[plan.inner] - 1e-9), 1).astype(np.int64),
            fixed=plan.fixed,
        )

    @property
    def hidden(self) -> Integers:
        """Suppressed cells among the inner ones."""
        return np.flatnonzero(self.withheld)

    @property
    def cells(self) -> Integers:
        """Suppressed cells, by their position in the release."""
        return self.inner[self.hidden]

    @property
    def arguments(self) -> tuple[Any, ...]:
        """First arguments of every kernel."""
        return self.shape, self.values, self.withheld, self.allowed, self.width, self.fixed

    def feasible(self, release: Release) -> Bounds:
        """Feasibility intervals."""
        from hitoku.kernels.shave import outer  # noqa: PLC0415 - loads numba

        low, high = outer(self.shape, self.values, self.withheld)
        return over_all(release.published, self.cells, low[self.hidden], high[self.hidden])

    def reproduces(self, candidates: Integers) -> Mask:
        """Return which candidates, rows over all cells of the release, get the pattern."""
        from hitoku.kernels.shave import sift  # noqa: PLC0415 - loads numba

        tables = np.ascontiguousarray(candidates[:, self.inner])
        verdicts: Mask = sift(*self.arguments, tables, NODES) == 1
        return verdicts

    def count(self, limit: int) -> int | None:
        """Return the number of feasible tables; None if there are more than ``limit``."""
        from hitoku.kernels.fibre import count  # noqa: PLC0415 - loads numba

        n = count(int(self.shape[1]), self.values, self.withheld, limit + 1)
        return n if n <= limit else None


def unsafe_counts(suppressor: Suppressor) -> tuple[int, int] | None:
    """Return the first unsafe count, and the first above it that is safe; None if rules depend on more."""
    plain = [
        rule
        for rule in suppressor.rules
        if isinstance(rule, MinFrequency) and not rule.weighted and rule.percent is None
    ]
    if not plain or len(plain) < len(suppressor.rules) or suppressor.width is None:
        return None
    largest = max(rule.n for rule in plain)
    if suppressor.requires_groups and np.any(np.asarray(suppressor.width) < largest):
        return None  # capacity for n units is more than a width
    return 0 if any(rule.zeros for rule in plain) else 1, largest


def flat(release: Release) -> bool:
    """Return whether a release is a plain two-way table of counts with all its margins published."""
    if len(release.dimensions) != 2 or not release.integer:
        return False
    if any(len(d.groups) != 1 or len(d.leaves) > MASK_BITS for d in release.dimensions):
        return False
    printed = release.withheld.reshape([len(d) for d in release.dimensions])
    return not (printed[-1].any() or printed[:, -1].any())


def first_table(release: Release) -> Integers | None:
    """Complete a flat release in one way; None if that is impossible."""
    from hitoku.kernels.count_bounds import any_table  # noqa: PLC0415 - loads numba

    printed = np.where(release.withheld, 0, release.published).astype(np.int64)
    printed = printed.reshape([len(d) for d in release.dimensions])
    inside = printed[:-1, :-1]
    left = np.concatenate([printed[:-1, -1] - inside.sum(axis=1), printed[-1, :-1] - inside.sum(axis=0)])
    hidden = release.withheld.reshape(printed.shape)[:-1, :-1].ravel()
    fits, found = any_table(inside.shape[1], inside.ravel(), hidden, left)
    printed[:-1, :-1] = found.reshape(inside.shape)
    return printed.ravel() if fits else None


def shave_intervals(release: Release, board: Board, *, nodes: int, values: bool) -> Matched:
    """Shave the intervals; with ``values`` also decide which counts between their ends are attained."""
    from hitoku.kernels.shave import shave  # noqa: PLC0415 - loads numba

    hidden, cells, feasible = board.hidden, board.cells, board.feasible(release)
    largest = int(feasible.upper[cells].max(initial=0))
    n_counts = largest + 2 if values and largest < MAX_COUNTS else 0
    seen = np.zeros((len(board.inner), n_counts), dtype=np.bool_)
    met, least, most, low, high, unknown, _ = shave(*board.arguments, seen, nodes)
    if not met and not unknown.any():
        raise no_candidate()
    published = release.published
    return Matched(
        bounds=over_all(published, cells, low[hidden], high[hidden], unknown[hidden]),
        met=over_all(published, cells, least[hidden], most[hidden]) if met else None,
        feasible=feasible,
        values={int(board.inner[k]): np.flatnonzero(seen[k]) for k in hidden if seen[k].any()},
        n_candidates=board.count(CANDIDATES) if values else None,
        null_dimension=null_dimension(release),
        strategy="shave",
    )


def sift_candidates(
    release: Release, board: Board, attacker: Attacker, *, candidates: int, nodes: int
) -> Matched | None:
    """Examine every candidate, in compiled code; None if a limit is reached."""
    from hitoku.kernels.fibre import list_tables  # noqa: PLC0415 - loads numba
    from hitoku.kernels.shave import sift  # noqa: PLC0415 - loads numba

    tables = list_tables(int(board.shape[1]), board.values, board.withheld, candidates + 1)
    if len(tables) > candidates:
        return None
    verdicts = sift(*board.arguments, tables, nodes)
    if np.any(verdicts < 0):
        return None
    return summarise_verdict(
        release,
        board.cells,
        tables[:, board.hidden],
        verdicts.astype(np.float64),
        attacker,
        feasible=board.feasible(release),
        null_dimension=null_dimension(release),
        strategy="shave",
    )
