"""Every integer table consistent with a release: one solution plus the lattice of its relations.

``relations @ x == 0`` with published cells filled in is ``A x = b`` in the suppressed ones. Two solutions
differ by an integer vector in the kernel of A; such vectors are the integer combinations of a basis. With the
basis in echelon form each of its vectors has a cell, its pivot, that no later vector changes: the value of
the pivot bounds the multiple of the vector, and combinations are listed one vector at a time.

Algorithm 1 of Minami and Abe (2019) completes the release in every way, suppresses, and compares.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hitoku.attacks.interval import Interval
from hitoku.attacks.matching.attackers import Attacker, Suppressor
from hitoku.attacks.matching.matched import Matched, over_all, summed_up
from hitoku.errors import ParameterError, SolverError
from hitoku.feasibility import Problem, contradiction
from hitoku.model import Bounds, Floats, Integers, Release, rational
from hitoku.solver.integer import IntegerProgram, SolverStatus, solve
from hitoku.solver.solution import MINUTES, CountedWork, Deadline


@dataclass(frozen=True, eq=False, kw_only=True)
class Lattice:
    """The integer tables consistent with a release, before enumeration; arrays are over suppressed cells."""

    cells: Integers
    """Positions of the suppressed cells in the release."""
    solution: Integers
    """One feasible table."""
    basis: Integers
    """Vectors by cells, in echelon form: the differences of any two feasible tables are their integer
    combinations."""
    lower: Integers
    upper: Integers
    """Feasibility intervals, rounded inwards."""
    bounds: Bounds
    """The same over all cells, as computed by :class:`Interval`."""

    @classmethod
    def of(cls, release: Release) -> Lattice:
        """Solve the equations of a release over the integers."""
        if not release.integer:
            raise ParameterError(
                "candidates_not_whole_numbers",
                "candidates are tables of whole numbers, and this release does not say that it is one",
                where="release",
                fix="attack tables of counts; for magnitudes use Interval",
            )
        bounds = Interval(work_limit=MINUTES).bounds(release)
        withheld = release.withheld
        low, high = bounds.lower[withheld], bounds.upper[withheld]
        if not np.isfinite(high).all() or not np.isfinite(low).all():
            raise ParameterError(
                "candidates_infinite",
                "infinitely many tables fit this release",
                where="release",
                fix="publish the total, or give upper bounds that an outsider knows",
            )
        equations = Problem.of(release, whole=True)
        least = IntegerProgram(
            np.ones(equations.n_cells), equations.matrix, equations.rhs, np.ceil(low), np.floor(high)
        )
        solved = solve(least, work=CountedWork(MINUTES))
        if solved.status is SolverStatus.LIMIT:
            raise SolverError(
                "matching_work_limit",
                "not decided: no table of whole numbers that fits was found within the work limit",
                where="attack matching",
                fix="attack a smaller table",
            )
        if solved.status is not SolverStatus.OPTIMAL or solved.x is None:
            raise contradiction()
        return cls(
            cells=np.flatnonzero(withheld),
            solution=np.rint(solved.x).astype(np.int64),
            basis=null_basis(equations.matrix),
            lower=np.ceil(low - 1e-6).astype(np.int64),
            upper=np.floor(high + 1e-6).astype(np.int64),
            bounds=bounds,
        )

    @property
    def dimension(self) -> int:
        """Null-space dimension of the suppressed cells."""
        return len(self.basis)

    def tables(self, limit: int) -> Integers | None:
        """List every feasible table, tables by suppressed cells, in lexicographic order.

        None if there are more than ``limit``, or more partial tables than that on the way.
        """
        found = self.solution[None, :].copy()
        for place, vector in enumerate(self.basis):
            pivot = int(np.flatnonzero(vector)[0])
            size = int(vector[pivot])
            least = -((found[:, pivot] - self.lower[pivot]) // size)
            most = (self.upper[pivot] - found[:, pivot]) // size
            n = np.maximum(most - least + 1, 0)
            if n.sum() > limit:
                return None
            first = np.repeat(np.cumsum(n) - n, n)
            times = np.arange(n.sum()) - first + np.repeat(least, n)
            found = np.repeat(found, n, axis=0) + times[:, None] * vector
            # Cells that no later vector changes have their final value.
            final = ~self.basis[place + 1 :].any(axis=0)
            inside = (found >= self.lower) & (found <= self.upper)
            found = found[inside[:, final].all(axis=1)]
        return found

    def filled(self, release: Release, tables: Integers) -> Integers:
        """Insert tables over suppressed cells between the published ones: tables by all cells."""
        every = np.tile(np.where(release.withheld, 0.0, release.published).astype(np.int64), (len(tables), 1))
        every[:, self.cells] = tables
        return every


def null_basis(matrix: sparse.csr_array) -> Integers:
    """Return integer vectors, in echelon form, whose integer combinations are the kernel of the matrix.

    Examples
    --------
    Equation (36) of the matching attack's paper.

    >>> null_basis(sparse.csr_array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]))
    array([[ 1, -1, -1,  1]])
    """
    n_rows, n = matrix.shape
    rows = []
    for row in matrix.toarray():
        exact = [rational(float(a)) for a in row]
        scale = math.lcm(*(a.denominator for a in exact))
        rows.append([int(a * scale) for a in exact])
    # Below every column of the matrix is the combination of columns that it represents.
    columns = [[row[j] for row in rows] + [int(j == k) for k in range(n)] for j in range(n)]
    pivoted = echelon(columns)
    null = [column[n_rows:] for column in pivoted if not any(column[:n_rows])]
    return np.array(null, dtype=np.int64).reshape(len(null), n)


def echelon(vectors: list[list[int]]) -> list[list[int]]:
    """Combine integer vectors into others that span the same lattice, in echelon form."""
    left, done = [list(vector) for vector in vectors], []
    for place in range(len(vectors[0]) if vectors else 0):
        while True:
            here = sorted((v for v in left if v[place]), key=lambda v: abs(v[place]))
            if len(here) <= 1:
                break
            # Euclid's algorithm on integer vectors.
            smallest = here[0]
            for other in here[1:]:
                times = other[place] // smallest[place]
                for at, number in enumerate(smallest):
                    other[at] -= times * number
        if here:
            pivot = here[0] if here[0][place] > 0 else [-number for number in here[0]]
            done.append(pivot)
            left = [v for v in left if v is not here[0]]
    return done


def attack_by_enumeration(
    release: Release,
    suppressor: Suppressor,
    attacker: Attacker,
    limit: int,
    progress: Callable[[float, float], None] | None = None,
    deadline: Deadline | None = None,
) -> Matched:
    """Run the attack of the paper, with any method, on any relations.

    The paper updates the largest value only if the least was not updated, so that a single match never
    sets it; here the two are independent.
    """
    lattice = Lattice.of(release)
    solutions = lattice.tables(limit)
    if solutions is None:
        return unfinished_attack(lattice.bounds, release, lattice.dimension, "enumerate")
    filled = lattice.filled(release, solutions)
    likelihood = suppressor.likelihoods(release, filled, progress, deadline)
    if np.isnan(likelihood).any():
        return unfinished_attack(lattice.bounds, release, lattice.dimension, "enumerate")
    return summarise_verdict(
        release,
        lattice.cells,
        solutions,
        likelihood,
        attacker,
        feasible=lattice.bounds,
        null_dimension=lattice.dimension,
        strategy="enumerate",
    )


def summarise_verdict(
    release: Release,
    cells: Integers,
    solutions: Integers,
    likelihood: Floats,
    attacker: Attacker,
    *,
    feasible: Bounds,
    null_dimension: int,
    strategy: str,
) -> Matched:
    """Summarise an attacker's verdict on all candidates, given over the suppressed cells."""
    inner = np.ones(release.n_cells, dtype=np.bool_)
    inner[release.relations.indices[release.relations.data < 0]] = False
    weight = attacker.weights(solutions[:, inner[cells]], likelihood)
    keeps = attacker.keeps(likelihood) & (weight > 0)
    if not keeps.any():
        raise no_candidate()
    matched = solutions[keeps]
    values, posterior = summed_up(cells, matched, weight[keeps])
    least, most = matched.min(axis=0), matched.max(axis=0)
    exact = over_all(release.published, cells, least, most)
    return Matched(
        bounds=exact,
        met=exact,
        feasible=feasible,
        values=values,
        posterior=posterior,
        n_candidates=len(solutions),
        n_matched=len(matched),
        null_dimension=null_dimension,
        strategy=strategy,
    )


def unfinished_attack(feasible: Bounds, release: Release, null_dimension: int, strategy: str) -> Matched:
    """Return the result for too many candidates: the intervals of an outsider."""
    return Matched(
        bounds=Bounds(lower=feasible.lower, upper=feasible.upper, unknown=release.withheld),
        met=None,
        feasible=feasible,
        null_dimension=null_dimension,
        strategy=strategy,
    )


def no_candidate() -> ParameterError:
    """Make the error for a release that no candidate reproduces: it was made differently."""
    return ParameterError(
        "no_table_leads_to_release",
        "no table leads to this release by this method, rules and width",
        where="Matching",
        fix="give the method, rules and width with which the release was made, fixed cells among its keep",
    )
