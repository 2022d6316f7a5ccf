"""Parts that no relation joins are searched apart, and the pattern is the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.strategies import count_tables

from hitoku.errors import NeedError
from hitoku.methods.optimal import Optimal, components, part_of, presolve
from hitoku.model import Labels, Need, Table


def numbered(table: Table, first: int) -> Table:
    """The same relations with cells that are called by numbers."""
    codes = tuple(str(first + k) for k in range(table.n_cells))
    labels = Labels(("cell",), (codes,))
    return Table(value=table.value, relations=table.relations, labels=labels, integer=table.integer)


def side_by_side(tables: list[Table]) -> Table:
    """Several tables as one, with nothing in common."""
    return Table(
        value=np.concatenate([t.value for t in tables]),
        relations=sparse.csr_array(sparse.block_diag([t.relations for t in tables], "csr")),
        labels=Labels(("cell",), (tuple(code for t in tables for code in t.labels.codes[0]),)),
        integer=all(t.integer for t in tables),
    )


@settings(max_examples=6)
@given(
    data=st.data(),
    one=count_tables(max_side=4, max_count=20),
    other=count_tables(dims=3, max_side=2, max_count=20),
    cost=st.sampled_from(["unit", "value", "log"]),
)
def test_independent_tables_get_their_separate_patterns(data, one, other, cost):
    tables = [numbered(one, 0), numbered(other, one.n_cells)]
    limits = [data.draw(st.integers(1, 5)) for _ in tables]
    needs = [
        Need(unsafe=whole.inner & (table.value < limit) & (table.value > 0), width=3)
        for whole, table, limit in zip((one, other), tables, limits, strict=True)
    ]
    together = Need(
        unsafe=np.concatenate([n.unsafe for n in needs]), width=np.concatenate([n.width for n in needs])
    )
    method = Optimal(cost=cost)
    try:
        apart = [method.protect(table, need) for table, need in zip(tables, needs, strict=True)]
    except NeedError:
        with pytest.raises(NeedError):
            method.protect(side_by_side(tables), together)
        return
    found = method.protect(side_by_side(tables), together)
    assert found.proven
    assert found.canonical
    assert np.array_equal(found.withheld, np.concatenate([p.withheld for p in apart]))
    assert found.cost == pytest.approx(sum(p.cost for p in apart))


def test_components_have_separate_cells_levels_and_relations():
    cells = np.array([[20, 3, 30], [40, 50, 2], [60, 10, 70]])
    tables = [numbered(Table.from_array(cells), 0), numbered(Table.from_array(cells + 1), 16)]
    table = side_by_side(tables)
    need = Need(unsafe=np.isin(table.value, [2, 3]), width=2)
    nothing = np.zeros(table.n_cells, dtype=bool)
    instance = presolve(table, need, np.ones(table.n_cells), keep=nothing, withhold=nothing)
    groups = components(instance)
    assert [instance.cells[group].tolist() for group in groups] == [list(range(16)), list(range(16, 32))]
    parts = [part_of(instance, group) for group in groups]
    assert sum(len(part.levels) for part in parts) == len(instance.levels) > 0
    assert sum(part.relations.nnz for part in parts) == instance.relations.nnz
