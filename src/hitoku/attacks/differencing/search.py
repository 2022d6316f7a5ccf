"""A new output against everything released before: groups that only together they single out.

Two outputs are compared completely. Groups of any size that follow exactly from two of them are treated as
outputs in their own right and compared again, which finds what three outputs give away together; more on
request. What is found is a proof: coefficients on published cells that add up to the group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hitoku.attacks.differencing.common_refinement import CommonRefinement
from hitoku.attacks.differencing.joint_partition import DENSE, Difference, JointPartition, by_code
from hitoku.attacks.differencing.partition import Cell, Certificate, Codes, Hashes, Partition, unit_keys
from hitoku.attacks.differencing.verifying import verify
from hitoku.errors import DataError, ParameterError
from hitoku.model.arrays import Integers


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


# What a search finds: groups below the threshold, and partitions into groups of any size that follow exactly.
Searched = tuple[list[SingledOut], list[Partition]]


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
        self, n_units: int, *, threshold: int = 10, depth: int = 3, keys: Hashes | None = None
    ) -> None:
        if threshold < 1 or depth < 1:
            raise ParameterError(
                "threshold and depth must be positive",
                where="differencing",
                fix="10 units and 3 outputs are usual",
            )
        self.n_units, self.threshold, self.depth = n_units, threshold, depth
        self.keys: Hashes = unit_keys(n_units) if keys is None else keys
        self.released: list[Partition] = []
        self.derived: list[Partition] = []
        self._places: dict[tuple[str, int], Partition] = {}
        # Whoever checks an output mostly releases it next.
        self._last: tuple[tuple[Partition, ...], Searched] | None = None

    def check(self, output: Sequence[Partition]) -> list[SingledOut]:
        """Return the groups below the threshold that an output would single out; nothing is remembered."""
        small, _ = self._search_once(output)
        return small

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
        return self._search_once(output)[1]

    def exact(self, output: Sequence[Partition]) -> Iterator[SingledOut]:
        """Return the groups of any size that would follow exactly: magnitudes in them need a look as well."""
        for part in self.follows(output):
            for number, certificate in enumerate(part.certificates, start=1):
                inside = np.flatnonzero(part.codes == number)
                units = inside if part.units is None else part.units[inside]
                yield SingledOut(certificate=certificate, units=units, hash=int(part.hashes[number - 1]))

    def _search_once(self, output: Sequence[Partition]) -> Searched:
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
        fresh: list[Partition] = []
        parents: dict[int, tuple[Partition, Partition]] = {}
        queue = list(output)
        refinement: CommonRefinement | None = None
        while queue:
            one = queue.pop(0)
            if one.units is None and one not in output and (refinement is None or not refinement.holds(one)):
                # What follows is compared with everything; all of it that is waiting goes through units once.
                refinement = CommonRefinement([one, *(part for part in queue if part.units is None)])
            counted = refinement if refinement is not None and refinement.holds(one) else None
            order = self._order(one)
            for other, nothing_new in self._partners(one, output, fresh, parents):
                joint = JointPartition.of(one, other, order, counted)
                tells = one.tells & other.tells
                for group in self._small(joint, published.of(tells)):
                    if name in group.outputs:
                        small.setdefault(group.hash, group)
                n_outputs = len(one.outputs | other.outputs)
                if not nothing_new and (n_outputs < self.depth or n_outputs == 1):
                    found = list(self._exact(joint, known.of(tells), tells))
                    known.add(found)
                    parents |= {id(part): (one, other) for part in found}
                    fresh += found
                    queue += found
        # Not by hash: the order must not depend on a secret.
        ranked = sorted(small.values(), key=lambda group: (len(group.outputs), len(group), group.cells))
        places = {**self._places, **_placed(output)}
        verify(ranked, places)
        return ranked, fresh

    def _order(self, part: Partition) -> Integers | None:
        """Sort the units by code where the joint cells are too many for a matrix."""
        large = part.units is None and len(part) * max(map(len, self.released), default=0) > DENSE
        return by_code(part) if large else None

    def _partners(
        self,
        one: Partition,
        output: Sequence[Partition],
        fresh: Sequence[Partition],
        parents: Mapping[int, tuple[Partition, Partition]],
    ) -> Iterator[tuple[Partition, bool]]:
        """Yield the partitions to compare one with, and whether it was derived from all outputs of theirs.

        What two partitions give together was found when they were compared; then only their own descendants
        with other parts of the same outputs are new, as outputs may have several parts.
        """
        new = one in output
        others = [part for part in output if part is not one] if new else []
        for other in [*self.released, *self.derived, *others, *fresh]:
            if other is one or len(one.outputs | other.outputs) > self.depth or not one.outputs:
                continue
            if not one.tells & other.tells:
                continue  # nobody subtracts incomes from heads
            nothing_new = not new and other.outputs <= one.outputs
            if not (nothing_new and any(other is parent for parent in parents[id(one)])):
                yield other, nothing_new

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

    def _small(self, joint: JointPartition, published: set[int]) -> Iterator[SingledOut]:
        fresh = [found for found in joint.small(self.threshold) if found.hash not in published]
        if fresh:
            for found, units in zip(fresh, joint.units_of_each(fresh), strict=True):
                yield SingledOut(certificate=found.certificate, units=units, hash=found.hash)

    def _exact(self, joint: JointPartition, known: set[int], tells: frozenset[str]) -> Iterator[Partition]:
        """Gather groups that follow exactly and are new, disjoint ones in one partition."""
        batches: list[list[Difference]] = []
        taken: list[set[int]] = []
        for found in joint.exact(known):
            if found.hash in known:
                continue  # met twice in this pair
            known.add(found.hash)
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


class _Told:
    """The groups of which something is known, by what it is."""

    def __init__(self, parts: Sequence[Partition]) -> None:
        self._by: dict[str, set[int]] = {}
        self._all: dict[frozenset[str], set[int]] = {}
        self.add(parts)

    def of(self, tells: frozenset[str]) -> set[int]:
        """Return the hashes of the groups of which all of this is known."""
        if tells not in self._all:
            self._all[tells] = set[int].intersection(*(self._by.get(each, set()) for each in tells))
        return self._all[tells]

    def add(self, parts: Sequence[Partition]) -> None:
        """Take note of groups."""
        for part in parts:
            for each in part.tells:
                self._by.setdefault(each, set()).update(part.hashes.tolist())
            for tells, hashes in self._all.items():
                if tells <= part.tells:
                    hashes.update(part.hashes.tolist())


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
