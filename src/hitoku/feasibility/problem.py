"""What a release leaves open: equations in the withheld cells, and what can be read off them at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hitoku.errors import ParameterError, TableError, must_be, some
from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.model.release import Release
from hitoku.model.tolerance import ADDITIVITY

# Rounding of a sum of doubles, as a share of the sum of the terms' sizes.
ROUNDING = 1e-14
# Whole multiples of the unit are kept in doubles; below this their sums are exact too.
LARGEST_EXACT = 2.0**50
# Data with at most this many decimals are worked on as whole numbers.
MOST_DECIMALS = 6
# Rounds of bound propagation. More would only help chains of relations, and those are left to the solver.
ROUNDS = 10


@dataclass(frozen=True, eq=False)
class Equations:
    """``matrix @ x == rhs`` with ``lower <= x <= upper``, all in units of ``1 / per_unit``.

    Parameters
    ----------
    matrix
        Relations by withheld cells.
    rhs
        What the published cells leave for the withheld ones.
    lower, upper
        What an outsider knows of each withheld cell.
    size
        Per relation, the scale of rounding: the largest sum of sizes of terms in any relation that it hangs
        together with, those of withheld cells as far as bounds tell them.
    per_unit
        A value times this is what the arrays hold: 100 for data in cents.
    exact
        All numbers are whole, so sums and differences of them are exact.
    """

    matrix: sparse.csr_array
    rhs: Floats
    lower: Floats
    upper: Floats
    size: Floats
    per_unit: float = 1.0
    exact: bool = False

    @classmethod
    def of(cls, release: Release, *, whole: bool = False) -> Equations:
        """Set up the equations of a release; ``whole`` looks for whole numbers only."""
        must_be(Release, release, "release")
        withheld = release.withheld
        published = np.where(withheld, 0.0, release.published)
        relations = release.relations
        matrix = sparse.csr_array(relations[:, np.flatnonzero(withheld)])
        # A withheld cell is at least as large as its bounds say, and rounding grows with it too.
        at_least = np.maximum(np.maximum(release.lower, -release.upper), 0.0)
        size = np.asarray(abs(relations) @ np.where(withheld, at_least, np.abs(published)))
        rhs = -np.asarray(relations @ published)
        _refuse_broken(release, matrix, rhs, size)
        lower, upper = release.lower[withheld], release.upper[withheld]
        if whole:
            lower, upper = np.ceil(lower), np.floor(upper)
            if not np.array_equal(published, np.round(published)):
                raise ParameterError(
                    "whole numbers are asked for, but a published cell is not whole",
                    where="integer=True",
                    fix="leave integer=False for magnitudes",
                )
        open_rows = np.flatnonzero(np.diff(matrix.indptr))
        if len(open_rows) < matrix.shape[0]:
            matrix, rhs, size = matrix[open_rows], rhs[open_rows], size[open_rows]
        # Rounding travels along relations, so all that hang together are judged on one scale.
        n_groups, group, _ = components(matrix)
        largest = np.zeros(n_groups)
        np.maximum.at(largest, group, size)
        equations = cls(matrix, rhs, lower, upper, largest[group])
        return equations._on_a_grid(published)

    def _on_a_grid(self, published: Floats) -> Equations:
        """Count in the smallest decimal unit of the data where there is one: sums are exact then."""
        coefficients = self.matrix.data
        if not np.array_equal(coefficients, np.round(coefficients)):
            return self
        numbers = np.concatenate([published, self.lower, self.upper])
        numbers = numbers[np.isfinite(numbers)]
        largest = max(float(self.size.max(initial=0.0)), float(np.abs(numbers).max(initial=0.0)))
        for decimals in range(MOST_DECIMALS + 1):
            per_unit = 10.0**decimals
            if largest * per_unit > LARGEST_EXACT:
                break
            scaled = numbers * per_unit
            if np.all(np.abs(scaled - np.round(scaled)) <= 4 * np.finfo(float).eps * np.abs(scaled)):
                return replace(
                    self,
                    rhs=np.round(self.rhs * per_unit),
                    lower=np.round(self.lower * per_unit),
                    upper=np.round(self.upper * per_unit),
                    size=self.size * per_unit,
                    per_unit=per_unit,
                    exact=True,
                )
        return self

    @property
    def n_cells(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def reach(self) -> Floats:
        """Per cell, the size of its relations: the scale of rounding in its value."""
        reach = np.zeros(self.n_cells)
        rows = np.repeat(np.arange(self.matrix.shape[0]), np.diff(self.matrix.indptr))
        np.maximum.at(reach, self.matrix.indices, self.size[rows])
        return reach

    def part(self, cells: Integers, rhs: Floats, lower: Floats, upper: Floats) -> Equations:
        """Return the equations in some cells, with the relations that have one of them."""
        # Mostly all cells are meant, in their order, and every relation has one: nothing need be copied then.
        whole = len(cells) == self.n_cells and np.array_equal(cells, np.arange(self.n_cells))
        matrix = self.matrix if whole else sparse.csr_array(self.matrix[:, cells])
        rows = np.flatnonzero(np.diff(matrix.indptr))
        if len(rows) < matrix.shape[0]:
            matrix = matrix[rows]
        return replace(self, matrix=matrix, rhs=rhs[rows], lower=lower, upper=upper, size=self.size[rows])

    def in_units(self, values: Floats) -> Floats:
        """Turn values into units."""
        return values * self.per_unit

    def values(self, units: Floats) -> Floats:
        """Turn units into values."""
        return units / self.per_unit


@dataclass(frozen=True, eq=False)
class Settled:
    """What follows without any search.

    Parameters
    ----------
    known, value
        Cells that are worked out, and their values.
    lower, upper
        Bounds that follow from one relation at a time; equal where a cell is known.
    cells
        The open cells.
    rest
        The equations in them.
    """

    known: Mask
    value: Floats
    lower: Floats
    upper: Floats
    cells: Integers
    rest: Equations


def settle(equations: Equations) -> Settled:
    """Work out cells that are alone in a relation or squeezed between their bounds, until none is left."""
    from hitoku.kernels.elimination import peel, propagate  # noqa: PLC0415 - numba loads when it is needed

    n = equations.n_cells
    rows, columns = parts(equations.matrix), parts(equations.matrix.T.tocsr())
    known, value = np.zeros(n, dtype=np.bool_), np.zeros(n)
    lower, upper = equations.lower.copy(), equations.upper.copy()
    reach = equations.reach
    squeezed = np.zeros(n) if equations.exact else ROUNDING * reach
    while True:
        rhs = equations.rhs.copy()
        peel(rows, columns, rhs, value, known, np.full(n, -1, dtype=np.int64))
        slack = ADDITIVITY * reach
        if np.any(value[known] < (lower - slack)[known]) or np.any(value[known] > (upper + slack)[known]):
            raise contradiction()
        value[known] = np.clip(value[known], equations.lower[known], equations.upper[known])
        lower[known] = upper[known] = value[known]
        if not propagate(*rows, equations.rhs, lower, upper, slack, ROUNDS):
            raise contradiction()
        lower[known] = upper[known] = value[known]
        new = ~known & (upper - lower <= squeezed)
        if not new.any():
            break
        known |= new
        value[new] = lower[new] if equations.exact else (lower[new] + upper[new]) / 2
    n_open = np.asarray(
        sparse.csr_array((~known[rows[1]], rows[1], rows[0]), equations.matrix.shape).sum(axis=1)
    )
    if np.any(np.abs(rhs[n_open == 0]) > ADDITIVITY * equations.size[n_open == 0]):
        raise contradiction()
    cells = np.flatnonzero(~known)
    rest = equations.part(cells, rhs, equations.lower[cells], equations.upper[cells])
    return Settled(known, value, lower, upper, cells, rest)


def components(matrix: sparse.csr_array) -> tuple[int, Integers, Integers]:
    """Return the groups of cells that no relation joins: how many, of each relation, of each cell."""
    n_rows, n_cells = matrix.shape
    # Relations first, then cells; an edge for each entry, whatever it is. Put together by hand: this is asked
    # of many small tables, and scipy takes longer to assemble blocks than to search them.
    starts = np.concatenate([matrix.indptr, np.full(n_cells, matrix.indptr[-1])])
    edges = (np.ones(len(matrix.indices)), matrix.indices + n_rows, starts)
    graph = sparse.csr_array(edges, shape=(n_rows + n_cells, n_rows + n_cells))
    n, labels = sparse.csgraph.connected_components(graph, directed=False)
    return int(n), labels[:n_rows].astype(np.int64), labels[n_rows:].astype(np.int64)


def parts(matrix: sparse.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """CSR parts in the types that kernels take."""
    return (
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int64),
        np.ascontiguousarray(matrix.data, dtype=np.float64),
    )


def contradiction() -> TableError:
    """Say that no table fits; which relation fails first is an accident of the order, so none is named."""
    return TableError(
        "no table fits this release: its published cells, relations and bounds contradict each other",
        where="release",
        fix="check that totals were published unrounded, and that lower and upper hold for the true values",
    )


def _refuse_broken(release: Release, matrix: sparse.csr_array, rhs: Floats, size: Floats) -> None:
    """Raise when relations without any withheld cell do not add up."""
    failing = np.flatnonzero((np.diff(matrix.indptr) == 0) & (np.abs(rhs) > ADDITIVITY * size))
    if len(failing) == 0:
        return
    named = []
    for row in failing[:3]:
        entries = slice(release.relations.indptr[row], release.relations.indptr[row + 1])
        cells, signs = release.relations.indices[entries], release.relations.data[entries]
        total = cells[signs < 0] if np.any(signs < 0) else cells
        named.append(f"[{release.describe(int(total[0]))}]")
    raise TableError(
        f"{len(failing)} published total(s) differ from their published parts",
        where=f"totals {some(named, 3)}",
        fix="publish totals that add up, or leave out the relations that do not hold",
    )
