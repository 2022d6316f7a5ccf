"""The rule of k-disclosure, for frequency tables: differences between a group and a part of it.

If all but at most k of a group are in a smaller group, k people who know themselves can infer of all
others in the first group that they are in the second. The difference of the two
counts must be protected, not one of the counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from hitoku.model import Attributions, Integers, Mask, Need, Table, only_categories, variable_of_relation
from hitoku.parameters import Count, Names, Whole, as_names
from hitoku.rules.levels import need_of_rule, per_person, respondents_of, tells_of_people
from hitoku.rules.parts import parts_of, require_variables
from hitoku.rules.rule import check_rule


@dataclass(frozen=True, slots=True)
class KDisclosure:
    """Find pairs of a group and a part of it that differ by at most k people.

    The difference of every pair must not be derivable; ``Gauss(differences=KDisclosure(k))`` ensures it.
    Methods that protect only cells get the part of each pair as an unsafe cell.

    Parameters
    ----------
    k
        Number of people who share their knowledge.
    sensitive
        Variables in which part and group must differ to be relevant. Default: any.
    limit
        Parts with more people than this are safe. Default: no limit.

    Examples
    --------
    >>> table = Table.from_array([[0, 4], [2, 3]])
    >>> parts, groups = KDisclosure(k=0).pairs(table)
    >>> [(table.describe(p), table.describe(g)) for p, g in zip(parts, groups)]
    [('row=1, column=2', 'row=1, column=Total'), ('row=2, column=1', 'row=Total, column=1')]
    """

    name: ClassVar[str] = "k_disclosure"
    about_groups: ClassVar[bool] = True

    k: Whole = 1
    sensitive: Names | None = None
    limit: Count | None = None

    def __post_init__(self) -> None:
        check_rule(self)

    def assess(self, table: Table) -> Need:
        """Flag the part of every pair, with a level of one person more than the coalition knows."""
        part, group = self.pairs(table)
        unsafe = np.zeros(table.n_cells, dtype=bool)
        unsafe[part] = True
        level = np.zeros(table.n_cells)
        counts = table.frequency
        learnt = Attributions.none(table.n_cells)
        if counts is not None and np.array_equal(counts, table.value):
            np.maximum.at(level, part, (self.k + 1 - counts[group] + counts[part]).astype(np.float64))
        if tells_of_people(table):
            part, group = self._close(table)
            goal = (self.k + 1) * per_person(table, group)
            learnt = Attributions.within(table.n_cells, group, part, goal)
        return need_of_rule(table, self.name, unsafe, level, attributions=learnt)

    def differences(self, table: Table) -> Any:
        """Return one column per pair over the cells: one for the group, minus one for the part."""
        part, group = self.pairs(table)
        place = np.arange(len(part))
        data = np.concatenate([np.ones(len(part)), -np.ones(len(part))])
        cells = np.concatenate([group, part])
        return sparse.csc_array((data, (cells, np.append(place, place))), shape=(table.n_cells, len(part)))

    def pairs(self, table: Table) -> tuple[Integers, Integers]:
        """Return parts and the groups that they nearly fill, one pair each."""
        part, group = self._close(table)
        someone = np.asarray(table.frequency)[part] > 0
        return part[someone], group[someone]

    def _close(self, table: Table) -> tuple[Integers, Integers]:
        """Return parts and groups that differ by at most k people, including empty parts."""
        counts = respondents_of(table, self.name)
        part, group = _nested_pairs(table)
        keep = counts[group] - counts[part] <= self.k
        if self.limit is not None:
            keep &= counts[part] <= self.limit
        if self.sensitive is not None:
            sensitive = as_names(self.sensitive)
            require_variables(table, sensitive, self.name)
            keep &= _differ(table, sensitive, part, group)
        return part[keep], group[keep]


def _differ(table: Table, variables: Sequence[str], part: Integers, group: Integers) -> Mask:
    found = np.zeros(len(part), dtype=bool)
    for variable in variables:
        column = table.labels.column(table.labels.names.index(variable))
        found |= column[part] != column[group]
    return found


def _nested_pairs(table: Table) -> tuple[Integers, Integers]:
    """Return all pairs of a cell and a larger one that contains it; by relations without dimensions.

    Includes the only category of a variable and its total, which are equal.
    """
    if not table.dimensions:
        return _by_relations(table)
    part, group = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for dimension in table.dimensions:
        within, around = _containments(dimension.closure)
        n = len(dimension)
        part = (part[:, None] * n + within[None, :]).ravel()
        group = (group[:, None] * n + around[None, :]).ravel()
    size = np.ones(1)
    for dimension in table.dimensions:
        size = np.outer(size, np.diff(dimension.closure.indptr)).ravel()
    # Equal sizes mean equal cells: the same people under two names.
    larger = size[group] > size[part]
    only = only_categories(table.relations, variable_of_relation(table.relations, table.labels))
    if only.any():
        rows = table.relations[np.flatnonzero(only)]
        alike = rows.indices[rows.data > 0], rows.indices[rows.data < 0]
        return np.append(part[larger], alike[0]), np.append(group[larger], alike[1])
    return part[larger], group[larger]


def _by_relations(table: Table) -> tuple[Integers, Integers]:
    """Follow relations from a part to its total, and on to the totals of that."""
    n, pairs = table.n_cells, parts_of(table)
    within = sparse.csr_array((np.ones(len(pairs.part)), (pairs.part, pairs.total)), shape=(n, n))
    # A group with a single child is the same under another name: it is followed, but is not a pair.
    alike = sparse.csr_array(table.relations[np.diff(table.relations.indptr) == 2])
    same = sparse.csr_array((alike != 0).T.astype(np.float64) @ (alike != 0).astype(np.float64))
    same = _transitive_closure(same + sparse.identity(n, format="csr"))
    steps = same @ within @ same
    found = sparse.coo_array(_transitive_closure(steps + sparse.identity(n, format="csr")) @ steps)
    other = found.row != found.col
    return found.row[other].astype(np.int64), found.col[other].astype(np.int64)


def _transitive_closure(steps: Any) -> Any:
    """Return the transitive closure of steps; each cell also reaches itself."""
    found = sparse.csr_array(steps != 0).astype(np.float64)
    while True:
        further = sparse.csr_array((found @ found) != 0).astype(np.float64)
        if further.nnz == found.nnz:
            return found
        found = further


def _containments(closure: Any) -> tuple[Integers, Integers]:
    """Return codes and the codes that contain all their leaves, including themselves."""
    common = sparse.coo_array(closure @ closure.T)
    leaves = np.diff(closure.indptr)
    inside = common.data == leaves[common.row]
    return common.row[inside].astype(np.int64), common.col[inside].astype(np.int64)
