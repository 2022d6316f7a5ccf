"""One search: an output is compared with everything released before, and its implications with everything.

With few units nearly every group is an implication, and comparing implications may not end. So the work has
limits, counted in steps and not in seconds, the same on every computer: one for flows, and one for all
comparisons beyond two outputs. If one is reached, the result reports it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from hitoku.attacks.differencing.alike import Alike
from hitoku.attacks.differencing.common_refinement import DENSE, CommonRefinement
from hitoku.attacks.differencing.joint_partition import Difference, JointPartition, by_code
from hitoku.attacks.differencing.partition import Cell, Certificate, Hashes, Partition
from hitoku.model import Integers
from hitoku.solver.solution import CountedWork

# Limit on the steps of a search beyond two outputs, some seconds of them: a comparison counts the units that
# it reads, and at least PAIR.
EFFORT = 1_000_000_000
PAIR = 20_000
# Steps per unit for making a partition of an implication, or for refining one.
DERIVING = 20
# Maximum number of partitions of implications of one output, the shortest sums first.
MAX_DERIVED = 250
# With fewer units than this, going through them takes no longer than finding out which are alike.
FEW_UNITS = 10_000
NONE: Hashes = np.empty(0, dtype=np.uint64)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SingledOut:
    """Units that published cells single out together, though no single cell does."""

    certificate: Certificate
    """Published cells with coefficients."""
    members: Integers
    """Members of the group, units or blocks of units that are alike; confidential."""
    hash: int
    """Hash that identifies the group."""
    alike: Alike | None = None
    """The blocks, where members are blocks."""

    @cached_property
    def units(self) -> Integers:
        """Members of the group as units; confidential."""
        return self.members if self.alike is None else self.alike.units(self.members)

    @property
    def outputs(self) -> frozenset[str]:
        """Names of the outputs that disclose it."""
        return frozenset(output for output, _, _ in self.certificate)

    @property
    def cells(self) -> list[tuple[Cell, int]]:
        """The certificate in order."""
        return sorted(self.certificate.items())

    def __len__(self) -> int:
        return len(self.members) if self.alike is None else int(self.alike.weights[self.members].sum())

    def __repr__(self) -> str:
        return f"SingledOut({len(self.certificate)} cells of {len(self.outputs)} outputs)"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Searched:
    """Result of a search."""

    small: Sequence[SingledOut]
    """Groups below the threshold."""
    derived: Sequence[Partition]
    """Partitions into groups of any size that follow exactly."""
    compared: int
    left_out: int
    """Comparisons beyond two outputs: number made, and number skipped at the work limit."""
    unfinished: int
    """Number of comparisons of two partitions stopped at the limit of flows: they may miss small groups."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SearchTask:
    """Input of a search."""

    released: Sequence[Partition]
    derived: Sequence[Partition]
    """Partitions published before, and what followed from them."""
    output: Sequence[Partition]
    """The new partitions."""
    keys: Hashes
    """One number per unit, as the partitions were made with."""
    n_units: int
    """Number of units; partitions may have fewer, each representing several."""
    threshold: int
    depth: int
    effort: int
    flow_work: float
    """As in :class:`DifferencingSearch`."""

    def searched(self) -> Searched:
        """Compare an output with everything released, and its implications with everything."""
        published = _Told([*self.released, *self.output])
        known = _Told([*self.released, *self.output, *self.derived])
        new = frozenset[str]().union(*(part.outputs for part in self.output))
        small: dict[int, SingledOut] = {}
        turns, work, unfinished = _Turns(self), CountedWork(self.flow_work), 0
        for one, other, nothing_new in turns:
            joint = JointPartition.of(one, other, turns.order, turns.refinement(one))
            publishes = one.publishes & other.publishes
            fresh, finished = joint.small(self.threshold, published.of(publishes), work)
            unfinished += not finished
            for group in self._members(joint, fresh):
                if new & group.outputs and group.hash not in small:
                    small[group.hash] = group
                    published.met(group.hash)
            n_outputs = len(one.outputs | other.outputs)
            if not nothing_new and (n_outputs < self.depth or n_outputs == 1) and turns.has_room():
                found = list(self._exact(joint, known.of(publishes), publishes))
                known.add(found)
                turns.follows(found, (one, other))
        # Not by hash: the order must not depend on a secret.
        ranked = sorted(small.values(), key=lambda group: (len(group.outputs), len(group), group.cells))
        return Searched(
            small=ranked,
            derived=turns.fresh,
            compared=turns.compared,
            left_out=turns.left_out,
            unfinished=unfinished,
        )

    def _members(self, joint: JointPartition, fresh: Sequence[Difference]) -> Iterator[SingledOut]:
        if fresh:
            for found, units in zip(fresh, joint.units_of_each(fresh), strict=True):
                yield SingledOut(
                    certificate=found.certificate, members=units, hash=found.hash, alike=joint.first.alike
                )

    def _exact(self, joint: JointPartition, known: Hashes, publishes: frozenset[str]) -> Iterator[Partition]:
        """Collect new groups that follow exactly, disjoint ones in one partition."""
        batches: list[list[Difference]] = []
        taken: list[set[int]] = []
        met: set[int] = set()
        for found in joint.exact(known):
            if found.hash in met:
                continue  # met twice in this pair
            met.add(found.hash)
            edges = set(found.edges.tolist())
            for batch, used in zip(batches, taken, strict=True):
                if not used & edges:
                    batch.append(found)
                    used.update(edges)
                    break
            else:
                batches.append([found])
                taken.append(edges)
        for batch in batches:
            yield self._partition(joint, batch, publishes)

    def _partition(
        self, joint: JointPartition, groups: list[Difference], publishes: frozenset[str]
    ) -> Partition:
        codes, units = joint.units_of(groups)
        certificates = tuple(group.certificate for group in groups)
        return Partition.derived(codes, units, joint.first, certificates, self.keys, publishes)


