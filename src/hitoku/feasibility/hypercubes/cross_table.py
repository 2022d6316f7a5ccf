"""The cross table of all codes that encloses a table, with its variables as arrays for hypercube searches.

A table with dimensions is its own cross table. Linked tables share the cross of all their variables, of which
they contain some cells; cells that no table contains are not published and may move freely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from hitoku.model import Dimension, Integers, Labels

# Maximum number of positions of a cross table; more would take too much memory.
MAX_SIZE = 2**26
# Maximum number of cells of a hypercube; a larger one costs more than it protects.
MAX_HYPERCUBE = 2**15


class LabelledRelations(Protocol):
    """Protocol of tables and releases: cells with codes and relations."""

    @property
    def n_cells(self) -> int:
        """Number of cells."""

    @property
    def relations(self) -> Any:
        """Relations by cells."""

    @property
    def labels(self) -> Labels:
        """Codes of the cells."""

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Variables of a cross table; empty for linked tables."""


@dataclass(frozen=True, eq=False)
class CrossVariable:
    """A variable: for each code the sorted leaves below it."""

    below: tuple[Integers, ...]
    n_leaves: int

    def above(self) -> list[list[int]]:
        """Return the codes above each leaf, including the leaf itself."""
        listed: list[list[int]] = [[] for _ in range(self.n_leaves)]
        for code, leaves in enumerate(self.below):
            for leaf in leaves.tolist():
                listed[leaf].append(code)
        return listed

    def wider(self) -> list[int]:
        """Return the smallest code with more leaves above each code; the code itself if there is none.

        The leaves near a code are those of its wider code without its own.
        """
        above, sets = self.above(), [frozenset(leaves.tolist()) for leaves in self.below]
        listed = []
        for code, own in enumerate(sets):
            wider = [one for one in above[min(own)] if len(sets[one]) > len(own) and own <= sets[one]]
            listed.append(min(wider, key=lambda one: len(sets[one]), default=code))
        return listed


@dataclass(frozen=True, eq=False)
class EnclosingTable:
    """Positions of the cells of a table in the cross of all codes."""

    shape: tuple[int, ...]
    """Number of codes per variable."""
    variables: tuple[CrossVariable, ...]
    """Trees of the variables."""
    position: Integers
    """Position of each cell in the cross, row-major."""

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def longest_hypercube(self) -> int:
        """Number of cells of the largest hypercube."""
        return int(np.prod([2 * max(map(len, v.above())) for v in self.variables], dtype=np.float64))

    def space(self) -> tuple[Any, ...]:
        """Return the variables as arrays for :mod:`hitoku.kernels.cheapest_hypercube`.

        The last two are the wider code of each code and, for each leaf below a code, the number of preceding
        leaves of the wider code that are not below the code. They determine near leaves without a list per
        code.
        """
        sizes = np.array(self.shape, dtype=np.int64)
        stride = np.append(np.cumprod(sizes[:0:-1])[::-1], 1).astype(np.int64)
        above = [leaf for v in self.variables for leaf in v.above()]
        below = [code for v in self.variables for code in v.below]
        starts = _starts(sizes.tolist())
        wider, skipped = [], []
        for v in self.variables:
            for own, code in zip(v.below, v.wider(), strict=True):
                wider.append(code)
                skipped.append(np.searchsorted(v.below[code], own) - np.arange(len(own)))
        longest = 2 * max(map(len, above))
        return (
            stride,
            starts,
            _starts([v.n_leaves for v in self.variables]),
            *_concatenate(above),
            *_concatenate(below),
            longest,
            np.array(wider, dtype=np.int64),
            _concatenate(skipped)[1],
        )


