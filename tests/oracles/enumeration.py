"""Every non-negative table of whole numbers that fits a release, listed; slow and beyond doubt."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from hitoku.model import Bounds, Release


def fitting_tables(release: Release, largest: int) -> list[tuple[int, ...]]:
    """List every choice of whole numbers for the withheld cells that makes all relations add up.

    Depth first, one cell after the other; a relation is tested once its last withheld cell is chosen. Cells
    run from their lower bound to their upper one, or to ``largest`` where there is none.
    """
    withheld = np.flatnonzero(release.withheld)
    dense = release.relations.toarray()
    value = np.where(release.withheld, 0.0, release.published)
    last: dict[int, list[int]] = {}
    for row, relation in enumerate(dense):
        places = np.flatnonzero(relation[withheld])
        last.setdefault(int(places[-1]) if len(places) else -1, []).append(row)
    if any(dense[row] @ value != 0 for row in last.get(-1, [])):
        return []
    found: list[tuple[int, ...]] = []

    def choose(place: int) -> None:
        if place == len(withheld):
            found.append(tuple(int(v) for v in value[withheld]))
            return
        cell = withheld[place]
        top = min(release.upper[cell], largest)
        for number in range(int(np.ceil(release.lower[cell])), int(np.floor(top)) + 1):
            value[cell] = number
            if all(dense[row] @ value == 0 for row in last.get(place, [])):
                choose(place + 1)
        value[cell] = 0

    choose(0)
    return found


def enumerated_bounds(release: Release, largest: int) -> Bounds:
    """Least and largest value of every cell over all tables that fit."""
    tables = np.array(fitting_tables(release, largest), dtype=float)
    lower, upper = release.published.copy(), release.published.copy()
    lower[release.withheld] = tables.min(axis=0)
    upper[release.withheld] = tables.max(axis=0)
    return Bounds(lower=lower, upper=upper)


def echelon(matrix: np.ndarray) -> list[dict[int, Fraction]]:
    """Reduced row echelon form in exact fractions, rows as {column: coefficient}."""
    rows = [{j: Fraction(float(a)) for j, a in enumerate(row) if a} for row in matrix]
    reduced: list[dict[int, Fraction]] = []
    for row in rows:
        left = dict(row)
        for done in reduced:
            pivot = min(done)
            if pivot in left:
                left = _minus(left, done, left[pivot])
        if not left:
            continue
        pivot = min(left)
        left = {j: a / left[pivot] for j, a in left.items()}
        reduced = [_minus(done, left, done[pivot]) if pivot in done else done for done in reduced]
        reduced.append(left)
    return reduced


def _minus(row: dict[int, Fraction], other: dict[int, Fraction], factor: Fraction) -> dict[int, Fraction]:
    columns = row.keys() | other.keys()
    result = {j: row.get(j, Fraction(0)) - factor * other.get(j, Fraction(0)) for j in columns}
    return {j: a for j, a in result.items() if a}


def determined(matrix: np.ndarray) -> np.ndarray:
    """Columns whose unit vector is in the row space: rows of the reduced form with a single entry."""
    mask = np.zeros(matrix.shape[1], dtype=bool)
    for row in echelon(matrix):
        if len(row) == 1:
            mask[min(row)] = True
    return mask
