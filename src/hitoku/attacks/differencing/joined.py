"""Releases without their records: what their codes alone give away together.

Every release is a set of sums over the same atoms, the combinations of codes that no release splits further.
An atom that cannot hold as many units as the threshold, whatever the others hold, is disclosed; by duality
there is then a sum of published cells, added and subtracted, that is nowhere negative, covers the atom and
comes to less than the threshold. That sum is the proof, and anybody can add it up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from scipy import sparse

from hitoku.attacks.differencing.refinement import Axis, Meanings, axes_of, in_words
from hitoku.attacks.interval import Interval
from hitoku.errors import ParameterError
from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.model.labels import Labels
from hitoku.model.rational import rational
from hitoku.model.release import Release
from hitoku.solver.linear import LinearProgram, Status, solve

# Combinations of codes beyond this many are not looked at one by one.
MOST_ATOMS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A published cell in a proof: which release, which cell, how often it is added, and what it says."""

    release: int
    cell: int
    times: Fraction
    value: float
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosed:
    """A group that releases single out together.

    Parameters
    ----------
    group
        Who is in it, in words.
    most
        It holds no more than this.
    exact
        The sum counts every unit of the group once, so it is the group's size and not only a bound.
    terms
        The proof.
    """

    group: str
    most: float
    exact: bool
    terms: tuple[Term, ...]

    @property
    def releases(self) -> tuple[int, ...]:
        """Positions of the releases that give it away."""
        return tuple(sorted({term.release for term in self.terms}))

    def __str__(self) -> str:
        ordered = sorted(self.terms, key=lambda term: (term.times < 0, term.release, term.cell))
        text = ""
        for place, term in enumerate(ordered):
            times = abs(term.times)
            number = f"{term.value:g}" if times == 1 else f"{times} x {term.value:g}"
            sign = "-" if term.times < 0 else "+"
            text += (f"{sign} " if place or term.times < 0 else "") + f"{number} "
        outputs = " and ".join(f"output {release + 1}" for release in self.releases)
        equals = "=" if self.exact else "\N{GREATER-THAN OR EQUAL TO} the group;"
        return f"{self.group}: {text}{equals} {self.most:g}, from {outputs}"


@dataclass(frozen=True, eq=False, repr=False)
class Differences:
    """What several releases give away together.

    Parameters
    ----------
    found
        Groups below the threshold, the smallest first.
    threshold
        What a group must have at least.
    untested
        Releases whose cells have no definition that a program can read, by position: nothing was found about
        them, and nothing is claimed.
    """

    found: tuple[Disclosed, ...]
    threshold: float
    untested: tuple[int, ...] = field(default=())

    def __repr__(self) -> str:
        missing = f", {len(self.untested)} release(s) not testable" if self.untested else ""
        return f"Differences({len(self.found)} group(s) below {self.threshold:g}{missing})"


def differencing(
    releases: Sequence[Release], *, threshold: float = 10, meanings: Meanings | None = None
) -> Differences:
    """Find groups that several releases of counts about the same units single out together.

    Nothing but the releases is needed: their codes say what their cells are. They are taken to be about the
    same population; a variable that a release does not have is summed over in it.

    Parameters
    ----------
    releases
        Tables of counts as published.
    threshold
        Groups with fewer units must not be singled out.
    meanings
        For a variable, what a code stands for in finer codes: ``{"area": {"North": ["N1", "N2"]}}``. Ranges
        of whole numbers and hierarchies need none.

    Examples
    --------
    Table 1 of Kikuchi and Minami (2017): every cell has ten units or more, and one person is aged 19 or 20.

    >>> from hitoku.model.protection import Protection
    >>> from hitoku.model.table import Table
    >>> def ages(counts, codes):
    ...     table = Table.from_array(counts, names=["age"], codes=[codes])
    ...     return Release.of(table, Protection.withhold(table, table.value < 0))
    >>> first = ages([18, 19, 20], ["0-18", "19-25", "26-30"])
    >>> second = ages([19, 18, 20], ["0-20", "21-25", "26-30"])
    >>> for one in differencing([first, second]).found:
    ...     print(one)
    age=19-20: 19 - 18 = 1, from output 1 and output 2
    """
    testable = [place for place, release in enumerate(releases) if release.dimensions]
    untested = tuple(sorted(set(range(len(releases))) - set(testable)))
    if not testable:
        return Differences((), threshold, untested)
    known = [releases[place] for place in testable]
    axes = axes_of(known, meanings or {})
    joint = _Joint.of(known, axes, testable)
    return Differences(tuple(joint.disclosed(threshold)), threshold, untested)


