"""Linked tables: common cells once, with the relations of all tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from hitoku.errors import TableError, some
from hitoku.messages import Arguments
from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.model.contributors import Contributors
from hitoku.model.dimension import Dimension, Labels
from hitoku.model.tolerance import ADDITIVITY

MEASURE = "measure"
Levels = Mapping[str, Sequence[str]]


class Linkable(Protocol):
    """Attributes of a table used for linking. :class:`hitoku.Table` has them."""

    @property
    def value(self) -> Floats: ...
    @property
    def relations(self) -> sparse.csr_array: ...
    @property
    def dimensions(self) -> tuple[Dimension, ...]: ...
    @property
    def labels(self) -> Labels: ...
    @property
    def frequency(self) -> Integers | None: ...
    @property
    def units(self) -> Contributors | None: ...
    @property
    def holdings(self) -> Contributors | None: ...
    @property
    def integer(self) -> bool: ...
    @property
    def lower(self) -> Floats: ...
    @property
    def upper(self) -> Floats: ...
    @property
    def cost(self) -> Floats | None: ...
    @property
    def fixed(self) -> Mask | None: ...
    @property
    def measure(self) -> str: ...
    @property
    def additive(self) -> bool: ...
    @property
    def backend(self) -> str: ...
    @property
    def n_cells(self) -> int: ...


def linked_parts(tables: Sequence[Linkable], levels: Levels | None = None) -> dict[str, Any]:
    """Return the parts of the linked table: common cells once, relations of all tables."""
    return assemble(tables, *by_names(tables, levels))


def by_names(tables: Sequence[Linkable], levels: Levels | None = None) -> tuple[Integers, Labels]:
    """Assign numbers to the cells of all tables, one table after the other; equal names have equal numbers.

    Parameters
    ----------
    tables
        Tables to link.
    levels
        For each classification, the variables that are levels of it. Their codes are nodes of its hierarchy.

    Returns
    -------
    tuple
        Numbers in the order of first appearance, and the names of the numbered cells.
    """
    if not tables:
        raise TableError("no_tables_to_link", "no tables to link", fix="give at least one table")
    for place, table in enumerate(tables):
        if not table.dimensions:
            raise TableError(
                "linked_table_without_dimensions",
                "a table without dimensions cannot be linked: its cells have no codes to compare",
                where="table {table}",
                fix="link tables made with from_array, from_frame or tabulate, all at once",
                table=place + 1,
            )
    own = [_variable_names(table.dimensions, place, levels or {}) for place, table in enumerate(tables)]
    refuse_strange_levels(own, levels or {})
    names, codes, totals = _variables(tables, own)
    keys = np.concatenate(
        [_keys(table, mine, names, codes, totals) for table, mine in zip(tables, own, strict=True)]
    )
    distinct, first, cell = np.unique(keys, return_index=True, return_inverse=True)
    # Cells are numbered in order of first appearance.
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    cell, first, distinct = rank[cell], first[order], distinct[order]
    positions = np.stack(np.unravel_index(distinct, [len(c) for c in codes]), axis=1).astype(np.int32)
    return cell, Labels(tuple(names), tuple(tuple(c) for c in codes), positions)


def _variable_names(dimensions: Sequence[Dimension], place: int, levels: Levels) -> dict[str, Dimension]:
    """Return the variables of a table; a level of a classification has the name of the classification."""
    above = {level: name for name, listed in levels.items() for level in listed}
    found: dict[str, Dimension] = {}
    for dimension in dimensions:
        name = above.get(dimension.name, dimension.name)
        if name in found:
            raise TableError(
                "levels_of_one_classification",
                "{fine!r} and {coarse!r} are levels of one classification",
                where="table {table}",
                fix="keep the finer one in the table; its tree has the codes of the other",
                fine=found[name].name,
                coarse=dimension.name,
                table=place + 1,
            )
        found[name] = dimension
    return found


def refuse_strange_levels(tables: Sequence[Mapping[str, Dimension]], levels: Levels) -> None:
    """Raise if a level has a code that is not in the hierarchy of its classification."""
    for name, listed in levels.items():
        trees = [d for own in tables if (d := own.get(name)) is not None and d.name == name]
        coarse = [d for own in tables if (d := own.get(name)) is not None and d.name in listed]
        known = {code for d in trees for code in d.codes}
        for dimension in coarse if trees else ():
            strange = [code for code in dimension.codes if code not in known and code != dimension.total]
            if strange:
                raise TableError(
                    "levels_tree_lacks_codes",
                    "{level} is a level of {tree}, but the codes {codes} are not in its hierarchy",
                    where="levels",
                    fix="add the codes of {level} to the hierarchy of {tree}",
                    level=dimension.name,
                    tree=name,
                    codes=some(map(repr, strange)),
                )
        if not trees and len({d.name for d in coarse}) > 1:
            raise TableError(
                "levels_tree_missing",
                "no table has the variable {variable!r}, whose hierarchy defines its levels",
                where="levels",
                fix="name the finest variable of {coarse} as the classification",
                variable=name,
                coarse=some(repr(d.name) for d in coarse),
            )


def assemble(
    tables: Sequence[Linkable],
    cell: Integers,
    labels: Labels,
    sums: sparse.csr_array | None = None,
    hidden: Mask | None = None,
) -> dict[str, Any]:
    """Return the parts of a linked table, given which cells are the same.

    Parameters
    ----------
    tables
        Tables to link.
    cell
        Number in the linked table of each cell of all tables, one table after the other. Numbers are in order
        of first appearance.
    labels
        Labels of the cells of the linked table.
    sums
        Further relations.
    hidden
        Cells of the linked table that are in no published table.
    """
    first = np.unique(cell, return_index=True)[1]
    value = np.concatenate([table.value for table in tables])
    differs = np.abs(value - value[first][cell]) > ADDITIVITY * np.maximum(
        np.abs(value), np.abs(value[first][cell])
    )
    if np.any(differs):
        places = np.unique(cell[differs])
        raise TableError(
            "linked_tables_disagree",
            "linked tables have different values in {n} common cell(s)",
            where="cells {cells}",
            fix="tabulate both from the same records, or use different measures for different quantities",
            n=len(places),
            cells=some((labels.describe(int(p)) for p in places[:3]), 3),
        )
    return {
        "value": value[first],
        "relations": _stack_relations(tables, cell, len(first), sums),
        "labels": labels,
        "frequency": _first(tables, "frequency", first),
        "units": _contributors([table.units for table in tables], first),
        "holdings": _contributors([table.holdings for table in tables], first),
        "integer": all(table.integer for table in tables),
        "lower": _tightest(np.maximum, [table.lower for table in tables], cell, -np.inf),
        "upper": _tightest(np.minimum, [table.upper for table in tables], cell, np.inf),
        "cost": _first(tables, "cost", first),
        "fixed": _any_fixed(tables, cell, len(first)),
        "hidden": hidden,
        "measure": tables[0].measure,
        "additive": all(table.additive for table in tables),
        "backend": tables[0].backend,
    }


def _variables(
    tables: Sequence[Linkable], own: Sequence[Mapping[str, Dimension]]
) -> tuple[list[str], list[list[str]], list[str]]:
    """Return all variables with all their codes, and the total of each variable."""
    names = list(dict.fromkeys(name for mine in own for name in mine))
    codes: list[list[str]] = []
    totals: list[str] = []
    for name in names:
        same = [mine[name] for mine in own if name in mine]
        total = _highest_total(name, same)
        listed = dict.fromkeys(code for d in same for code in d.codes if code != total)
        codes.append([*listed, total])
        totals.append(total)
    measures = list(dict.fromkeys(table.measure for table in tables))
    if len(measures) > 1:
        names, codes, totals = [*names, MEASURE], [*codes, measures], [*totals, ""]
    if np.prod([float(len(c)) for c in codes]) > 2.0**62:
        raise TableError(
            "linked_tables_too_large",
            "the linked tables have too many combinations of codes",
            fix="link fewer tables at once",
        )
    return names, codes, totals


def _highest_total(name: str, same: Sequence[Dimension]) -> str:
    """Return the total of a variable over all tables."""
    tops = dict.fromkeys(d.total for d in same)
    # A total that is an ordinary code of another table is part of that table's total.
    highest = [top for top in tops if not any(top in d.position and top != d.total for d in same)]
    if len(highest) != 1:
        raise TableError(
            "totals_not_comparable",
            "the totals of {variable!r} cannot be compared: {totals}",
            where="linked tables",
            fix="give the same total one code in all tables, or make one a code below the other",
            variable=name,
            totals=some(repr(top) for top in tops),
        )
    return highest[0]


def _keys(
    table: Linkable,
    mine: Mapping[str, Dimension],
    names: list[str],
    codes: list[list[str]],
    totals: list[str],
) -> Integers:
    """Return the index of each cell's codes among all combinations of codes."""
    own = {name: place for place, name in enumerate(mine)}
    columns: list[Any] = []
    for name, listed, total in zip(names, codes, totals, strict=True):
        where = {code: place for place, code in enumerate(listed)}
        if name in own:
            translate = np.array([where[code] for code in table.dimensions[own[name]].codes], dtype=np.int64)
            columns.append(translate[table.labels.column(own[name])])
        else:
            code = table.measure if name == MEASURE and total == "" else total
            columns.append(np.full(table.n_cells, where[code], dtype=np.int64))
    return np.asarray(np.ravel_multi_index(columns, [len(c) for c in codes]), dtype=np.int64)


