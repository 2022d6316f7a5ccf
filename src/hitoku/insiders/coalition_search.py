"""Coalitions of insiders: which of thousands can infer an unsafe cell more closely than its need allows.

For somebody who holds the true table: the auditor, and a method that must resist insiders. (What a coalition
infers from a release alone is the attack :class:`hitoku.attacks.insider.Insider`; no attack sees the truth.)

An unsafe cell is protected from a coalition when a feasible table, one that agrees with the release and with
what the coalition knows, takes the cell as low as it must be able to go, and another as high. Such tables are
witnesses, kept as deviations from the true table that move few cells. A coalition that knows nothing of these
cells cannot object; and as relations and bounds are convex, a deviation may be scaled down until it agrees
with what a coalition knows, and may still reach far enough.

Witnesses come from boxes where the table has variables, for outsiders, then for small crowds at once. What is
missing for some coalition in the end is decided near the cell: the least change that moves it, or relations
that keep it from moving. What is found for one joins the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from scipy import sparse

from hitoku.attacks.contribution import Coalition, Share, pooled, shares_of
from hitoku.attacks.deadline import Deadline
from hitoku.attacks.equations import components
from hitoku.attacks.insider import Insider
from hitoku.attacks.least_change import CellChanges
from hitoku.errors import ParameterError, SolverError
from hitoku.insiders.bound_chains import BoundChains
from hitoku.insiders.box_deviations import BoxDeviations
from hitoku.insiders.cell_witnesses import CellWitnesses, CoalitionReach, Sight
from hitoku.insiders.near_cell import CellInSight
from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.model.finding import Finding, Severity
from hitoku.model.need import Need
from hitoku.model.release import Release
from hitoku.model.table import Table
from hitoku.model.tolerance import slack
from hitoku.solver.linear import LinearProgram, Warm

NOBODY: Coalition = ()

# A deviation this small, as a share of the cell, is dust that the solver left.
DUST = 1e-10
# A cell that moves less than this, as a share of what cells of the table usually can, may not move at all:
# ten times what the solver grants itself.
NOISE = 1e-7
# Contributors of a crowd for which boxes are looked for at once, and the most crowds.
CROWD, MOST_CROWDS = 8, 64
# What a move costs in the search for the least change: of a cell, and of one that somebody knows.
PLAIN, WATCHED = 0.1, 1.0
# Up to so many withheld cells programs over all of them are quick.
SMALL = 6_000


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TooClose:
    """A coalition, and the unsafe cells about which it can infer more than they allow.

    Parameters
    ----------
    members
        Contributors, numbered as they first appear in what was given.
    cells
        Positions of the cells.
    lower, upper
        Bounds of all cells that the coalition knows without any release; equal where it knows the value.
    """

    members: Coalition
    cells: Integers
    lower: Floats
    upper: Floats

    def __repr__(self) -> str:
        return f"TooClose({len(self.members)} contributor(s), {len(self.cells)} cell(s))"


@dataclass(frozen=True, slots=True)
class InsiderVerdict:
    """How many coalitions were tried, and the cells that some of them can infer too closely."""

    tried: int
    cells: tuple[int, ...]

    def findings(self, describe: Callable[[int], str]) -> list[Finding]:
        """Say so to the checker; ``describe`` names a cell."""
        if not self.cells:
            tried = f"{self.tried:,} contributor(s), or coalitions of them, were tried"
            return [
                Finding(
                    severity=Severity.PASS,
                    place="insiders",
                    reason=f"{tried}: none comes too close by knowing their own amounts",
                )
            ]
        return [
            Finding(
                severity=Severity.FAIL,
                place=describe(cell),
                reason="what a contributor can infer who knows their own amounts is closer than required",
                advice="withhold more cells in its relations, those of several contributors",
            )
            for cell in self.cells
        ]


class CoalitionSearch:
    """One release of a table, its unsafe cells, and everybody who contributed to a withheld cell.

    Intervals are those of real numbers, whatever ``attack.integer``.

    Parameters
    ----------
    table
        The true values; cells that are zero and may not be withheld are known to everybody.
    need
        How far each unsafe cell must be free to move around its true value. What a coalition knows without
        any release is not held against the release.
    release
        What is published.
    attack
        Who knows what, how many may pool it, and the limits of the search.
    before
        A search on a release of the same table that withheld less: its witnesses are feasible still.

    Examples
    --------
    >>> from hitoku.attacks.contribution import Contribution
    >>> from hitoku.model.protection import Protection
    >>> table = Table.from_array([[7, 11], [10, 60]])
    >>> release = Release.of(table, Protection.withhold(table, table.inner))
    >>> attack = Insider([Contribution("A", cell=0, amount=7, sole=True)])
    >>> search = CoalitionSearch(table, Need(unsafe=table.value == 60), release, attack)
    >>> [found.cells.tolist() for found in search.too_close()]
    [[4]]
    """

    def __init__(
        self,
        table: Table,
        need: Need,
        release: Release,
        attack: Insider,
        before: CoalitionSearch | None = None,
    ) -> None:
        truth = table.value
        self._release, self._truth, self._need = release, truth, need
        self._size, self._limit = attack.coalition, attack.limit
        self._deadline = Deadline(attack.time_limit_s)
        self._shares = shares_of(attack.contributions, release.n_cells)
        self._withheld = np.flatnonzero(release.withheld)
        # Structural zeros: published as zero whatever is withheld.
        fixed = np.zeros(table.n_cells, dtype=np.bool_) if table.fixed is None else table.fixed
        self._zeros = np.flatnonzero(fixed & (truth == 0))
        self._slack = slack(truth)
        self._dust = slack(truth, DUST)
        matrix = sparse.csr_array(release.relations[:, self._withheld])
        self._matrix = sparse.csr_array(matrix[np.diff(matrix.indptr) > 0])
        self._room = np.maximum(truth - release.lower, 0.0), np.maximum(release.upper - truth, 0.0)
        usual = np.concatenate([side[np.isfinite(side) & (side > 0)] for side in self._room])
        self._least = np.maximum(self._slack, NOISE * (np.median(usual) if len(usual) else 1.0))
        self._chains = BoundChains(release.relations, self._slack)
        self._bounds = self._outside_bounds()
        self._refuse_strangers()
        self.witnesses: CellWitnesses = CellWitnesses(release.n_cells) if before is None else before.witnesses
        watched = np.zeros(release.n_cells, dtype=np.bool_)
        watched[[cell for shares in self._shares for cell in shares]] = True
        ends = -self._room[0][self._withheld], self._room[1][self._withheld]
        self._changes = CellChanges.of(self._matrix, *ends)
        n_rows, n_columns = self._matrix.shape
        self._warm = Warm(LinearProgram(np.zeros(n_columns), self._matrix, np.zeros(n_rows), *ends))
        self._ends = ends[0].copy(), ends[1].copy()
        self._released = BoundChains(self._matrix, self._slack[self._withheld])
        self._released.tighten(*self._ends)
        self._weight = np.where(watched[self._withheld], WATCHED, PLAIN)
        self.open = np.flatnonzero(need.unsafe & release.withheld)
        boxes = BoxDeviations(table, release.withheld, watched) if before is None else None
        boxed = set() if boxes is None else self._add_boxes(boxes, self.open, self._room)
        # What everybody can infer is not what insiders learn.
        self.outside = self.examine(NOBODY).cells
        self.open = np.setdiff1d(self.open, self.outside)
        if boxes is not None:
            for crowd in self._crowds():
                self._suit(crowd, boxes, boxed)

    def _refuse_strangers(self) -> None:
        """Raise when some contribution contradicts the true table."""
        for number, shares in enumerate(self._shares):
            for cell, amount, known in pooled([shares]):
                off = amount - self._truth[cell]
                bounded = self._release.lower[cell] >= 0
                if (known and abs(off) > self._slack[cell]) or (bounded and off > self._slack[cell]):
                    raise ParameterError(
                        "a contribution does not fit the table",
                        where=f"contributor number {number + 1}, cell {self._release.describe(cell)}",
                        fix="check cells and amounts, and that sole contributors are alone",
                    )

    def too_close(self) -> Iterator[TooClose]:
        """Yield every coalition that can infer some unsafe cell too closely."""
        return (found for found in map(self.examine, self.coalitions()) if len(found.cells))

    def verdict(self) -> InsiderVerdict:
        """Try every coalition."""
        cells = {int(cell) for found in self.too_close() for cell in found.cells}
        return InsiderVerdict(len(self.coalitions()), tuple(sorted(cells)))

    def coalitions(self) -> tuple[Coalition, ...]:
        """Return coalitions that know something of a group of cells that hang together."""
        _, _, group = components(self._matrix)
        place = np.full(self._release.n_cells, -1)
        place[self._withheld] = group
        inside: dict[int, list[int]] = {}
        for member, shares in enumerate(self._shares):
            for one in sorted({int(place[cell]) for cell in shares} - {-1}):
                inside.setdefault(one, []).append(member)
        sizes = range(1, self._size + 1)
        n = sum(comb(len(people), size) for people in inside.values() for size in sizes)
        if n > self._limit:
            raise ParameterError(
                f"{n} coalitions to try, the limit is {self._limit}",
                where=f"coalitions of up to {self._size} contributors",
                fix="take a smaller coalition, name fewer contributors, or raise limit",
            )
        every = (c for people in inside.values() for size in sizes for c in combinations(people, size))
        return tuple(dict.fromkeys(every))

    def _add_boxes(self, boxes: BoxDeviations, cells: Integers, room: tuple[Floats, Floats]) -> set[int]:
        """Look for boxes that take cells far enough for somebody; return the cells that have some."""
        reach, found = self._reach(cells, room), set()
        levels = reach.lower, reach.upper, np.maximum(reach.width, 2 * reach.least)
        for own, moved, amounts, both in boxes.found(cells, levels, room):
            found.add(own)
            self.witnesses.add(own, moved, amounts)
            if both:
                self.witnesses.add(own, moved, -amounts)
        return found

    def _crowds(self) -> Iterator[list[dict[int, Share]]]:
        """Return crowds of a few of those who contributed to withheld cells, each of them in one."""
        withheld = self._release.withheld
        people = [shares for shares in self._shares if any(withheld[cell] for cell in shares)]
        n_crowds = min(-(-len(people) // CROWD), MOST_CROWDS)
        return (people[first::n_crowds] for first in range(n_crowds))

    def _suit(self, crowd: list[dict[int, Share]], boxes: BoxDeviations, boxed: set[int]) -> None:
        """Look for boxes that agree with what each of a crowd knows, where the witnesses so far do not."""
        lower, known = self._release.lower.copy(), np.zeros(self._release.n_cells, dtype=np.bool_)
        shrunk: set[int] = set()
        for shares in crowd:
            shrunk |= self.witnesses.shrunk(self._sight([shares])).keys()
            for cell, amount, all_of_it in pooled([shares]):
                known[cell] |= all_of_it
                if lower[cell] >= 0:
                    lower[cell] = max(lower[cell], min(amount, self._truth[cell]))
        room = np.where(known, 0.0, self._truth - lower), np.where(known, 0.0, self._room[1])
        cells = np.array(sorted(self.witnesses.owners(shrunk) & boxed), dtype=np.int64)
        self._add_boxes(boxes, cells[~known[cells]], room)

    def _reach(self, cells: Integers, room: tuple[Floats, Floats]) -> CoalitionReach:
        """Return how far cells must move for somebody who gives them so much room without a release."""
        need, (below, above) = self._need, (side[cells] for side in room)
        # What a coalition knows without the release no release can blur.
        lower, upper = np.minimum(need.lower[cells], below), np.minimum(need.upper[cells], above)
        width = np.minimum(need.width[cells], below + above)
        return CoalitionReach(cells, self._slack[cells], self._least[cells], lower, upper, width)

    def examine(self, members: Coalition) -> TooClose:
        """Return the open cells about which a coalition can infer too much."""
        if self._deadline.over:
            raise SolverError(
                "time was over before every contributor had been tried",
                where="attack insider",
                fix="raise time_limit_s, or leave it out",
            )
        shares = [self._shares[member] for member in members]
        lower, upper, known = self._knowledge(shares)
        cells = self.open[~known[self.open]]
        room = self._truth - lower, upper - self._truth
        reach = self._reach(cells, room)
        reach.take(self.witnesses, self.witnesses.shrunk(self._sight(shares)))
        if reach.missing.any():
            self._settle(members, reach, room)
        return TooClose(members, cells[reach.missing], lower, upper)

    def _sight(self, shares: Sequence[dict[int, Share]]) -> Iterator[Sight]:
        """Return how far cells can go down and up for a coalition that contributed to them."""
        for cell, amount, known in pooled(shares):
            if known:
                yield cell, 0.0, 0.0
            elif self._release.lower[cell] >= 0:
                yield cell, float(max(self._truth[cell] - amount, 0.0)), np.inf

    def _outside_bounds(self) -> tuple[Floats, Floats]:
        """Return the bounds that everybody knows without any release."""
        lower, upper = self._release.lower.copy(), self._release.upper.copy()
        lower[self._zeros] = upper[self._zeros] = 0.0
        self._chains.tighten(lower, upper)
        return lower, upper

    def _knowledge(self, shares: Sequence[dict[int, Share]]) -> tuple[Floats, Floats, Mask]:
        """Bounds that a coalition knows without any release, and the cells that it knows exactly."""
        lower, upper, truth = self._bounds[0].copy(), self._bounds[1].copy(), self._truth
        told = []
        for cell, amount, known in pooled(shares):
            told.append(cell)
            if known:
                lower[cell] = upper[cell] = truth[cell]
            elif lower[cell] >= 0:
                lower[cell] = max(lower[cell], min(amount, truth[cell]))
        # Who has so much in the parts has at least as much in their total, and so on.
        self._chains.tighten(lower, upper, np.array(told, dtype=np.int64))
        lower, upper = np.minimum(lower, truth), np.maximum(upper, truth)
        return lower, upper, upper - lower <= self._dust

    def _settle(self, members: Coalition, reach: CoalitionReach, room: tuple[Floats, Floats]) -> None:
        """Decide about cells that are missing, at once where that is easy, then each by what is near it."""
        down, up = (side[self._withheld] for side in room)
        possible = self._possible(reach, down, up)
        if members != NOBODY and len(self._withheld) <= SMALL:
            self._push(reach, possible, down, up)
        ways = self._changes.within(-down, up)
        for one in np.flatnonzero(reach.missing & possible).tolist():
            own = int(reach.cells[one])
            cell = CellInSight(reach, one, int(np.searchsorted(self._withheld, own)), self._weight)
            for places, amounts in cell.changes(ways):
                self.witnesses.add(own, self._withheld[places], amounts)

    def _push(self, reach: CoalitionReach, possible: Mask, down: Floats, up: Floats) -> None:
        """Move all cells that are missing at once, none of them farther than it has to go, while that helps.

        Such a deviation moves so many cells that it is of no use to anybody else.
        """
        while (which := np.flatnonzero(reach.missing & possible)).size > 1:
            for way in (1.0, -1.0):
                places = np.searchsorted(self._withheld, reach.cells[which])
                low, high, cost = -down, up.copy(), np.zeros(len(down))
                low[places] = np.maximum(low[places], -reach.enough[which])
                high[places] = np.minimum(high[places], reach.enough[which])
                cost[places] = -way
                self._warm.bounds(low, high)
                moved = self._warm.solve(cost, details=False).x
                if moved is not None:
                    reach.note(which, np.clip(moved, low, high)[places])
            if np.count_nonzero(reach.missing & possible) == len(which):
                break

    def _possible(self, reach: CoalitionReach, down: Floats, up: Floats) -> Mask:
        """Tell which cells are not kept from what they need by one relation after the other."""
        low, high = np.maximum(self._ends[0], -down), np.minimum(self._ends[1], up)
        told = np.flatnonzero((low != self._ends[0]) | (high != self._ends[1]))
        if len(told):
            self._released.tighten(low, high, told)
        places = np.searchsorted(self._withheld, reach.cells)
        return reach.far_enough(np.maximum(-low[places], 0.0), np.maximum(high[places], 0.0))
