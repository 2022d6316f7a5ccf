"""The joint partition of two outputs as a bipartite graph: groups that only the two together single out.

The counts of both are the margins of a two-way table whose inner cells are not published. The largest value
that an inner cell can take is a maximum flow in the bipartite graph of rows and columns. Where it is below
the threshold, the minimum cut names cells of one partition and cells of the other, contained in them, whose
difference is the group: for two partitions the search is complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from hitoku.attacks.differencing.common_refinement import CommonRefinement, Joint
from hitoku.attacks.differencing.partition import Cell, Codes, Hashes, Partition, added, combined
from hitoku.model.arrays import Integers, Mask

# Two partitions with fewer joint cells than this are counted in a matrix of all of them.
DENSE = 2**20


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Difference:
    """Units that two partitions single out together.

    Parameters
    ----------
    edges
        Positions of the joint cells that make it up.
    size
        How many units it has.
    certificate
        Published cells that are added and subtracted to get it.
    hash
        Wrapped sum of its units' keys: the same group has the same, however it was found.
    """

    edges: Integers
    size: int
    certificate: dict[Cell, int]
    hash: int


@dataclass(frozen=True, eq=False, repr=False)
class JointPartition:
    """The nonempty joint cells of two partitions, as edges of a bipartite graph from rows to columns.

    Node 0, the ground, stands for units in no group; the groups of the first partition follow, then those of
    the second.
    """

    first: Partition
    second: Partition
    tail: Integers
    head: Integers
    size: Integers
    start: Integers
    incident: Integers

    @classmethod
    def of(
        cls,
        first: Partition,
        second: Partition,
        order: Integers | None = None,
        refinement: CommonRefinement | None = None,
    ) -> JointPartition:
        """Count the joint cells.

        Parameters
        ----------
        first, second
            The partitions.
        order
            Units sorted by their code in the first partition, where somebody has it already; needed for large
            partitions only.
        refinement
            A common refinement that holds the first partition, where there is one.
        """
        if refinement is not None and refinement.suits(first, second):
            rows, columns, size = inside_groups(refinement.joint(first, second))
        else:
            rows, columns, size = joint_cells(first, second, order)
        tail, head = rows, np.where(columns == 0, 0, columns + len(first))
        n_nodes = 1 + len(first) + len(second)
        ends = np.concatenate([tail, head])
        start = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n_nodes))])
        incident = np.tile(np.arange(len(tail)), 2)[np.argsort(ends, kind="stable")]
        return cls(first, second, tail, head, size, start, incident)

    def small(self, threshold: int) -> Iterator[Difference]:
        """Return every group below a threshold that the two single out, each once."""
        from hitoku.kernels.joint_partition import narrow_edges  # noqa: PLC0415 - numba takes a second to load

        if not len(self.size) or self.size.min() >= threshold:
            return
        graph = self.tail, self.head, self.size, self.start, self.incident
        seen: set[bytes] = set()
        for edge in np.flatnonzero(narrow_edges(*graph, threshold)):
            found = self._cut(int(edge), threshold)
            if found.edges.tobytes() not in seen:
                seen.add(found.edges.tobytes())
                yield found

    def exact(self, known: AbstractSet[int]) -> Iterator[Difference]:
        """Return groups of any size that follow exactly, without those whose hash is known.

        They are what cells leave of a cell that holds them, and bridges: joint cells that alone connect two
        parts of the graph.
        """
        from hitoku.kernels.joint_partition import bridges  # noqa: PLC0415 - numba takes a second to load

        if not len(self.size):
            return
        yield from self._remainders(known)
        alone = (np.diff(self.start) == 1) & (np.arange(len(self.start) - 1) > 0)
        # Beyond a bridge to a single cell there is that cell, and it was published.
        inside = ~alone[self.tail] & ~alone[self.head]
        if inside.any():
            for edge in np.flatnonzero(inside & bridges(self.tail, self.head, self.start, self.incident)):
                found = self._side(int(edge))
                if found.hash not in known:
                    yield found

    def _cut(self, edge: int, threshold: int) -> Difference:
        from hitoku.kernels.joint_partition import send_flow  # noqa: PLC0415 - numba takes a second to load

        n_nodes = len(self.start) - 1
        came = np.empty(n_nodes, dtype=np.int64)
        room, queue = np.zeros(len(self.size), dtype=np.int64), np.empty(n_nodes, dtype=np.int64)
        graph = self.tail, self.head, self.size, self.start, self.incident
        send_flow(*graph, edge, threshold - int(self.size[edge]), room, came, queue)
        reached = came >= 0
        # Columns reached less rows reached; seen from the other side when the ground is among them.
        return self._group(edge, reached if not reached[0] else ~reached)

    def _side(self, edge: int) -> Difference:
        """Take the part that a bridge cuts off from the ground, or from the rest."""
        kept = np.ones(len(self.tail), dtype=bool)
        kept[edge] = False
        n_nodes = len(self.start) - 1
        graph = sparse.coo_array(
            (np.ones(kept.sum(), dtype=np.int8), (self.tail[kept], self.head[kept])), shape=(n_nodes, n_nodes)
        )
        _, part = connected_components(graph, directed=False)
        away = self.head[edge] if part[self.head[edge]] != part[0] else self.tail[edge]
        return self._group(edge, part == part[away])

    def _group(self, edge: int, nodes: Mask) -> Difference:
        """Add up one side of a cut: its connected part that holds the edge."""
        inside = nodes[self.tail] & nodes[self.head]
        n_nodes = len(self.start) - 1
        graph = sparse.coo_array(
            (np.ones(inside.sum(), dtype=np.int8), (self.tail[inside], self.head[inside])),
            shape=(n_nodes, n_nodes),
        )
        _, part = connected_components(graph, directed=False)
        columns_first = bool(nodes[self.head[edge]])
        own = part == part[self.head[edge] if columns_first else self.tail[edge]]
        own &= nodes
        near, far = (self.head, self.tail) if columns_first else (self.tail, self.head)
        return self._difference(own, own[near] & ~own[far], 1 if columns_first else -1)

    def _difference(self, own: Mask, across: Mask, sense: int) -> Difference:
        n = len(self.first)
        rows = np.flatnonzero(own[1 : n + 1]) + 1
        columns = np.flatnonzero(own[n + 1 :]) + 1
        certificate = added(
            combined(dict.fromkeys(rows.tolist(), -sense), self.first),
            combined(dict.fromkeys(columns.tolist(), sense), self.second),
        )
        # Hashes add up as the cells do.
        plus, minus = (int(self.hashes[nodes].sum(dtype=np.uint64)) for nodes in (n + columns, rows))
        total = sense * (plus - minus) % 2**64
        return Difference(np.flatnonzero(across), int(self.size[across].sum()), certificate, total)

    @cached_property
    def hashes(self) -> Hashes:
        """Hash of the group at every node."""
        return np.concatenate([np.zeros(1, dtype=np.uint64), self.first.hashes, self.second.hashes])

    def _remainders(self, known: AbstractSet[int]) -> Iterator[Difference]:
        """Return what is left of a group without those of the other partition that it holds."""
        n_nodes = len(self.start) - 1
        degree = np.diff(self.start)
        for ends, others, sense in ((self.head, self.tail, 1), (self.tail, self.head, -1)):
            nested = (degree[others] == 1) & (others > 0) & (ends > 0)
            held = np.bincount(ends[nested], minlength=n_nodes)
            left = self.hashes.copy()
            np.subtract.at(left, ends[nested], self.hashes[others[nested]])
            for whole in np.flatnonzero((held > 0) & (held < degree)):
                if int(left[whole]) not in known:
                    own = np.zeros(n_nodes, dtype=bool)
                    own[whole] = True
                    own[others[nested & (ends == whole)]] = True
                    yield self._difference(own, (ends == whole) & ~nested, sense)

    def units_of_each(self, groups: Sequence[Difference]) -> list[Integers]:
        """Which units are in each of some groups, which may overlap; units are gone through once for all."""
        n_columns = len(self.second) + 1
        column = np.where(self.head == 0, 0, self.head - len(self.first))
        needed = np.unique(np.concatenate([group.edges for group in groups]))
        place = np.full((len(self.first) + 1) * n_columns, -1, dtype=np.int32)
        place[self.tail[needed] * n_columns + column[needed]] = np.arange(len(needed))
        one, other, units = aligned(self.first, self.second)
        edge = place[one.astype(np.int64) * n_columns + other]
        inside = np.flatnonzero(edge >= 0)
        edge, inside = edge[inside], inside if units is None else units[inside]
        return [inside[np.isin(edge, np.searchsorted(needed, group.edges))] for group in groups]

    def units_of(self, groups: list[Difference]) -> tuple[Codes, Integers]:
        """Which units are in which of some disjoint groups, numbered from 1."""
        n_columns = len(self.second) + 1
        number = np.zeros((len(self.first) + 1) * n_columns, dtype=np.int32)
        column = np.where(self.head == 0, 0, self.head - len(self.first))
        for place, group in enumerate(groups, start=1):
            number[self.tail[group.edges] * n_columns + column[group.edges]] = place
        one, other, units = aligned(self.first, self.second)
        codes = number[one.astype(np.int64) * n_columns + other]
        inside = np.flatnonzero(codes)
        return codes[inside], (inside if units is None else units[inside])


def aligned(first: Partition, second: Partition) -> tuple[Codes, Codes, Integers | None]:
    """Codes of both partitions at the same units: all of them, or those in at least one of two small ones."""
    if first.units is None and second.units is None:
        return first.codes, second.codes, None
    if first.units is None or second.units is None:
        return dense(first), dense(second), None
    units = np.union1d(first.units, second.units)
    return looked_up(first, units), looked_up(second, units), units


def dense(partition: Partition) -> Codes:
    """Codes of all units."""
    if partition.units is None:
        return partition.codes
    codes = np.zeros(partition.n_units, dtype=np.int32)
    codes[partition.units] = partition.codes
    return codes


def looked_up(partition: Partition, units: Integers) -> Codes:
    """Codes of some units."""
    if partition.units is None:
        return partition.codes[units]
    place = np.searchsorted(partition.units, units)
    place[place == len(partition.units)] = 0
    there = partition.units[place] == units if len(partition.units) else np.zeros(len(units), dtype=bool)
    return np.where(there, partition.codes[place], 0).astype(np.int32)


def joint_cells(
    first: Partition, second: Partition, order: Integers | None = None
) -> tuple[Integers, Integers, Integers]:
    """Return row, column and size of every joint cell that holds somebody in a group, in order."""
    from hitoku.kernels.joint_partition import count_pairs, cross_tabulate  # noqa: PLC0415 - numba takes a second to load

    if first.units is None and second.units is not None:
        rows, columns, size = joint_cells(second, first)
        turned = np.lexsort((rows, columns))
        return columns[turned], rows[turned], size[turned]
    codes = second.codes if first.units is None else looked_up(second, first.units)
    if (len(first) + 1) * (len(second) + 1) <= DENSE:
        counts = np.zeros((len(first) + 1, len(second) + 1), dtype=np.int64)
        cross_tabulate(first.codes, codes, counts)
        rows, columns = np.nonzero(counts)
        size = counts[rows, columns]
    else:
        order = by_code(first) if order is None else order
        rows, columns, size = count_pairs(order, first.codes, codes, len(second) + 1)
    if first.units is not None:
        # Whoever is not in the list is in no group of the first.
        left = second.sizes - np.bincount(columns, weights=size, minlength=len(second) + 1).astype(np.int64)
        others = np.flatnonzero(left)
        rows = np.concatenate([np.zeros_like(others), rows])
        columns, size = np.concatenate([others, columns]), np.concatenate([left[others], size])
    return inside_groups((rows, columns, size))


def inside_groups(joint: Joint) -> Joint:
    """Leave out who is in no group of either."""
    rows, columns, size = joint
    inside = (rows > 0) | (columns > 0)
    return rows[inside], columns[inside], size[inside]


def by_code(partition: Partition) -> Integers:
    """Positions in ``codes``, sorted by the code there."""
    return np.argsort(partition.codes, kind="stable")
