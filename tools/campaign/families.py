"""Random tables for the campaign, with relations written out here and nowhere else.

A cell is a tuple of codes; a code is a tuple of numbers, the path down its tree, () the total. So which cells
add up to which can be read off the codes, without anything of hitoku.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from hitoku.model import Dimension, Hierarchy, Table, add_up

Code = tuple[int, ...]
Cell = tuple[Any, ...]


@dataclass(frozen=True)
class Instance:
    """A table of hitoku, with independently built relations.

    Parameters
    ----------
    table
        The table.
    sums
        Rows of -1 for a sum, 1 for its parts, over the cells of the table.
    levels
        Protection level of unsafe cells, as a share of the value, at least one.
    """

    family: str
    table: Table
    sums: np.ndarray
    unsafe: np.ndarray
    level: np.ndarray = field(repr=False)


def text(code: Code) -> str:
    return "Total" if not code else "c" + ".".join(map(str, code))


def tree(generator: np.random.Generator, n_leaves: int, depth: int, above: Code = ()) -> list[Code]:
    """Draw the codes of a variable, the total first; groups have two parts or more, or a single one."""
    if depth <= 1 or n_leaves <= 3:
        return [above, *((*above, number) for number in range(n_leaves))]
    cut = int(generator.integers(1, n_leaves - 1))
    return [
        above,
        *tree(generator, cut, depth - 1, (*above, 0)),
        *((*above, number) for number in range(1, n_leaves - cut + 1)),
    ]


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
    drawing = FAMILIES[family]
    if drawing.linked:
        return linked(generator, family, drawing.depth)
    longest = {1: 12, 2: 7, 3: 4, 4: 3}[drawing.n_variables]
    least = 4 if drawing.depth > 1 else 2
    variables = [
        tree(generator, int(generator.integers(least, max(least, longest) + 1)), drawing.depth)
        for _ in range(drawing.n_variables)
    ]
    leaves = list(product(*([c for c in codes if not children(c, codes)] for codes in variables)))
    values = drawing.amounts(generator, len(leaves))
    amounts = dict(zip(leaves, values.tolist(), strict=True))
    return made(generator, family, variables, amounts, integer=drawing.counted)


def counts(generator: np.random.Generator, n: int) -> np.ndarray:
    few = generator.random(n) < 0.3
    return np.where(few, generator.integers(0, 4, n), generator.integers(0, 40, n)).astype(float)


def giants(generator: np.random.Generator, n: int) -> np.ndarray:
    """Counts, some of them a million times larger."""
    small = counts(generator, n)
    return np.where(generator.random(n) < 0.1, small * 10.0 ** generator.integers(6, 12, n), small)


def decimals(generator: np.random.Generator, n: int) -> np.ndarray:
    return np.round(generator.lognormal(3, 2, n), 2)


def negatives(generator: np.random.Generator, n: int) -> np.ndarray:
    return np.round(generator.normal(5, 30, n), 1)


def large(generator: np.random.Generator, n: int) -> np.ndarray:
    return np.round(generator.lognormal(12, 2, n))


@dataclass(frozen=True)
class Drawing:
    """How many variables, how many levels their trees have, what is in the cells, one table or two."""

    n_variables: int = 2
    depth: int = 1
    amounts: Callable[[np.random.Generator, int], np.ndarray] = counts
    linked: bool = False

    @property
    def counted(self) -> bool:
        return self.amounts in (counts, giants)


def made(
    generator: np.random.Generator,
    family: str,
    variables: Sequence[Sequence[Code]],
    amounts: dict[Cell, float],
    *,
    integer: bool,
) -> Instance:
    """Build a table from inner cells and align the independent relations with its cells."""
    dimensions = tuple(dimension(f"v{axis}", codes) for axis, codes in enumerate(variables))
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
    table = Table(value=value, dimensions=dimensions, integer=integer, frequency=value if integer else None)
    cells = [
        tuple(names[code] for names, code in zip(named, codes, strict=True))
        for codes in product(*(d.codes for d in dimensions))
    ]
    return judged(generator, family, table, sums_of(cells, variables))


def linked(generator: np.random.Generator, family: str, depth: int) -> Instance:
    """Two tables of the same records with one variable in common, linked by what they share."""
    variables = [tree(generator, int(generator.integers(2, 5 + depth)), depth) for _ in "abc"]
    ends = [[code for code in codes if not children(code, codes)] for codes in variables]
    shape = tuple(map(len, ends))
    inner = counts(generator, int(np.prod(shape))).reshape(shape)
    parts = []
    for out in (2, 1):
        kept = [axis for axis in range(3) if axis != out]
        dimensions = tuple(dimension("abc"[axis], variables[axis]) for axis in kept)
        placed = inner.sum(axis=out)[
            np.ix_(
                *(
                    [[text(code) for code in ends[axis]].index(leaf) for leaf in each.leaves]
                    for axis, each in zip(kept, dimensions, strict=True)
                )
            )
        ]
        value = add_up(placed, dimensions)
        parts.append(Table(value=value, dimensions=dimensions, integer=True, frequency=value))
    table = Table.link(parts)
    place = {table.labels.describe(cell): cell for cell in range(table.n_cells)}
    rows = []
    for out in (2, 1):
        kept = [axis for axis in range(3) if axis != out]
        for codes in product(*(variables[axis] for axis in kept)):
            for side, axis in enumerate(kept):
                below = children(codes[side], variables[axis])
                if not below:
                    continue
                row = np.zeros(table.n_cells)
                for sign, code in [(-1, codes[side]), *((1, code) for code in below)]:
                    cell: dict[int, Code] = dict(zip(kept, codes, strict=True)) | {axis: code, out: ()}
                    row[place[", ".join(f"{'abc'[x]}={text(cell[x])}" for x in range(3))]] = sign
                rows.append(row)
    whole = Table(
        value=table.value, relations=table.relations, labels=table.labels, integer=True, frequency=table.value
    )
    return judged(generator, family, whole, np.array(rows))


def dimension(name: str, codes: Sequence[Code]) -> Dimension:
    pairs = [(text(code), text(code[:-1])) for code in codes[1:]]
    return Dimension.of(name, Hierarchy.from_pairs(pairs, total="Total"))


def judged(generator: np.random.Generator, family: str, table: Table, sums: np.ndarray) -> Instance:
    """Draw the unsafe cells and their protection levels."""
    size = np.abs(table.value)
    unsafe = (size > 0) & (size < np.quantile(size[size > 0], 0.25)) if np.any(size > 0) else size > 0
    unsafe &= generator.random(len(size)) < 0.8
    level = np.where(unsafe, np.maximum(np.round(size * generator.choice([0.1, 0.3, 0.6])), 1.0), 0.0)
    return Instance(family, table, sums, unsafe, level)


FAMILIES = {
    "1 dimension": Drawing(n_variables=1),
    "2 dimensions": Drawing(),
    "3 dimensions": Drawing(n_variables=3),
    "4 dimensions": Drawing(n_variables=4),
    "hierarchies": Drawing(depth=2),
    "deep": Drawing(depth=3),
    "3 hierarchies": Drawing(n_variables=3, depth=2),
    "decimals": Drawing(amounts=decimals),
    "decimals, deep": Drawing(depth=3, amounts=decimals),
    "negatives": Drawing(amounts=negatives),
    "negatives, 3-D": Drawing(n_variables=3, amounts=negatives),
    "giants": Drawing(amounts=giants),
    "giants, deep": Drawing(depth=3, amounts=giants),
    "giants, 3-D": Drawing(n_variables=3, amounts=giants),
    "large amounts": Drawing(amounts=large),
    "linked": Drawing(linked=True),
    "linked, deep": Drawing(depth=3, linked=True),
}
