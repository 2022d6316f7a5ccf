"""How each of several tables is made from the records, and tables that readers can compute from them.

A reader who has all firms and the small ones subtracts, and has the large ones. Who has the small ones and
the foreign ones besides, no firm being both, subtracts twice. Every such rest of a filter is judged as if it
were published, at every level at which it can be computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Any

import numpy as np

from hitoku.model import Hierarchies, Hierarchy, Integers, Mask, Table
from hitoku.tabulation.from_records import tabulate
from hitoku.tabulation.placement import RecordAtoms
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


# A rest (None where nothing is left), and the tables, by position, that divide with it a wider filter.
Division = tuple[TableSpec | None, tuple[int, ...]]
# Combinations of filters that are looked through for what is left open: four of up to 17 filters.
MAX_COMBINED = 20_000


def common_filter(specs: Sequence[TableSpec], atoms: RecordAtoms) -> dict[str, Sequence[str]]:
    """Return the filters that all tables have alike; none where these leave no record."""
    first, *others = (
        {name: frozenset(map(str, codes)) for name, codes in (spec.where or {}).items()} for spec in specs
    )
    alike = {name for name, codes in first.items() if all(own.get(name) == codes for own in others)}
    common = {name: codes for name, codes in (specs[0].where or {}).items() if name in alike}
    return common if atoms.kept(common).any() else {}


def divide_records(
    specs: Sequence[TableSpec], measures: Sequence[str], atoms: RecordAtoms
) -> Iterator[Division]:
    """Find what readers get who subtract tables under a filter from tables under a wider one.

    Parameters
    ----------
    specs, measures
        The tables, and what each of them counts.
    atoms
        The records.
    """
    kept = [atoms.kept(spec.where) for spec in specs]
    below = determined(atoms)
    told = [{other for name in spec.by for other in below[name]} for spec in specs]
    rests: dict[bytes, int] = {}  # where what is left of one filter will stand
    n_made = len(specs)
    for measure in dict.fromkeys(measures):
        own = [place for place, its in enumerate(measures) if its == measure]
        wholes = list({kept[place].tobytes(): place for place in reversed(own)}.values())
        inside = {w: [place for place in own if _strictly_within(kept[place], kept[w])] for w in wholes}
        for whole, narrower in inside.items():
            for place in narrower:
                rests[(kept[whole] & ~kept[place]).tobytes()] = n_made
                n_made += 1
                yield _filter_remainder(specs[place], specs[whole], [specs[place]]), (place,)
        for whole, narrower in inside.items():
            for by in _levels(narrower, told, atoms):
                able = {kept[place].tobytes(): place for place in narrower if by <= told[place]}
                made = _by([specs[place] for place in narrower], by)
                for parts in _disjoint(list(able.values()), kept):
                    left = kept[whole] & ~np.logical_or.reduce([kept[place] for place in parts])
                    n_made += bool(left.any())
                    without = [specs[place] for place in parts]
                    yield _filter_remainder(made, specs[whole], without) if left.any() else None, parts
                for one, other in combinations(able.values(), 2):
                    # Who has both and what is in both has what is in neither.
                    common = (kept[one] & kept[other]).tobytes()
                    rest = rests.get((kept[other] & ~kept[one]).tobytes())
                    left = kept[whole] & ~kept[one] & ~kept[other]
                    if (
                        common in able
                        and able[common] not in {one, other}
                        and rest is not None
                        and left.any()
                    ):
                        n_made += 1
                        yield _filter_remainder(made, specs[whole], [specs[one], specs[other]]), (rest,)


def _by(specs: Sequence[TableSpec], by: frozenset[str]) -> TableSpec:
    """Return how a table by some variables is made, with trees where one of these tables has them.

    Without any variable, a table by those of the first, which has what is left in all.
    """
    like = [spec for spec in specs if set(spec.by) == by]
    if like or not by:
        return max(like or specs[:1], key=lambda spec: len(spec.hierarchies))
    return replace(specs[0], by=sorted(by), hierarchies={})


def _levels(places: Sequence[int], told: Sequence[set[str]], atoms: RecordAtoms) -> list[frozenset[str]]:
    """Return the variables that one or two of some tables tell about, without what follows from others."""
    every = [told[one] & told[other] for one in places for other in places if one <= other]
    return list(dict.fromkeys(frozenset(finest(sorted(columns), atoms)) for columns in every))


def unjudged(
    specs: Sequence[TableSpec], measures: Sequence[str], rests: Sequence[TableSpec], atoms: RecordAtoms
) -> Iterator[tuple[int, ...]]:
    """Find tables, by position, whose sums and differences are sets of records that no rule assessed.

    Parameters
    ----------
    specs, measures
        The tables, and what each of them counts.
    rests
        Remainders that are assessed as well.
    atoms
        The records.
    """
    kept = [atoms.kept(spec.where) for spec in specs]
    judged = [atoms.kept(spec.where, spec.outside) for spec in rests]
    for measure in dict.fromkeys(measures):
        own = [place for place, its in enumerate(measures) if its == measure]
        places = list({kept[place].tobytes(): place for place in reversed(own)}.values())
        rows = np.array([*(kept[place] for place in places), *judged], dtype=np.int64)
        classes = np.unique(rows, axis=1)
        known = sorted({_bits(row) for row in classes} - {0}, reverse=True)
        for n in range(2, 5):
            if math.comb(len(places), n) * 2 ** (n - 1) > MAX_COMBINED:
                break
            for chosen in combinations(range(len(places)), n):
                for signs in product((1, -1), repeat=n - 1):
                    found = classes[chosen[0]] + sum(
                        sign * classes[row] for sign, row in zip(signs, chosen[1:], strict=True)
                    )
                    found = -found if found.min() < 0 else found
                    is_set = min(signs) < 0 and found.min() >= 0 and found.max() == 1
                    if is_set and not _made_of(_bits(found), known):
                        yield tuple(places[row] for row in chosen)


def _bits(row: Integers) -> int:
    """Write a set of classes of atoms as the bits of a number."""
    return int("".join(map(str, row.tolist())), 2)


def _made_of(wanted: int, known: Sequence[int]) -> bool:
    """Return whether a set is a disjoint union of known ones."""
    lowest = wanted & -wanted
    return wanted == 0 or any(
        _made_of(wanted & ~each, known) for each in known if each & lowest and not each & ~wanted
    )


def _strictly_within(one: Mask, other: Mask) -> bool:
    return bool(np.all(other[one]) and one.sum() < other.sum())


def _filter_remainder(by: TableSpec, whole: TableSpec, without: Sequence[TableSpec]) -> TableSpec:
    return replace(by, where=whole.where, outside=tuple(spec.where or {} for spec in without))


def _disjoint(places: Sequence[int], kept: Sequence[Mask]) -> Iterator[tuple[int, ...]]:
    """Yield filters that share no record, as many as go together with each of them."""
    seen: set[tuple[int, ...]] = set()
    widest = sorted(places, key=lambda place: (-int(kept[place].sum()), place))
    for seed in widest:
        chosen = [seed]
        for other in widest:
            if not any(np.any(kept[other] & kept[place]) for place in chosen):
                chosen.append(other)
        parts = tuple(sorted(chosen))
        if len(parts) > 1 and parts not in seen:
            seen.add(parts)
            yield parts


def common_margins(
    specs: Sequence[TableSpec], divisions: Sequence[Sequence[int]], atoms: RecordAtoms
) -> list[list[TableSpec]]:
    """Return tables of what two others have in common, where neither has it among its own cells.

    A table by division and region, another by section and town: sections by regions are sums of both. Under
    a filter they come with their rest, which makes a list of more than one.
    """
    below = determined(atoms)
    closed = [{other for name in spec.by for other in below[name]} for spec in specs]
    divided: dict[int, list[Sequence[int]]] = {}
    for parts in divisions:
        for place in parts:
            divided.setdefault(place, []).append(parts)
    there = {(frozenset(spec.by), spec.filtered) for spec in specs}
    found: list[list[TableSpec]] = []
    for one, other in combinations(range(len(specs)), 2):
        common = finest([name for name in atoms.columns if name in closed[one] & closed[other]], atoms)
        if not common:
            continue
        wanted = [[specs[one]]]
        if specs[one].filtered != specs[other].filtered:
            both = [*divided.get(one, ()), *divided.get(other, ())]
            wanted = [*([specs[place] for place in parts] for parts in both), *wanted, [specs[other]]]
        for group in wanted:
            keys = {(frozenset(common), spec.filtered) for spec in group}
            if not keys <= there:
                there |= keys
                found.append([replace(spec, by=common, hierarchies={}) for spec in group])
    return found


def determined(atoms: RecordAtoms) -> dict[str, set[str]]:
    """Return for each column those that it determines, itself among them."""
    return {
        name: {other for other in atoms.columns if atoms.determines(name, other)} for name in atoms.columns
    }


def finest(names: Sequence[str], atoms: RecordAtoms) -> list[str]:
    """Leave out columns that others of these determine; of columns that say the same the first stays."""
    return [
        name
        for place, name in enumerate(names)
        if not any(
            atoms.determines(other, name) and not (atoms.determines(name, other) and where > place)
            for where, other in enumerate(names)
            if other != name
        )
    ]
