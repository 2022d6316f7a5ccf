"""Every row that a search adds holds for every safe pattern."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.oracles.patterns import safe
from tests.strategies import count_tables

from hitoku.errors import NeedError
from hitoku.methods.optimal import (
    Budget,
    FlowSubproblems,
    LinearSubproblems,
    capacity_cuts,
    first_patterns,
    levels_met,
    presolve,
    pushes_for,
    repair_pattern,
    star_cuts,
    strengthen,
    subproblems_for,
)
from hitoku.model import Need, Table

MAX_FREE = 8


@st.composite
def instances(draw):
    """A small problem, and its safe patterns over the cells of the instance."""
    table = draw(count_tables(max_side=3, max_count=6) | count_tables(dims=3, max_side=2, max_count=6))
    inner = np.flatnonzero(table.inner)[:MAX_FREE]
    keep = np.ones(table.n_cells, dtype=bool)
    keep[inner] = False
    keep[np.flatnonzero(~table.inner)[: max(0, MAX_FREE - len(inner))]] = False
    unsafe = np.zeros(table.n_cells, dtype=bool)
    unsafe[draw(st.lists(st.sampled_from(inner.tolist()), min_size=1, max_size=2))] = True
    side = draw(st.sampled_from(["width", "upper", "lower"]))
    amount = draw(st.integers(1, 5))
    level = np.where(unsafe, np.minimum(amount, table.value) if side == "lower" else amount, 0.0)
    need = Need(unsafe=unsafe, **{side: level})
    try:
        instance = presolve(table, need, np.ones(table.n_cells), keep=keep, withhold=np.zeros_like(keep))
    except NeedError:
        assume(False)
    assume(len(instance.levels) > 0)
    patterns = []
    for bits in product([False, True], repeat=len(instance.free)):
        pattern = instance.forced.copy()
        pattern[instance.free] = bits
        withheld = unsafe.copy()
        withheld[instance.cells[pattern]] = True
        if safe(table, need, withheld):
            patterns.append(pattern)
    return instance, np.array(patterns, dtype=float)


@settings(max_examples=4)
@given(data=st.data(), problem=instances())
def test_cuts_hold_for_every_safe_pattern(data, problem):
    instance, patterns = problem
    share = data.draw(
        st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]), min_size=len(instance), max_size=len(instance))
    )
    x = np.where(instance.forced, 1.0, share)
    everything = np.arange(len(instance.levels))
    for engine in {
        type(e): e for e in (subproblems_for(instance, Budget()), LinearSubproblems(instance, Budget()))
    }.values():
        for exact in (False, True):
            pushed = engine.push(x, *pushes_for(instance, everything), exact=exact)
            for cells, c in capacity_cuts(instance, pushed, ~levels_met(instance, pushed)):
                for row in ((cells, c), strengthen(cells, c, x)):
                    assert not instance.forced[row[0]].any()
                    assert np.all(patterns[:, row[0]] @ row[1] >= 1 - 1e-7)


@settings(max_examples=4)
@given(problem=instances())
def test_repaired_patterns_are_safe(problem):
    instance, patterns = problem
    found = repair_pattern(
        subproblems_for(instance, Budget()), np.ones(len(instance)), np.ones(len(instance))
    )
    assert found is not None
    assert any(np.array_equal(found, pattern) for pattern in patterns)


@settings(max_examples=4)
@given(problem=instances())
def test_relation_cuts_hold_for_every_safe_pattern(problem):
    instance, patterns = problem
    rows = star_cuts(instance)
    for cells, c in map(rows.row, range(len(rows))):
        assert np.all(patterns[:, cells] @ c >= 1 - 1e-7)


@settings(max_examples=4)
@given(problem=instances())
def test_first_patterns_are_safe(problem):
    instance, patterns = problem
    for engine in (subproblems_for(instance, Budget()), LinearSubproblems(instance, Budget())):
        found = list(first_patterns(engine, np.ones(len(instance))))
        assert found
        for first in found:
            assert any(np.array_equal(first, pattern) for pattern in patterns)


@pytest.mark.parametrize(
    ("shape", "network"),
    [pytest.param((3, 4), True, id="two-way"), pytest.param((2, 3, 2), False, id="three-way")],
)
def test_two_way_tables_are_networks(shape, network):
    table = Table.from_array(np.arange(5, 5 + int(np.prod(shape))).reshape(shape))
    need = Need(unsafe=table.value == 5, width=3)
    nothing = np.zeros(table.n_cells, dtype=bool)
    instance = presolve(table, need, np.ones(table.n_cells), keep=nothing, withhold=nothing)
    assert isinstance(subproblems_for(instance, Budget()), FlowSubproblems) is network
