from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.hypercubes import cheapest, hypercubes_through
from tests.strategies import count_tables

from hitoku.feasibility.hypercubes import cross_table_of
from hitoku.kernels.cheapest_hypercube import NO_SLACK, cheapest_hypercube, near_of, product_of
from hitoku.model import Table

TABLES = st.one_of(
    count_tables(max_side=3, dims=1, hierarchical=True),
    count_tables(max_side=4, dims=2, hierarchical=True),
    count_tables(max_side=2, dims=3, hierarchical=True),
)


def scratch(cross_table):
    longest = cross_table.longest_hypercube
    return (
        np.empty(longest, dtype=np.int64),
        np.empty(longest, dtype=np.int64),
        np.empty((max(cross_table.shape), 2)),
        np.full(cross_table.size, -1, dtype=np.int32),
        np.empty((longest, 3)),
    )


@settings(deadline=None, max_examples=39)
@given(table=TABLES, data=st.data())
def test_hypercube_matches_cheapest_enumerated(table, data):
    random = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    cell = int(random.integers(table.n_cells))
    ground = np.stack(
        [
            random.integers(0, 9, table.n_cells) / 10,
            random.integers(0, 4, table.n_cells),
            random.integers(0, 4, table.n_cells),
        ],
        axis=1,
    )
    cross_table = cross_table_of(table)
    space, room = cross_table.space(), scratch(cross_table)
    hypercube = np.empty((len(cross_table.shape), 2), dtype=np.int64)
    price = cheapest_hypercube(space, ground, cell, 1, 1.0, (12, 0, 64), hypercube, room)
    n = product_of(space, hypercube, -1, room[0], room[1])
    change = np.zeros(table.n_cells, dtype=np.int64)
    change[room[0][:n]] = room[1][:n]
    assert np.count_nonzero(change) == n
    assert change[cell] == 1
    assert any(np.array_equal(change, listed) for listed in hypercubes_through(table, cell))
    assert not np.any(table.relations @ change)
    best = cheapest(table, cell, 1, *ground.T)
    if price < NO_SLACK:
        np.testing.assert_allclose(price, ground[change != 0, 0].sum())
        assert price >= best - 1e-12


@settings(deadline=None, max_examples=20)
@given(table=count_tables(max_side=4, dims=2), data=st.data())
def test_flat_two_way_search_finds_cheapest_hypercube(table, data):
    # Descent may end beside the cheapest box; one price everywhere leaves it no such place to end at.
    cell = data.draw(st.integers(0, table.n_cells - 1))
    ground = np.ones((table.n_cells, 3))
    cross_table = cross_table_of(table)
    hypercube = np.empty((2, 2), dtype=np.int64)
    price = cheapest_hypercube(
        cross_table.space(), ground, cell, 1, 1.0, (8, 0, 64), hypercube, scratch(cross_table)
    )
    assert price == cheapest(table, cell, 1, *ground.T)


def test_sampled_leaves_give_a_valid_hypercube():
    random = np.random.default_rng(3)
    table = Table.from_array(random.integers(1, 9, (60, 55)))
    ground = np.stack(
        [random.random(table.n_cells), *random.integers(0, 3, (2, table.n_cells))], axis=1
    ).astype(float)
    cross_table = cross_table_of(table)
    space, room = cross_table.space(), scratch(cross_table)
    prices = []
    for cell in random.integers(0, table.n_cells, 40).tolist():
        for effort in ((6, 0, 48), (6, 0, 64)):
            hypercube = np.empty((2, 2), dtype=np.int64)
            prices.append(cheapest_hypercube(space, ground, cell, 1, 1.0, effort, hypercube, room))
            n = product_of(space, hypercube, -1, room[0], room[1])
            change = np.zeros(table.n_cells, dtype=np.int64)
            change[room[0][:n]] = room[1][:n]
            assert change[cell] == 1
            assert not np.any(table.relations @ change)
            if prices[-1] < NO_SLACK:
                np.testing.assert_allclose(prices[-1], ground[change != 0, 0].sum())
    some, every = np.array(prices[0::2]), np.array(prices[1::2])
    assert np.mean(some < NO_SLACK) > 0.5
    assert not np.array_equal(some, every)


def near_by_sets(variable, code):
    """List the leaves of the smallest code that holds more than this one, without its own."""
    own = set(variable.below[code].tolist())
    wider = [set(leaves.tolist()) for leaves in variable.below if own < set(leaves.tolist())]
    return sorted(min(wider, key=len, default=own) - own)


@settings(deadline=None, max_examples=39)
@given(table=TABLES)
def test_nearby_leaves_come_from_smallest_wider_code(table):
    cross_table = cross_table_of(table)
    space = cross_table.space()
    for v, variable in enumerate(cross_table.variables):
        chosen = np.empty((len(cross_table.shape), variable.n_leaves), dtype=np.int64)
        for code in range(len(variable.below)):
            place, wider = space[1][v] + code, space[1][v] + space[8][space[1][v] + code]
            n = near_of(space, place, wider, variable.n_leaves, 0, chosen, v, 0)
            assert chosen[v, :n].tolist() == near_by_sets(variable, code)


def test_memory_grows_with_codes_not_with_their_square():
    sizes = []
    for codes in (100, 1_000):
        space = cross_table_of(Table.from_array(np.ones((codes, 2), dtype=int))).space()
        sizes.append(sum(np.size(part) for part in space))
    assert sizes[1] < 11 * sizes[0]
