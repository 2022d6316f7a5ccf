"""The common refinement of several partitions, so that the units are read once for all of them.

A new output may imply dozens of partitions, and each is compared with everything released. The
blocks of their common refinement (the combinations of codes that occur) are cross-tabulated once with each
released partition; the cross-tabulation of each partition is a sum over blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hitoku.attacks.differencing.partition import Codes, Partition
from hitoku.model import Integers

# With more blocks than this, going through them takes as long as going through the units.
MAX_BLOCKS = 512
# Pairs of a combination and a cell up to this many are counted in a matrix of all of them.
DENSE = 2**20

# Rows, columns and sizes of joint cells.
Joint = tuple[Integers, Integers, Integers]


def combinations(parts: Sequence[Partition]) -> tuple[Codes, list[Integers], Integers]:
    """Refine: the block of every unit, the codes of each block by partition, and the size of each block.

    Examples
    --------
    >>> one, other = Partition.published("one", [1, 1, 2, 2]), Partition.published("other", [1, 1, 1, 2])
    >>> [each.tolist() for each in combinations([one, other])[1]]
    [[1, 2, 2], [1, 1, 2]]
    """
    combination: Codes = np.zeros(parts[0].n_units, dtype=np.int32)
    codes: list[Integers] = []
    n = 1
    for part in parts:
        combination, codes, n = _finer(combination, codes, n, part)
    return combination, codes, np.bincount(combination, minlength=n)


def _finer(
    combination: Codes, codes: list[Integers], n: int, part: Partition
) -> tuple[Codes, list[Integers], int]:
    """Refine by one more partition; the last number says how many combinations there are."""
    finer, first = refine(combination, part.codes, n, len(part) + 1)
    own = part.codes[first].astype(np.int64)
    return finer, [each[combination[first]] for each in codes] + [own], len(first)


def refine(block: Codes, codes: Codes, n_blocks: int, n_codes: int) -> tuple[Codes, Integers]:
    """Divide blocks of units by a code; return the block of every unit, and one unit of every block."""
    from hitoku.kernels.joint_cells import divide  # noqa: PLC0415 - numba takes a second to load

    finer, first = divide(block, codes, n_blocks, n_codes)
    return finer, first


class CommonRefinement:
    """The common refinement of partitions of all units, cross-tabulated with others once for all of them.

    Parameters
    ----------
    parts
        The partitions; the first is in the refinement, and those after it as long as combinations stay few.
    """

    def __init__(self, parts: Sequence[Partition]) -> None:
        self._combination, codes, sizes = combinations(parts[:1])
        taken, self._n = [parts[0]], len(sizes)
        for part in parts[1:]:
            finer = _finer(self._combination, codes, self._n, part)
            if finer[2] > MAX_BLOCKS:
                break
            self._combination, codes, self._n = finer
            taken.append(part)
        self._codes = {id(part): own for part, own in zip(taken, codes, strict=True)}
        self._met: dict[int, Joint] = {}

    def holds(self, part: Partition) -> bool:
        """Return whether a partition is in the refinement."""
        return id(part) in self._codes

    def __len__(self) -> int:
        return len(self._codes)

    def has_met(self, other: Partition) -> bool:
        """Return whether a partition was cross-tabulated already."""
        return id(other) in self._met

    def joint(self, part: Partition, other: Partition) -> Joint:
        """Cross-tabulate a partition of the refinement with another one, of all units."""
        combination, column, size = self._cross_tabulate(other)
        row, width = self._codes[id(part)][combination], len(other) + 1
        total = np.bincount(row * width + column, weights=size, minlength=(len(part) + 1) * width)
        there = np.flatnonzero(total)
        return there // width, there % width, total[there].astype(np.int64)

    def _cross_tabulate(self, other: Partition) -> Joint:
        from hitoku.kernels.joint_cells import cross_tabulate  # noqa: PLC0415 - numba takes a second to load

        if id(other) not in self._met:
            counts = np.zeros((self._n, len(other) + 1), dtype=np.int64)
            cross_tabulate(self._combination, other.codes, counts)
            rows, columns = np.nonzero(counts)
            self._met[id(other)] = rows, columns, counts[rows, columns]
        return self._met[id(other)]

    def suits(self, part: Partition, other: Partition) -> bool:
        """Return whether two partitions are cross-tabulated faster through the refinement."""
        return other.units is None and max(self._n, len(part) + 1) * (len(other) + 1) <= DENSE
