"""Bounds over a structure: a problem, and the levels that its cells must be able to reach.

The variables of a :class:`Problem` are the values of suppressed cells for an attacker, and their deviations
from the true table for callers that hold it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from hitoku.errors import ParameterError, TableError, must_be, some
from hitoku.feasibility.pattern import parts_of
from hitoku.model import ADDITIVITY, EXACT_SUMS, MAX_DECIMALS, Floats, Integers, Mask, Need, Release


@dataclass(frozen=True, eq=False)
class Problem:
    """``matrix @ x == rhs`` with ``lower <= x <= upper``, all in units of ``1 / scale``."""

    matrix: sparse.csr_array
    """Relations by suppressed cells."""
    rhs: Floats
    """Right-hand sides: negated sums of the published cells."""
    lower: Floats
    upper: Floats
    """Bounds of each suppressed cell that every attacker knows."""
    size: Floats
    """Per relation, the scale of rounding: the largest sum of absolute terms in a relation of its component;
    for suppressed cells, their bounds nearest to zero are used."""
    scale: float = 1.0
    """Factor from values to the units of the arrays: 100 for data in cents."""
    exact: bool = False
    """Whether all numbers are integer, so that sums and differences are exact."""

    @classmethod
    def deviations(cls, matrix: sparse.csr_array, lower: Floats, upper: Floats) -> Problem:
        """Set up deviations from the true table: zero is feasible, and they cancel in every relation."""
        nothing = np.zeros(matrix.shape[0])
        return cls(matrix, nothing, lower, upper, nothing)

    @classmethod
    def of(cls, release: Release, *, whole: bool = False) -> Problem:
        """Set up the equations of a release; ``whole`` restricts values to integers."""
        must_be(Release, release, "release")
        withheld = release.withheld
        published = np.where(withheld, 0.0, release.published)
        relations = release.relations
        matrix = sparse.csr_array(relations[:, np.flatnonzero(withheld)])
        # The bounds of a suppressed cell imply a least absolute value, which also contributes to rounding.
        at_least = np.maximum(np.maximum(release.lower, -release.upper), 0.0)
        size = np.asarray(abs(relations) @ np.where(withheld, at_least, np.abs(published)))
        rhs = -np.asarray(relations @ published)
        _refuse_broken(release, matrix, rhs, size)
        lower, upper = release.lower[withheld], release.upper[withheld]
        if whole:
            lower, upper = np.ceil(lower), np.floor(upper)
            if not np.array_equal(published, np.round(published)):
                raise ParameterError(
                    "whole_numbers_contradicted",
                    "integers are required, but a published cell is not an integer",
                    where="integer=True",
                    fix="leave integer=False for magnitudes",
                )
        open_rows = np.flatnonzero(np.diff(matrix.indptr))
        if len(open_rows) < matrix.shape[0]:
            matrix, rhs, size = matrix[open_rows], rhs[open_rows], size[open_rows]
        # Rounding propagates along relations, so each component has one scale.
        parts = parts_of(matrix)
        largest = np.zeros(parts.n)
        np.maximum.at(largest, parts.row, size)
        equations = cls(matrix, rhs, lower, upper, largest[parts.row])
        return equations._on_a_grid(published)

    def _on_a_grid(self, published: Floats) -> Problem:
        """Use the smallest decimal unit of the data, if there is one, so that sums are exact."""
        coefficients = self.matrix.data
        if not np.array_equal(coefficients, np.round(coefficients)):
            return self
        numbers = np.concatenate([published, self.lower, self.upper])
        numbers = numbers[np.isfinite(numbers)]
        largest = max(float(self.size.max(initial=0.0)), float(np.abs(numbers).max(initial=0.0)))
        for decimals in range(MAX_DECIMALS + 1):
            scale = 10.0**decimals
            if largest * scale > EXACT_SUMS:
                break
            scaled = numbers * scale
            if np.all(np.abs(scaled - np.round(scaled)) <= 4 * np.finfo(float).eps * np.abs(scaled)):
                return replace(
                    self,
                    rhs=np.round(self.rhs * scale),
                    lower=np.round(self.lower * scale),
                    upper=np.round(self.upper * scale),
                    size=self.size * scale,
                    scale=scale,
                    exact=True,
                )
        return self

    @property
    def n_cells(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def reach(self) -> Floats:
        """Per cell, the largest size of its relations: the scale of rounding of its value."""
        reach = np.zeros(self.n_cells)
        rows = np.repeat(np.arange(self.matrix.shape[0]), np.diff(self.matrix.indptr))
        np.maximum.at(reach, self.matrix.indices, self.size[rows])
        return reach

    def part(self, cells: Integers, rhs: Floats, lower: Floats, upper: Floats) -> Problem:
        """Return the problem in some cells, with the relations that contain one of them."""
        # Usually these are all cells in order, and nothing needs to be copied.
        whole = len(cells) == self.n_cells and np.array_equal(cells, np.arange(self.n_cells))
        matrix = self.matrix if whole else sparse.csr_array(self.matrix[:, cells])
        rows = np.flatnonzero(np.diff(matrix.indptr))
        if len(rows) < matrix.shape[0]:
            matrix = matrix[rows]
        return replace(self, matrix=matrix, rhs=rhs[rows], lower=lower, upper=upper, size=self.size[rows])

    def in_units(self, values: Floats) -> Floats:
        """Turn values into units."""
        return values * self.scale

    def values(self, units: Floats) -> Floats:
        """Turn units into values."""
        return units / self.scale


def contradiction() -> TableError:
    """Return the error that no table fits; no relation is named, because which fails first is arbitrary."""
    return TableError(
        "release_contradicts_itself",
        "no table fits this release: its published cells, relations and bounds contradict each other",
        where="release",
        fix="check that totals were published unrounded, and that lower and upper hold for the true values",
    )


def _refuse_broken(release: Release, matrix: sparse.csr_array, rhs: Floats, size: Floats) -> None:
    """Raise if a relation without suppressed cells does not add up."""
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
        "published_totals_differ",
        "{n} published total(s) differ from their published parts",
        where="totals {named}",
        fix="publish totals that add up, or leave out the relations that do not hold",
        n=len(failing),
        named=some(named, 3),
    )


@dataclass(frozen=True, eq=False)
class Levels:
    """Protection levels of the cells of a problem, in its units."""

    down: Floats
    up: Floats
    width: Floats
    """Distance that each cell must be able to move down, up and in total."""
    required: Mask
    """Cells that must be able to move at all; levels of the others are zero."""

    @classmethod
    def none(cls, n: int) -> Levels:
        """Return levels that require nothing of ``n`` cells."""
        return cls(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.bool_))

    @classmethod
    def of(cls, need: Need, cells: Integers, required: Mask) -> Levels:
        """Return the levels of a need for some cells, rounded up to whole numbers."""
        down, up, width = (
            np.ceil(np.where(required, level[cells], 0.0)) for level in (need.lower, need.upper, need.width)
        )
        return cls(down, up, width, required)

    def take(self, cells: Integers) -> Levels:
        """Return the levels of some cells."""
        return Levels(self.down[cells], self.up[cells], self.width[cells], self.required[cells])
