"""Remainders of filters: tables that follow from several tables of the same records by subtraction.

A table of all firms minus a table of the small ones is a table of the large ones. If a third table has the
foreign firms, and no foreign firm is small, both can be subtracted. Every such remainder is assessed like a
published table, at every level at which it can be computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from hitoku.linking.classifications import determined_columns, finest
from hitoku.model import Mask
from hitoku.tabulation import RecordAtoms, TableSpec

# A remainder (None if it is empty), and the indices of the tables that, with it, partition a wider filter.
Division = tuple[TableSpec | None, tuple[int, ...]]


def common_filter(specs: Sequence[TableSpec], atoms: RecordAtoms) -> dict[str, Sequence[str]]:
    """Return the filters that all tables share; empty if no record passes them."""
    first, *others = (
        {name: frozenset(map(str, codes)) for name, codes in (spec.where or {}).items()} for spec in specs
    )
    alike = {name for name, codes in first.items() if all(own.get(name) == codes for own in others)}
    common = {name: codes for name, codes in (specs[0].where or {}).items() if name in alike}
    return common if atoms.kept(common).any() else {}


def divide_records(
    specs: Sequence[TableSpec], measures: Sequence[str], atoms: RecordAtoms
) -> Iterator[Division]:
    """Yield the remainders of tables under a filter within tables under a wider filter.

    Parameters
    ----------
    specs, measures
        Specification and measure of each table.
    atoms
        Combinations of codes of the records.
    """
    kept = [atoms.kept(spec.where) for spec in specs]
    below = determined_columns(atoms)
    derived = [{other for name in spec.by for other in below[name]} for spec in specs]
    remainders: dict[bytes, int] = {}  # index of the remainder of a single filter
    n_made = len(specs)
    for measure in dict.fromkeys(measures):
        own = [place for place, its in enumerate(measures) if its == measure]
        wholes = list({kept[place].tobytes(): place for place in reversed(own)}.values())
        inside = {w: [place for place in own if _strictly_within(kept[place], kept[w])] for w in wholes}
        for whole, narrower in inside.items():
            for place in narrower:
                remainders[(kept[whole] & ~kept[place]).tobytes()] = n_made
                n_made += 1
                yield _filter_remainder(specs[place], specs[whole], [specs[place]]), (place,)
        for whole, narrower in inside.items():
            for by in _levels(narrower, derived, atoms):
                able = {kept[place].tobytes(): place for place in narrower if by <= derived[place]}
                made = _by([specs[place] for place in narrower], by)
                for parts in _disjoint(list(able.values()), kept):
                    left = kept[whole] & ~np.logical_or.reduce([kept[place] for place in parts])
                    n_made += bool(left.any())
                    without = [specs[place] for place in parts]
                    yield _filter_remainder(made, specs[whole], without) if left.any() else None, parts
                for one, other in combinations(able.values(), 2):
                    # Two filters and their intersection give the records that pass neither.
                    common = (kept[one] & kept[other]).tobytes()
                    remainder = remainders.get((kept[other] & ~kept[one]).tobytes())
                    left = kept[whole] & ~kept[one] & ~kept[other]
                    if (
                        common in able
                        and able[common] not in {one, other}
                        and remainder is not None
                        and left.any()
                    ):
                        n_made += 1
                        yield _filter_remainder(made, specs[whole], [specs[one], specs[other]]), (remainder,)


def _by(specs: Sequence[TableSpec], by: frozenset[str]) -> TableSpec:
    """Return the specification of a table by some variables, with hierarchies if a table has them.

    Without variables, return one by those of the first table, whose total is the remainder.
    """
    like = [spec for spec in specs if set(spec.by) == by]
    if like or not by:
        return max(like or specs[:1], key=lambda spec: len(spec.hierarchies))
    return replace(specs[0], by=sorted(by), hierarchies={})


def _levels(places: Sequence[int], derived: Sequence[set[str]], atoms: RecordAtoms) -> list[frozenset[str]]:
    """Return the sets of variables common to two tables, without variables that others determine."""
    every = [derived[one] & derived[other] for one in places for other in places if one <= other]
    return list(dict.fromkeys(frozenset(finest(sorted(columns), atoms)) for columns in every))


def _strictly_within(one: Mask, other: Mask) -> bool:
    return bool(np.all(other[one]) and one.sum() < other.sum())


def _filter_remainder(by: TableSpec, whole: TableSpec, without: Sequence[TableSpec]) -> TableSpec:
    return replace(by, where=whole.where, outside=tuple(spec.where or {} for spec in without))


def _disjoint(places: Sequence[int], kept: Sequence[Mask]) -> Iterator[tuple[int, ...]]:
    """Yield maximal sets of filters that share no record, greedily from each filter."""
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
