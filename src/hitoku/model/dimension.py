"""One variable of a table: its hierarchies over common leaves, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.errors import HierarchyError, some
from hitoku.model.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False, repr=False)
class Dimension:
    """A variable and the ways in which its codes are grouped.

    The first hierarchy holds every leaf. Further ones are groupings that need not nest with it: their
    leaves are codes of the first, their groups are new codes, and each adds relations.

    ``codes`` lists the leaves first, then the groups from the bottom up, the total last, so that for a
    flat variable the total is the last row of the printed table.

    Examples
    --------
    >>> coast = Hierarchy.from_tree({"Coast": ["N1", "S1"], "Inland": ["N2", "S2"]})
    >>> region = Hierarchy.from_tree({"North": ["N1", "N2"], "South": ["S1", "S2"]})
    >>> Dimension("region", (region, coast)).codes
    ('N1', 'N2', 'S1', 'S2', 'North', 'South', 'Coast', 'Inland', 'Total')
    """

    name: str
    hierarchies: tuple[Hierarchy, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "hierarchies", tuple(self.hierarchies))
        if not self.hierarchies:
            raise HierarchyError(
                f"variable {self.name!r} has no hierarchy", fix="give a list of codes at least"
            )
        _ = self.groups, self.closure  # refuses groupings that do not fit, before anything is computed

    @classmethod
    def of(cls, name: str, hierarchy: Hierarchy | Sequence[Hierarchy]) -> Dimension:
        """Wrap one hierarchy or several groupings of the same variable."""
        one = isinstance(hierarchy, Hierarchy)
        return cls(name, (hierarchy,) if one else tuple(hierarchy))  # type: ignore[arg-type]

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        return self.hierarchies[0].leaves

    @property
    def total(self) -> str:
        return self.hierarchies[0].total

    @cached_property
    def codes(self) -> tuple[str, ...]:
        inner = dict.fromkeys(code for code, _ in self.groups if code != self.total)
        return (*self.leaves, *inner, self.total)

    @cached_property
    def position(self) -> dict[str, int]:
        """Where each code stands in ``codes``."""
        return {code: place for place, code in enumerate(self.codes)}

    @cached_property
    def groups(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Each code that is a sum, with its parts; one relation each, parts before sums.

        A code may be split in several ways, once per grouping.
        """
        splits: dict[tuple[str, frozenset[str]], tuple[str, ...]] = {}
        known = set(self.hierarchies[0].codes)
        for place, hierarchy in enumerate(self.hierarchies):
            strangers = [code for code in hierarchy.leaves if code not in known]
            if place and strangers:
                raise HierarchyError(
                    f"grouping {place + 1} of {self.name!r} has leaves that the first hierarchy lacks",
                    where=f"codes {some(strangers)}",
                    fix="a further grouping collects codes of the first hierarchy; add them there",
                )
            for code, parts in hierarchy.groups():
                splits.setdefault((code, frozenset(parts)), parts)
        ordered = [(code, parts) for (code, _), parts in splits.items()]
        return tuple(sorted(ordered, key=lambda group: group[0] == self.total))

    @cached_property
    def closure(self) -> sparse.csr_array:
        """Codes by leaves, one where the leaf belongs to the code."""
        position = {leaf: place for place, leaf in enumerate(self.leaves)}
        below: dict[str, frozenset[int]] = {leaf: frozenset([place]) for leaf, place in position.items()}
        for code, parts in self.groups:
            members = frozenset[int]().union(*(below[part] for part in parts))
            if sum(len(below[part]) for part in parts) != len(members):
                raise HierarchyError(
                    f"the parts of {code!r} overlap",
                    where=f"variable {self.name!r}",
                    fix="every leaf counts once",
                )
            if below.setdefault(code, members) != members:
                raise HierarchyError(
                    f"code {code!r} means two different things",
                    where=f"groupings of variable {self.name!r}",
                    fix="give the second group a code of its own, or let both hold the same leaves",
                )
        rows = [sorted(below[code]) for code in self.codes]
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        indices = np.concatenate(rows).astype(np.int32)
        return sparse.csr_array(
            (np.ones(len(indices)), indices, indptr.astype(np.int32)),
            shape=(len(self.codes), len(self.leaves)),
        )

    @cached_property
    def sums(self) -> sparse.csr_array:
        """Groups by codes: one for each part, minus one for the sum."""
        rows: list[int] = []
        columns: list[int] = []
        data: list[float] = []
        for row, (code, parts) in enumerate(self.groups):
            columns += [self.position[part] for part in parts] + [self.position[code]]
            data += [1.0] * len(parts) + [-1.0]
            rows += [row] * (len(parts) + 1)
        matrix = sparse.csr_array((data, (rows, columns)), shape=(len(self.groups), len(self.codes)))
        matrix.sort_indices()
        return matrix

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        groupings = f", {len(self.hierarchies)} groupings" if len(self.hierarchies) > 1 else ""
        return f"Dimension({self.name!r}, {len(self.codes)} codes, {len(self.leaves)} leaves{groupings})"


def dimensions_of(names: Sequence[str], codes: Sequence[Sequence[Any]], total: str) -> tuple[Dimension, ...]:
    """Flat dimensions from lists of codes."""
    return tuple(Dimension.of(name, Hierarchy.flat(c, total)) for name, c in zip(names, codes, strict=True))
