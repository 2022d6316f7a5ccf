"""Contributors as attackers: suppress more cells until no contributor comes too close to an unsafe cell.

A contributor knows their own contributions: cells of which they are the only contributor are as good as
published, and other cells are at least their own contribution. The release as they see it must also protect
the unsafe cells as the need requires. If it does not, the method runs again on the table as that contributor
sees it, starting from the current pattern. In large tables hypercubes are searched first, for all coalitions
that come too close: a run for each of hundreds would take too long.

Suppressing more cells reveals nothing: a coalition that has been dealt with stays dealt with, and a cell
added for a coalition was published before, so its contributors learn nothing by knowing it. Only coalitions
that came too close are tried again, and every round suppresses more or ends in an error, so the process ends.
The result is not assumed to be sufficient: the audit attacks the final release independently, with all
coalitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from hitoku.attacks import Coalition, Insider
from hitoku.coalitions import CoalitionDeviations, CoalitionSearch, HypercubeDeviations, TooClose
from hitoku.errors import NeedError, some
from hitoku.feasibility.hypercubes import cross_table_of
from hitoku.methods.circulation import LARGEST_SWEPT, Circulation, prices
from hitoku.methods.costs import above, least_known, prices_of
from hitoku.methods.greedy import Greedy
from hitoku.methods.keep import redundant_suppressions, staying
from hitoku.methods.method import Method, Progress, traits_of
from hitoku.model import Floats, Mask, Need, Protection, Release, Step, Table
from hitoku.solver.solution import CountedWork

# Limit on the cells of all tables on which the method runs for one coalition after another: some minutes.
MAX_WORK = 1e7
STOPPED = "stopped at its work limit before it had protected every cell from contributors"


def against_insiders(
    table: Table,
    need: Need,
    protection: Protection,
    *,
    method: Method,
    attack: Insider,
    progress: Progress | None = None,
) -> Protection:
    """Suppress more cells until no coalition comes closer to an unsafe cell than the need allows.

    Cells that the public can infer too closely are not handled here: the method must protect them, and the
    audit checks it.

    Parameters
    ----------
    table, need
        Table, and its requirements.
    protection
        Pattern of a method that did not consider insiders.
    method
        The method, which continues from there.
    attack
        Knowledge of insiders, and the size of coalitions.
    progress
        Called with the number of coalitions dealt with and their total.

    Raises
    ------
    NeedError
        If a cell cannot be protected from some coalition by any pattern; the error names the cells.
    """
    withheld = np.array(protection.withheld)
    steps = protection.steps
    search = CoalitionSearch(table, need, _release(table, need, withheld), attack)
    found = [one for one in _examine(search, search.coalitions(), progress) if len(one.cells)]
    # Cells that witnesses move: none of them has a single possible value.
    moving = np.zeros(table.n_cells, dtype=np.bool_)
    if found and traits_of(method).hypercubes and _by_hypercubes(table):
        hypercubes = _hypercubes_for(table, need, method, withheld, search, found)
        search.witnesses.add_all(hypercubes)
        moving[hypercubes.cells] = True
        withheld |= moving
        search = CoalitionSearch(table, need, _release(table, need, withheld), attack, search)
        found = [one for one in _examine(search, [one.members for one in found]) if len(one.cells)]
    work = CountedWork(MAX_WORK)
    while found and not work.over:
        before = withheld.copy()
        for one in found:
            if work.over:
                break
            work.add(table.n_cells)
            more = Seen.by(table, need, one).protect_with(table, method, withheld)
            withheld |= more.withheld
            moving[[cell for move in more.deviations for cell in move]] = True
            steps += more.steps
        if np.array_equal(withheld, before):
            raise unreachable(table, found[0].cells)
        search = CoalitionSearch(table, need, _release(table, need, withheld), attack, search)
        found = [one for one in _examine(search, [one.members for one in found]) if len(one.cells)]
    if np.array_equal(withheld, protection.withheld) and not (work.over or search.undecided):
        return protection
    withheld &= ~redundant_suppressions(
        table, withheld, withheld & ~protection.withheld & ~need.unsafe & ~moving
    )
    made = extend_protection(table, need, protection, method, withheld, steps=steps, purpose="insiders")
    if not (found or search.undecided):
        return made
    return replace(made, note="; ".join(filter(None, (made.note, STOPPED))))


def extend_protection(
    table: Table,
    need: Need,
    protection: Protection,
    method: Method,
    withheld: Mask,
    *,
    steps: tuple[Step, ...],
    purpose: str,
) -> Protection:
    """Return a protection that suppresses more than the method chose, with its cost and gap.

    Parameters
    ----------
    table, need, protection, method
        Problem, pattern and method.
    withheld, steps
        The larger pattern, and the steps that led to it.
    purpose
        Reason for the additional suppressions, a word for the note.
    """
    cost = cost_of(table, method, withheld)
    # A pattern that is safe for the purpose is safe without it, so it costs no less than the known bound.
    least = least_known(protection)
    return replace(
        protection,
        withheld=withheld,
        secondary=withheld & ~need.unsafe,
        cost=cost,
        proven=False,
        gap=max(0.0, 1.0 - least / cost) if least > 0 else float("nan"),
        canonical=False,
        steps=steps,
        note=f"{protection.method}, and more for {purpose}: {above(cost, least)}" if protection.note else "",
    )


def _examine(
    search: CoalitionSearch, coalitions: Sequence[Coalition], progress: Progress | None = None
) -> Iterator[TooClose]:
    for done, found in enumerate(search.examined(coalitions), start=1):
        yield found
        if progress is not None:
            progress(done, len(coalitions))


def _release(table: Table, need: Need, withheld: Mask) -> Release:
    return Release.of(table, Protection.withhold(table, withheld, need))


def _by_hypercubes(table: Table) -> bool:
    """Return whether suppressions for insiders come from hypercubes, like all those of the method.

    In smaller tables the method uses linear programs over the whole table, which need fewer cells.
    """
    return table.n_cells > LARGEST_SWEPT and cross_table_of(table) is not None


def _hypercubes_for(
    table: Table,
    need: Need,
    method: Method,
    withheld: Mask,
    search: CoalitionSearch,
    found: Sequence[TooClose],
) -> CoalitionDeviations:
    """Find hypercubes as seen by coalitions, through cells that may be suppressed in addition."""
    stay = staying(table, method) & ~withheld
    movable = ~stay & (table.upper > table.lower)
    price = prices(table, need, prices_of(table, method), withheld)
    hypercubes = HypercubeDeviations(table, movable, price, search.room)
    return hypercubes.found([search.wanted(one.cells, one.known) for one in found])


@dataclass(frozen=True, eq=False)
class Seen:
    """A table and its need as one coalition sees them."""

    # lower, upper: bounds that the coalition knows without any release.
    lower: Floats
    upper: Floats
    need: Need  # Cells to which it comes too close.

    @classmethod
    def by(cls, table: Table, need: Need, found: TooClose) -> Seen:
        """Return the table as seen by a coalition that comes too close."""
        unsafe = np.zeros(table.n_cells, dtype=np.bool_)
        unsafe[found.cells] = True
        lower, upper = found.known.of_all()
        below, above = table.value - lower, upper - table.value
        asked = Need(
            unsafe=unsafe,
            lower=np.where(unsafe, np.minimum(need.lower, below), 0.0),
            upper=np.where(unsafe, np.minimum(need.upper, above), 0.0),
            width=np.where(unsafe, np.minimum(need.width, below + above), 0.0),
        )
        return cls(lower, upper, asked)

    def protect_with(self, table: Table, method: Method, withheld: Mask) -> Protection:
        """Run a method on the table as seen here; suppressed cells stay suppressed."""
        known = self.lower == self.upper
        fixed = known if table.fixed is None else known | table.fixed
        seen = replace(table, lower=self.lower, upper=self.upper, fixed=fixed)
        try:
            return go_on(method, seen, withheld & ~known).protect(seen, self.need)
        except NeedError as error:
            raise unreachable(table, np.flatnonzero(self.need.unsafe)) from error


def go_on(method: Method, table: Table, withheld: Mask) -> Method:
    """Return a method that continues from cells that are suppressed already.

    Methods that cannot, and methods that do not guarantee intervals, are replaced by Greedy.
    """
    traits = traits_of(method)
    if traits.hypercubes and _by_hypercubes(table):
        # Few cells are left: another pass over the whole pattern for each of them gains nothing.
        return Circulation(
            cost=prices_of(table, method), keep=staying(table, method) & ~withheld, start=withheld, rounds=0
        )
    if traits.start:
        continued: Method = replace(cast("Any", method), **{traits.start: withheld})
        return continued
    return Greedy(start=withheld, keep=staying(table, method) & ~withheld, prefer="closing")


def go_on_with_sets(method: Method, table: Table, withheld: Mask, n_sets: int) -> Method:
    """Return a method that continues from suppressed cells in a table with further hidden cells.

    Parameters
    ----------
    method
        The method whose costs, and cells that stay published, apply.
    table
        The table without these cells.
    withheld
        Its suppressed cells.
    n_sets
        Number of further cells, which come last.
    """
    none = np.zeros(n_sets)
    return Greedy(
        cost=np.append(prices_of(table, method), none),
        start=np.append(withheld, none == 0),
        keep=np.append(staying(table, method) & ~withheld, none > 0),
        prefer="closing",
    )


def cost_of(table: Table, method: Method, withheld: Mask) -> float:
    """Return the cost of suppressed cells in a method's own terms."""
    return float(prices_of(table, method)[withheld].sum())


def unreachable(table: Table, cells: Iterable[int]) -> NeedError:
    """Make the error for cells that cannot be protected from a contributor."""
    places = [int(cell) for cell in cells]
    return NeedError(
        "insiders_out_of_reach",
        "{n} cell(s) cannot be protected from a contributor who knows their own contributions",
        where="cells {cells}",
        fix="let more be withheld (keep, fixed: margins too), merge codes, or choose insiders none",
        n=len(places),
        cells=some((f"[{table.describe(cell)}]" for cell in places[:4]), 3),
    )
