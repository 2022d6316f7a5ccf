"""Published cells as sums over atoms, and the groups of atoms that cannot contain many units.

Atoms are the combinations of codes that no output splits further. An atom that cannot contain as many units
as the threshold in any feasible table is disclosed. By duality there is then a sum of published cells, some
subtracted, that is nowhere negative, covers the atom and is less than the threshold. That sum is the proof,
and can be checked by addition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import sparse

from hitoku.attacks.differencing.axes import in_words
from hitoku.attacks.differencing.common_refinement import refine
from hitoku.attacks.differencing.partition import Partition
from hitoku.attacks.interval import Interval
from hitoku.errors import ParameterError
from hitoku.messages import Text, join
from hitoku.model import Floats, Integers, Labels, Mask, Release, rational
from hitoku.solver.linear import LinearProgram, SolverStatus, solve

# Largest number of combinations of codes that are examined individually.
MAX_ATOMS = 200_000
# The same for units, and for published cells; above it, linear programs would take minutes.
MAX_TOGETHER = 500
# Coefficients of a proof are fractions with denominators up to this.
MAX_DENOMINATOR = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A published cell in a proof: release, cell, coefficient, value and name."""

    release: int
    cell: int
    times: Fraction
    value: float
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosed:
    """A group that releases single out together."""

    group: str
    """Description of the group."""
    most: float
    """Upper bound on its size."""
    exact: bool
    """Whether the sum counts every unit of the group once, so that the bound is its size."""
    terms: tuple[Term, ...]
    """The proof."""

    @property
    def releases(self) -> tuple[int, ...]:
        """Positions of the releases that disclose it."""
        return tuple(sorted({term.release for term in self.terms}))

    def describe(self, names: Mapping[int, str], *, units: bool = False) -> str:
        """Describe the group, the numbers that add up to it, and their releases.

        Parameters
        ----------
        names
            Names of the releases.
        units
            Whether to name what is counted.
        """
        ordered = sorted(self.terms, key=lambda term: (term.times < 0, term.release, term.cell))
        text = ""
        for place, term in enumerate(ordered):
            times = abs(term.times)
            number = f"{term.value:g}" if times == 1 else f"{times} x {term.value:g}"
            sign = "-" if term.times < 0 else "+"
            text += (f"{sign} " if place or term.times < 0 else "") + f"{number} "
        n = f"{self.most:g}"
        if units:
            n = Text("{n:g} unit" if self.most == 1 else "{n:g} units", n=self.most)
        return Text(
            "{group}: {sum} = {n}, from {outputs}"
            if self.exact
            else "{group}: {sum} \N{GREATER-THAN OR EQUAL TO} the group; {n}, from {outputs}",
            group=self.group,
            sum=text.rstrip(),
            n=n,
            outputs=join(
                [Text("{name}", name=names[release]) for release in self.releases], "{first} and {second}"
            ),
        )

    def __str__(self) -> str:
        return self.describe({release: f"output {release + 1}" for release in self.releases})


