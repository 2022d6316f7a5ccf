"""Parts of a problem that no relation joins: what is withheld in one does not matter to the others.

Whole tables hang together; what is left of a hierarchy once most cells are ruled out often falls apart.
Costs, numbers that decide ties and the lexicographic order all add up over the parts, so each is searched on
its own and the patterns are put together.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from hitoku.methods.optimal.cuts import Cuts
from hitoku.methods.optimal.instance import Instance, movable
from hitoku.methods.optimal.variable_fixing import restrict_cuts
from hitoku.model.arrays import Mask


def components(instance: Instance) -> list[Mask]:
    """Return the cells of every part in which something must be reached.

    Cells in none of them cannot move, or have nobody to protect.

    Examples
    --------
    Two relations without a common cell; the second has no level.

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
    n_rows, n = relations.shape
    moves = movable(relations, np.ones(n, dtype=bool))
    row = np.repeat(np.arange(n_rows), np.diff(relations.indptr))
    tied = moves[relations.indices]
    ends = (row[tied], n_rows + relations.indices[tied])
    graph = sparse.csr_array((np.ones(len(ends[0])), ends), shape=(n_rows + n, n_rows + n))
    label = csgraph.connected_components(graph, directed=False)[1][n_rows:]
    asked = instance.levels.cell
    # In the order of the table, by the first cell with a level.
    order = dict.fromkeys(label[np.sort(asked[moves[asked]])].tolist())
    return [moves & (label == one) for one in order]


def part_of(instance: Instance, cells: Mask) -> Instance:
    """Return the problem over one part alone."""
    return instance.with_levels(cells[instance.levels.cell]).kept(cells)


def rows_within(rows: Cuts, instance: Instance, part: Instance, elsewhere: Mask) -> Cuts:
    """Rewrite rows for one part; those that also count cells of other parts say nothing about it."""
    inside = [rows.row(k) for k in range(len(rows))]
    return restrict_cuts(Cuts.of([row for row in inside if not elsewhere[row[0]].any()]), instance, part)
