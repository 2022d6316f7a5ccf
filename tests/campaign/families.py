"""Random tables for the campaign, with relations written out here and nowhere else.

A cell is a tuple of codes; a code is a tuple of numbers, the path down its tree, () the total. So which cells
add up to which can be read off the codes, without anything of hitoku.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from hitoku.model.dimension import Dimension
from hitoku.model.hierarchy import Hierarchy
from hitoku.model.relations import add_up
from hitoku.model.table import Table

Code = tuple[int, ...]
Cell = tuple[Any, ...]
# Cells at the most: an independent program runs for each of the ends.
MOST_CELLS = 400


@dataclass(frozen=True)
class Instance:
    """A table as hitoku has it, and what adds up to what in our own words.

    Parameters
    ----------
    table
        The table.
    sums
        Rows of -1 for a sum, 1 for its parts, over the cells of the table.
    levels
        How far an unsafe cell must be blurred, as a share of its value or at least one.
    """

    family: str
    table: Table
    sums: np.ndarray
    unsafe: np.ndarray
    level: np.ndarray = field(repr=False)


def text(code: Code) -> str:
    return "Total" if not code else "c" + ".".join(map(str, code))


def tree(generator: np.random.Generator, n_leaves: int, *, deep: bool) -> list[Code]:
    """Draw the codes of a variable, the total first; groups have two parts or more, or a single one."""
    codes: list[Code] = [()]
    leaves: list[Code] = [(number,) for number in range(n_leaves)]
    if deep and n_leaves > 3:
        cut = int(generator.integers(1, n_leaves - 1))
        leaves = [(0, number) for number in range(cut)] + [
            (number,) for number in range(1, n_leaves - cut + 1)
        ]
        codes.append((0,))
    return codes + leaves


def children(code: Code, codes: Sequence[Code]) -> list[Code]:
    return [other for other in codes if len(other) == len(code) + 1 and other[: len(code)] == code]


def sums_of(cells: Sequence[Cell], variables: Sequence[Sequence[Code]]) -> np.ndarray:
    """Write every sum over one variable that these cells can form."""
    place = {cell: number for number, cell in enumerate(cells)}
    rows = []
    for cell in cells:
        for axis, codes in enumerate(variables):
            below = children(cell[axis], codes)
            if below:
                row = np.zeros(len(cells))
                row[place[cell]] = -1
                for code in below:
                    row[place[(*cell[:axis], code, *cell[axis + 1 :])]] = 1
                rows.append(row)
    return np.array(rows)


def drawn(generator: np.random.Generator, family: str) -> Instance:
    """Draw a table of a family."""
    dims = {"1 dimension": 1, "3 dimensions": 3, "4 dimensions": 4}.get(family, 2)
    longest = {1: 12, 2: 7, 3: 4, 4: 3}[dims]
    deep = family == "hierarchies"
    variables = [
        tree(generator, int(generator.integers(4 if deep else 2, longest + 1)), deep=deep)
        for _ in range(dims)
    ]
    if family == "linked":
        return linked(generator)
    amounts, integer = inner(generator, family, variables)
    return made(generator, family, variables, amounts, integer=integer)


def inner(
    generator: np.random.Generator, family: str, variables: Sequence[Sequence[Code]]
) -> tuple[dict[Cell, float], bool]:
    """Draw the inner cells."""
    leaves = list(product(*([c for c in codes if not children(c, codes)] for codes in variables)))
    n = len(leaves)
    counts = np.where(generator.random(n) < 0.3, generator.integers(0, 4, n), generator.integers(0, 40, n))
    values, integer = counts.astype(float), True
    if family == "decimals":
        values, integer = np.round(generator.lognormal(3, 2, n), 2), False
    elif family == "giants":
        values = np.where(generator.random(n) < 0.1, counts * 10.0 ** generator.integers(6, 12, n), counts)
    elif family == "negatives":
        values, integer = np.round(generator.normal(5, 30, n), 1), False
    elif family == "large amounts":
        values, integer = np.round(generator.lognormal(12, 2, n)), False
    return dict(zip(leaves, values.tolist(), strict=True)), integer


def made(
    generator: np.random.Generator,
    family: str,
    variables: Sequence[Sequence[Code]],
    amounts: dict[Cell, float],
    *,
    integer: bool,
) -> Instance:
    """Build a table out of inner cells, and line up our own sums with its cells."""
    dimensions = tuple(
        Dimension.of(
            f"v{axis}",
            Hierarchy.from_pairs([(text(code), text(code[:-1])) for code in codes[1:]], total="Total"),
        )
        for axis, codes in enumerate(variables)
    )
    named = [{text(code): code for code in codes} for codes in variables]
    shape = tuple(len(d.leaves) for d in dimensions)
    array = np.array(
        [
            amounts[tuple(names[code] for names, code in zip(named, codes, strict=True))]
            for codes in product(*(d.leaves for d in dimensions))
        ]
    ).reshape(shape)
    # Decimals of two digits are added as whole numbers, so that sums hold to the last digit.
    value = np.round(add_up(np.round(array * 100), dimensions)) / 100
    counted = family in {"negatives", "decimals", "large amounts"}
    table = Table(value=value, dimensions=dimensions, integer=integer, frequency=None if counted else value)
    cells = [
        tuple(names[code] for names, code in zip(named, codes, strict=True))
        for codes in product(*(d.codes for d in dimensions))
    ]
    return judged(generator, family, table, sums_of(cells, variables))


def linked(generator: np.random.Generator) -> Instance:
    """Two tables of the same records with one variable in common, linked by what they share."""
    shape = tuple(int(n) for n in generator.integers(2, 5, 3))
    counts = np.where(
        generator.random(shape) < 0.3, generator.integers(0, 4, shape), generator.integers(0, 30, shape)
    )
    names = ("a", "b", "c")
    parts = [
        Table.from_array(counts.sum(axis=out), names=[name for axis, name in enumerate(names) if axis != out])
        for out in (2, 1)
    ]
    table = Table.link(parts)
    labels = [table.labels.describe(cell) for cell in range(table.n_cells)]
    place = {label: number for number, label in enumerate(labels)}
    rows = []
    for out in (2, 1):
        kept = [axis for axis in range(3) if axis != out]
        for at in product(*(range(shape[axis] + 1) for axis in kept)):
            for side, axis in enumerate(kept):
                if at[side] < shape[axis]:
                    continue
                row = np.zeros(table.n_cells)
                for part in range(shape[axis] + 1):
                    codes = dict(zip(kept, at, strict=True)) | {axis: part, out: shape[out]}
                    label = ", ".join(
                        f"{name}={'Total' if codes[x] == shape[x] else codes[x] + 1}"
                        for x, name in enumerate(names)
                    )
                    row[place[label]] = -1 if part == shape[axis] else 1
                rows.append(row)
    whole = Table(
        value=table.value, relations=table.relations, labels=table.labels, integer=True, frequency=table.value
    )
    return judged(generator, "linked", whole, np.array(rows))


def judged(generator: np.random.Generator, family: str, table: Table, sums: np.ndarray) -> Instance:
    """Draw which cells are unsafe, and by how much they must be blurred."""
    size = np.abs(table.value)
    unsafe = (size > 0) & (size < np.quantile(size[size > 0], 0.25)) if np.any(size > 0) else size > 0
    unsafe &= generator.random(len(size)) < 0.8
    level = np.where(unsafe, np.maximum(np.round(size * generator.choice([0.1, 0.3, 0.6])), 1.0), 0.0)
    return Instance(family, table, sums, unsafe, level)


FAMILIES = (
    "1 dimension",
    "2 dimensions",
    "3 dimensions",
    "4 dimensions",
    "hierarchies",
    "linked",
    "decimals",
    "negatives",
    "giants",
    "large amounts",
)
