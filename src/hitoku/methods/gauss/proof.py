"""Proof of an elimination in integers: deviations of suppressed cells that keep every relation.

An integer vector that is zero on published cells, cancels in every relation and is nonzero on an
unsafe cell proves that the cell is not a combination of published ones: adding the vector to the true table
changes no published value. Vectors are found modulo a prime, lifted to powers of it until fractions
can be recovered, and checked without it.
"""

from __future__ import annotations

from math import isqrt, lcm
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.errors import SolverError
from hitoku.methods.gauss.elimination import residues
from hitoku.methods.gauss.span import CHOICES
from hitoku.methods.tuning import GAUSS
from hitoku.model import Integers, Mask

# Number of 61-bit digits tried before giving up.
DIGITS = (1, 2, 4, 8, 16, 32)


def proof(relations: Any, withheld: Mask, unsafe: Mask) -> tuple[dict[int, int], ...]:
    """Return deviations of suppressed cells, by cell, such that each unsafe cell is moved by one of them.

    Examples
    --------
    >>> from hitoku.model import Table
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> (move,) = proof(table.relations, table.inner, table.value == 1)
    >>> len(set(map(abs, move.values()))), sum(move.values())
    (1, 0)
    """
    cells = np.flatnonzero(withheld)
    matrix = sparse.csc_array(relations)[:, cells]
    whole = sparse.csc_array(
        (np.rint(matrix.data).astype(np.int64), matrix.indices, matrix.indptr), shape=matrix.shape
    )
    if not np.array_equal(whole.data, matrix.data):
        raise SolverError(
            "relations_with_fractions",
            "relations with fractions cannot be proved here",
            where="proof",
            fix="use the audit",
        )
    lifted = _Lifted(whole)
    open_cells = np.asarray(unsafe)[cells].copy()
    found: list[dict[int, int]] = []
    draw = np.random.default_rng(0)
    while open_cells.any():
        if len(found) == GAUSS.max_vectors or not len(lifted.free):
            raise SolverError(
                "unsafe_cells_not_moved",
                "{n} unsafe cell(s) were not moved by any vector that was found",
                where="proof",
                fix="audit the release: these cells may be exposed",
                n=int(open_cells.sum()),
            )
        weights = draw.integers(1, GAUSS.max_weight + 1, size=len(lifted.free))
        weights[draw.integers(0, 2, size=len(weights)) == 1] *= -1
        move = lifted.move(weights)
        changed = np.array([number != 0 for number in move], dtype=bool)
        open_cells &= ~changed
        found.append({int(cells[k]): move[k] for k in np.flatnonzero(changed)})
    return tuple(found)


class _Lifted:
    """Columns of suppressed cells with a basis modulo a prime."""

    def __init__(self, matrix: Any) -> None:
        from hitoku.kernels import basis as kernel  # noqa: PLC0415 - loads numba

        self.matrix, self.c = matrix, CHOICES[0]
        self.prime = 2**61 - self.c
        n_rows, n = matrix.shape
        columns, spread = residues(matrix.astype(np.float64), self.c)
        empty, space = kernel.empty_basis(n_rows, max(1, min(n_rows, n)), 4 * n + 16)
        size, self.basis, number, _, _ = kernel.fixed_basis(
            columns, spread, np.arange(n), empty, space, np.uint64(self.c), np.uint64(1)
        )
        self.size = int(size)
        inside = np.flatnonzero(number >= 0)
        self.order = inside[np.argsort(number[inside])]
        self.free = np.flatnonzero(number < 0)
        self.solved = kernel.solve_with_basis

    def move(self, weights: Integers) -> list[int]:
        """Return the deviation of all cells for given weights of the free ones, scaled to integers."""
        right = -(self.matrix[:, self.free] @ weights)
        inside = self.matrix[:, self.order]
        digits: list[int] = [0] * self.size
        rest: list[int] = right.tolist()
        power = 1
        for digit in range(1, DIGITS[-1] + 1):
            step = self.solved(
                self.size,
                self.basis,
                np.array([number % self.prime for number in rest], dtype=np.uint64),
                np.uint64(self.c),
            ).tolist()
            digits = [old + power * new for old, new in zip(digits, step, strict=True)]
            power *= self.prime
            if digit in DIGITS:
                move = self._whole(digits, power, weights)
                if move is not None:
                    return move
            # The remainder of the digits so far, divided by the prime without remainder.
            taken = _product(inside, step)
            rest = [(old - new) // self.prime for old, new in zip(rest, taken, strict=True)]
        raise SolverError(
            "fractions_too_long", "fractions are too long to be read off", where="proof", fix="use the audit"
        )

    def _whole(self, digits: list[int], modulus: int, weights: Integers) -> list[int] | None:
        """Recover fractions from residues, scale them to integers, and check them; None if that fails."""
        limit = isqrt(modulus // 2)
        parts = [_fraction(digit, modulus, limit) for digit in digits]
        if any(part is None for part in parts):
            return None
        scale = lcm(*(part[1] for part in parts if part is not None)) if parts else 1
        move = [0] * self.matrix.shape[1]
        for cell, part in zip(self.order.tolist(), parts, strict=True):
            if part is not None:
                move[cell] = part[0] * (scale // part[1])
        for cell, weight in zip(self.free.tolist(), weights.tolist(), strict=True):
            move[cell] = weight * scale
        return None if any(_product(self.matrix, move)) else move


def _product(matrix: Any, vector: list[int]) -> list[int]:
    """Multiply integers of any length; scipy's are limited to 64 bits."""
    total = [0] * matrix.shape[0]
    ends, rows, data = matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist()
    for column, number in enumerate(vector):
        if number:
            for k in range(ends[column], ends[column + 1]):
                total[rows[k]] += data[k] * number
    return total


def _fraction(residue: int, modulus: int, limit: int) -> tuple[int, int] | None:
    """Return the fraction with small numerator and denominator that a residue represents.

    Examples
    --------
    >>> _fraction(3 * pow(7, -1, 10007) % 10007, 10007, 70)
    (3, 7)
    """
    if residue <= limit:
        return residue, 1
    if modulus - residue <= limit:
        return residue - modulus, 1
    a, b, x, y = modulus, residue, 0, 1
    while b > limit:
        q = a // b
        a, b, x, y = b, a - q * b, y, x - q * y
    if not 0 < abs(y) <= limit:
        return None
    return (b, y) if y > 0 else (-b, -y)
