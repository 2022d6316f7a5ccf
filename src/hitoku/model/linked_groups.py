"""Independent groups of linked tables: splitting a linked table into groups, and combining groups.

Cells of one group are linked already. Cells of different groups are compared by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.model.arrays import Integers, Mask
from hitoku.model.dimension import Labels
from hitoku.model.joint import TABLE
from hitoku.model.link import MEASURE, assemble
from hitoku.model.table import Table


def components(table: Table, parts: Mapping[str, Integers]) -> list[Integers]:
    """Return the connected components of a linked table that contain a published cell.

    Parameters
    ----------
    table
        Linked table.
    parts
        Indices of the cells of each table, by name. Cells of one table stay together.

    Examples
    --------
    >>> one = Table.from_array([3, 4], names=["region"], codes=[["N", "S"]], measure="n")
    >>> two = Table.from_array([5, 2], names=["size"], codes=[["1", "2"]], measure="turnover")
    >>> both = Table.link([one, two])
    >>> [cells.tolist() for cells in components(both, {"one": np.arange(3), "two": np.arange(3, 6)})]
    [[0, 1, 2], [3, 4, 5]]
    """
    n_sums, n_cells = table.relations.shape
    sums = table.relations.tocoo()
    members = [np.full(len(cells), n_sums + place) for place, cells in enumerate(parts.values())]
    rows = np.concatenate([sums.coords[0], *members])
    columns = np.concatenate([sums.coords[1], *parts.values()])
    size = n_sums + len(parts) + n_cells
    edges = sparse.coo_array((np.ones(len(rows)), (rows, n_sums + len(parts) + columns)), shape=(size, size))
    _, found = sparse.csgraph.connected_components(edges, directed=False)
    group = found[n_sums + len(parts) :]
    # In the order of the first published cell. Components without one cannot be inferred from anything.
    numbers = dict.fromkeys(group[table.shown].tolist())
    return [np.flatnonzero(group == number) for number in numbers]


def overlapping(members: Mapping[str, Mask]) -> list[list[str]]:
    """Group sets that have members in common, directly or through other sets.

    Examples
    --------
    >>> overlapping({"a": np.array([1, 1, 0, 0]), "b": np.array([0, 0, 1, 0]), "c": np.array([0, 1, 0, 1])})
    [['a', 'c'], ['b']]
    """
    rows = np.array(list(members.values()), dtype=np.int64)
    _, group = sparse.csgraph.connected_components(sparse.csr_array(rows @ rows.T), directed=False)
    names = list(members)
    return [[names[place] for place in np.flatnonzero(group == number)] for number in np.unique(group)]


def only(table: Table, cells: Integers, variables: Sequence[str], measure: str) -> Table:
    """Return some of the cells of a linked table as a table, with their relations.

    Parameters
    ----------
    table
        Linked table.
    cells
        Indices of cells without relations to other cells.
    variables
        Variables of the tables of these cells. Other variables are at their total and are dropped.
    measure
        Name of the quantity.
    """
    inside = sparse.csr_array(table.relations[:, cells])
    hidden = None if table.hidden is None or not table.hidden[cells].any() else table.hidden[cells]
    return replace(
        table,
        value=table.value[cells],
        relations=inside[np.diff(inside.indptr) > 0],
        labels=_part_labels(table.labels, cells, variables),
        frequency=None if table.frequency is None else table.frequency[cells],
        units=None if table.units is None else table.units.take(cells),
        holdings=None if table.holdings is None else table.holdings.take(cells),
        measures={name: values[cells] for name, values in table.measures.items()},
        lower=table.lower[cells],
        upper=table.upper[cells],
        cost=None if table.cost is None else table.cost[cells],
        fixed=None if table.fixed is None else table.fixed[cells],
        hidden=hidden,
        measure=measure,
    )


def _part_labels(labels: Labels, cells: Integers, variables: Sequence[str]) -> Labels:
    """Return labels of cells by these variables, and by table where codes do not distinguish them."""
    for names in (variables, (*variables, TABLE)):
        chosen = [place for place, name in enumerate(labels.names) if name in names]
        columns = [labels.column(place)[cells] for place in chosen]
        used = [np.unique(column) for column in columns]
        positions = np.stack(
            [np.searchsorted(known, column) for known, column in zip(used, columns, strict=True)], axis=1
        )
        if len(np.unique(positions, axis=0)) == len(positions):
            break
    codes = (
        tuple(labels.codes[place][code] for code in known) for place, known in zip(chosen, used, strict=True)
    )
    return Labels(tuple(labels.names[place] for place in chosen), tuple(codes), positions.astype(np.int32))


def merge_groups(
    wholes: Sequence[Table], shared: Sequence[tuple[Integers, Integers]], names: Sequence[str]
) -> tuple[Table, tuple[Integers, ...]]:
    """Combine several groups into one table. Also return the indices of each group's cells in it.

    Parameters
    ----------
    wholes
        Groups, each as one linked table.
    shared
        For each group, indices of some of its cells and numbers that mean the same cell in all groups.
    names
        Names of the groups, used if codes do not distinguish their cells.

    Examples
    --------
    >>> one = Table.from_array([3, 4], names=["region"], codes=[["N", "S"]], measure="n")
    >>> two = Table.from_array([5, 2], names=["size"], codes=[["1", "2"]], measure="n")
    >>> table, cells = merge_groups([one, two], [(np.array([2]), np.array([0]))] * 2, ["a", "b"])
    >>> table.n_cells, [places.tolist() for places in cells]
    (5, [[0, 1, 2], [3, 4, 2]])
    """
    starts = np.cumsum([0, *(whole.n_cells for whole in wholes)])
    n_cells, n_names = int(starts[-1]), 1 + max(int(keys.max(initial=-1)) for _, keys in shared)
    here = np.concatenate([start + cells for start, (cells, _) in zip(starts, shared, strict=False)])
    there = n_cells + np.concatenate([keys for _, keys in shared])
    graph = sparse.coo_array(
        (np.ones(len(here)), (here, there)), shape=(n_cells + n_names, n_cells + n_names)
    )
    _, found = sparse.csgraph.connected_components(graph, directed=False)
    _, first, number = np.unique(found[:n_cells], return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    numbers = rank[number.ravel()]
    cells = tuple(np.split(numbers, starts[1:-1]))
    labels = _labels(wholes, np.sort(first), names)
    return Table(**assemble(wholes, numbers, labels, None, _hidden(wholes, cells, len(first)))), cells


def _hidden(wholes: Sequence[Table], cells: Sequence[Integers], n_cells: int) -> Mask | None:
    """Return the cells that are hidden in all groups."""
    hidden = np.ones(n_cells, dtype=bool)
    for whole, places in zip(wholes, cells, strict=True):
        hidden[places[whole.shown]] = False
    return hidden if hidden.any() else None


def _labels(wholes: Sequence[Table], first: Integers, names: Sequence[str]) -> Labels:
    """Return labels of the cells, from the first group that contains each."""
    variables = [
        name for name in dict.fromkeys(n for whole in wholes for n in whole.labels.names) if name != TABLE
    ]
    codes: list[tuple[str, ...]] = []
    columns: list[Any] = []
    for name in variables:
        own = [_codes(whole.labels, name) for whole in wholes]
        top = next(listed for listed in own if listed)[-1]
        every = dict.fromkeys(code for listed in own for code in listed if code != top)
        codes.append((*every, top))
        columns.append([_column(whole, name, codes[-1]) for whole in wholes])
    measures = tuple(dict.fromkeys(whole.measure for whole in wholes))
    if len(measures) > 1:
        variables, codes = [*variables, MEASURE], [*codes, measures]
        columns.append([np.full(whole.n_cells, measures.index(whole.measure)) for whole in wholes])
    positions = np.stack([np.concatenate(column)[first] for column in columns], axis=1)
    if len(np.unique(positions, axis=0)) < len(positions):
        codes_of = [_codes(whole.labels, TABLE) or (name,) for whole, name in zip(wholes, names, strict=True)]
        listed = tuple(dict.fromkeys(code for one in codes_of for code in one))
        last = [
            _column(whole, TABLE, listed)
            if TABLE in whole.labels.names
            else np.full(whole.n_cells, listed.index(own[0]))
            for whole, own in zip(wholes, codes_of, strict=True)
        ]
        variables, codes = [*variables, TABLE], [*codes, listed]
        positions = np.column_stack([positions, np.concatenate(last)[first]])
    return Labels(tuple(variables), tuple(codes), positions.astype(np.int32))


def _codes(labels: Labels, name: str) -> tuple[str, ...]:
    return labels.codes[labels.names.index(name)] if name in labels.names else ()


def _column(whole: Table, name: str, codes: Sequence[str]) -> Integers:
    """Return the indices of a variable's codes. Groups without it are at its total, the last code."""
    labels = whole.labels
    if name not in labels.names:
        return np.full(whole.n_cells, len(codes) - 1)
    variable, place = labels.names.index(name), {code: number for number, code in enumerate(codes)}
    translate = np.array([place[code] for code in labels.codes[variable]])
    return np.asarray(translate[labels.column(variable)], dtype=np.int64)
