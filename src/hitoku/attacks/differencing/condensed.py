"""Partitions of blocks of units that are alike: a search processes blocks instead of units.

Tables by the same variables divide a million people into a few hundred blocks. All implications
consist of whole blocks, so that the search is the same, at a thousandth of the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hitoku.attacks.differencing.alike import Alike
from hitoku.attacks.differencing.common_refinement import refine
from hitoku.attacks.differencing.joint_partition import dense, looked_up
from hitoku.attacks.differencing.partition import LISTED, Hashes, Partition

# Maximum number of blocks, and minimum number of units per block: otherwise blocks save little.
MAX_BLOCKS = 2**15
PART = 8


def in_one_block(keys: Hashes) -> Alike:
    """Return a single block of all units with these keys."""
    return Alike(np.zeros(len(keys), dtype=np.int32), np.zeros(1, dtype=np.int64), keys)


def divide_blocks(alike: Alike | None, parts: Sequence[Partition]) -> Alike | None:
    """Divide blocks by some partitions; return None if there are too many blocks.

    Examples
    --------
    >>> ages = Partition.published("ages", [1, 1, 1, 1, 2, 2, 2, 2] * 3)
    >>> divide_blocks(in_one_block(np.ones(24, dtype=np.uint64)), [ages])
    Alike(24 units in 2 blocks)
    """
    for part in parts:
        if alike is None:
            return None
        block, first = refine(alike.block, part.codes, len(alike), len(part) + 1)
        small = len(first) <= min(MAX_BLOCKS, len(block) // PART)
        alike = Alike(block, first, alike.unit_keys) if small else None
    return alike


def condense(part: Partition, alike: Alike) -> Partition:
    """Convert a partition of units, or of larger blocks, to one of blocks that refine it."""
    there = alike.first if part.alike is None else part.alike.block[alike.first].astype(np.int64)
    return replace(part, codes=looked_up(part, there), units=None, n_units=len(alike), alike=alike)


def expand(part: Partition) -> Partition:
    """Convert a partition of blocks to one of units."""
    if part.alike is None:
        return part
    codes = dense(part)[part.alike.block]
    units = None if LISTED * part.sizes[1:].sum() > len(codes) else np.flatnonzero(codes)
    listed = codes if units is None else codes[units]
    return replace(part, codes=listed, units=units, n_units=len(codes), alike=None)
