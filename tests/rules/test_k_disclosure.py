from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import count_tables

from hitoku.errors import RuleError
from hitoku.model import Table
from hitoku.rules import KDisclosure

# Two towns by two states of work: everybody of the first town is out of work.
TOWNS = Table.from_array([[0, 4], [2, 3]], names=("town", "work"), codes=(("Gull", "Salt"), ("in", "out")))


def named(table, rule):
    return {(table.describe(int(p)), table.describe(int(g))) for p, g in zip(*rule.pairs(table), strict=True)}


@pytest.mark.parametrize(
    ("rule", "pairs"),
    [
        pytest.param(
            KDisclosure(k=0),
            {("town=Gull, work=out", "town=Gull, work=Total"), ("town=Salt, work=in", "town=Total, work=in")},
            id="all of a town are out of work; all in work live in one town",
        ),
        pytest.param(
            KDisclosure(k=0, sensitive="work"),
            {("town=Gull, work=out", "town=Gull, work=Total")},
            id="where people live is no secret",
        ),
        pytest.param(
            KDisclosure(k=0, limit=3), {("town=Salt, work=in", "town=Total, work=in")}, id="large parts"
        ),
    ],
)
def test_pairs_within_k_are_unsafe(rule, pairs):
    assert named(TOWNS, rule) == pairs


def test_flagged_part_level_leaves_one_more_outside():
    need = KDisclosure(k=1, sensitive="work").assess(TOWNS)
    flagged = np.flatnonzero(need.unsafe)
    assert [TOWNS.describe(cell) for cell in flagged] == ["town=Gull, work=out"]
    assert need.lower[flagged].tolist() == [2]


def test_difference_equals_group_minus_part():
    matrix = KDisclosure(k=1).differences(TOWNS).toarray()
    assert (matrix.sum(axis=0) == 0).all()
    assert (TOWNS.value @ matrix <= 1).all()


@given(table=count_tables(dims=2, max_side=3, hierarchical=True), k=st.integers(0, 3))
@settings(deadline=None)
def test_rule_matches_comparison_of_all_pairs(table, k):
    """A cell is part of another when its leaves are, in every variable; cells of the same leaves are one."""
    leaves = []
    for cell in range(table.n_cells):
        codes = table.labels.codes_of(cell)
        sets = [
            set(d.closure.indices[d.closure.indptr[p] : d.closure.indptr[p + 1]].tolist())
            for d, code in zip(table.dimensions, codes, strict=True)
            for p in [d.position[code]]
        ]
        leaves.append({(i, j) for i in sets[0] for j in sets[1]})
    counts = table.frequency
    expected = {
        (a, b)
        for a in range(table.n_cells)
        for b in range(table.n_cells)
        if leaves[a] < leaves[b] and counts[a] > 0 and counts[b] - counts[a] <= k
    }
    part, group = KDisclosure(k=k).pairs(table)
    assert set(zip(part.tolist(), group.tolist(), strict=True)) == expected


def test_linked_tables_are_compared_by_their_relations():
    first = Table.from_array([[3, 0], [1, 2]], names=("a", "b"))
    second = Table.from_array([[2, 1], [3, 0]], names=("a", "c"))
    linked = Table.link([first, second])
    assert named(linked, KDisclosure(k=0)) == {
        *{("a=1, b=1, c=Total", "a=1, b=Total, c=Total"), ("a=2, b=2, c=Total", "a=Total, b=2, c=Total")},
        *{("a=2, b=Total, c=1", "a=2, b=Total, c=Total"), ("a=1, b=Total, c=2", "a=Total, b=Total, c=2")},
    }


def test_table_without_counts_raises():
    with pytest.raises(RuleError, match="how many respondents"):
        KDisclosure().pairs(Table.from_array([[1.5, 2.0], [3.0, 4.0]]))


def test_part_at_the_limit_is_checked():
    table = Table.from_array([[0, 4], [2, 3]])
    found = {limit: KDisclosure(k=0, limit=limit).pairs(table)[0].tolist() for limit in (4, 3, 1)}
    assert found == {4: [1, 3], 3: [3], 1: []}
