"""Families of tables drawn at random, and one linear program over the atoms that knows nothing of hitoku.

Levels of two classifications, parts of their trees, filters by one or two columns, categories without
records. Whatever is published of a family is put into one program: unknown is what stands behind every
combination of codes, known is every published sum. The sets of records behind cells, the rules and what they
ask for are written down here once more, from the records alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pandas as pd
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.oracles.linked import extremes, memberships

from hitoku.errors import NeedError
from hitoku.evidence import audit
from hitoku.linking import LinkedTables, link
from hitoku.methods import Auto, Circulation, Greedy
from hitoku.model import Hierarchy, Protection, Release
from hitoku.pipeline import assess_filter_remainder
from hitoku.rules import MinFrequency, PPercent, assess

# Nobody is in division 12 nor in town s2: they stand in trees, not in records.
SECTION = {"01": "A", "02": "A", "10": "C", "11": "C", "12": "C"}
REGION = {"n1": "N", "n2": "N", "s1": "S", "s2": "S"}
CODES = {"division": ["01", "02", "10", "11"], "town": ["n1", "n2", "s1"], "size": ["1", "2"]}
TREES = {
    "division": [
        None,
        Hierarchy.from_tree({"A": ["01", "02"], "C": ["10", "11", "12"]}),
        Hierarchy.from_tree({"A": ["01", "02"], "10": None, "11": None}),  # one branch only
        [  # a second grouping across the sections
            Hierarchy.from_tree({"A": ["01", "02"], "C": ["10", "11"]}),
            Hierarchy.from_tree({"old": ["02", "10"], "new": ["01", "11"]}),
        ],
    ],
    "town": [
        None,
        Hierarchy.from_tree({"N": ["n1", "n2"], "S": ["s1", "s2"]}),
        Hierarchy.from_tree({"N": ["n1", "n2"], "S": ["s1"]}),
    ],
}
FILTERS = {**CODES, "section": ["A", "C"], "region": ["N", "S"]}
KINDS = {
    "counts": ([MinFrequency(3)], 2.0, {}),
    "magnitudes": ([PPercent(p=20)], None, {"value": "turnover"}),
}
# A few for everybody; many where make fuzz asks.
EXAMPLES = 5 if settings().derandomize else 40
METHODS = [Auto(), Greedy(prefer="closing", tidy=True), Greedy(), Circulation()]


def with_levels(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(section=frame["division"].map(SECTION), region=frame["town"].map(REGION))


CROSS = with_levels(
    pd.MultiIndex.from_product([SECTION, REGION, CODES["size"]], names=list(CODES)).to_frame(index=False)
)


@st.composite
def registers(draw) -> pd.DataFrame:
    """Draw records; every code of the columns occurs, many combinations do not."""
    numbers = st.tuples(*(st.sampled_from(codes) for codes in CODES.values()))
    drawn = draw(st.lists(numbers, min_size=4, max_size=40))
    every = [("01", "n1", "1"), ("02", "n2", "2"), ("10", "s1", "1"), ("11", "n1", "2")]
    frame = pd.DataFrame([*drawn, *every], columns=list(CODES))
    values = draw(st.lists(st.integers(1, 30), min_size=len(frame), max_size=len(frame)))
    return with_levels(frame).assign(turnover=values)


@st.composite
def families(draw) -> dict[str, dict]:
    """Draw two to four tables; a filter is sometimes shared by several of them, and many have one."""
    tables, wheres = {}, [None]
    for number in range(draw(st.integers(2, 4))):
        by = [
            *draw(st.sampled_from([["division"], ["section"], []])),
            *draw(st.sampled_from([["town"], ["region"], []])),
            *draw(st.sampled_from([["size"], []])),
        ] or ["size"]
        trees = {name: tree for name in by if name in TREES and (tree := draw(st.sampled_from(TREES[name])))}
        if draw(st.booleans()):
            columns = draw(st.lists(st.sampled_from(list(FILTERS)), min_size=1, max_size=2, unique=True))
            wheres.append(
                {
                    name: draw(st.lists(st.sampled_from(FILTERS[name]), min_size=1, max_size=2, unique=True))
                    for name in columns
                }
            )
        tables[f"t{number}"] = {"by": by, "hierarchies": trees, "where": draw(st.sampled_from(wheres))}
    return tables


def atoms_of(records: pd.DataFrame) -> np.ndarray:
    """Give every record the number of its combination of codes."""
    index = pd.MultiIndex.from_frame(CROSS[list(CODES)])
    return index.get_indexer(pd.MultiIndex.from_frame(records[list(CODES)]))


def judged(tables: dict[str, dict], linked: LinkedTables) -> Iterator[np.ndarray]:
    """List what is judged, as sets of atoms: every cell, and what is left of it where others are subtracted.

    Subtracted are cells under a narrower filter, or under as many as have no record in common, where they
    are sums of cells of tables under these filters.
    """
    cells, plain, kept = [], [], []
    for spec, (table, _) in zip(tables.values(), linked.parts.values(), strict=True):
        cells.append(memberships(table, spec["where"] or {}, CROSS))
        plain.append(memberships(table, {}, CROSS))
        kept.append(plain[-1].max(axis=0) * filtered(spec))
    yield from np.concatenate(cells)
    for cell in np.concatenate(plain):
        able = [n for n in range(len(cells)) if is_sum(cell * kept[n], cells[n])]
        for whole in able:
            inside = [n for n in able if np.all(filtered_at(tables, n) <= filtered_at(tables, whole))]
            for parts in subtracted([n for n in inside if n != whole], kept):
                yield cell * kept[whole] * (1 - np.max([kept[n] for n in parts], axis=0))
        yield from smallest([cell * kept[n] for n in able])


def smallest(sets: list[np.ndarray]) -> Iterator[np.ndarray]:
    """List what comes out where sets are added and subtracted and is a set, not made of two others."""
    found: dict[bytes, np.ndarray] = {}
    for signs in product((-1, 0, 1), repeat=len(sets)):
        total = np.sum([sign * each for sign, each in zip(signs, sets, strict=True)], axis=0) + 0.0  # no -0.0
        if sets and total.any() and total.min() >= 0 and total.max() == 1:
            found[total.tobytes()] = total
    for each in found.values():
        if not any(np.all(part <= each) and (each - part).tobytes() in found for part in found.values()):
            yield each


def filtered(spec: dict) -> np.ndarray:
    """Mark the atoms that a filter keeps."""
    marks = [CROSS[name].isin(codes).to_numpy() for name, codes in (spec["where"] or {}).items()]
    return np.all([np.ones(len(CROSS), dtype=bool), *marks], axis=0).astype(float)


def filtered_at(tables: dict[str, dict], place: int) -> np.ndarray:
    return filtered(list(tables.values())[place])


def subtracted(places: list[int], kept: list[np.ndarray]) -> Iterator[tuple[int, ...]]:
    """List tables, one alone or as many as share no atom."""
    apart = [
        parts
        for n_parts in range(1, len(places) + 1)
        for parts in combinations(places, n_parts)
        if np.sum([kept[n] for n in parts], axis=0).max() <= 1
    ]
    for parts in apart:
        if len(parts) == 1 or not any(set(parts) < set(more) for more in apart):
            yield parts


def is_sum(members: np.ndarray, cells: np.ndarray) -> bool:
    """Tell whether a set of atoms is made of cells of a table."""
    inside = cells[np.all(cells <= members, axis=1)]
    return bool(np.array_equal(inside.max(axis=0, initial=0), members))


def asked_for(kind: str, own: np.ndarray) -> tuple[float, float, float] | None:
    """Return what a cell with these contributions asks for: below, above, in all; None where it is safe."""
    if kind == "counts":
        return (0.0, 0.0, 2.0) if 0 < len(own) < 3 else None
    largest = np.sort(own)[::-1]
    lacking = 0.2 * largest[:1].sum() - largest[2:].sum()
    return (lacking, lacking, 0.0) if lacking > 1e-9 else None


def leaks(kind: str, records: pd.DataFrame, tables: dict, linked: LinkedTables, withheld: np.ndarray) -> int:
    """Count what follows more closely from all that is published than it may."""
    rows = np.concatenate(
        [
            memberships(table, spec["where"] or {}, CROSS)[~withheld[cells]]
            for spec, (table, cells) in zip(tables.values(), linked.parts.values(), strict=True)
        ]
    )
    atom = atoms_of(records)
    amount = np.ones(len(records)) if kind == "counts" else records["turnover"].to_numpy(dtype=float)
    known = rows[:, atom] @ amount
    rows, first = np.unique(rows, axis=0, return_index=True)
    found = 0
    for members in np.unique(np.array(list(judged(tables, linked))), axis=0):
        own = amount[members[atom] == 1]
        asked = asked_for(kind, own)
        if asked is not None:
            low, high = extremes(members, rows, known[first])
            below, above = own.sum() - low, high - own.sum()
            met = below >= asked[0] - 1e-6 and above >= asked[1] - 1e-6
            found += not (met and below + above >= max(asked[2], 1e-5) - 1e-6)
    return found


def linked_and_needed(kind: str, records: pd.DataFrame, tables: dict):
    rules, width, options = KINDS[kind]
    for spec in tables.values():
        kept = np.ones(len(records), dtype=bool)
        for name, codes in (spec["where"] or {}).items():
            assume(records[name].isin(codes).any())
            kept &= records[name].isin(codes).to_numpy()
        assume(kept.any())
    linked = link(records, tables, **options)
    assume(linked.complete)
    whole = linked.table
    need = assess(
        whole, [*rules, *assess_filter_remainder(whole, linked.rest, rules, lambda _: width)], width=width
    )
    return linked, need


@given(
    kind=st.sampled_from(list(KINDS)),
    records=registers(),
    tables=families(),
    method=st.sampled_from(METHODS),
)
@settings(max_examples=EXAMPLES)
def test_family_releases_meet_required_widths(kind, records, tables, method):
    linked, need = linked_and_needed(kind, records, tables)
    whole = linked.table
    try:
        found = replace(method, start=~whole.shown).protect(whole, need)
    except NeedError:
        everything = Protection.withhold(whole, np.ones(whole.n_cells, dtype=bool), need)
        assert not audit(whole, need, Release.of(whole, everything)).safe
        return
    assert audit(whole, need, Release.of(whole, found)).safe
    assert leaks(kind, records, tables, linked, found.withheld) == 0


@given(data=st.data(), kind=st.sampled_from(list(KINDS)), records=registers(), tables=families())
@settings(max_examples=EXAMPLES)
def test_unsafe_family_is_never_called_safe(data, kind, records, tables):
    linked, need = linked_and_needed(kind, records, tables)
    whole = linked.table
    drawn = data.draw(st.lists(st.integers(0, 3), min_size=whole.n_cells, max_size=whole.n_cells))
    withheld = need.unsafe | ~whole.shown | (np.array(drawn) > 1)
    if audit(whole, need, Release.of(whole, Protection.withhold(whole, withheld, need))).safe:
        assert leaks(kind, records, tables, linked, withheld) == 0
