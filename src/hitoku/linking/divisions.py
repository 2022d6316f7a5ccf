"""Tables that readers can compute from several tables of the same records.

A reader who has all firms and the small ones subtracts, and has the large ones. Who has the small ones and
the foreign ones besides, no firm being both, subtracts twice. Every such rest of a filter is judged as if it
were published, at every level at which it can be computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from hitoku.linking.classifications import determined, finest
from hitoku.model import Mask
from hitoku.tabulation import RecordAtoms, TableSpec

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