class _Turns:
    """Order of comparisons, the most informative partitions first, until all are done or a limit is reached.

    An output is compared with everything; implications with everything published and, if that has no new
    implications, with each other.

    Parameters
    ----------
    search
        Input of the search.
    """

    def __init__(self, search: SearchTask) -> None:
        self._search = search
        self._parents: dict[int, tuple[Partition, Partition]] = {}
        self._waiting, self._later = deque[Partition](), deque[Partition]()
        self._met: list[Partition] = []
        self._refinement: CommonRefinement | None = None
        self._effort = 0
        self.fresh: list[Partition] = []
        self.order: Integers | None = None
        self.compared = self.left_out = 0

    def has_room(self) -> bool:
        """Return whether more implications can be stored; count those that cannot."""
        full = len(self.fresh) >= MAX_DERIVED or self._effort >= self._search.effort
        self.left_out += full
        return not full

    def follows(self, found: Sequence[Partition], parents: tuple[Partition, Partition]) -> None:
        """Add the implications of two partitions."""
        self.fresh += found
        self._waiting += found
        self._effort += DERIVING * sum(len(part.codes) for part in found)
        self._parents |= {id(part): parents for part in found}

    def __iter__(self) -> Iterator[tuple[Partition, Partition, bool]]:
        """Yield two partitions, and whether the first was derived from all outputs of the second."""
        released, derived, output = self._search.released, self._search.derived, list(self._search.output)
        for place, one in enumerate(output):
            self._prepare(one)
            # Two outputs are always compared.
            others = [*released, *output[place + 1 :]]
            yield from ((one, other, False) for other in self._partners(one, others))
            others = [*derived, *self.fresh]
            yield from ((one, other, False) for other in self._affordable(one, self._partners(one, others)))
        while self._waiting or self._later:
            if self._waiting:
                one, others = self._waiting.popleft(), [*released, *output]
                self._later.append(one)
            else:
                one, others = self._later.popleft(), [*derived, *self._met]
                self._met.append(one)
            self._prepare(one)
            for other in self._affordable(one, self._partners(one, others)):
                # Of many units, what is left of what is left of one output is worked out no further.
                closed = self._search.n_units >= FEW_UNITS or other not in output
                yield one, other, closed and other.outputs <= one.outputs

    def refinement(self, one: Partition) -> CommonRefinement | None:
        """Return the common refinement that has a partition, if there is one."""
        return self._refinement if self._refinement is not None and self._refinement.holds(one) else None

    def _prepare(self, one: Partition) -> None:
        """Sort units by code if there are too many joint cells for a matrix; or refine several partitions."""
        widest = max(map(len, self._search.released), default=0)
        large = one.alike is not None or len(one) * widest > DENSE
        self.order = by_code(one) if one.units is None and large else None
        if one.n_units < FEW_UNITS or one.units is not None or id(one) not in self._parents:
            return
        if self.refinement(one) is None:
            # Implications are compared with everything; all waiting ones share one pass over units.
            others = [part for part in (*self._waiting, *self._later) if part.units is None]
            self._refinement = CommonRefinement([one, *(part for part in others if part is not one)])
            self._effort += DERIVING * len(self._refinement) * one.n_units

    def _partners(self, one: Partition, others: Sequence[Partition]) -> Iterator[Partition]:
        """Yield the partitions with which one may disclose something.

        Joint disclosure by two partitions was found when they were compared; after that only comparisons of
        their descendants with other parts of the same outputs are new.
        """
        parents = self._parents.get(id(one), ())
        for other in others:
            if other is one or len(one.outputs | other.outputs) > self._search.depth or not one.outputs:
                continue
            # Incomes are not subtracted from numbers of people.
            if one.publishes & other.publishes and not any(other is parent for parent in parents):
                yield other

    def _affordable(self, one: Partition, others: Iterable[Partition]) -> Iterator[Partition]:
        """Yield partitions within the work limit."""
        for other in others:
            if self._effort >= self._search.effort:
                self.left_out += 1
                continue
            self.compared += 1
            self._effort += max(PAIR, self._steps(one, other))
            yield other

    def _steps(self, one: Partition, other: Partition) -> int:
        """Return the number of units to process."""
        refinement = self.refinement(one)
        if refinement is not None and refinement.suits(one, other):
            return 0 if refinement.has_met(other) else one.n_units
        listed = [len(part.codes) for part in (one, other) if part.units is not None]
        return min(listed, default=one.n_units)