def cross_table_of(table: LabelledRelations) -> EnclosingTable | None:
    """Return the enclosing cross table; None if a relation is not a sum over codes of one variable.

    Examples
    --------
    >>> from hitoku.model import Table
    >>> cross_table_of(Table.from_array([[20, 15], [72, 1]])).shape
    (3, 3)
    """
    if table.dimensions:
        variables = tuple(
            CrossVariable(
                tuple(np.split(d.closure.indices.astype(np.int64), d.closure.indptr[1:-1])), len(d.leaves)
            )
            for d in table.dimensions
        )
        shape = tuple(len(d) for d in table.dimensions)
        cross_table = EnclosingTable(shape, variables, np.arange(table.n_cells))
    else:
        linked = _derive_variables(table)
        if linked is None:
            return None
        cross_table = linked
    return (
        cross_table
        if cross_table.size <= MAX_SIZE and cross_table.longest_hypercube <= MAX_HYPERCUBE
        else None
    )


def _derive_variables(table: LabelledRelations) -> EnclosingTable | None:
    """Derive the variables of linked tables from their labels and relations."""
    labels = table.labels
    if labels.positions is None:
        return None
    shape = tuple(len(codes) for codes in labels.codes)
    if np.prod([float(n) for n in shape]) > MAX_SIZE:
        return None
    position = np.ravel_multi_index([labels.column(v) for v in range(len(shape))], shape).astype(np.int64)
    splits = _splits(table, len(shape))
    if splits is None or len(np.unique(position)) < len(position):
        return None
    variables = [_variable(n, groups) for n, groups in zip(shape, splits, strict=True)]
    if any(variable is None for variable in variables):
        return None
    return EnclosingTable(shape, tuple(v for v in variables if v is not None), position)


def _splits(table: LabelledRelations, n_variables: int) -> list[set[tuple[int, tuple[int, ...]]]] | None:
    """Collect, per variable, the parts of each total; None if a relation is of another kind."""
    relations, found = table.relations, [set[tuple[int, tuple[int, ...]]]() for _ in range(n_variables)]
    columns = [table.labels.column(v) for v in range(n_variables)]
    for row in range(relations.shape[0]):
        entries = slice(relations.indptr[row], relations.indptr[row + 1])
        cells, signs = relations.indices[entries], relations.data[entries]
        signs = -signs if np.count_nonzero(signs < 0) != 1 else signs
        varying = [v for v in range(n_variables) if len(set(columns[v][cells].tolist())) > 1]
        plain = np.all(np.abs(signs) == 1) and np.count_nonzero(signs < 0) == 1
        if len(varying) != 1 or not plain:
            return None
        codes = columns[varying[0]][cells]
        parts = codes[signs > 0].tolist()
        if len(set(parts)) < len(parts):
            return None
        found[varying[0]].add((int(codes[signs < 0][0]), tuple(sorted(parts))))
    return found


def _variable(n_codes: int, groups: set[tuple[int, tuple[int, ...]]]) -> CrossVariable | None:
    """Derive the leaves below every code; None if two sums of a code disagree."""
    sums = {code for code, _ in groups}
    leaves = [code for code in range(n_codes) if code not in sums]
    below: dict[int, frozenset[int]] = {code: frozenset([place]) for place, code in enumerate(leaves)}
    left = sorted(groups)
    while left:
        ready = [(code, parts) for code, parts in left if all(part in below for part in parts)]
        if not ready:
            return None  # codes that contain each other
        for code, parts in ready:
            members = frozenset[int]().union(*(below[part] for part in parts))
            overlap = sum(len(below[part]) for part in parts) != len(members)
            if overlap or below.setdefault(code, members) != members:
                return None
        done = set(ready)
        left = [group for group in left if group not in done]
    return CrossVariable(
        tuple(np.array(sorted(below[code]), dtype=np.int64) for code in range(n_codes)), len(leaves)
    )


def _starts(sizes: Sequence[int]) -> Integers:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _concatenate(lists: Sequence[Any]) -> tuple[Integers, Integers]:
    """Concatenate lists; return the start of each, and the concatenation."""
    return _starts([len(part) for part in lists]), np.concatenate(
        [np.asarray(part, dtype=np.int64) for part in lists]
    )
