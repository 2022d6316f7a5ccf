"""What is expected in every cell, in whole numbers, from what is public; and tables drawn from that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import ParameterError
from hitoku.methods.blocks.rectangles import Nodes, pattern, tree
from hitoku.methods.blocks.terms import Terms
from hitoku.model import Integers

MagnitudeLevels = list[list[Nodes]]
# Expected counts are kept in parts of this size.
PARTS = 1024
SPLITS = ("count", "mass")
# Sixteenths by which drawn cells differ from what is expected: quantiles of a lognormal law, sigma one half.
SPREAD = np.array([6, 8, 9, 10, 11, 12, 13, 15, 16, 17, 19, 21, 24, 28, 33, 46])
DRAWN, LARGE = 3, 250_000


def expectation(
    rows: Integers, columns: Integers, given: ArrayLike | None, plenty: int | None = None
) -> Integers:
    """Expect in every cell its share of both totals, or what was given; in parts of 1/1024.

    What was given is cut off at ``plenty``: beyond that a cell is not small, and how large it is would only
    keep lines with small cells in the same places from standing together.

    Examples
    --------
    >>> expectation(np.array([10, 30]), np.array([20, 20]), None) // PARTS
    array([[ 5,  5],
           [15, 15]])
    """
    whole, rest = np.divmod(rows[:, None] * columns[None, :], max(int(rows.sum()), 1))
    shares: Integers = whole * PARTS + rest * PARTS // max(int(rows.sum()), 1)
    if given is None:
        return shares
    shape = shares.shape
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise wrong_expectation(shape) from error
    if numbers.size == (shape[0] + 1) * (shape[1] + 1):
        numbers = numbers.reshape(shape[0] + 1, shape[1] + 1)[:-1, :-1]
    if numbers.shape != shape or np.isinf(numbers).any() or np.any(numbers < 0):
        raise wrong_expectation(shape)
    known = ~np.isnan(numbers)
    counts = np.where(known, np.rint(np.where(known, numbers, 0) * PARTS).astype(np.int64), shares)
    return counts if plenty is None else np.minimum(counts, plenty * PARTS)


def wrong_expectation(shape: Sequence[int]) -> ParameterError:
    return ParameterError(
        "expected_shape",
        "expected is not a table of {n_rows} by {n_columns} non-negative numbers",
        where="blocks, expected",
        fix="give the inner cells, or all cells of a release over the same codes; NaN where nothing is known",
        n_rows=shape[0],
        n_columns=shape[1],
    )


def cheaper_split(expected: Integers, terms: Terms, trees: Mapping[str, MagnitudeLevels]) -> str:
    """Choose the split whose tree withholds fewer cells of tables drawn from what is expected."""
    cost = dict.fromkeys(SPLITS, 0)
    for draw in range(DRAWN if expected.size <= LARGE else 1):
        values = drawn(expected, draw)
        for split in SPLITS:
            cost[split] += int(pattern(trees[split], values, terms).sum())
    return min(SPLITS, key=lambda split: cost[split])


def tree_of(expected: Integers, terms: Terms, split: str) -> MagnitudeLevels:
    """Make the tree; "auto" chooses the split."""
    if split != "auto":
        return tree(expected, split)
    trees = {each: tree(expected, each) for each in SPLITS}
    return trees[cheaper_split(expected, terms, trees)]


def drawn(expected: Integers, draw: int) -> Integers:
    """Draw a table, always the same: the cells are spread around what is expected, in whole numbers."""
    places = np.arange(expected.size, dtype=np.uint64).reshape(expected.shape)
    noise = scrambled(places + np.uint64(draw * expected.size + 1))
    factor = SPREAD[(noise & np.uint64(15)).astype(np.int64)]
    fraction = ((noise >> np.uint64(8)) & np.uint64(PARTS - 1)).astype(np.int64)
    return np.asarray((expected // 16 * factor + fraction) // PARTS)


def scrambled(numbers: np.ndarray) -> np.ndarray:
    """Mix the bits of 64-bit numbers (the finaliser of splitmix64)."""
    with np.errstate(over="ignore"):
        x = numbers * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(x ^ (x >> np.uint64(31)))
