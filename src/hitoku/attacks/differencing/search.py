"""A new output against everything released before: groups that only together they single out.

Two outputs are compared completely. Groups of any size that follow exactly from two of them are treated as
outputs in their own right and compared again, which finds what three outputs give away together; more on
request. What is found is a proof: coefficients on published cells that add up to the group.

Among few units nearly everything follows from something, and what follows could be compared for ever. So the
work beyond two outputs has a limit, in steps and not in seconds: the same for everybody, and told.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from hitoku.attacks.differencing.common_refinement import CommonRefinement
from hitoku.attacks.differencing.joint_partition import DENSE, Difference, JointPartition, by_code
from hitoku.attacks.differencing.partition import Cell, Certificate, Codes, Hashes, Partition, unit_keys
from hitoku.attacks.differencing.verifying import verify
from hitoku.errors import DataError, ParameterError
from hitoku.model.arrays import Integers

# Steps that a search beyond two outputs takes at most, some seconds of them: a comparison has as many as
# there are units to go through, and never fewer than PAIR.
EFFORT = 1_000_000_000
PAIR = 20_000
# So many steps per unit it takes to make a partition of what follows, or to refine one.
DERIVING = 20
# What follows from an output is kept in so many partitions at most, the shortest sums first.
MOST_DERIVED = 250
# With fewer units than this, going through them takes no longer than finding out which are alike.
FEW_UNITS = 10_000
NONE: Hashes = np.empty(0, dtype=np.uint64)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SingledOut:
    """Units that published cells single out together, though no cell does.

    Parameters
    ----------
    certificate
        Published cells and how often each is added.
    units
        Who they are; confidential.
    hash
        Tells the group apart from others.
    """

    certificate: Certificate
    units: Integers
    hash: int

    @property
    def outputs(self) -> frozenset[str]:
        """Names of the outputs that give it away."""
        return frozenset(output for output, _, _ in self.certificate)

    @property
    def cells(self) -> list[tuple[Cell, int]]:
        """The certificate in order."""
        return sorted(self.certificate.items())

    def __len__(self) -> int:
        return len(self.units)

    def __repr__(self) -> str:
        return f"SingledOut({len(self.certificate)} cells of {len(self.outputs)} outputs)"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Searched:
    """What a search finds.

    Parameters
    ----------
    small
        Groups below the threshold.
    derived
        Partitions into groups of any size that follow exactly.
    compared, left_out
        How many comparisons beyond two outputs were made, and how many were left out at the limit of work.
    """

    small: Sequence[SingledOut]
    derived: Sequence[Partition]
    compared: int
    left_out: int


class DifferencingSearch:
    """What was released about the same units, in memory.

    Parameters
    ----------
    n_units
        How many units there are.
    threshold
        Groups with fewer units must not be singled out.
    depth
        How many outputs are tested together at most.
    keys
        One number per unit, as the partitions were made with; :func:`unit_keys` when left out.
    effort
        How many steps a search takes at most beyond two outputs, which are always compared completely.

    Examples
    --------
    Two age bandings: 0-18 and 19-30, then 0-20 and 21-30. One person is aged 19 or 20.

    >>> ledger = DifferencingSearch(57, threshold=10)
    >>> ages = np.repeat([10, 19, 25], [18, 1, 38])
    >>> first = Partition.published("first", np.where(ages <= 18, 1, 2))
    >>> second = Partition.published("second", np.where(ages <= 20, 1, 2))
    >>> ledger.release([first])
    >>> [(len(group), dict(group.certificate)) for group in ledger.check([second])]
    [(1, {('first', 0, 2): 1, ('second', 0, 2): -1})]
    """

    def __init__(
        self,
        n_units: int,
        *,
        threshold: int = 10,
        depth: int = 3,
        keys: Hashes | None = None,
        effort: int = EFFORT,
    ) -> None:
        if threshold < 1 or depth < 1:
            raise ParameterError(
                "threshold and depth must be positive",
                where="differencing",
                fix="10 units and 3 outputs are usual",
            )
        self.n_units, self.threshold, self.depth, self.effort = n_units, threshold, depth, effort
        self.keys: Hashes = unit_keys(n_units) if keys is None else keys
        self.released: list[Partition] = []
        self.derived: list[Partition] = []
        self._places: dict[tuple[str, int], Partition] = {}
        # Whoever checks an output mostly releases it next.
        self._last: tuple[tuple[Partition, ...], Searched] | None = None

    def check(self, output: Sequence[Partition]) -> list[SingledOut]:
        """Return the groups below the threshold that an output would single out; nothing is remembered."""
        return list(self.searched(output).small)

    def release(self, output: Sequence[Partition]) -> None:
        """Remember an output, and what follows from it."""
        self._add(output, self.follows(output))

    def restore(self, output: Sequence[Partition], derived: Sequence[Sequence[Certificate]]) -> None:
        """Remember an output whose derived groups are known already, without searching again.

        Parameters
        ----------
        output
            Its partitions.
        derived
            Groups that follow from it and from what was released before it, disjoint ones together.
        """
        self._name(output)
        self._add(output, [])
        self.derived += [self._restored(tuple(certificates)) for certificates in derived]

    def _restored(self, certificates: tuple[Certificate, ...]) -> Partition:
        """Add groups up from published cells; they are disjoint, so that their numbers add up to codes."""
        codes = _added_up(certificates, self._places, self.n_units)
        if codes.min(initial=0) < 0 or codes.max(initial=0) > len(certificates):
            raise DataError(
                "a derived group does not add up from its cells",
                where="differencing",
                fix="restore the outputs together with what was derived from them",
            )
        units = np.flatnonzero(codes)
        cells = {(name, part) for certificate in certificates for name, part, _ in certificate}
        tells = frozenset[str].intersection(*(self._places[place].tells for place in cells))
        return Partition.derived(codes[units], units, self.n_units, certificates, self.keys, tells)

    def _add(self, output: Sequence[Partition], derived: Sequence[Partition]) -> None:
        self._last = None
        self.released += output
        self.derived += derived
        self._places.update(_placed(output))

    def follows(self, output: Sequence[Partition]) -> list[Partition]:
        """Return the groups of any size that would follow exactly, disjoint ones in one partition."""
        return list(self.searched(output).derived)

    def exact(self, output: Sequence[Partition]) -> Iterator[SingledOut]:
        """Return the groups of any size that would follow exactly: magnitudes in them need a look as well."""
        for part in self.follows(output):
            for number, certificate in enumerate(part.certificates, start=1):
                inside = np.flatnonzero(part.codes == number)
                units = inside if part.units is None else part.units[inside]
                yield SingledOut(certificate=certificate, units=units, hash=int(part.hashes[number - 1]))

    def searched(self, output: Sequence[Partition]) -> Searched:
        """Search, or return what the last search of the same output found."""
        if self._last is None or self._last[0] != tuple(output):
            self._last = tuple(output), self._search(output)
        return self._last[1]

    def _search(self, output: Sequence[Partition]) -> Searched:
        """Compare an output with everything released, and what follows with everything again."""
        name = self._name(output)
        published = _Told([*self.released, *output])
        known = _Told([*self.released, *output, *self.derived])
        small: dict[int, SingledOut] = {}
        turns = _Turns(self, output)
        for one, other, nothing_new in turns:
            joint = JointPartition.of(one, other, turns.order, turns.refinement(one))
            tells = one.tells & other.tells
            for group in self._small(joint, published.of(tells)):
                if name in group.outputs and group.hash not in small:
                    small[group.hash] = group
                    published.met(group.hash)
            n_outputs = len(one.outputs | other.outputs)
            if not nothing_new and (n_outputs < self.depth or n_outputs == 1) and turns.has_room():
                found = list(self._exact(joint, known.of(tells), tells))
                known.add(found)
                turns.follows(found, (one, other))
        # Not by hash: the order must not depend on a secret.
        ranked = sorted(small.values(), key=lambda group: (len(group.outputs), len(group), group.cells))
        places = {**self._places, **_placed(output)}
        verify(ranked, places)
        return Searched(small=ranked, derived=turns.fresh, compared=turns.compared, left_out=turns.left_out)

    def _name(self, output: Sequence[Partition]) -> str:
        names = frozenset[str]().union(*(part.outputs for part in output))
        taken = frozenset[str]().union(*(part.outputs for part in self.released))
        if len(names) > 1 or names & taken:
            raise ParameterError(
                "an output needs one name of its own",
                where="differencing",
                fix="name every output differently",
            )
        wrong = [part for part in output if part.n_units != self.n_units]
        if wrong:
            raise DataError(
                f"an output covers {wrong[0].n_units} units, the ledger {self.n_units}",
                where="differencing",
                fix="number the units of one data set in one order",
            )
        return next(iter(names), "")

    def _small(self, joint: JointPartition, known: Hashes) -> Iterator[SingledOut]:
        fresh = list(joint.small(self.threshold, known))
        if fresh:
            for found, units in zip(fresh, joint.units_of_each(fresh), strict=True):
                yield SingledOut(certificate=found.certificate, units=units, hash=found.hash)

    def _exact(self, joint: JointPartition, known: Hashes, tells: frozenset[str]) -> Iterator[Partition]:
        """Gather groups that follow exactly and are new, disjoint ones in one partition."""
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
            yield self._partition(joint, batch, tells)

    def _partition(self, joint: JointPartition, groups: list[Difference], tells: frozenset[str]) -> Partition:
        codes, units = joint.units_of(groups)
        certificates = tuple(group.certificate for group in groups)
        return Partition.derived(codes, units, self.n_units, certificates, self.keys, tells)


class _Turns:
    """Which partitions are compared when, the most telling first, until the work is done or at its limit.

    An output is compared with everything; what follows with everything published, and when nothing new
    follows from that, with whatever else follows.

    Parameters
    ----------
    search
        What was released, and what followed from it.
    output
        The new partitions.
    """

    def __init__(self, search: DifferencingSearch, output: Sequence[Partition]) -> None:
        self._search, self._output = search, output
        self._parents: dict[int, tuple[Partition, Partition]] = {}
        self._waiting, self._later = deque[Partition](), deque[Partition]()
        self._met: list[Partition] = []
        self._refinement: CommonRefinement | None = None
        self._effort = 0
        self.fresh: list[Partition] = []
        self.order: Integers | None = None
        self.compared = self.left_out = 0

    def has_room(self) -> bool:
        """Tell whether more of what follows can be kept; where not, it is left out."""
        full = len(self.fresh) >= MOST_DERIVED or self._effort >= self._search.effort
        self.left_out += full
        return not full

    def follows(self, found: Sequence[Partition], parents: tuple[Partition, Partition]) -> None:
        """Take note of what follows from two partitions."""
        self.fresh += found
        self._waiting += found
        self._effort += DERIVING * sum(len(part.codes) for part in found)
        self._parents |= {id(part): parents for part in found}

    def __iter__(self) -> Iterator[tuple[Partition, Partition, bool]]:
        """Yield two partitions, and whether the first was derived from all outputs of the second."""
        released, derived, output = self._search.released, self._search.derived, list(self._output)
        for place, one in enumerate(output):
            self._prepare(one)
            # Two outputs are compared whatever it takes.
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
                closed = one.n_units >= FEW_UNITS or other not in output
                yield one, other, closed and other.outputs <= one.outputs

    def refinement(self, one: Partition) -> CommonRefinement | None:
        """Return the common refinement that has a partition, if there is one."""
        return self._refinement if self._refinement is not None and self._refinement.holds(one) else None

    def _prepare(self, one: Partition) -> None:
        """Sort units by code where the joint cells are too many for a matrix; or read them for several."""
        widest = max(map(len, self._search.released), default=0)
        self.order = by_code(one) if one.units is None and len(one) * widest > DENSE else None
        if one.n_units < FEW_UNITS or one.units is not None or id(one) not in self._parents:
            return
        if self.refinement(one) is None:
            # What follows is compared with everything; all of it that is waiting goes through units once.
            others = [part for part in (*self._waiting, *self._later) if part.units is None]
            self._refinement = CommonRefinement([one, *(part for part in others if part is not one)])
            self._effort += DERIVING * len(self._refinement) * one.n_units

    def _partners(self, one: Partition, others: Sequence[Partition]) -> Iterator[Partition]:
        """Yield the partitions with which one may give something away.

        What two partitions give together was found when they were compared; then only their own descendants
        with other parts of the same outputs are new, as outputs may have several parts.
        """
        parents = self._parents.get(id(one), ())
        for other in others:
            if other is one or len(one.outputs | other.outputs) > self._search.depth or not one.outputs:
                continue
            # Nobody subtracts incomes from heads.
            if one.tells & other.tells and not any(other is parent for parent in parents):
                yield other

    def _affordable(self, one: Partition, others: Iterable[Partition]) -> Iterator[Partition]:
        """Yield partitions as long as there is work left."""
        for other in others:
            if self._effort >= self._search.effort:
                self.left_out += 1
                continue
            self.compared += 1
            self._effort += max(PAIR, self._steps(one, other))
            yield other

    def _steps(self, one: Partition, other: Partition) -> int:
        """Count the units to go through."""
        refinement = self.refinement(one)
        if refinement is not None and refinement.suits(one, other):
            return 0 if refinement.has_met(other) else one.n_units
        listed = [len(part.codes) for part in (one, other) if part.units is not None]
        return min(listed, default=one.n_units)


class _Told:
    """The groups of which something is known, by what it is."""

    def __init__(self, parts: Sequence[Partition]) -> None:
        self._by: dict[str, list[Hashes]] = {}
        self._all: dict[frozenset[str], Hashes] = {}
        self._of_anything: list[int] = []
        self.add(parts)

    def of(self, tells: frozenset[str]) -> Hashes:
        """Return the hashes of the groups of which all of this is known, in order."""
        if tells not in self._all:
            every = [np.concatenate([NONE, *self._by.get(each, [])]) for each in sorted(tells)]
            both = reduce(np.intersect1d, every[1:], np.unique(every[0]))
            self._all[tells] = np.union1d(both, np.array(self._of_anything, dtype=np.uint64))
        return self._all[tells]

    def add(self, parts: Sequence[Partition]) -> None:
        """Take note of groups."""
        for part in parts:
            for each in part.tells:
                self._by.setdefault(each, []).append(part.hashes)
            for tells, hashes in self._all.items():
                if tells <= part.tells:
                    self._all[tells] = np.union1d(hashes, part.hashes)

    def met(self, group: int) -> None:
        """Take note of a group of which nothing more need be known."""
        self._of_anything.append(group)
        for tells, hashes in self._all.items():
            self._all[tells] = np.union1d(hashes, np.array([group], dtype=np.uint64))


def _placed(parts: Sequence[Partition]) -> dict[tuple[str, int], Partition]:
    """Find partitions by the name of the output and the number of the part."""
    placed: dict[tuple[str, int], Partition] = {}
    for part in parts:
        if part.certificates:
            ((name, number, _),) = part.certificates[0]
            placed[name, number] = part
    return placed


def _added_up(
    certificates: Sequence[Certificate], places: Mapping[tuple[str, int], Partition], n_units: int
) -> Codes:
    """Add certificates up over all units: the first once, the second twice and so on."""
    wanted: dict[tuple[str, int], dict[int, int]] = {}
    for number, certificate in enumerate(certificates, start=1):
        for (name, part, cell), times in certificate.items():
            own = wanted.setdefault((name, part), {})
            own[cell] = own.get(cell, 0) + number * times
    total = np.zeros(n_units, dtype=np.int32)
    for place, own in wanted.items():
        published = places[place]
        amount = np.zeros(len(published) + 1, dtype=np.int32)
        amount[list(own)] = list(own.values())
        total += amount[published.codes]
    return total
