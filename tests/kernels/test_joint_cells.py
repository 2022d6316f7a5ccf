"""Joint cells of two partitions compared with reference implementations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hitoku.attacks.differencing import JointPartition, Partition, unit_keys
from hitoku.kernels.joint_cells import count_pairs, cross_tabulate, divide
from hitoku.kernels.joint_graph import bridges

NONE = np.empty(0, dtype=np.uint64)


def two(seed, n_units=40, n_groups=4):
    """Draw two partitions; codes run to their largest."""
    random = np.random.default_rng(seed)
    drawn = [random.integers(0, n_groups + 1, n_units) for _ in range(2)]
    numbered = [np.unique(np.append(codes, 0), return_inverse=True)[1][:-1] for codes in drawn]
    return [codes.astype(np.int32) for codes in numbered]


@pytest.mark.parametrize("seed", range(5))
def test_both_counts_match_numpy(seed):
    first, second = two(seed)
    counts = np.zeros((first.max() + 1, second.max() + 1), dtype=np.int64)
    cross_tabulate(first, second, counts)
    pairs, sizes = np.unique(np.stack([first, second]), axis=1, return_counts=True)
    assert counts[tuple(pairs)].tolist() == sizes.tolist()
    assert counts.sum() == len(first)
    order = np.argsort(first, kind="stable")
    once = np.ones(len(first), dtype=np.int64)
    rows, columns, found = count_pairs(order, first, second, once, int(second.max()) + 1)
    assert sorted(zip(rows, columns, found, strict=True)) == sorted(zip(*pairs, sizes, strict=True))


@pytest.mark.parametrize("seed", range(5))
def test_weighted_units_count_with_their_weight(seed):
    first, second = two(seed)
    weights = np.random.default_rng(seed).integers(1, 5, len(first))
    order = np.argsort(first, kind="stable")
    rows, columns, found = count_pairs(order, first, second, weights, int(second.max()) + 1)
    for row, column, total in zip(rows, columns, found, strict=True):
        assert total == weights[(first == row) & (second == column)].sum()
    assert found.sum() == weights.sum()


@pytest.mark.parametrize("seed", range(5))
def test_divided_blocks_match_occurring_combinations(seed):
    first, second = two(seed)
    finer, representative = divide(first, second, int(first.max()) + 1, int(second.max()) + 1)
    _, expected = np.unique(np.stack([first, second]), axis=1, return_inverse=True)
    assert len(representative) == expected.max() + 1
    assert len(set(zip(finer.tolist(), expected.tolist(), strict=True))) == len(representative)
    assert finer[representative].tolist() == list(range(len(representative)))


def met_each_other(seed, n_units=40, n_groups=4):
    first, second = (
        Partition.published(name, codes)
        for name, codes in zip("ab", two(seed, n_units, n_groups), strict=True)
    )
    return JointPartition.of(first, second)


@pytest.mark.parametrize("seed", range(20))
def test_narrow_joint_cells_match_linear_program(seed):
    joint = met_each_other(seed, n_units=25)
    n_edges, threshold = len(joint.size), 4
    sums = np.zeros((len(joint.start) - 1, n_edges))
    sums[joint.tail, np.arange(n_edges)] = 1
    sums[joint.head, np.arange(n_edges)] = 1
    sums = sums[1:]  # nobody publishes the ground
    upper = [
        -linprog(-np.eye(n_edges)[edge], A_eq=sums, b_eq=sums @ joint.size).fun for edge in range(n_edges)
    ]
    groups, finished = joint.small(threshold, NONE)
    assert finished
    assert all(0 < group.size < threshold for group in groups)
    assert len({group.hash for group in groups}) == len(groups)
    # Every cell of a small group is bounded by it, and whatever is bounded is in one.
    inside = {edge for group in groups for edge in group.edges.tolist()}
    assert inside == {edge for edge, most in enumerate(upper) if most < threshold - 1e-6}
    for place, group in enumerate(groups):
        known = np.sort(np.array([each.hash for each in groups[: place + 1]], dtype=np.uint64))
        assert [each.hash for each in joint.small(threshold, known)[0]] == [
            each.hash for each in groups[place + 1 :]
        ], group


@pytest.mark.parametrize("seed", range(20))
def test_bridges_match_edge_removal(seed):
    joint = met_each_other(seed, n_units=12, n_groups=6)
    n_nodes = len(joint.start) - 1

    def components(kept):
        graph = coo_array((np.ones(kept.sum()), (joint.tail[kept], joint.head[kept])), (n_nodes, n_nodes))
        return connected_components(graph, directed=False)[0]

    every = np.ones(len(joint.tail), dtype=bool)
    expected = [
        components(every & (np.arange(len(every)) != e)) > components(every) for e in range(len(every))
    ]
    found, hashes = bridges(joint.tail, joint.head, joint.start, joint.incident, joint.hashes)
    assert found.tolist() == expected
    # The hash of a bridge is that of the units in its joint cell.
    first, second = joint.first.codes, joint.second.codes
    column = np.where(joint.head == 0, 0, joint.head - len(joint.first))
    for edge in np.flatnonzero(found):
        units = (first == joint.tail[edge]) & (second == column[edge])
        assert hashes[edge] == unit_keys(len(first))[units].sum(dtype=np.uint64)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("listed", [(True, True), (True, False), (False, True)])
def test_listed_units_join_like_all_units(seed, listed):
    parts = [Partition.published(name, codes) for name, codes in zip("ab", two(seed), strict=True)]
    whole = JointPartition.of(*parts)
    short = []
    for part, few in zip(parts, listed, strict=True):
        units = np.flatnonzero(part.codes)
        short.append(replace(part, codes=part.codes[units], units=units) if few else part)
    some = JointPartition.of(*short)
    for name in ("tail", "head", "size", "start", "incident"):
        assert getattr(some, name).tolist() == getattr(whole, name).tolist()
