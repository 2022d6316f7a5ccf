"""Specification of a table: the arguments with which it is made from the records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hitoku.model import Hierarchies, Hierarchy, Table
from hitoku.tabulation.from_records import tabulate
from hitoku.tabulation.source import Where


@dataclass(frozen=True, eq=False, kw_only=True)
class TableSpec:
    """Specification of one of several tables made from the records."""

    by: Sequence[str]
    """Columns with the codes."""
    where: Where | None = None
    outside: tuple[Where, ...] = ()
    """Filters, as in :func:`hitoku.tabulate`."""
    hierarchies: Hierarchies = field(default_factory=dict)
    """Code trees by variable."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of :func:`hitoku.tabulate`."""

    def make(self, data: Any) -> Table:
        """Add up the records."""
        return tabulate(
            data,
            self.by,
            where=self.where,
            outside=self.outside,
            hierarchies=self.hierarchies,
            **self.options,
        )

    @property
    def columns(self) -> list[str]:
        """Columns that tell its cells and its records apart."""
        return [*self.by, *(name for each in (self.where or {}, *self.outside) for name in each)]

    @property
    def filtered(self) -> tuple[object, ...]:
        """Key of its filters and its quantity."""
        quantity = self.options.get("value"), self.options.get("measure")
        return *quantity, _filter_key(self.where), *map(_filter_key, self.outside)

    def without_filter(self, common: Where) -> TableSpec:
        """Leave out the filters that all tables have."""
        return replace(self, where={n: c for n, c in (self.where or {}).items() if n not in common} or None)

    def without_empty(self, table: Table) -> TableSpec:
        """Leave out the codes that no record has; ``table`` is what this makes with them."""
        trees: dict[str, Hierarchy | Sequence[Hierarchy]] = dict(self.hierarchies)
        n_records = table.value if table.frequency is None else table.frequency
        counts = np.asarray(n_records).reshape(table.shape)
        for axis, dimension in enumerate(table.dimensions):
            if dimension.name in trees:
                given = trees[dimension.name]
                # Everything else at its total, which comes last.
                own = counts[tuple(slice(None) if a == axis else -1 for a in range(counts.ndim))]
                left = {code for code in dimension.leaves if own[dimension.position[code]] > 0}
                listed = [given] if isinstance(given, Hierarchy) else given
                trees[dimension.name] = [tree.only(left) for tree in listed]
        return replace(self, hierarchies=trees)


def _filter_key(where: Where | None) -> frozenset[tuple[str, tuple[str, ...]]]:
    return frozenset((name, tuple(sorted(map(str, codes)))) for name, codes in (where or {}).items())
