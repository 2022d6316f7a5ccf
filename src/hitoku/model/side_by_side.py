"""Groups of tables side by side: within a group cells are joined already, between groups names decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.model.arrays import Integers, Mask
from hitoku.model.joint import TABLE
from hitoku.model.labels import Labels
from hitoku.model.link import MEASURE, assemble
from hitoku.model.table import Table


def merge_groups(
    wholes: Sequence[Table], shared: Sequence[tuple[Integers, Integers]], names: Sequence[str]
) -> tuple[Table, tuple[Integers, ...]]:
    """Make one table of several groups; return it with the positions of every group's cells in it.

    Parameters
    ----------
    wholes
        The groups, each as one table.
    shared
        For each of them positions of some of its cells, and numbers that mean the same in all groups.
    names
        What to call the groups, where codes do not tell their cells apart.

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
    """Hide what no group shows."""
    hidden = np.ones(n_cells, dtype=bool)
    for whole, places in zip(wholes, cells, strict=True):
        hidden[places[whole.shown]] = False
    return hidden if hidden.any() else None


def _labels(wholes: Sequence[Table], first: Integers, names: Sequence[str]) -> Labels:
    """Name the cells, each as the first group with it does."""
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
        told = [_codes(whole.labels, TABLE) or (name,) for whole, name in zip(wholes, names, strict=True)]
        listed = tuple(dict.fromkeys(code for one in told for code in one))
        last = [
            _column(whole, TABLE, listed)
            if TABLE in whole.labels.names
            else np.full(whole.n_cells, listed.index(own[0]))
            for whole, own in zip(wholes, told, strict=True)
        ]
        variables, codes = [*variables, TABLE], [*codes, listed]
        positions = np.column_stack([positions, np.concatenate(last)[first]])
    return Labels(tuple(variables), tuple(codes), positions.astype(np.int32))


def _codes(labels: Labels, name: str) -> tuple[str, ...]:
    return labels.codes[labels.names.index(name)] if name in labels.names else ()


def _column(whole: Table, name: str, codes: Sequence[str]) -> Integers:
    """Return the positions of one variable's codes; a group without it stands at its total, the last."""
    labels = whole.labels
    if name not in labels.names:
        return np.full(whole.n_cells, len(codes) - 1)
    variable, place = labels.names.index(name), {code: number for number, code in enumerate(codes)}
    translate = np.array([place[code] for code in labels.codes[variable]])
    return np.asarray(translate[labels.column(variable)], dtype=np.int64)
