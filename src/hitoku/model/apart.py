"""Linked tables that share nothing, taken apart: what can be protected alone, and by somebody else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from hitoku.model.arrays import Integers, Mask
from hitoku.model.joint import TABLE
from hitoku.model.labels import Labels
from hitoku.model.table import Table


def components(table: Table, parts: Mapping[str, Integers]) -> list[Integers]:
    """Find the cells that sums tie to each other; return those of each group with a published cell.

    Parameters
    ----------
    table
        Several tables as one.
    parts
        By name, the positions of the cells of every table; cells of one table stay together.

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
    # In the order of the first cell that somebody sees; what nobody sees a part of nobody can infer.
    numbers = dict.fromkeys(group[table.shown].tolist())
    return [np.flatnonzero(group == number) for number in numbers]


def overlapping(members: Mapping[str, Mask]) -> list[list[str]]:
    """Group sets that have members in common, directly or through others.

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
    """Return some of the cells of a linked table as a table, with the sums among them.

    Parameters
    ----------
    table
        Several tables as one.
    cells
        Positions of cells that no sum ties to others.
    variables
        Variables that the tables of these cells have; others stand at their total and are left out.
    measure
        Name of their quantity.
    """
    inside = sparse.csr_array(table.relations[:, cells])
    hidden = None if table.hidden is None or not table.hidden[cells].any() else table.hidden[cells]
    return replace(
        table,
        value=table.value[cells],
        relations=inside[np.diff(inside.indptr) > 0],
        labels=_labels(table.labels, cells, variables),
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


def _labels(labels: Labels, cells: Integers, variables: Sequence[str]) -> Labels:
    """Name cells by these variables, with the codes that they have; by their table where that is needed."""
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
