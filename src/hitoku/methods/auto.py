"""The default method, which chooses a method that suits the table."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import ParameterError, SolverError
from hitoku.feasibility.hypercubes import cross_table_of
from hitoku.methods.blocks import Blocks
from hitoku.methods.circulation import Circulation
from hitoku.methods.costs import above, costs, least_cost, least_known
from hitoku.methods.greedy import Greedy
from hitoku.methods.keep import Keep, by_hand, kept_cells
from hitoku.methods.method import Progress, Traits
from hitoku.methods.optimal import Optimal
from hitoku.methods.randomised import Randomised
from hitoku.methods.tuning import AUTO
from hitoku.model import Need, Protection, Table
from hitoku.parameters import Limit, check_parameters, shown_parameters
from hitoku.rules import Rule
from hitoku.solver.solution import SECONDS

LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Auto:
    """Choose a method by the size and kind of the table; ``protection.note`` gives the method and the reason.

    Up to 500 cells: :class:`Optimal`, which may prove that nothing cheaper is safe. If its work runs out and
    a heuristic has a better pattern, it continues from that one. Flat two-way tables of up to 20,000 cells:
    :class:`Optimal`, starting from the tidied pattern of :class:`Greedy` with ``prefer="closing"``. All
    others, of any size (hierarchies, linked tables, relations that are not a cross of variables):
    :class:`Circulation`, which passes its proof to the audit; for cross tables of up to 1,500 cells the
    better of the two patterns. The note also bounds the distance from the least cost, without linear
    programs.

    Parameters
    ----------
    cost
        Cost of suppressing a cell: "value", "unit", "frequency", "own" (the table's cost column), "log",
        or one number per cell.
    keep
        Cells that stay published: a mask, or "margins". The table's ``fixed`` cells always do.
    start
        Cells that are suppressed in any case.
    time_limit_s
        Time limit in seconds for the methods that support one; their pattern is safe in any case.
    secret
        False: attackers may know the method, its rules and its parameters. Then :class:`Randomised` protects
        two-way counts of up to 25 cells, and :class:`Blocks` other tables in its scope; totals stay
        published, and ``cost``, ``keep`` and ``start`` are not used.
    rules, width
        As passed to :func:`hitoku.assess`, for ``secret=False``. Filled in by :func:`hitoku.protect`.

    Examples
    --------
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> protection = Auto().protect(table, Need(unsafe=table.value == 7, width=11))
    >>> protection.method, protection.note
    ('optimal', 'optimal, for a small table: nothing cheaper is safe')
    """

    cost: str | ArrayLike = "value"
    keep: Keep | ArrayLike | None = None
    start: ArrayLike | Protection | None = None
    time_limit_s: Limit | None = None
    secret: bool = True
    rules: Sequence[Rule] | None = None
    width: ArrayLike | None = None

    def __post_init__(self) -> None:
        check_parameters(self)

    def __repr__(self) -> str:
        return shown_parameters(self)

    @property
    def traits(self) -> Traits:
        """Traits of the method: its guarantee depends on ``secret``."""
        return Traits(
            secret=self.secret,
            informed=not self.secret,
            hypercubes=True,
            prices=("cost",),
            keeps=("keep",),
            start="start",
        )

    def protect(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Protect with the method that suits the table.

        Parameters
        ----------
        table, need
            Table, and its requirements.
        progress
            Passed to the chosen method.
        """
        if not self.secret:
            return self._protect_if_known(table, need, progress)
        if table.n_cells <= AUTO.max_small:
            return self._small(table, need, progress)
        flat = len(table.dimensions) == 2 and all(len(d.groups) == 1 for d in table.dimensions)
        if flat and table.n_cells <= AUTO.max_flat:
            start = self._walk_greedily(table, need)
            if start is not None:
                return self._search_cheapest(
                    table, need, start, AUTO.flat_work, "for a flat two-way table", progress
                )
        found, why = self._run_circulation(table, need, progress)
        return self._with_bound(table, need, found, why)

    def _run_circulation(self, table: Table, need: Need, progress: Progress | None) -> tuple[Protection, str]:
        """Run Circulation; for cross tables that are not too large, return the cheaper of two patterns."""
        found = self._circulation().protect(table, need, progress)
        if cross_table_of(table) is None:
            return found, "for relations that do not form a cross table"
        # A note means that the search was cut short: then nothing else is searched.
        if table.n_cells <= AUTO.max_compared and not found.note:
            other = self._second(table, need)
            cheaper = found if other is None or found.cost <= other.cost else other
            return cheaper, f"the cheaper of two for {table.n_cells:,} cells"
        return (
            found,
            f"for a cross table of {table.n_cells:,} cells" if table.dimensions else "for linked tables",
        )

    def _with_bound(self, table: Table, need: Need, found: Protection, why: str) -> Protection:
        """Add a note with method, reason and distance from the least cost."""
        stay = kept_cells(table, self.keep)
        first = need.unsafe | by_hand(table, self.start, stay)
        least = least_cost(table, need, costs(table, self.cost), stay, first)
        own = f"{found.note}; " if found.note else ""
        return replace(
            found,
            gap=max(0.0, 1.0 - least / found.cost) if least > 0 else float("nan"),
            note=f"{found.method}, {why}: {own}{above(found.cost, least)}",
        )

    def _protect_if_known(self, table: Table, need: Need, progress: Progress | None) -> Protection:
        """Protect with a method that attackers may know."""
        if self.keep is not None or self.start is not None:
            raise ParameterError(
                "known_method_decides_alone",
                "a method that readers may know decides by itself what is withheld",
                where="auto, secret=False",
                fix="leave out keep and start",
            )
        flat = len(table.dimensions) == 2 and all(len(d.groups) == 1 for d in table.dimensions)
        if flat and table.inner.sum() <= AUTO.max_randomised:
            found = Randomised(rules=self.rules, width=self.width).protect(table, need, progress)
            return replace(found, note="randomised, for a small table whose readers may know the method")
        found = Blocks(rules=self.rules, width=self.width).protect(table, need, progress)
        return replace(found, note="blocks, for a table whose readers may know the method")

    def _small(self, table: Table, need: Need, progress: Progress | None) -> Protection:
        """Search for the cheapest pattern; if cut short, continue from a heuristic's better one."""
        why = "for a small table"
        found = self._search_cheapest(table, need, None, AUTO.small_work, why, progress)
        if not found.proven:
            other = self._second(table, need)
            if other is not None and other.cost < found.cost:
                found = self._search_cheapest(table, need, other, AUTO.small_work, why, progress)
        return found

    def _search_cheapest(
        self,
        table: Table,
        need: Need,
        start: Protection | None,
        work: int,
        why: str,
        progress: Progress | None,
    ) -> Protection:
        """Search for the cheapest pattern, and report how far the best one found may be from it."""
        found = Optimal(
            cost=self.cost,
            keep=self.keep,
            withhold=by_hand(table, self.start, kept_cells(table, self.keep)),
            start=start,
            work_limit=work,
            time_limit_s=self.time_limit_s,
        ).protect(table, need, progress)
        if found.proven:
            return replace(found, note=f"optimal, {why}: nothing cheaper is safe")
        if np.isnan(found.gap):
            return self._with_bound(table, need, found, why)
        return replace(found, note=f"{found.method}, {why}: {above(found.cost, least_known(found))}")

    def _walk_greedily(self, table: Table, need: Need) -> Protection | None:
        """Return the tidied greedy pattern, or None if the walk reached its work limit."""
        greedy = Greedy(
            cost=self.cost,
            keep=self.keep,
            start=self.start,
            prefer="closing",
            tidy=True,
            record="cells",
            work_limit=SECONDS,
        )
        try:
            return greedy.protect(table, need)
        except SolverError as error:
            if error.code != "greedy_work_limit":
                raise
            return None

    def _second(self, table: Table, need: Need) -> Protection | None:
        """Return the greedy pattern as a second candidate; None if it has none or was interrupted."""
        try:
            return self._walk_greedily(table, need)
        except KeyboardInterrupt:
            LOGGER.warning("interrupted: the pattern found before is safe and kept")
            return None

    def _circulation(self) -> Circulation:
        return Circulation(cost=self.cost, keep=self.keep, start=self.start, time_limit_s=self.time_limit_s)