def _stack_relations(
    tables: Sequence[Linkable], cell: Integers, n_cells: int, sums: sparse.csr_array | None
) -> sparse.csr_array:
    """Return the relations of all tables over the common cells, without repetitions."""
    blocks, offset = [] if sums is None else [sums], 0
    for table in tables:
        own = table.relations
        columns = cell[offset + own.indices]
        blocks.append(sparse.csr_array((own.data, columns, own.indptr), shape=(own.shape[0], n_cells)))
        offset += table.n_cells
    stacked = sparse.csr_array(sparse.vstack(blocks))
    stacked.sum_duplicates()
    # A group with a single code is equal to it: the relation cancels.
    stacked.eliminate_zeros()
    ends = stacked.indptr
    seen: dict[bytes, int] = {}
    for row in range(stacked.shape[0]):
        part = slice(ends[row], ends[row + 1])
        seen.setdefault(stacked.indices[part].tobytes() + stacked.data[part].tobytes(), row)
    seen.pop(b"", None)
    return stacked[sorted(seen.values())]


def _first(tables: Sequence[Linkable], name: str, first: Integers) -> Any:
    columns = [getattr(table, name) for table in tables]
    if any(column is None for column in columns):
        return None
    return np.concatenate(columns)[first]


def _contributors(parts: Sequence[Contributors | None], first: Integers) -> Contributors | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    top = min(part.largest.shape[1] for part in known)
    choices = {part.magnitude for part in known}
    if len(choices) > 1:
        raise TableError(
            "linked_rankings_differ",
            "linked tables rank negative contributions differently",
            fix="tabulate both with the same {arguments}",
            arguments=Arguments(magnitude=...),
        )
    return Contributors(
        count=np.concatenate([part.count for part in known]),
        largest=np.concatenate([part.largest[:, :top] for part in known]),
        total=np.concatenate([part.total for part in known]),
        negative=any(part.negative for part in known),
        magnitude=known[0].magnitude,
    ).take(first)


def _tightest(pick: Any, bounds: Sequence[Any], cell: Integers, start: float) -> Any:
    out = np.full(int(cell.max()) + 1, start)
    pick.at(out, cell, np.concatenate(bounds))
    return out


def _any_fixed(tables: Sequence[Linkable], cell: Integers, n_cells: int) -> Any:
    if all(table.fixed is None for table in tables):
        return None
    marks = [np.zeros(t.n_cells, dtype=bool) if t.fixed is None else t.fixed for t in tables]
    out = np.zeros(n_cells, dtype=bool)
    np.logical_or.at(out, cell, np.concatenate(marks))
    return out
