"""Search for coalitions that can infer an unsafe cell more closely than its levels allow.

For callers that hold the true table: the audit, and methods that protect against insiders. (The attack
:class:`hitoku.attacks.insider.Insider` computes what a coalition infers from a release alone.)

An unsafe cell is protected from a coalition if one feasible table, which agrees with the release and with
what the coalition knows, has the cell at its lower level, and another one at its upper level. Such tables are
witnesses, kept as deviations from the true table that move few cells. A coalition that knows nothing of these
cells cannot rule a witness out. As relations and bounds are convex, a deviation may also be scaled down until
it agrees with what a coalition knows, and may still reach far enough.

In cross tables, witnesses are found along hypercubes. A witness that moves a cell known to a coalition may be
repaired: others that move the same cell are added until it is unchanged. If that fails, hypercubes are
searched for this coalition. Remaining cells are decided by the least deviation that moves them, or by
relations that prevent it. All deviations are kept for other coalitions. The work for a coalition is mostly
for the cells whose witnesses it can rule out, and does not grow with the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np
from scipy import sparse

from hitoku.attacks import Coalition, Insider, shares_of
from hitoku.coalitions.cell_witnesses import AttackerView, CellWitnesses, CoalitionRange, HypercubeDeviations
from hitoku.coalitions.insider_choice import InsiderVerdict, TooClose
from hitoku.coalitions.near_cell import CellSearch, Knowledge, KnownBounds, Shares
from hitoku.errors import ParameterError, SolverError
from hitoku.feasibility import SMALL, DeviationSearch, Incidence, Problem, Propagation
from hitoku.model import BOUND, Floats, Integers, Mask, Need, Release, Table, reaches, slack
from hitoku.solver.linear import LinearProgram, Warm
from hitoku.solver.solution import CountedWork, Deadline

NOBODY: Coalition = ()
NO_CELLS: Integers = np.zeros(0, dtype=np.int64)

# Cost of moving a cell about which no contributor knows anything; other cells cost one.
UNKNOWN_COST = 0.1


class CoalitionSearch:
    """Search over the coalitions of all contributors to suppressed cells of a release.

    Intervals are over real numbers, whatever ``attack.integer``.

    Parameters
    ----------
    table
        The true table; cells that are zero and must be published are known to every attacker.
    need
        Levels of the unsafe cells. What a coalition knows without any release is not counted against it.
    release
        Published table.
    attack
        Contributions, largest size of coalitions, and limits of the search.
    before
        A search on a release of the same table with fewer suppressed cells: its witnesses remain feasible.

    Examples
    --------
    >>> from hitoku.attacks import Contribution
    >>> from hitoku.model import Protection
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
        # Programs are counted but not interrupted, so their results hold; at the limit no cell is started.
        self.work: CountedWork = CountedWork() if before is None else before.work
        self._work_limit = np.inf if attack.work_limit is None else attack.work_limit
        self.undecided: set[Coalition] = set() if before is None else set(before.undecided)
        self._shares = shares_of(attack.contributions, release.n_cells)
        self._slack = slack(truth)
        self._withheld = np.flatnonzero(release.withheld)
        self._place = np.full(release.n_cells, -1)
        self._place[self._withheld] = np.arange(len(self._withheld))
        matrix = sparse.csr_array(release.relations[:, self._withheld])
        self._matrix = sparse.csr_array(matrix[np.diff(matrix.indptr) > 0])
        self._incidence = Incidence.of(self._matrix)
        # Slacks of all cells, published or not, that every attacker knows.
        self.room = room = np.maximum(truth - release.lower, 0.0), np.maximum(release.upper - truth, 0.0)
        # Smaller movements, as a share of the median slack, may be rounding.
        usual = np.concatenate([side[np.isfinite(side) & (side > 0)] for side in room])
        self._least = np.maximum(self._slack, BOUND * (np.median(usual) if len(usual) else 1.0))
        self._knowledge = Knowledge(table, release) if before is None else before.knowledge
        self._knowledge.refuse_strangers(self._shares)
        self.witnesses: CellWitnesses = CellWitnesses(release.n_cells) if before is None else before.witnesses
        watched = np.zeros(release.n_cells, dtype=np.bool_)
        watched[[cell for shares in self._shares for cell in shares]] = True
        # Published cells cannot move.
        self._room = np.where(release.withheld, room[0], 0.0), np.where(release.withheld, room[1], 0.0)
        self._changes = DeviationSearch.of(
            Problem.deviations(self._matrix, -room[0][self._withheld], room[1][self._withheld])
        )
        # Slacks of suppressed cells that every attacker knows without the release, and with it by bound
        # propagation; the knowledge of one coalition is added on the slate.
        self._outsiders = self._knowledge.of([])
        lower, upper = self._outsiders.of(self._withheld)
        self._public = truth[self._withheld] - lower, upper - truth[self._withheld]
        ends = -self._public[0], self._public[1].copy()
        self._released = Propagation(self._incidence, self._slack[self._withheld])
        self._released.tighten(*ends)
        self._ends, self._slate = ends, (ends[0].copy(), ends[1].copy())
        self._weight = np.where(watched[self._withheld], 1.0, UNKNOWN_COST)
        public = self._knowledge.public
        known = public[1] - public[0] <= self._knowledge.dust
        self.open = np.flatnonzero(need.unsafe & release.withheld & ~known)
        price = np.where(watched, 1.0, UNKNOWN_COST)
        self._hypercubes = HypercubeDeviations(table, release.withheld, price, room)
        if before is None:
            self.witnesses.add_all(self._hypercubes.found([self.wanted(self.open, self._outsiders)]))
        # Cells that every attacker can infer are not counted against insiders.
        self.outside = self.examine(NOBODY).cells
        self.open = np.setdiff1d(self.open, self.outside)
        self._is_open = np.zeros(release.n_cells, dtype=np.bool_)
        self._is_open[self.open] = True

    @property
    def knowledge(self) -> Knowledge:
        """Knowledge without any release."""
        return self._knowledge

    def too_close(self) -> Iterator[TooClose]:
        """Yield every coalition that can infer an unsafe cell too closely."""
        return (found for found in self.examined(self.coalitions()) if len(found.cells))

    def examined(self, coalitions: Sequence[Coalition]) -> Iterator[TooClose]:
        """Examine coalitions, after a search for hypercubes for all of them."""
        lacking = self._suit(coalitions)
        # Witnesses are only added, so results for the other coalitions remain valid.
        return (
            self.examine(members) if members in lacking else TooClose(members, NO_CELLS, self._outsiders)
            for members in coalitions
        )

    def verdict(self) -> InsiderVerdict:
        """Examine every coalition."""
        cells = {int(cell) for found in self.too_close() for cell in found.cells}
        return InsiderVerdict(len(self.coalitions()), tuple(sorted(cells)), len(self.undecided))

    def coalitions(self) -> tuple[Coalition, ...]:
        """Return the coalitions whose members know cells of the same connected component."""
        place = np.full(self._release.n_cells, -1)
        place[self._withheld] = self._incidence.parts.cell
        inside: dict[int, list[int]] = {}
        for member, shares in enumerate(self._shares):
            for one in sorted({int(place[cell]) for cell in shares} - {-1}):
                inside.setdefault(one, []).append(member)
        sizes = range(1, self._size + 1)
        n = sum(comb(len(people), size) for people in inside.values() for size in sizes)
        if n > self._limit:
            raise ParameterError(
                "too_many_coalitions",
                "{n} coalitions to try, the limit is {limit}",
                where="coalitions of up to {size} contributors",
                fix="use a smaller coalition, name fewer contributors, or raise limit",
                n=n,
                limit=self._limit,
                size=self._size,
            )
        every = (c for people in inside.values() for size in sizes for c in combinations(people, size))
        return tuple(dict.fromkeys(every))

    def _lacking(self, members: Coalition) -> tuple[Integers, Floats, Floats]:
        """Return open cells whose witnesses are too short once what a coalition knows is respected.

        And how far the remaining witnesses move these cells down and up.
        """
        if members == NOBODY:
            return self.open, -self.witnesses.low[self.open], self.witnesses.high[self.open]
        scale = self.witnesses.shrunk(self._knowledge.sight(self._of(members)))
        cells = np.array(sorted(self.witnesses.owners(scale)), dtype=np.int64)
        cells = cells[self._is_open[cells]]
        reach = np.array([self.witnesses.reach(cell, scale) for cell in cells.tolist()]).reshape(-1, 2)
        down, up = reach[:, 0], reach[:, 1]
        need = self._need
        levels = need.lower[cells], need.upper[cells], need.width[cells]
        lacks = ~(reaches(down, up, *levels, self._slack[cells]) & (down + up > self._least[cells]))
        return cells[lacks], down[lacks], up[lacks]

    def _of(self, members: Coalition) -> Shares:
        return [self._shares[member] for member in members]

    def _suit(self, coalitions: Sequence[Coalition]) -> set[Coalition]:
        """Search for hypercubes that agree with what a coalition knows, if no witness does, even repaired.

        Returns
        -------
        The coalitions for which witnesses were missing.
        """
        lacking, wanted = set(), []
        for members in coalitions:
            reach, known = self._reach_of(members)
            if reach.missing.any():
                lacking.add(members)
                if self._over:
                    continue
                self.work.add(len(reach.cells) * self._release.n_cells)
                asked = reach.missing & self._possible(reach, known)
                wanted.append(self.wanted(reach.cells[asked], known))
        self.witnesses.add_all(self._hypercubes.found(wanted))
        return lacking

    def wanted(self, cells: Integers, known: KnownBounds) -> AttackerView:
        """Return the view of an attacker: required movements of cells, and slacks of known cells."""
        truth = self._truth[known.cells]
        return AttackerView(
            cells, self._levels(cells, known), known.cells, (truth - known.lower, known.upper - truth)
        )

    def _levels(self, cells: Integers, known: KnownBounds) -> tuple[Floats, Floats, Floats]:
        """Return the required movement of cells down, up, and in total, for an attacker."""
        lower, upper = known.of(cells)
        below, above, need = self._truth[cells] - lower, upper - self._truth[cells], self._need
        # No release can protect what a coalition knows without it.
        width = np.minimum(need.width[cells], below + above)
        return np.minimum(need.lower[cells], below), np.minimum(need.upper[cells], above), width

    def examine(self, members: Coalition) -> TooClose:
        """Return the open cells that a coalition can infer too closely, within the work limit.

        A coalition with open cells at the limit is recorded as undecided.
        """
        reach, known = self._reach_of(members)
        if not reach.missing.any():
            return TooClose(members, NO_CELLS, known)
        settled = self._settle(members, reach, known)
        if np.any(reach.missing & ~settled):
            self.undecided.add(members)
        return TooClose(members, reach.cells[reach.missing & settled], known)

    @property
    def _over(self) -> bool:
        return self.work.done >= self._work_limit

    def _reach_of(self, members: Coalition) -> tuple[CoalitionRange, KnownBounds]:
        """Return the ranges of cells with too short witnesses for a coalition, and its knowledge."""
        if self._deadline.over:
            raise SolverError(
                "time_over_before_every_contributor",
                "the time limit was reached before every contributor had been tried",
                where="attack insider",
                fix="raise time_limit_s, or leave it out",
            )
        cells, down, up = self._lacking(members)
        known = self._knowledge.of(self._of(members)) if len(cells) else self._outsiders
        lower, upper = known.of(cells)
        # A value that the coalition knows without any release is not disclosed by it.
        kept = upper - lower > self._knowledge.dust[cells]
        reach = self._reach(cells[kept], down[kept], up[kept], known)
        if members != NOBODY and reach.missing.any():
            self._repair(members, reach, known)
        return reach, known

    def _reach(self, cells: Integers, down: Floats, up: Floats, known: KnownBounds) -> CoalitionRange:
        """Return the attainable and required ranges of cells for an attacker."""
        levels = self._levels(cells, known)
        return CoalitionRange(cells, self._slack[cells], self._least[cells], levels, (down, up))

    def _repair(self, members: Coalition, reach: CoalitionRange, known: KnownBounds) -> None:
        """Repair witnesses that a coalition can rule out."""
        scale = self.witnesses.shrunk(self._knowledge.sight(self._of(members)))
        missing = np.flatnonzero(reach.missing)
        down, up = self._room
        had = down[known.cells], up[known.cells]
        truth = self._truth[known.cells]
        down[known.cells] = np.minimum(had[0], truth - known.lower)
        up[known.cells] = np.minimum(had[1], known.upper - truth)
        try:
            moved = self.witnesses.repaired(reach.cells[missing], scale, self._room)
        finally:
            down[known.cells], up[known.cells] = had
        reach.note(missing, -moved[0])
        reach.note(missing, moved[1])

    def _settle(self, members: Coalition, reach: CoalitionRange, known: KnownBounds) -> Mask:
        """Decide the missing cells, together if that is fast, then each by a search near it.

        Returns
        -------
        Mask of the cells that were decided; at the work limit no further cell is started.
        """
        down, up = self._room_in_sight(known)
        possible = self._possible(reach, known)
        settled = ~possible
        if members != NOBODY and len(self._withheld) <= SMALL and not self._over:
            self._push(reach, possible, down, up)
        ways = self._changes.within(-down, up)
        for one in np.flatnonzero(reach.missing & possible).tolist():
            if self._over:
                break
            settled[one] = True
            own = int(reach.cells[one])
            cell = CellSearch(reach, one, int(self._place[own]), self._weight, self.work)
            for places, amounts in cell.deviations(ways):
                self.witnesses.add(own, self._withheld[places], amounts)
        return settled

    def _room_in_sight(self, known: KnownBounds) -> tuple[Floats, Floats]:
        """Return the slacks of suppressed cells down and up for an attacker."""
        down, up = self._public[0].copy(), self._public[1].copy()
        places, more = self._more_room(known)
        down[places], up[places] = more
        return down, up

    def _more_room(self, known: KnownBounds) -> tuple[Integers, tuple[Floats, Floats]]:
        """Return the suppressed cells about which an attacker knows more than others, and their slacks."""
        places = self._place[known.cells]
        withheld = places >= 0
        truth = self._truth[known.cells[withheld]]
        return places[withheld], (truth - known.lower[withheld], known.upper[withheld] - truth)

    @cached_property
    def _program(self) -> Warm:
        """The release as one linear program."""
        n_rows, n_columns = self._matrix.shape
        program = LinearProgram(np.zeros(n_columns), self._matrix, np.zeros(n_rows), *self._ends)
        return Warm(program, work=self.work)

    def _push(self, reach: CoalitionRange, possible: Mask, down: Floats, up: Floats) -> None:
        """Push all missing cells together, none farther than required, while that helps.

        Such deviations move too many cells to be useful for other coalitions.
        """
        while (which := np.flatnonzero(reach.missing & possible)).size > 1:
            for way in (1.0, -1.0):
                places = self._place[reach.cells[which]]
                low, high, cost = -down, up.copy(), np.zeros(len(down))
                low[places] = np.maximum(low[places], -reach.enough[which])
                high[places] = np.minimum(high[places], reach.enough[which])
                cost[places] = -way
                self._program.bounds(low, high)
                moved = self._program.solve(cost, details=False).x
                if moved is not None:
                    reach.note(which, np.clip(moved, low, high)[places])
            if np.count_nonzero(reach.missing & possible) == len(which):
                break

    def _possible(self, reach: CoalitionRange, known: KnownBounds) -> Mask:
        """Return which cells bound propagation does not keep from their levels."""
        (low, high), ends = self._slate, self._ends
        own, (down, up) = self._more_room(known)
        low[own], high[own] = np.maximum(low[own], -down), np.minimum(high[own], up)
        learnt = np.union1d(own, self._released.tighten(low, high, own)) if len(own) else own
        places = self._place[reach.cells]
        far = reach.far_enough(np.maximum(-low[places], 0.0), np.maximum(high[places], 0.0))
        low[learnt], high[learnt] = ends[0][learnt], ends[1][learnt]
        return far
