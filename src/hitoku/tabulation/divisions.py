"""Tables that nobody publishes and readers can compute: what filters leave out, what tables have in common.

A reader who has all firms and the small ones subtracts, and has the large ones. Who has the small ones and
the foreign ones besides, no firm being both, subtracts twice. Every such rest of a filter is judged as if it
were published, at every level at which it can be computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from hitoku.model.arrays import Mask
from hitoku.tabulation.placement import RecordAtoms
from hitoku.tabulation.table_spec import TableSpec

# A rest (None where nothing is left), and the tables, by position, that divide with it a wider filter.
Division = tuple[TableSpec | None, tuple[int, ...]]


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
    for measure in dict.fromkeys(measures):
        own = [place for place, its in enumerate(measures) if its == measure]
        for whole in {kept[place].tobytes(): place for place in reversed(own)}.values():
            inside = [place for place in own if _strictly_within(kept[place], kept[whole])]
            for place in inside:
                yield _rest(specs[place], specs[whole], [specs[place]]), (place,)
            for by in _levels(inside, told, atoms):
                able = {kept[place].tobytes(): place for place in inside if by <= told[place]}
                made = _by([specs[place] for place in inside], by)
                for parts in _disjoint(list(able.values()), kept):
                    left = kept[whole] & ~np.logical_or.reduce([kept[place] for place in parts])
                    without = [specs[place] for place in parts]
                    yield _rest(made, specs[whole], without) if left.any() else None, parts


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
    specs: Sequence[TableSpec], measures: Sequence[str], atoms: RecordAtoms
) -> Iterator[tuple[int, int, int]]:
    """Find tables, by position, of which two add up to records of which the third takes a part from both.

    What is left is no rest of one filter: nobody has judged it.
    """
    kept = [atoms.kept(spec.where) for spec in specs]
    for measure in dict.fromkeys(measures):
        own = [place for place, its in enumerate(measures) if its == measure]
        distinct = list({kept[place].tobytes(): place for place in reversed(own)}.values())
        wholes = {kept[place].tobytes() for place in distinct}
        for one, other in combinations(sorted(distinct), 2):
            both = kept[one] | kept[other]
            if np.any(kept[one] & kept[other]) or both.tobytes() in wholes:
                continue
            for third in distinct:
                cut = _strictly_within(kept[third], both) and third not in {one, other}
                if cut and np.any(kept[third] & kept[one]) and np.any(kept[third] & kept[other]):
                    yield one, other, third


def _strictly_within(one: Mask, other: Mask) -> bool:
    return bool(np.all(other[one]) and one.sum() < other.sum())


def _rest(by: TableSpec, whole: TableSpec, without: Sequence[TableSpec]) -> TableSpec:
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
