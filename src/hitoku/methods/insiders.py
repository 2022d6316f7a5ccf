"""Contributors as attackers: withhold more until none of them comes too close to an unsafe cell.

A contributor knows their own amounts, so to them the release is another one: cells of which they are the only
contributor are as good as published, and others are no less than their own amount in them. That release
must blur the unsafe cells as far as the need asks, too. Where it does not, the method runs again on the table
as that contributor sees it, starting from what is withheld already.

Withholding more never tells anybody more: whoever has been dealt with stays dealt with, and cells withheld
for somebody's sake were published before, so their contributors learn nothing from knowing them. Only those
who came too close are tried again, and every round withholds more or ends in an error, so it ends. That it
was enough is not assumed: the audit attacks the final release afresh, with everybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hitoku.attacks.contribution import Contribution
from hitoku.attacks.insider import Insider
from hitoku.attacks.watch import Coalition, TooClose, Watch
from hitoku.errors import NeedError, some
from hitoku.methods.costs import costs
from hitoku.methods.gauss import Gauss
from hitoku.methods.gauss.gauss import as_mask
from hitoku.methods.greedy import Greedy
from hitoku.methods.keep import kept
from hitoku.methods.method import Method, Progress
from hitoku.methods.optimal import Optimal
from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.model.need import Need
from hitoku.model.protection import Protection
from hitoku.model.release import Release
from hitoku.model.table import Table


def insiders_of(table: Table, given: Any) -> Insider | None:
    """Read what a caller says about insiders: nothing, those the table shows, an attack, contributions.

    Parameters
    ----------
    table
        The table, which knows the largest contributions of its cells.
    given
        False or None: nobody. True: the contributors that the table shows, see :func:`contributions_in`. Or
        an :class:`Insider`, or what it takes as contributions.
    """
    if given is None or given is False:
        return None
    if given is True:
        return Insider(contributions_in(table))
    return given if isinstance(given, Insider) else Insider(given)


def contributions_in(table: Table) -> tuple[Contribution, ...]:
    """Return the contributions that a table shows by itself: sole contributors, and the largest of each cell.

    A table knows amounts, not names. Whoever is alone in a total is alone in its parts: that is one
    contributor. Otherwise each cell's largest contributor counts as somebody else; a firm behind several
    cells that are not each other's parts takes records to find.

    Examples
    --------
    >>> from hitoku.testing import one_cell
    >>> contributions_in(one_cell(80, 15, 5)), contributions_in(one_cell(7))
    ((Contribution(cell 0),), (Contribution(cell 0, sole),))
    """
    contributors = table.contributors
    if contributors is None:
        raise NeedError(
            "the table does not say who contributes to its cells",
            where="insiders",
            fix="start from records with tabulate(..., value=..., unit=...), or say insiders=False",
        )
    sole = contributors.count == 1
    owner = _owners(table, sole)
    found = [
        Contribution(("sole", int(owner[cell])), int(cell), float(table.value[cell]), sole=True)
        for cell in np.flatnonzero(sole)
    ]
    # Contributions below zero bound nothing, and those of another variable say nothing about this one.
    comparable = not contributors.negative and np.array_equal(contributors.total, table.value)
    if comparable and contributors.largest.shape[1]:
        largest = np.minimum(contributors.largest[:, 0], table.value)
        found += [
            Contribution(("largest", int(cell)), int(cell), float(largest[cell]))
            for cell in np.flatnonzero(~sole & (largest > 0))
        ]
    return tuple(found)


def _owners(table: Table, sole: Mask) -> Integers:
    """Return a number for each sole contributor: a total and its parts that are not empty have the same."""
    owner = np.arange(table.n_cells)
    relations = table.relations
    totals = relations.data < 0
    row = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    alone = np.zeros(relations.shape[0], dtype=np.bool_)
    alone[row[totals & sole[relations.indices]]] = True
    keep = alone[row] & sole[relations.indices]
    changed = True
    while changed:
        first = np.full(relations.shape[0], table.n_cells)
        np.minimum.at(first, row[keep], owner[relations.indices[keep]])
        lower = owner.copy()
        np.minimum.at(lower, relations.indices[keep], first[row[keep]])
        changed = not np.array_equal(lower, owner)
        owner = lower
    return owner


def against_insiders(
    table: Table,
    need: Need,
    protection: Protection,
    *,
    method: Method,
    attack: Insider,
    progress: Progress | None = None,
) -> Protection:
    """Withhold more until no coalition comes closer to an unsafe cell than the need allows.

    Cells that everybody can infer too closely are not looked after here: that is for the method to do, and
    for the audit to find out.

    Parameters
    ----------
    table, need
        What to protect.
    protection
        What a method has decided without thinking of insiders.
    method
        The method, which goes on from there.
    attack
        Who knows what, and how many may pool it.
    progress
        Told how many coalitions are dealt with, of how many.

    Raises
    ------
    NeedError
        When some cell cannot be protected from somebody, whatever else is withheld; it names the cells.
    """
    withheld = np.array(protection.withheld)
    steps = protection.steps
    watch = _watch(table, need, withheld, attack)
    found = [one for one in _short(watch, watch.coalitions(), progress) if len(one.cells)]
    while found:
        before = withheld.copy()
        for one in found:
            more = Seen.by(table, need, one).protected(table, method, withheld)
            withheld |= more.withheld
            steps += more.steps
        if np.array_equal(withheld, before):
            raise unreachable(table, found[0].cells)
        watch = _watch(table, need, withheld, attack, watch)
        found = [one for one in _short(watch, [one.members for one in found]) if len(one.cells)]
    if np.array_equal(withheld, protection.withheld):
        return protection
    return replace(
        protection,
        withheld=withheld,
        secondary=withheld & ~need.unsafe,
        cost=_cost(table, method, withheld),
        # The least cost was proven for a need without insiders.
        proven=False,
        gap=float("nan"),
        steps=steps,
    )


def _short(
    watch: Watch, coalitions: Sequence[Coalition], progress: Progress | None = None
) -> Iterator[TooClose]:
    for done, members in enumerate(coalitions, start=1):
        yield watch.short(members)
        if progress is not None:
            progress(done, len(coalitions))


def _watch(table: Table, need: Need, withheld: Mask, attack: Insider, before: Watch | None = None) -> Watch:
    release = Release.of(table, Protection.withhold(table, withheld, need))
    return attack.watch(release, table.value, need, before)


@dataclass(frozen=True, eq=False)
class Seen:
    """A table and its need as one coalition sees them.

    Parameters
    ----------
    lower, upper
        Bounds that it knows without any release.
    need
        The cells to which it comes too close.
    """

    lower: Floats
    upper: Floats
    need: Need

    @classmethod
    def by(cls, table: Table, need: Need, found: TooClose) -> Seen:
        """See a table as somebody does who comes too close."""
        unsafe = np.zeros(table.n_cells, dtype=np.bool_)
        unsafe[found.cells] = True
        below, above = table.value - found.lower, found.upper - table.value
        asked = Need(
            unsafe=unsafe,
            lower=np.where(unsafe, np.minimum(need.lower, below), 0.0),
            upper=np.where(unsafe, np.minimum(need.upper, above), 0.0),
            width=np.where(unsafe, np.minimum(need.width, below + above), 0.0),
        )
        return cls(found.lower, found.upper, asked)

    def protected(self, table: Table, method: Method, withheld: Mask) -> Protection:
        """Run a method on the table as it is seen here; what is withheld already stays so."""
        known = self.lower == self.upper
        fixed = known if table.fixed is None else known | table.fixed
        seen = replace(table, lower=self.lower, upper=self.upper, fixed=fixed)
        try:
            return _onwards(method, seen, withheld & ~known).protect(seen, self.need)
        except NeedError as error:
            raise unreachable(table, np.flatnonzero(self.need.unsafe)) from error


def _onwards(method: Method, table: Table, withheld: Mask) -> Method:
    """Return a method that goes on from cells that are withheld already.

    Those that cannot, and those that promise no intervals, hand over to the greedy one.
    """
    if isinstance(method, Greedy):
        return replace(method, start=withheld)
    if isinstance(method, Optimal):
        return replace(method, withhold=withheld)
    stay = kept(table, getattr(method, "keep", None))
    if isinstance(method, Gauss):
        stay = stay | as_mask(method.forced, table.n_cells, "forced")
        if method.zeros == "structural":
            stay = stay | (table.value == 0)
    return Greedy(start=withheld, keep=stay & ~withheld, prefer="closing")


def _cost(table: Table, method: Method, withheld: Mask) -> float:
    if isinstance(method, Greedy):
        return float(costs(table, method.cost)[withheld].sum())
    if isinstance(method, Optimal):
        return float(costs(table, method.cost, method.power)[withheld].sum())
    return float(withheld.sum())


def unreachable(table: Table, cells: Iterable[int]) -> NeedError:
    """Make the error for cells that cannot be protected from a contributor."""
    places = [int(cell) for cell in cells]
    return NeedError(
        f"{len(places)} cell(s) cannot be protected from somebody who knows their own contributions",
        where=f"cells {some((f'[{table.describe(cell)}]' for cell in places[:4]), 3)}",
        fix="let more be withheld (keep, fixed: margins too), merge codes, ask for less, or insiders=False",
    )
