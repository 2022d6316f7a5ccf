"""Parts of a problem that no relation joins: what is withheld in one does not matter to the others.

Whole tables hang together; what is left of a hierarchy once most cells are ruled out often falls apart.
Costs, numbers that decide ties and the lexicographic order all add up over the parts, so each is searched on
its own and the patterns are put together.
"""

from __future__ import annotations

import numpy as np

from hitoku.feasibility.incidence import Incidence, parts_of
from hitoku.methods.optimal.cuts import Cuts
from hitoku.methods.optimal.instance import Instance
from hitoku.model import Mask


def components(instance: Instance) -> list[Mask]:
    """Return the cells of every part in which something must be reached.

    Cells in none of them cannot move, or have nobody to protect.

    Examples
    --------
    Two relations without a common cell; the second has no level.

    >>> from scipy import sparse
    >>> from hitoku.methods.optimal.instance import ProtectionLevels
    >>> one = np.ones(5)
    >>> instance = Instance(
    ...     cells=np.arange(5), relations=sparse.csr_array([[1, 1, -1, 0, 0], [0, 0, 0, 1, -1]]),
    ...     up=one, down=one,
    ...     forced=np.array([True, False, False, False, False]), weight=one, tie=np.zeros(5, dtype=np.int64),
    ...     levels=ProtectionLevels(np.array([0]), np.array([1], dtype=np.int8), np.ones(1)),
    ... )
    >>> [mask.astype(int).tolist() for mask in components(instance)]
    [[1, 1, 1, 0, 0]]
    """
    relations = instance.relations
    moves = Incidence.of(relations).movable(np.ones(relations.shape[1], dtype=bool))
    label = np.full(len(moves), -1)
    label[moves] = parts_of(relations[:, np.flatnonzero(moves)]).cell
    asked = instance.levels.cell
    # In the order of the table, by the first cell with a level.
    order = dict.fromkeys(label[np.sort(asked[moves[asked]])].tolist())
    return [moves & (label == one) for one in order]


def part_of(instance: Instance, cells: Mask) -> Instance:
    """Return the problem over one part alone."""
    return instance.with_levels(cells[instance.levels.cell]).kept(cells)


def rows_by_part(rows: Cuts, groups: list[Mask]) -> list[Cuts]:
    """Divide rows among parts; those that count cells of two of them say nothing about either.

    Cells are numbered as before.

    Examples
    --------
    >>> rows = Cuts.of([(np.array(cells), np.ones(len(cells))) for cells in ([0, 1], [1, 2], [2])])
    >>> groups = [np.array([True, True, False]), np.array([False, False, True])]
    >>> [part.cells.tolist() for part in rows_by_part(rows, groups)]
    [[0, 1], [2]]
    """
    label = np.full(len(groups[0]) if groups else 0, -1)
    for place, group in enumerate(groups):
        label[group] = place
    inside: list[list[int]] = [[] for _ in groups]
    if len(rows) and groups:
        here = label[rows.cells]
        row = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
        least, most = np.full(len(rows), len(groups)), np.full(len(rows), -1)
        np.minimum.at(least, row[here >= 0], here[here >= 0])
        np.maximum.at(most, row, here)
        for k in np.flatnonzero(least == most).tolist():
            inside[least[k]].append(k)
    return [Cuts.of([rows.row(k) for k in some], sum(k < rows.n_lively for k in some)) for some in inside]