@dataclass(frozen=True, eq=False, kw_only=True)
class Atoms:
    """Published cells of several outputs over the atoms that they have in common."""

    names: Sequence[str]
    points: Sequence[Sequence[str]]
    """Variables, and the distinguishable values of each: their combinations are the atoms."""
    possible: Integers
    """The combinations that can occur, by position in the list of all."""
    sums: sparse.csr_array
    """Cells by possible atoms."""
    value: Floats
    """Published value of each cell."""
    cells: Sequence[tuple[int, int]]
    """The output of each cell, and its number there."""
    labels: Sequence[str]
    """Label of each cell."""

    def disclosed(self, threshold: float) -> list[Disclosed]:
        """Find the groups below a threshold, the smallest first."""
        return self.judge(threshold)[0]

    def judge(self, threshold: float) -> tuple[list[Disclosed], int]:
        """Find the groups below a threshold, the smallest first, and count the atoms that stay undecided."""
        # Small published cells were handled when they were published.
        small = self.sums[np.flatnonzero(self.value < threshold)]
        judged = np.asarray(small.sum(axis=0)).ravel() > 0
        covered = np.asarray(self.sums.sum(axis=0)).ravel() > 0
        found: list[Disclosed] = []
        undecided = 0
        for atom in np.flatnonzero(self._short(covered & ~judged, threshold)):
            if judged[atom]:
                continue
            one, support = self._proof(int(atom))
            judged |= support
            undecided += one is None
            # Empty groups are the subject of the rules on groups.
            if one is not None and 0 < one.most < threshold:
                found.append(one)
        return sorted(found, key=lambda each: (each.most, each.group)), undecided

    def _short(self, asked: Mask, threshold: float) -> Mask:
        """Return which of some atoms cannot contain as many units as the threshold."""
        kept = self._without_sums()
        sums, value = self.sums[kept], self.value[kept]
        n_cells, n_atoms = sums.shape
        joint = Release(
            published=np.concatenate([np.full(n_atoms, np.nan), value]),
            relations=sparse.hstack([sums, -sparse.eye_array(n_cells)], format="csr"),
            labels=Labels.numbered(n_atoms + n_cells, "atom"),
            integer=True,
        )
        nothing = np.full(n_atoms + n_cells, np.nan)
        goal = nothing.copy()
        goal[np.flatnonzero(asked)] = threshold
        _, reached = Interval().meets(joint, nothing, goal)
        return asked & ~reached[:n_atoms]

    def _without_sums(self) -> Integers:
        """Return cells without those that are the sum of smaller ones of their output.

        Without them, two outputs are a network, and flows take the place of linear programs.
        """
        size = np.diff(self.sums.indptr)
        output = np.array([release for release, _ in self.cells])
        kept: list[int] = []
        for own in np.unique(output):
            owner = np.full(self.sums.shape[1], -1)
            for cell in sorted(np.flatnonzero(output == own).tolist(), key=lambda each: size[each]):
                atoms = self.sums.indices[self.sums.indptr[cell] : self.sums.indptr[cell + 1]]
                parts = np.unique(owner[atoms])
                if len(parts) == 0 or (parts[0] >= 0 and size[parts].sum() == len(atoms)):
                    continue
                if np.all(owner[atoms] < 0):
                    owner[atoms] = cell
                kept.append(cell)
        return np.array(sorted(kept), dtype=np.int64)

    def _proof(self, atom: int) -> tuple[Disclosed | None, Mask]:
        """Find the cheapest sum of published cells that covers an atom and is nowhere negative."""
        n_cells, n_atoms = self.sums.shape
        wanted = np.zeros(n_atoms)
        wanted[atom] = 1.0
        program = LinearProgram(
            cost=self.value,
            relations=sparse.csr_array(self.sums.T),
            rhs=wanted,
            lower=np.full(n_cells, -np.inf),
            row_upper=np.full(n_atoms, np.inf),
        )
        solution = solve(program)
        nothing = np.zeros(n_atoms, dtype=bool)
        nothing[atom] = True
        if solution.status is not SolverStatus.OPTIMAL or solution.x is None:
            return None, nothing
        # A solver's numbers prove nothing; the fractions that they approximate are added up exactly.
        chosen = np.flatnonzero(np.abs(solution.x) > 1e-9)
        times = {int(c): Fraction(float(solution.x[c])).limit_denominator(MAX_DENOMINATOR) for c in chosen}
        covers = self._added_up(times)
        if any(amount < 0 for amount in covers.values()) or covers.get(atom, 0) < 1:
            return None, nothing
        support = np.zeros(n_atoms, dtype=bool)
        support[[place for place, amount in covers.items() if amount > 0]] = True
        most = sum((t * rational(float(self.value[c])) for c, t in times.items()), Fraction(0))
        terms = tuple(
            Term(
                release=self.cells[c][0],
                cell=self.cells[c][1],
                times=t,
                value=float(self.value[c]),
                name=self.labels[c],
            )
            for c, t in sorted(times.items())
        )
        exact = all(amount in (0, 1) for amount in covers.values())
        return Disclosed(group=self._words(support), most=float(most), exact=exact, terms=terms), support

    def _words(self, support: Mask) -> str:
        shape = tuple(map(len, self.points))
        group, there = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        group.flat[self.possible[support]] = True
        there.flat[self.possible] = True
        return in_words(self.names, self.points, group, there)

    def _added_up(self, times: Mapping[int, Fraction]) -> dict[int, Fraction]:
        covers: dict[int, Fraction] = {}
        for cell, t in times.items():
            for place in self.sums.indices[self.sums.indptr[cell] : self.sums.indptr[cell + 1]]:
                covers[int(place)] = covers.get(int(place), Fraction(0)) + t
        return covers


def number_of_atoms(points: Sequence[int], most: int = MAX_ATOMS) -> int:
    """Return the number of atoms; raise if there are too many to examine."""
    n_atoms = int(np.prod(points, dtype=np.float64))
    if n_atoms > most:
        raise ParameterError(
            "too_many_code_combinations",
            "{n} combinations of codes; at most {most} can be compared",
            where="differencing",
            fix="test fewer releases or variables together",
            n=n_atoms,
            most=most,
        )
    return n_atoms


def judge_together(
    parts: Sequence[Partition], threshold: float, most: int | None = None
) -> tuple[list[Disclosed], int] | None:
    """Find the groups that partitions of units single out, considering all of them at once.

    Parameters
    ----------
    parts
        Published partitions with a common quantity; the terms of a proof have their positions, and cells
        from 0.
    threshold
        Minimum size of a group.
    most
        Maximum number of atoms, combinations of cells that occur, and of cells; default ``MAX_TOGETHER``.

    Returns
    -------
    The groups, and the number of undecided atoms; None where there are more atoms, or more cells.

    Examples
    --------
    >>> ages = [10] * 18 + [19] + [25] * 38
    >>> first = Partition.published("first", np.where(np.array(ages) <= 18, 1, 2))
    >>> second = Partition.published("second", np.where(np.array(ages) <= 20, 1, 2))
    >>> [(each.most, each.exact) for each in judge_together([first, second], 10)[0]]
    [(1.0, True)]
    """
    n_cells = sum(len(part) for part in parts)
    most = MAX_TOGETHER if most is None else most
    if n_cells > most:
        return None
    block, n = np.zeros(parts[0].n_units, dtype=np.int32), 1
    codes: list[Integers] = []
    for part in parts:
        finer, first = refine(block, part.codes, n, len(part) + 1)
        codes = [each[block[first]] for each in codes] + [part.codes[first].astype(np.int64)]
        block, n = finer, len(first)
        if n > most:
            return None
    starts = np.cumsum([0, *map(len, parts)])
    rows = [start + own[own > 0] - 1 for start, own in zip(starts, codes, strict=False)]
    columns = [np.flatnonzero(own) for own in codes]
    places = np.concatenate(rows), np.concatenate(columns)
    sums = sparse.coo_array((np.ones(len(places[0])), places), shape=(n_cells, n)).tocsr()
    return Atoms(
        names=("atom",),
        points=([str(place) for place in range(n)],),
        possible=np.arange(n),
        sums=sparse.csr_array(sums),
        value=np.concatenate([part.sizes[1:] for part in parts]).astype(np.float64),
        cells=[(place, cell) for place, part in enumerate(parts) for cell in range(len(part))],
        labels=[""] * n_cells,
    ).judge(threshold)