@dataclass(frozen=True, eq=False)
class _Joint:
    """All published cells as sums over atoms."""

    axes: Sequence[Axis]
    sums: sparse.csr_array
    value: Floats
    cells: Sequence[tuple[int, int]]
    names: Sequence[str]

    @classmethod
    def of(cls, releases: Sequence[Release], axes: Sequence[Axis], places: Sequence[int]) -> _Joint:
        n_atoms = int(np.prod([len(axis.points) for axis in axes], dtype=np.int64))
        if n_atoms > MOST_ATOMS:
            raise ParameterError(
                f"{n_atoms} combinations of codes, more than {MOST_ATOMS} can be told apart",
                where="differencing",
                fix="test fewer releases or variables together",
            )
        blocks, values, cells, names = [], [], [], []
        for number, release in enumerate(releases):
            block = sparse.csr_array(np.ones((1, 1)))
            for axis in axes:
                members = axis.members[number]
                whole = np.ones((1, len(axis.points))) if members is None else members.astype(np.float64)
                block = sparse.csr_array(sparse.kron(block, sparse.csr_array(whole), format="csr"))
            there = _in_order(release, axes, number)
            shown = np.flatnonzero(~release.withheld)
            blocks.append(block[there[shown]])
            values.append(release.published[shown])
            cells += [(places[number], int(cell)) for cell in shown]
            names += [release.describe(int(cell)) for cell in shown]
        return cls(axes, sparse.csr_array(sparse.vstack(blocks)), np.concatenate(values), cells, names)

    def disclosed(self, threshold: float) -> list[Disclosed]:
        upper = self._upper()
        # Whoever is in a small cell that was published was looked at when it was.
        small = self.sums[np.flatnonzero(self.value < threshold)]
        judged = np.asarray(small.sum(axis=0)).ravel() > 0
        covered = np.asarray(self.sums.sum(axis=0)).ravel() > 0
        found: list[Disclosed] = []
        for atom in np.flatnonzero(covered & ~judged & (upper < threshold - 1e-6)):
            if judged[atom]:
                continue
            one, support = self._proof(int(atom))
            judged |= support
            if one is not None and one.most < threshold:
                found.append(one)
        return sorted(found, key=lambda each: (each.most, each.group))

    def _upper(self) -> Floats:
        """Most units that each atom can hold."""
        n_cells, n_atoms = self.sums.shape
        joint = Release(
            published=np.concatenate([np.full(n_atoms, np.nan), self.value]),
            relations=sparse.hstack([self.sums, -sparse.eye_array(n_cells)], format="csr"),
            labels=Labels.numbered(n_atoms + n_cells, "atom"),
            integer=True,
        )
        return Interval().bounds(joint).upper[:n_atoms]

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
        if solution.status is not Status.OPTIMAL or solution.x is None:
            return None, nothing
        # A solver's numbers prove nothing; the fractions they stand for are added up.
        chosen = np.flatnonzero(np.abs(solution.x) > 1e-9)
        times = {int(c): rational(round(float(solution.x[c]), 9)) for c in chosen}
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
                name=self.names[c],
            )
            for c, t in sorted(times.items())
        )
        names, points = [axis.name for axis in self.axes], [axis.points for axis in self.axes]
        exact = all(amount in (0, 1) for amount in covers.values())
        return Disclosed(
            group=in_words(names, points, support.reshape(tuple(map(len, points)))),
            most=float(most),
            exact=exact,
            terms=terms,
        ), support

    def _added_up(self, times: Mapping[int, Fraction]) -> dict[int, Fraction]:
        covers: dict[int, Fraction] = {}
        for cell, t in times.items():
            for place in self.sums.indices[self.sums.indptr[cell] : self.sums.indptr[cell + 1]]:
                covers[int(place)] = covers.get(int(place), Fraction(0)) + t
        return covers


def _in_order(release: Release, axes: Sequence[Axis], number: int) -> Integers:
    """Where each cell of a release stands when its variables are crossed in the order of the axes."""
    place = np.zeros(release.n_cells, dtype=np.int64)
    names = list(release.labels.names)
    for axis in axes:
        members = axis.members[number]
        if members is not None:
            place = place * len(members) + release.labels.column(names.index(axis.name))
    return place
