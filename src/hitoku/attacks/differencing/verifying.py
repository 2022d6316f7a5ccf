"""Check of certificates over all units: each must give its group and no other unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from hitoku.attacks.differencing.common_refinement import combinations
from hitoku.attacks.differencing.partition import Certificate, Partition
from hitoku.errors import SolverError
from hitoku.model import Integers

# The name of an output and the number of one of its partitions.
Place = tuple[str, int]


class Claimed(Protocol):
    """A group and the sum of published cells that is claimed to give it."""

    @property
    def certificate(self) -> Certificate: ...

    @property
    def units(self) -> Integers: ...


def verify(groups: Sequence[Any], places: Mapping[Place, Partition]) -> None:
    """Raise unless every certificate is one on its group and zero elsewhere.

    Units that no partition of a certificate distinguishes are merged: groups of the same outputs, of which
    there may be hundreds, are added up over these combinations and not over a million units each.
    """
    together: dict[frozenset[Place], list[Claimed]] = {}
    for group in groups:
        used = frozenset((name, part) for name, part, _ in group.certificate)
        together.setdefault(used, []).append(group)
    for used, claimed in together.items():
        involved = sorted(used)
        combination, codes, size = combinations([places[place] for place in involved])
        for group in claimed:
            total = np.zeros(len(size), dtype=np.int64)
            for (name, part, cell), times in group.certificate.items():
                total[codes[involved.index((name, part))] == cell] += times
            inside = np.bincount(combination[group.units], minlength=len(size))
            # Who is in the group is all of a combination, with a sum of one; elsewhere the sum is zero.
            if not np.array_equal(np.where(total == 1, size, 0), inside) or np.any(
                (total != 0) & (total != 1)
            ):
                raise SolverError(
                    "group_not_additive",
                    "a group does not add up from its cells",
                    where="differencing",
                    fix="report this",
                )
