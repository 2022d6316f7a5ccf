"""Comparison of a new output with everything released before: groups that only they together single out.

Two outputs are compared completely, within the work limit. Groups of any size that follow exactly
from two of them are treated as outputs and compared again, which finds what three outputs
disclose together; more on request. Every finding is a proof: coefficients of published cells that add up to
the group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import lcm

import numpy as np

from hitoku.attacks.differencing.alike import Alike
from hitoku.attacks.differencing.atoms import Disclosed, judge_together
from hitoku.attacks.differencing.comparing import (
    EFFORT,
    FEW_UNITS,
    Searched,
    SearchTask,
    SingledOut,
)
from hitoku.attacks.differencing.condensed import condense, divide_blocks, expand, in_one_block
from hitoku.attacks.differencing.joint_partition import dense
from hitoku.attacks.differencing.partition import Certificate, Codes, Hashes, Partition, unit_keys
from hitoku.attacks.differencing.verifying import verify
from hitoku.errors import DataError, ParameterError, SolverError
from hitoku.model import Integers
from hitoku.solver.solution import MINUTES


class DifferencingSearch:
    """Outputs released about the same units, in memory.

    Parameters
    ----------
    n_units
        Number of units.
    threshold
        Minimum size of a group; smaller ones must not be singled out.
    depth
        Maximum number of outputs tested together.
    keys
        One number per unit, as used for the partitions; default: :func:`unit_keys`.
    effort
        Limit on the steps of a search beyond two outputs.
    flow_work
        Limit on nodes and edges of the flows of a search, those of two outputs first; remaining comparisons
        are ``unfinished``.

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
        flow_work: float = MINUTES,
    ) -> None:
        if threshold < 1 or depth < 1:
            raise ParameterError(
                "threshold_and_depth_range",
                "threshold and depth must be positive",
                where="differencing",
                fix="10 units and 3 outputs are usual",
            )
        self.n_units, self.threshold, self.depth = n_units, threshold, depth
        self.effort, self.flow_work = effort, flow_work
        self.keys: Hashes = unit_keys(n_units) if keys is None else keys
        self.released: list[Partition] = []
        self.derived: list[Partition] = []
        self._places: dict[tuple[str, int], Partition] = {}
        # Units that everything released treats alike, except for outputs released since the last search.
        self._alike = in_one_block(self.keys) if n_units >= FEW_UNITS else None
        self._unread: list[Partition] = []
        # Refinement by the last output: usually it is released next.
        self._ahead: tuple[tuple[Partition, ...], Alike | None] = (), None
        # Names that are added to what an output publishes, for amounts that depend on each other.
        self._common: Callable[[frozenset[str]], frozenset[str]] | None = None
        # Usually a checked output is released next.
        self._last: tuple[tuple[Partition, ...], Searched] | None = None

    def check(self, output: Sequence[Partition]) -> list[SingledOut]:
        """Return the groups below the threshold that an output would single out; nothing is stored."""
        return list(self.searched(output).small)

    def compare_by(self, common: Callable[[frozenset[str]], frozenset[str]]) -> None:
        """Compare published quantities by further names, which a function adds to them."""
        self._common, self._last = common, None

    def _add_names(self, part: Partition) -> Partition:
        """Return a partition with the further names of what it publishes."""
        if self._common is None:
            return part
        cells = part.certificates if any(part is each for each in self.derived) else ()
        places = {(name, number) for certificate in cells for name, number, _ in certificate}
        every = [self._places[place].publishes for place in places] or [part.publishes]
        return replace(part, publishes=frozenset[str].intersection(*map(self._common, every)))

    def release(self, output: Sequence[Partition]) -> None:
        """Add an output, and its implications."""
        self._add(output, self.follows(output))

    def restore(self, output: Sequence[Partition], derived: Sequence[Sequence[Certificate]]) -> None:
        """Add an output whose derived groups are known already, without searching again.

        Parameters
        ----------
        output
            Partitions of the output.
        derived
            Groups that follow from it and from what was released before it, disjoint ones together.
        """
        self._name(output)
        self._add(output, [])
        self._divide()
        self.derived += [self._add_published_groups(tuple(certificates)) for certificates in derived]

    def _add_published_groups(self, certificates: tuple[Certificate, ...]) -> Partition:
        """Add groups up from published cells; they are disjoint, so that their numbers add up to codes."""
        alike = self._alike
        codes = _added_up(certificates, self._places, None if alike is None else alike.first, self.n_units)
        if codes.min(initial=0) < 0 or codes.max(initial=0) > len(certificates):
            raise DataError(
                "derived_group_not_additive",
                "a derived group does not add up from its cells",
                where="differencing",
                fix="restore the outputs together with what was derived from them",
            )
        inside = np.flatnonzero(codes)
        cells = {(name, part) for certificate in certificates for name, part, _ in certificate}
        publishes = frozenset[str].intersection(*(self._places[place].publishes for place in cells))
        like = self.released[0] if alike is None else condense(self.released[0], alike)
        keys = self.keys if alike is None else alike.keys
        return Partition.derived(codes[inside], inside, like, certificates, keys, publishes)

    def _add(self, output: Sequence[Partition], derived: Sequence[Partition]) -> None:
        self._last = None
        self.released += output
        self._unread += output
        self.derived += derived
        self._places.update(_find_partitions(output))

    def follows(self, output: Sequence[Partition]) -> list[Partition]:
        """Return the groups of any size that would follow exactly, disjoint ones in one partition."""
        return list(self.searched(output).derived)

    def exact(self, output: Sequence[Partition]) -> Iterator[SingledOut]:
        """Return the groups of any size that would follow exactly: magnitudes in them need review as well."""
        for part in self.follows(output):
            for number, certificate in enumerate(part.certificates, start=1):
                inside = np.flatnonzero(part.codes == number)
                units = inside if part.units is None else part.units[inside]
                yield SingledOut(
                    certificate=certificate,
                    members=units,
                    hash=int(part.hashes[number - 1]),
                    alike=part.alike,
                )

    def searched(self, output: Sequence[Partition]) -> Searched:
        """Search, or return the result of the last search of the same output."""
        if self._last is None or self._last[0] != tuple(output):
            self._last = tuple(output), self._search(output)
        return self._last[1]

    def _search(self, output: Sequence[Partition]) -> Searched:
        """Compare an output with everything released."""
        found = self._comparison(output).searched()
        verify(found.small, {**self._places, **_find_partitions(output)})
        return found

    def together(
        self, output: Sequence[Partition]
    ) -> tuple[list[SingledOut], list[tuple[SingledOut, Disclosed]], bool]:
        """Return what an output singles out with all released ones, and whether this is everything.

        However many outputs it takes, no group is missed: see :class:`Atoms`.

        Returns
        -------
        tuple
            Groups that follow exactly, those of a search included; sums that count some units several times
            or in part; and whether all atoms were decided.
        """
        task = self._comparison(output)
        every = [*task.released, *task.output]
        sets = {
            tuple(place for place, part in enumerate(every) if quantity in part.publishes)
            for own in task.output
            for quantity in own.publishes
        }
        found, complete = self.check(output), True
        bounds: dict[int, tuple[SingledOut, Disclosed]] = {}
        known, new = {group.hash for group in found}, {name for part in output for name in part.outputs}
        for places in sorted(each for each in sets if len({every[place].outputs for place in each}) > 1):
            parts = [every[place] for place in places]
            try:
                judged = judge_together(parts, self.threshold)
            except SolverError:
                judged = None
            complete &= judged is not None and not judged[1]
            for one in judged[0] if judged else ():
                group, whole = self._count_units(one, parts, output)
                if group.hash in known or len(group.outputs) < 2 or not new & group.outputs:
                    continue
                if one.exact and whole:
                    verify([group], {**self._places, **_find_partitions(output)})
                    found.append(group)
                    known.add(group.hash)
                else:
                    bounds.setdefault(group.hash, (group, one))
        return found, list(bounds.values()), complete

    def _count_units(
        self, one: Disclosed, parts: Sequence[Partition], output: Sequence[Partition]
    ) -> tuple[SingledOut, bool]:
        """Return the units that a sum of cells of some partitions counts, and whether it has no fractions."""
        scale = lcm(*(term.times.denominator for term in one.terms))
        certificate = {
            cell: int(term.times * scale)
            for term in one.terms
            for cell in parts[term.release].certificates[term.cell]
        }
        places = {**self._places, **_find_partitions(output)}
        counted = np.zeros(self.n_units, dtype=np.int64)
        for (name, part, cell), times in certificate.items():
            counted += times * (dense(places[name, part]) == cell)
        members = np.flatnonzero(counted)
        hashed = int(self.keys[members].sum(dtype=np.uint64))
        return SingledOut(certificate=certificate, members=members, hash=hashed), scale == 1

    def clashes(self, output: Sequence[Partition]) -> list[SingledOut]:
        """Return what an output discloses with a single other one: a fast test that is often conclusive."""
        return list(replace(self._comparison(output), depth=min(self.depth, 2), effort=0).searched().small)

    def _comparison(self, output: Sequence[Partition]) -> SearchTask:
        """Return the input of a search; units that all outputs treat alike are merged."""
        self._name(output)
        self._divide()
        if self._ahead[0] != tuple(output):
            self._ahead = tuple(output), divide_blocks(self._alike, output)
        alike = self._ahead[1]
        released, derived, new = (
            [expand(part) if alike is None else condense(part, alike) for part in map(self._add_names, parts)]
            for parts in (self.released, self.derived, output)
        )
        return SearchTask(
            released=released,
            derived=derived,
            output=new,
            keys=self.keys if alike is None else alike.keys,
            n_units=self.n_units,
            threshold=self.threshold,
            depth=self.depth,
            effort=self.effort,
            flow_work=self.flow_work,
        )

    def _divide(self) -> None:
        """Refine the blocks by new releases; use units if there are too many blocks."""
        known, alike = self._ahead
        if self._unread:
            self._alike = alike if known == tuple(self._unread) else divide_blocks(self._alike, self._unread)
            self._unread, self._ahead = [], ((), None)
        if self._alike is None:
            self.derived = [expand(part) for part in self.derived]

    def _name(self, output: Sequence[Partition]) -> str:
        names = frozenset[str]().union(*(part.outputs for part in output))
        taken = frozenset[str]().union(*(part.outputs for part in self.released))
        if len(names) > 1 or names & taken:
            raise ParameterError(
                "output_name_missing",
                "each output needs a unique name",
                where="differencing",
                fix="give every output a unique name",
            )
        wrong = [part for part in output if part.n_units != self.n_units]
        if wrong:
            raise DataError(
                "output_units_differ",
                "an output covers {n_output} units, the ledger {n_ledger}",
                where="differencing",
                fix="number the units of one data set in one order",
                n_output=wrong[0].n_units,
                n_ledger=self.n_units,
            )
        return next(iter(names), "")


def _find_partitions(parts: Sequence[Partition]) -> dict[tuple[str, int], Partition]:
    """Find partitions by the name of the output and the number of the part."""
    placed: dict[tuple[str, int], Partition] = {}
    for part in parts:
        if part.certificates:
            ((name, number, _),) = part.certificates[0]
            placed[name, number] = part
    return placed


def _added_up(
    certificates: Sequence[Certificate],
    places: Mapping[tuple[str, int], Partition],
    some: Integers | None,
    n_units: int,
) -> Codes:
    """Add certificates up over some units, or all: the first once, the second twice and so on."""
    wanted: dict[tuple[str, int], dict[int, int]] = {}
    for number, certificate in enumerate(certificates, start=1):
        for (name, part, cell), times in certificate.items():
            own = wanted.setdefault((name, part), {})
            own[cell] = own.get(cell, 0) + number * times
    total = np.zeros(n_units if some is None else len(some), dtype=np.int32)
    for place, own in wanted.items():
        published = places[place]
        amount = np.zeros(len(published) + 1, dtype=np.int32)
        amount[list(own)] = list(own.values())
        total += amount[published.codes if some is None else published.codes[some]]
    return total
