"""One output from the perspective of its units: the published cell of each, if any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hitoku.attacks.differencing.alike import Alike
from hitoku.errors import DataError
from hitoku.model import Integers, frozen

Codes = NDArray[np.int32]
Hashes = NDArray[np.uint64]
# Units are listed if they are fewer than one in this many: a list takes three times the memory of a code.
LISTED = 3
# A published cell: the output that has it, which of its partitions, and its number there, from 1.
Cell = tuple[str, int, int]
# Coefficients of published cells that add up to a group of units.
Certificate = Mapping[Cell, int]
# Published quantity of every cell: number of units, or the sum of a named variable.
COUNT = "count"
COUNTS = frozenset({COUNT})


def unit_keys(n: int, secret: int = 0) -> Hashes:
    """Return one 64-bit number per unit: sums of them tell groups apart.

    Parameters
    ----------
    n
        Number of units.
    secret
        Secret key; without it, the units of a sum cannot be identified.

    Examples
    --------
    >>> int(unit_keys(2)[0] != unit_keys(2)[1])
    1
    """
    # The finaliser of splitmix64: neighbouring numbers share nothing.
    x = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(secret)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Partition:
    """Disjoint groups of units with published sizes or sums."""

    codes: Codes
    """Per unit, or per unit of ``units``, the number of its group from 1; 0 for units in no group."""
    n_units: int
    """Total number of units."""
    certificates: tuple[Certificate, ...]
    """For each group, the coefficients of published cells that add up to it."""
    hashes: Hashes
    """For each group the wrapped sum of its units' keys."""
    sizes: Integers
    """For each group its number of units; position 0 counts units in no group."""
    units: Integers | None = None
    """The units in some group, ascending, if they are few; None if ``codes`` covers all."""
    publishes: frozenset[str] = COUNTS
    """Quantities published for each group. Counts are subtracted from counts, and contributions from
    contributions to the same variable; partitions without a common quantity disclose nothing together."""
    alike: Alike | None = None
    """Blocks, if units that are alike were merged: ``codes`` are theirs, ``n_units`` is their
    number, and ``sizes`` still count units."""

    @classmethod
    def published(
        cls,
        output: str,
        codes: ArrayLike,
        *,
        part: int = 0,
        keys: Hashes | None = None,
        publishes: frozenset[str] = COUNTS,
    ) -> Partition:
        """Make a partition of the cells that an output publishes.

        Parameters
        ----------
        output
            Name of the output.
        codes
            Per unit the number of its cell from 1; 0 if it is in none, or in a suppressed one.
        part
            Number of the output's partition: inner cells are one, each kind of total another.
        keys
            One number per unit; default: :func:`unit_keys`.
        publishes
            Quantities published for each cell; default: counts.

        Examples
        --------
        >>> ages = Partition.published("by age", [1, 1, 2, 0])
        >>> ages, ages.sizes.tolist()
        (Partition(2 groups of 4 units), [1, 2, 1])
        """
        given = np.asarray(codes)
        if given.ndim != 1 or given.dtype.kind not in "iu" or (len(given) and given.min() < 0):
            raise DataError(
                "cell_numbers_invalid",
                "cell numbers must be whole numbers from 0, one per unit",
                where="output {output}",
                fix="number the published cells from 1, and give 0 to units outside of them",
                output=output,
            )
        whole = frozen(given, np.int32, shape=given.shape, what="cell numbers")
        n = int(whole.max(initial=0))
        names: list[Certificate] = [{(output, part, cell): 1} for cell in range(1, n + 1)]
        own = unit_keys(len(whole)) if keys is None else keys
        return cls._of(whole, None, len(whole), tuple(names), own, publishes)

    @classmethod
    def derived(
        cls,
        codes: Codes,
        units: Integers,
        like: Partition,
        certificates: tuple[Certificate, ...],
        keys: Hashes,
        publishes: frozenset[str] = COUNTS,
    ) -> Partition:
        """Make a partition of groups that were added up from published ones.

        Parameters
        ----------
        codes, units, certificates, publishes
            As of a partition; all units that are in some group.
        like
            Any partition of the same units.
        keys
            One number per unit.
        """
        # Blocks are few: a list of them saves nothing.
        if LISTED * len(units) > like.n_units or like.alike is not None:
            whole = np.zeros(like.n_units, dtype=np.int32)
            whole[units] = codes
            return cls._of(whole, None, like.n_units, certificates, keys, publishes, like.alike)
        return cls._of(codes, units, like.n_units, certificates, keys[units], publishes)

    @classmethod
    def _of(
        cls,
        codes: Codes,
        units: Integers | None,
        n_units: int,
        certificates: tuple[Certificate, ...],
        keys: Hashes,
        publishes: frozenset[str],
        alike: Alike | None = None,
    ) -> Partition:
        n = len(certificates)
        hashes = np.zeros(n + 1, dtype=np.uint64)
        np.add.at(hashes, codes, keys)
        weights = None if alike is None else alike.weights
        sizes = np.bincount(codes, weights=weights, minlength=n + 1).astype(np.int64)
        sizes[0] = (n_units if alike is None else len(alike.block)) - sizes[1:].sum()
        return cls(
            codes=codes,
            units=units,
            n_units=n_units,
            certificates=certificates,
            hashes=hashes[1:],
            sizes=sizes,
            publishes=publishes,
            alike=alike,
        )

    def __len__(self) -> int:
        return len(self.certificates)

    @cached_property
    def outputs(self) -> frozenset[str]:
        """Names of the outputs from which it is added up."""
        return frozenset(output for certificate in self.certificates for output, _, _ in certificate)

    @property
    def support(self) -> int:
        """Number of units in some group."""
        return self.n_units - int(self.sizes[0])

    def __repr__(self) -> str:
        return f"Partition({len(self)} groups of {self.n_units:_} units)"


def combine_certificates(parts: Mapping[int, int], partition: Partition) -> dict[Cell, int]:
    """Return the weighted sum of the certificates of some groups, by their number from 1."""
    total: dict[Cell, int] = {}
    for group, times in parts.items():
        for cell, coefficient in partition.certificates[group - 1].items():
            total[cell] = total.get(cell, 0) + times * coefficient
    return total


def add_certificates(one: Mapping[Cell, int], other: Mapping[Cell, int]) -> dict[Cell, int]:
    """Add two certificates; cells that cancel are omitted, the others sorted."""
    total = {cell: one.get(cell, 0) + other.get(cell, 0) for cell in sorted({*one, *other})}
    return {cell: coefficient for cell, coefficient in total.items() if coefficient}