class _Told:
    """Groups with known quantities, by quantity."""

    def __init__(self, parts: Sequence[Partition]) -> None:
        self._by: dict[str, list[Hashes]] = {}
        self._all: dict[frozenset[str], Hashes] = {}
        self._of_anything: list[int] = []
        self.add(parts)

    def of(self, publishes: frozenset[str]) -> Hashes:
        """Return the hashes of the groups with all of these quantities, sorted."""
        if publishes not in self._all:
            every = [np.concatenate([NONE, *self._by.get(each, [])]) for each in sorted(publishes)]
            both = reduce(np.intersect1d, every[1:], np.unique(every[0]))
            self._all[publishes] = np.union1d(both, np.array(self._of_anything, dtype=np.uint64))
        return self._all[publishes]

    def add(self, parts: Sequence[Partition]) -> None:
        """Add groups."""
        for part in parts:
            for each in part.publishes:
                self._by.setdefault(each, []).append(part.hashes)
            for publishes, hashes in self._all.items():
                if publishes <= part.publishes:
                    self._all[publishes] = np.union1d(hashes, part.hashes)

    def met(self, group: int) -> None:
        """Add a group of which all quantities count as known."""
        self._of_anything.append(group)
        for publishes, hashes in self._all.items():
            self._all[publishes] = np.union1d(hashes, np.array([group], dtype=np.uint64))
