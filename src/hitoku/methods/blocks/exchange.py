"""Moving units between the lines of a table through cells that may move: augmenting paths."""

from __future__ import annotations

import numpy as np

from hitoku.model import Integers

Cell = tuple[int, int]


def push(
    values: Integers,
    lower: Integers,
    upper: Integers,
    source: int,
    sink: int,
    most: int,
    touched: set[Cell] | None = None,
) -> int:
    """Push units from one line to another through the cells of a table, which is changed; return how many.

    Lines are rows, then columns. From a row to a column a unit goes by lowering their cell, from a column to
    a row by raising it, so all other sums stay. Shortest paths first: every path meets a line once at most,
    and the number of paths is bounded whatever the numbers are.

    Parameters
    ----------
    values, lower, upper
        The table, and between what its cells may move.
    source, sink, most
        From where to where, and how far at most.
    touched
        Takes the cells that are changed.

    Examples
    --------
    >>> table = np.array([[5, 0], [2, 3]])
    >>> push(table, 0 * table, 0 * table + 9, 0, 1, 4), table.tolist()  # from the first row to the second
    (4, [[1, 0], [6, 3]])
    """
    pushed = 0
    while pushed < most:
        path = _shortest(values, lower, upper, source, sink)
        if path is None:
            break
        lowered, raised = path
        room = [int(values[cell] - lower[cell]) for cell in lowered]
        step = min([most - pushed, *room, *(int(upper[cell] - values[cell]) for cell in raised)])
        for cell in lowered:
            values[cell] -= step
        for cell in raised:
            values[cell] += step
        if touched is not None:
            touched.update(lowered, raised)
        pushed += step
    return pushed


def _shortest(
    values: Integers, lower: Integers, upper: Integers, source: int, sink: int
) -> tuple[list[Cell], list[Cell]] | None:
    """Find the cells to lower and to raise along a shortest path from line to line."""
    n_rows, n_columns = values.shape
    before = np.full(n_rows + n_columns, -1)
    before[source] = source
    frontier = np.array([source])
    while before[sink] < 0 and len(frontier):
        by_row = frontier[0] < n_rows
        if by_row:
            steps = (values[frontier] > lower[frontier]) & (before[n_rows:] < 0)
        else:
            columns = frontier - n_rows
            steps = ((upper[:, columns] > values[:, columns]) & (before[:n_rows] < 0)[:, None]).T
        met = np.flatnonzero(steps.any(axis=0))
        before[met + n_rows if by_row else met] = frontier[steps[:, met].argmax(axis=0)]
        frontier = met + n_rows if by_row else met
    if before[sink] < 0:
        return None
    lowered, raised = [], []
    line = sink
    while line != source:
        other = int(before[line])
        if other < n_rows:
            lowered.append((other, line - n_rows))
        else:
            raised.append((line, other - n_rows))
        line = other
    return lowered, raised
