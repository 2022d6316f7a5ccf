"""The joint partition of two outputs as a bipartite graph: groups that only the two together single out.

The counts of both are the margins of a two-way table whose inner cells are not published. The largest value
that an inner cell can take is a maximum flow in the bipartite graph of rows and columns. Where it is below
the threshold, the minimum cut names cells of one partition and cells of the other, contained in them, whose
difference is the group: for two partitions the search is complete, within its limit of counted work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hitoku.attacks.differencing.common_refinement import DENSE, CommonRefinement, Joint
from hitoku.attacks.differencing.partition import (
    Cell,
    Codes,
    Hashes,
    Partition,
    add_certificates,
    combine_certificates,
)
from hitoku.model import Integers, Mask
from hitoku.solver.solution import CountedWork

GROUND: Hashes = np.zeros(1, dtype=np.uint64)
NOBODY: Integers = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Difference:
    """Units that two partitions single out together."""

    edges: Integers
    """Positions of the joint cells that make it up."""
    size: int
    """Number of units."""
    certificate: dict[Cell, int]
    """Published cells that are added and subtracted to get it."""
    hash: int
    """Wrapped sum of its units' keys: the same group has the same, however it was found."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JointPartition:
    """The nonempty joint cells of two partitions, as edges of a bipartite graph from rows to columns.

    Node 0, the ground, stands for units in no group; the groups of the first partition follow, then those of
    the second. ``hashes`` are those of the groups at the nodes.
    """

    first: Partition
    second: Partition
    tail: Integers
    head: Integers
    size: Integers
    start: Integers
    incident: Integers
    hashes: Hashes

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
            Partitions to cross.
        order
            Units sorted by their code in the first partition, if already computed; needed for large
            partitions only.
        refinement
            A common refinement that holds the first partition, where there is one.
        """
        from hitoku.kernels.joint_cells import connect, join  # noqa: PLC0415 - numba takes a second to load

        hashes = np.concatenate([GROUND, first.hashes, second.hashes])
        if refinement is not None and refinement.suits(first, second):
            cells = inside_groups(refinement.joint(first, second))
        elif first.alike is not None or (len(first) + 1) * (len(second) + 1) > DENSE:
            cells = joint_cells(first, second, order)
        else:
            tail, head, size, start, incident = join(*_in_arrays(first), *_in_arrays(second))
            return cls(first, second, tail, head, size, start, incident, hashes)
        tail, head, size, start, incident = connect(*cells, len(first), len(second))
        return cls(first, second, tail, head, size, start, incident, hashes)

    def small(
        self, threshold: int, known: Hashes, work: CountedWork | None = None
    ) -> tuple[list[Difference], bool]:
        """Return every group below a threshold that the two single out, each once; and whether these are all.

        Parameters
        ----------
        threshold
            Groups with fewer units are small.
        known
            Hashes of groups that are left out, in order.
        work
            Nodes and edges of graphs that may be looked at; left out for no limit.
        """
        from hitoku.kernels.joint_graph import singled_out  # noqa: PLC0415 - numba takes a second to load

        work = CountedWork() if work is None else work
        graph = *self._graph, self.hashes, len(self.first)
        edges, looked, stopped = singled_out(*graph, threshold, known, work.left)
        work.add(looked)
        return [self._cut_at_edge(edge, threshold) for edge in edges.tolist()], not stopped

    def exact(self, known: Hashes) -> Iterator[Difference]:
        """Return groups of any size that follow exactly, without those whose hash is known, in order.

        They are what cells leave of a cell that holds them, and bridges: joint cells that alone connect two
        parts of the graph.
        """
        from hitoku.kernels.joint_graph import new_bridges, remainders  # noqa: PLC0415 - numba takes a second to load

        for ends, others, sense in ((self.head, self.tail, 1), (self.tail, self.head, -1)):
            for whole in remainders(ends, others, self.start, self.hashes, known).tolist():
                yield self._remainder(whole, ends, others, sense)
        # Beyond a bridge to a single cell there is that cell, and it was published.
        bridges = new_bridges(self.tail, self.head, self.start, self.incident, self.hashes, known)
        for edge in bridges.tolist():
            yield self._beyond(edge)

    @property
    def _graph(self) -> tuple[Integers, ...]:
        return self.tail, self.head, self.size, self.start, self.incident

    def _cut_at_edge(self, edge: int, threshold: int) -> Difference:
        """Take the group that the minimum cut at an edge singles out."""
        from hitoku.kernels.joint_graph import send_flow, take_side  # noqa: PLC0415 - numba takes a second to load

        n_nodes = len(self.start) - 1
        came, own = np.empty(n_nodes, dtype=np.int64), np.zeros(n_nodes, dtype=np.bool_)
        residual, queue = np.zeros(len(self.size), dtype=np.int64), np.empty(n_nodes, dtype=np.int64)
        send_flow(*self._graph, edge, threshold - int(self.size[edge]), residual, came, queue)
        # Columns reached less rows reached; seen from the other side when the ground is among them.
        by_column = take_side(self.tail, self.head, self.start, self.incident, edge, came, own, queue)
        return self._across(own, by_column=by_column)

    def _beyond(self, edge: int) -> Difference:
        """Take the joint cell of a bridge, by the part that it cuts off from the ground."""
        from hitoku.kernels.joint_graph import beyond  # noqa: PLC0415 - numba takes a second to load

        n_nodes = len(self.start) - 1
        own, queue = np.zeros(n_nodes, dtype=np.bool_), np.empty(n_nodes, dtype=np.int64)
        by_column = beyond(self.tail, self.head, self.start, self.incident, edge, own, queue)
        return self._across(own, by_column=by_column)

    def _across(self, own: Mask, *, by_column: bool) -> Difference:
        """Add up one side of a cut: its columns less its rows, or the other way round."""
        near, far = (self.head, self.tail) if by_column else (self.tail, self.head)
        return self._difference(own, own[near] & ~own[far], 1 if by_column else -1)

    def _remainder(self, whole: int, ends: Integers, others: Integers, sense: int) -> Difference:
        """Take what is left of a group without those of the other partition that it holds."""
        nested = (np.diff(self.start)[others] == 1) & (others > 0) & (ends == whole)
        own = np.zeros(len(self.start) - 1, dtype=np.bool_)
        own[whole] = True
        own[others[nested]] = True
        return self._difference(own, (ends == whole) & ~nested, sense)

    def _difference(self, own: Mask, across: Mask, sense: int) -> Difference:
        n = len(self.first)
        rows = np.flatnonzero(own[1 : n + 1]) + 1
        columns = np.flatnonzero(own[n + 1 :]) + 1
        certificate = add_certificates(
            combine_certificates(dict.fromkeys(rows.tolist(), -sense), self.first),
            combine_certificates(dict.fromkeys(columns.tolist(), sense), self.second),
        )
        # Hashes add up as the cells do.
        plus, minus = (int(self.hashes[nodes].sum(dtype=np.uint64)) for nodes in (n + columns, rows))
        total = sense * (plus - minus) % 2**64
        return Difference(np.flatnonzero(across), int(self.size[across].sum()), certificate, total)

    def units_of_each(self, groups: Sequence[Difference]) -> list[Integers]:
        """Return the units of each of some groups, which may overlap, in one pass over units."""
        n_columns = len(self.second) + 1
        column = np.where(self.head == 0, 0, self.head - len(self.first))
        needed = np.unique(np.concatenate([group.edges for group in groups]))
        place = np.full((len(self.first) + 1) * n_columns, -1, dtype=np.int32)
        place[self.tail[needed] * n_columns + column[needed]] = np.arange(len(needed))
        one, other, units = align_codes(self.first, self.second)
        edge = place[one.astype(np.int64) * n_columns + other]
        inside = np.flatnonzero(edge >= 0)
        edge, inside = edge[inside], inside if units is None else units[inside]
        return [inside[np.isin(edge, np.searchsorted(needed, group.edges))] for group in groups]

    def units_of(self, groups: list[Difference]) -> tuple[Codes, Integers]:
        """Return the group number, from 1, and the units of some disjoint groups."""
        n_columns = len(self.second) + 1
        number = np.zeros((len(self.first) + 1) * n_columns, dtype=np.int32)
        column = np.where(self.head == 0, 0, self.head - len(self.first))
        for place, group in enumerate(groups, start=1):
            number[self.tail[group.edges] * n_columns + column[group.edges]] = place
        one, other, units = align_codes(self.first, self.second)
        codes = number[one.astype(np.int64) * n_columns + other]
        inside = np.flatnonzero(codes)
        return codes[inside], (inside if units is None else units[inside])


def align_codes(first: Partition, second: Partition) -> tuple[Codes, Codes, Integers | None]:
    """Return codes of both partitions at the same units: all, or those in one of two small partitions."""
    if first.units is None and second.units is None:
        return first.codes, second.codes, None
    if first.units is None or second.units is None:
        return dense(first), dense(second), None
    units = np.union1d(first.units, second.units)
    return looked_up(first, units), looked_up(second, units), units


def dense(partition: Partition) -> Codes:
    """Return the codes of all units."""
    if partition.units is None:
        return partition.codes
    codes = np.zeros(partition.n_units, dtype=np.int32)
    codes[partition.units] = partition.codes
    return codes


def looked_up(partition: Partition, units: Integers) -> Codes:
    """Return the codes of some units."""
    if partition.units is None:
        return partition.codes[units]
    place = np.searchsorted(partition.units, units)
    place[place == len(partition.units)] = 0
    there = partition.units[place] == units if len(partition.units) else np.zeros(len(units), dtype=bool)
    return np.where(there, partition.codes[place], 0).astype(np.int32)


def joint_cells(
    first: Partition, second: Partition, order: Integers | None = None
) -> tuple[Integers, Integers, Integers]:
    """Return row, column and size of every joint cell with units of a group, sorted."""
    from hitoku.kernels.joint_cells import count_pairs  # noqa: PLC0415 - numba takes a second to load

    if first.units is None and second.units is not None:
        rows, columns, size = joint_cells(second, first)
        turned = np.lexsort((rows, columns))
        return columns[turned], rows[turned], size[turned]
    codes = second.codes if first.units is None else looked_up(second, first.units)
    order = by_code(first) if order is None else order
    whole = np.ones(first.n_units, dtype=np.int64) if first.alike is None else first.alike.weights
    weights = whole if first.units is None else whole[first.units]
    rows, columns, size = count_pairs(order, first.codes, codes, weights, len(second) + 1)
    if first.units is not None:
        # Units that are not listed are in no group of the first.
        left = second.sizes - np.bincount(columns, weights=size, minlength=len(second) + 1).astype(np.int64)
        others = np.flatnonzero(left)
        rows = np.concatenate([np.zeros_like(others), rows])
        columns, size = np.concatenate([others, columns]), np.concatenate([left[others], size])
    return inside_groups((rows, columns, size))


def _in_arrays(part: Partition) -> tuple[Codes, Integers, bool, Integers]:
    return part.codes, NOBODY if part.units is None else part.units, part.units is not None, part.sizes


def inside_groups(joint: Joint) -> Joint:
    """Return joint cells without units that are in no group of either."""
    rows, columns, size = joint
    inside = (rows > 0) | (columns > 0)
    return rows[inside], columns[inside], size[inside]


def by_code(partition: Partition) -> Integers:
    """Return positions in ``codes``, sorted by code."""
    return np.argsort(partition.codes, kind="stable")
