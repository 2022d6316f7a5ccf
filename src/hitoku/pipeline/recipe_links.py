"""Links between the tables of a recipe: by records if these are the same, otherwise by names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from hitoku.errors import some
from hitoku.linking import LinkedTables, put_together
from hitoku.messages import Text
from hitoku.model import (
    ADDITIVITY,
    Dimension,
    Finding,
    Integers,
    Levels,
    Mask,
    Severity,
    Table,
    by_names,
    components,
    merge_groups,
    only,
    overlapping,
)
from hitoku.tabulation import RecordAtoms, TableSpec, Where

# Options that must be equal for tables of the same records to be linked, with their defaults. Other options
# change neither the quantity nor its contributors.
DEFAULTS = dict.fromkeys(("value", "measure", "weight", "unit", "holding", "magnitude", "decimals"))
OTHER_RECORDS = "some tables were made from other records, so that only cells of the same names were compared"


@dataclass(frozen=True, eq=False)
class MadeTable:
    """One table of a recipe."""

    table: Table
    """Table of values."""
    by_hand: Mask
    """Manually suppressed cells."""
    data: Any = None
    spec: TableSpec = field(default_factory=lambda: TableSpec(by=()))
    """Records from which it was made (a path or a Spark frame), and its specification; None for a table that
    was read from a file of cells."""

    @property
    def records(self) -> tuple[object, ...]:
        """Key that is equal for tables linked by their records."""
        if self.data is None:
            return (id(self),)
        options = {**DEFAULTS, **self.spec.options}
        return self.data, *(f"{name}={options[name]!r}" for name in DEFAULTS)


def link_made(made: Mapping[str, MadeTable], levels: Levels) -> list[LinkedTables]:
    """Link the tables of a recipe; return groups of tables that share nothing, in the order of the tables.

    Parameters
    ----------
    made
        Tables by name.
    levels
        By classification, the variables that are levels of it.
    """
    groups: dict[tuple[object, ...], list[str]] = {}
    for name, one in made.items():
        groups.setdefault(one.records, []).append(name)
    # Cells of different quantities are never the same.
    by_measure: dict[str, list[dict[str, MadeTable]]] = {}
    for names in groups.values():
        same = {name: made[name] for name in names}
        by_measure.setdefault(made[names[0]].table.measure, []).append(same)
    whole: list[LinkedTables] = []
    for listed in by_measure.values():
        if len(listed) == 1:
            whole += [_group(tables) for tables in _overlapping(listed[0])]
            continue
        linked = [_group(tables) for tables in listed]
        filters = {name: one.spec.where or {} for tables in listed for name, one in tables.items()}
        whole.append(link_groups(linked, _present(levels, linked), filters)[0])
    order = list(made)
    divided = [part for one in whole for part in divide(one, order)]
    return sorted(divided, key=lambda group: order.index(next(iter(group.parts))))


def _overlapping(made: Mapping[str, MadeTable]) -> list[dict[str, MadeTable]]:
    """Divide tables of the same records if their filters share no record, such as one table for each town."""
    columns = list(dict.fromkeys(name for one in made.values() for name in one.spec.where or {}))
    if not all(one.spec.where for one in made.values()) or len(made) < 2:
        return [dict(made)]
    first = next(iter(made.values()))
    atoms = RecordAtoms.of(first.data, columns, first.spec.options.get("file"))
    kept = [atoms.kept(one.spec.where) for one in made.values()]
    return [{name: made[name] for name in names} for names in overlapping(dict(zip(made, kept, strict=True)))]


def _present(levels: Levels, linked: Sequence[LinkedTables]) -> Levels:
    """Return the classifications of which these tables have a variable."""
    own = {d.name for one in linked for table, _ in one.parts.values() for d in table.dimensions}
    return {name: listed for name, listed in levels.items() if own & {name, *listed}}


def divide(linked: LinkedTables, order: Sequence[str]) -> list[LinkedTables]:
    """Split linked tables into groups that no relation connects; usually there is one.

    Parameters
    ----------
    linked
        Tables of one quantity.
    order
        Names of tables, as they are to come in every group.
    """
    named = {name: linked.parts[name] for name in order if name in linked.parts}
    places = {name: cells for name, (_, cells) in named.items()}
    # Tables that share records are tied by their atoms, although no sum of their cells may say so.
    found = components(linked.table, places) if linked.atoms is None else components(linked.atoms, places)
    if len(found) < 2:
        return [replace(linked, parts=named)]
    groups = []
    n_shared = linked.table.n_cells
    for every in found:
        cells = every[every < n_shared]
        rank = np.full(linked.table.n_cells, -1, dtype=np.int64)
        rank[cells] = np.arange(len(cells))
        # A table is in one group with all its cells.
        parts = {name: (part, rank[own]) for name, (part, own) in named.items() if rank[own[0]] >= 0}
        variables = dict.fromkeys(d.name for part, _ in parts.values() for d in part.dimensions)
        table = next(iter(parts.values()))[0]
        groups.append(
            LinkedTables(
                table=only(linked.table, cells, list(variables), table.measure),
                parts=parts,
                rest=tuple((rest, rank[own]) for rest, own in linked.rest if np.all(rank[own] >= 0)),
                remarks=tuple(remark for remark in linked.remarks if _concerns(remark, parts, named)),
                atoms=None
                if linked.atoms is None
                else only(linked.atoms, every, linked.atoms.labels.names, linked.table.measure),
                undecided=linked.undecided,
            )
        )
    return groups


def _concerns(remark: Finding, own: Iterable[str], every: Iterable[str]) -> bool:
    """Return whether a remark is about some of these tables; one that names none is about all."""
    named = set(remark.tables) & set(every)
    return not named or bool(named & set(own))


def link_groups(
    linked: Sequence[LinkedTables],
    levels: Levels,
    filters: Mapping[str, Where],
    prints: Sequence[Sequence[str]] | None = None,
) -> tuple[LinkedTables, tuple[Integers, ...]]:
    """Link groups of linked tables by the names of their cells, and by their records if known.

    Parameters
    ----------
    linked
        Groups of linked tables; names of tables are unique.
    levels
        By classification, the variables that are levels of it.
    filters
        For every table the records that were counted.
    prints
        For each group the fingerprints of its cells, empty if unknown.

    Returns
    -------
    tuple
        The groups as one, and for each the positions of its cells.
    """
    tables = {name: table for whole in linked for name, (table, _) in whole.parts.items()}
    numbers, labels = by_names(list(tables.values()), levels)
    ends = np.cumsum([table.n_cells for table in tables.values()])[:-1]
    named = dict(zip(tables, np.split(numbers, ends), strict=True))
    distinct = list(dict.fromkeys(_key(filters[name]) for name in tables))
    shared = []
    for whole in linked:
        cells = np.concatenate([places for _, places in whole.parts.values()])
        keys = [named[name] + len(labels) * distinct.index(_key(filters[name])) for name in whole.parts]
        shared.append((cells, np.concatenate(keys)))
    further: tuple[Finding, ...] = ()
    if prints is not None:
        same = same_records(linked, prints, shared)
        further = tuple(_by_records(same, shared))
        base = len(labels) * len(distinct)
        shared = [
            (np.append(cells, more), np.append(keys, base + numbers))
            for (cells, keys), (more, numbers) in zip(shared, same, strict=True)
        ]
    names = [next(iter(whole.parts)) for whole in linked]
    table, places = merge_groups([whole.table for whole in linked], shared, names)
    together = LinkedTables(
        table=table,
        parts={
            name: (part, into[cells])
            for whole, into in zip(linked, places, strict=True)
            for name, (part, cells) in whole.parts.items()
        },
        rest=tuple(
            (rest, into[cells])
            for whole, into in zip(linked, places, strict=True)
            for rest, cells in whole.rest
        ),
        undecided=OTHER_RECORDS,
        remarks=(
            *(remark for whole in linked for remark in whole.remarks),
            *further,
            *_left_open(tables, [list(whole.parts) for whole in linked], levels),
            *_filtered_apart(filters, [list(whole.parts) for whole in linked], tables),
        ),
    )
    return together, places


def _by_records(same: Shared, shared: Shared) -> Iterator[Finding]:
    """Return a remark on the number of cells that are the same by their records alone."""
    classes: dict[int, list[set[int]]] = {}
    for (cells, numbers), (known, keys) in zip(same, shared, strict=True):
        for cell, number in zip(cells.tolist(), numbers.tolist(), strict=True):
            classes.setdefault(number, []).append(set(keys[known == cell].tolist()))
    alone = sum(not set.intersection(*names) for names in classes.values())
    if alone:
        yield Finding(
            severity=Severity.NOTE,
            place="releases made apart",
            reason=Text(
                "{alone} cell(s) of other names have the same records behind them, and are one", alone=alone
            ),
        )


def _group(made: Mapping[str, MadeTable]) -> LinkedTables:
    """Link tables of the same records."""
    (name, one), *others = made.items()
    if others:
        return put_together(
            one.data,
            {name: each.spec for name, each in made.items()},
            {name: each.table for name, each in made.items()},
        )
    return LinkedTables(table=one.table, parts={name: (one.table, np.arange(one.table.n_cells))})


def _key(where: Where) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple(sorted((name, tuple(sorted(codes))) for name, codes in where.items()))


def _filtered_apart(
    filters: Mapping[str, Where], groups: Sequence[Sequence[str]], tables: Mapping[str, Table]
) -> Iterator[Finding]:
    """Return remarks on groups of one quantity with different filters, whose remainders are not known."""
    for one, other in combinations(groups, 2):
        same = [(a, b) for a in one for b in other if tables[a].measure == tables[b].measure]
        apart = [(a, b) for a, b in same if _key(filters[a]) != _key(filters[b])]
        if apart:
            yield Finding(
                severity=Severity.REVIEW,
                place=", ".join(apart[0]),
                tables=apart[0],
                reason="these tables count other records (where); what one leaves of the other is not judged",
                advice="protect them together, from the same records",
            )


def _left_open(
    tables: Mapping[str, Table], groups: Sequence[Sequence[str]], levels: Levels
) -> Iterator[Finding]:
    """Return remarks on what links by name cannot detect: undeclared levels, rings of tables."""
    group_of = {name: place for place, names in enumerate(groups) for name in names}
    below = {level: name for name, listed in levels.items() for level in listed}
    for one, other in combinations(tables, 2):
        first, second = tables[one], tables[other]
        if group_of[one] == group_of[other] or first.measure != second.measure:
            continue
        for fine in first.dimensions:
            for coarse in second.dimensions:
                names = {below.get(fine.name, fine.name), below.get(coarse.name, coarse.name)}
                alike = alike_codes(first, fine, second, coarse) if len(names) > 1 else []
                if alike:
                    yield Finding(
                        severity=Severity.REVIEW,
                        place=f"{one}, {other}",
                        tables=(one, other),
                        reason=Text(
                            "{fine} and {coarse} have codes of the same name and value ({codes}) that were "
                            "not taken for the same cells",
                            fine=fine.name,
                            coarse=coarse.name,
                            codes=some(map(repr, alike)),
                        ),
                        advice=Text(
                            'if one is a level of the other: {fine} = ["{coarse}"] in [classifications]',
                            fine=fine.name,
                            coarse=coarse.name,
                        ),
                    )
    for measure in dict.fromkeys(table.measure for table in tables.values()):
        same = [name for name, table in tables.items() if table.measure == measure]
        edges = [_variables_with_levels(tables[name], levels) for name in same]
        if len({group_of[name] for name in same}) > 1 and not _acyclic(edges):
            yield Finding(
                severity=Severity.REVIEW,
                place=", ".join(same),
                tables=tuple(same),
                reason="these tables cross each other in a ring, so together they say more than the cells "
                "that they share",
                advice="make them from the same records, or publish fewer of them together",
            )


def _acyclic(edges: Sequence[set[str]]) -> bool:
    """Return whether tables form no ring (Graham's reduction of the hypergraph of their variables).

    Then what follows from all of them follows from the cells that pairs of them share (Vorob'ev's theorem).
    """
    left = [set(edge) for edge in edges]
    while True:
        before = [set(edge) for edge in left]
        for edge in left:
            edge -= {name for name in set(edge) if sum(name in other for other in left) == 1}
        left = [
            edge
            for place, edge in enumerate(left)
            if edge
            and not any(
                edge < other or (edge == other and place > where)
                for where, other in enumerate(left)
                if where != place
            )
        ]
        if len(left) <= 1:
            return True
        if left == before:
            return False


def _variables_with_levels(table: Table, levels: Levels) -> set[str]:
    """Return the variables of a table, with the levels above them."""
    own = {dimension.name for dimension in table.dimensions}
    return own | {level for name in own for level in levels.get(name, ())}


def alike_codes(first: Table, one: Dimension, second: Table, other: Dimension) -> list[str]:
    """Return codes that two variables of different names share, if they have the same totals everywhere."""
    common = [code for code in one.codes if code in other.position and code not in {one.total, other.total}]
    values = [
        np.array([_margin(table, dimension, code) for code in common])
        for table, dimension in ((first, one), (second, other))
    ]
    close = np.abs(values[0] - values[1]) <= ADDITIVITY * np.abs(values[0])
    return common if common and close.all() and np.any(values[0] != 0) else []


def _margin(table: Table, dimension: Dimension, code: str) -> float:
    """Return the value of a code with all other variables at their total, which comes last."""
    places = [d.position[code] if d is dimension else len(d) - 1 for d in table.dimensions]
    return float(table.value[np.ravel_multi_index(places, table.shape)])


# For each group, indices of cells, and their numbers, which are common to all groups.
Shared = list[tuple[Integers, Integers]]


def same_records(groups: Sequence[LinkedTables], prints: Sequence[Sequence[str]], shared: Shared) -> Shared:
    """Pair cells of different groups that have the same records and the same quantity.

    If several cells of a group have the same records, the relations of the group tie them, provided that an
    attacker knows that the other cells are empty. Only one of them is paired: one that has an equal by name,
    otherwise the widest.

    Parameters
    ----------
    groups
        The groups, each with its tables.
    prints
        For each group the fingerprints of its cells, empty if unknown.
    shared
        For each group cells with names, and numbers that mean the same name in all groups.

    Returns
    -------
    list
        For each group positions of cells, and numbers: equal ones have the same records.
    """
    named: list[dict[int, set[int]]] = [{} for _ in groups]
    for own_names, (known_cells, keys) in zip(named, shared, strict=True):
        for cell, key in zip(known_cells.tolist(), keys.tolist(), strict=True):
            own_names.setdefault(cell, set()).add(key)
    classes: dict[tuple[str, str], dict[int, list[int]]] = {}
    for number, (group, own) in enumerate(zip(groups, prints, strict=True)):
        for cell, each in enumerate(own):
            if each:
                known = classes.setdefault((group.table.measure, each), {})
                known.setdefault(number, []).append(cell)
    extents = [_extents(group) for group in groups]
    found: list[list[tuple[int, int]]] = [[] for _ in groups]
    for place, of_class in enumerate(cells for cells in classes.values() if len(cells) > 1):
        names = {
            number: set().union(*(named[number].get(cell, set()) for cell in cells))
            for number, cells in of_class.items()
        }
        chosen: dict[int, int] = {}
        for number, cells in of_class.items():
            elsewhere = set().union(*(own for other, own in names.items() if other != number))
            by_name = [cell for cell in cells if named[number].get(cell, set()) & elsewhere]
            candidates = np.array(by_name or cells)
            chosen[number] = int(candidates[np.argmax(extents[number][candidates])])
        values = np.array([groups[number].table.value[cell] for number, cell in chosen.items()])
        if np.all(np.abs(values - values[0]) <= ADDITIVITY * np.abs(values[0])):
            for number, cell in chosen.items():
                found[number].append((cell, place))
    return [
        (np.array([cell for cell, _ in own], dtype=np.int64), np.array([n for _, n in own], dtype=np.int64))
        for own in found
    ]


def _extents(group: LinkedTables) -> Integers:
    """Count the leaf cells of every cell, in the table where it has most."""
    found = np.zeros(group.table.n_cells, dtype=np.int64)
    for table, cells in group.parts.values():
        extent = np.ones(1, dtype=np.int64)
        for dimension in table.dimensions:
            extent = np.multiply.outer(extent, np.diff(dimension.closure.indptr)).ravel()
        np.maximum.at(found, cells, extent)
    return found
