"""Coalitions of insiders: which of thousands can infer an unsafe cell more closely than its need allows.

For somebody who holds the true table: the auditor, and a method that must resist insiders. (What a coalition
infers from a release alone is the attack :class:`hitoku.attacks.insider.Insider`; no attack sees the truth.)

An unsafe cell is protected from a coalition when a feasible table, one that agrees with the release and with
what the coalition knows, takes the cell as low as it must be able to go, and another as high. Such tables are
witnesses, kept as deviations from the true table. Relations and bounds are convex, so a deviation may be
scaled down until it agrees with what another coalition knows, and may still reach far enough: every coalition
is first held against the witnesses found for others. Only for cells that none of them settles is a linear
program solved, and its solution joins the pool.

The pool starts with deviations that agree with half of all contributors at once: those whose number has a
certain binary digit, digit by digit. Any two contributors differ in some digit, so for each of them there are
deviations that leave the cells of the one alone and move those of the other.
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
from hitoku.attacks.equations import ROUNDS, components, parts
from hitoku.attacks.insider import Insider
from hitoku.errors import ParameterError, SolverError
from hitoku.insiders.deviations import CoalitionReach, DeviationPool
from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.model.finding import Finding, Severity
from hitoku.model.need import Need
from hitoku.model.release import Release
from hitoku.model.table import Table
from hitoku.model.tolerance import slack
from hitoku.solver.linear import LinearProgram, Status, Warm

NOBODY: Coalition = ()

# A deviation this small, as a share of the cell, is dust that the solver left.
DUST = 1e-10
# A cell that moves less than this, as a share of what cells of the table usually can, may not move at all:
# ten times what the solver grants itself.
NOISE = 1e-7
# With fewer contributors than this it does not pay to look for deviations that suit many of them.
FEW = 8


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
        self.deviations: DeviationPool = (
            DeviationPool(release.n_cells) if before is None else before.deviations
        )
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
        n_rows, n_columns = self._matrix.shape
        ends = -self._room[0][self._withheld], self._room[1][self._withheld]
        self._warm = Warm(LinearProgram(np.zeros(n_columns), self._matrix, np.zeros(n_rows), *ends))
        self._relations = parts(sparse.csr_array(release.relations))
        unsafe = np.flatnonzero(need.unsafe & release.withheld)
        self._refuse_strangers()
        self.open = unsafe
        # What everybody can infer is not what insiders learn.
        self.outside = self.examine(NOBODY).cells
        self.open = np.setdiff1d(unsafe, self.outside)
        if before is None:
            for crowd in self._crowds():
                self._suit(crowd)

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

    def _crowds(self) -> Iterator[list[dict[int, Share]]]:
        """Return halves of all who contributed to withheld cells; some half parts any two of them.

        Those who know a cell exactly come first, among themselves: they stand in the way of most deviations.
        """
        withheld = self._release.withheld
        people = [shares for shares in self._shares if any(withheld[cell] for cell in shares)]
        exact = [shares for shares in people if any(known for _, _, known in pooled([shares]))]
        for some in (exact, people if len(people) > len(exact) else []):
            if len(some) < FEW:
                continue
            for digit in range((len(some) - 1).bit_length()):
                for side in (0, 1):
                    yield [shares for number, shares in enumerate(some) if number >> digit & 1 == side]

    def _suit(self, crowd: list[dict[int, Share]]) -> None:
        """Collect deviations that agree with what each of a crowd knows, for as many cells as it is easy."""
        lower, known = self._release.lower.copy(), np.zeros(self._release.n_cells, dtype=np.bool_)
        for shares in crowd:
            for cell, amount, all_of_it in pooled([shares]):
                known[cell] |= all_of_it
                if lower[cell] >= 0:
                    lower[cell] = max(lower[cell], min(amount, self._truth[cell]))
        room = np.where(known, 0.0, self._truth - lower), np.where(known, 0.0, self._room[1])
        self._push(self._reach(self.open[~known[self.open]], room), room, alone=False)

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
        reach.take(self.deviations, self._shrunk(shares))
        if reach.missing.any():
            self._push(reach, room)
        return TooClose(members, cells[reach.missing], lower, upper)

    def _knowledge(self, shares: Sequence[dict[int, Share]]) -> tuple[Floats, Floats, Mask]:
        """Bounds that a coalition knows without any release, and the cells that it knows exactly."""
        from hitoku.kernels.elimination import propagate  # noqa: PLC0415 - numba loads when it is needed

        lower, upper, truth = self._release.lower.copy(), self._release.upper.copy(), self._truth
        lower[self._zeros] = upper[self._zeros] = 0.0
        for cell, amount, known in pooled(shares):
            if known:
                lower[cell] = upper[cell] = truth[cell]
            elif lower[cell] >= 0:
                lower[cell] = max(lower[cell], min(amount, truth[cell]))
        # Who has so much in the parts has at least as much in their total, and so on.
        propagate(*self._relations, np.zeros(len(self._relations[0]) - 1), lower, upper, self._slack, ROUNDS)
        lower, upper = np.minimum(lower, truth), np.maximum(upper, truth)
        return lower, upper, upper - lower <= self._dust

    def _shrunk(self, shares: Sequence[dict[int, Share]]) -> Floats:
        """How much of each deviation agrees with what a coalition knows."""
        rows = self.deviations.rows
        scale = np.ones(len(rows))
        for cell, amount, known in pooled(shares):
            moved = rows[:, cell]
            if known:
                scale[np.abs(moved) > self._dust[cell]] = 0.0
            elif self._release.lower[cell] >= 0:
                room = max(self._truth[cell] - amount, 0.0)
                far = -moved > room + self._dust[cell]
                scale[far] = np.minimum(scale[far], room / -moved[far])
        return scale

    def _push(self, reach: CoalitionReach, room: tuple[Floats, Floats], *, alone: bool = True) -> None:
        """Move cells as far as they go, all that are missing at once, then one by one.

        Nothing is tried for cells that one relation after the other keeps from what they need.
        """
        down, up = (side[self._withheld] for side in room)
        places = np.searchsorted(self._withheld, reach.cells)
        possible = reach.far_enough(*(side[places] for side in self._farthest(down, up)))
        while (reach.missing & possible).sum() > 1:
            before = int(reach.missing.sum())
            for upwards in (True, False):
                self._move(reach, np.flatnonzero(reach.missing & possible), down, up, upwards=upwards)
            if reach.missing.sum() == before:
                break
        for one in np.flatnonzero(reach.missing & possible) if alone else ():
            for upwards in (True, False):
                if reach.missing[one]:
                    self._move(reach, np.array([one]), down, up, upwards=upwards)

    def _farthest(self, down: Floats, up: Floats) -> tuple[Floats, Floats]:
        """Return rooms of withheld cells as relations narrow them, one at a time: no table goes farther."""
        from hitoku.kernels.elimination import propagate  # noqa: PLC0415 - numba loads when it is needed

        lower, upper, slack = -down, up.copy(), self._slack[self._withheld]
        propagate(*parts(self._matrix), np.zeros(self._matrix.shape[0]), lower, upper, slack, ROUNDS)
        return np.maximum(-lower, 0.0), np.maximum(upper, 0.0)

    def _move(
        self, reach: CoalitionReach, which: Integers, down: Floats, up: Floats, *, upwards: bool
    ) -> None:
        """Solve one program: these cells together, none of them farther than it has to go."""
        places = np.searchsorted(self._withheld, reach.cells[which])
        down, up = down.copy(), up.copy()
        side = up if upwards else down
        side[places] = np.minimum(side[places], reach.enough[which])
        cost = np.zeros(len(self._withheld))
        cost[places] = 1.0
        self._warm.bounds(-down, up)
        solution = self._warm.solve(cost, maximise=upwards, details=False)
        if solution.status is not Status.OPTIMAL or solution.x is None:
            # Zero fits and every cell pushed has an end, so anything but an optimum is the solver's failure.
            raise SolverError(
                f"the solver ended with {solution.status} on a program that has an optimum",
                where="attack insider",
                fix="look for values of very different size in one table, or split it",
            )
        deviation = np.zeros(self._release.n_cells)
        deviation[self._withheld] = np.clip(solution.x, -down, up)
        if reach.note(deviation):
            self.deviations.add(deviation)
