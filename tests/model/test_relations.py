from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.additivity import every_cell, every_relation

from hitoku.model import Dimension, Hierarchy, Labels, Table, add_up, broken, cross_relations


@st.composite
def hierarchies(draw, prefix, total="Total", depth=2):
    """Ragged trees with two to about eight leaves."""
    pairs, fringe = [], [(total, 0)]
    while fringe:
        parent, level = fringe.pop()
        n_children = draw(st.integers(2 if level == 0 else 1, 3))
        for i in range(n_children):
            code = f"{parent if level else prefix}.{i}"
            pairs.append((code, parent))
            if level + 1 < depth and draw(st.booleans()):
                fringe.append((code, level + 1))
    return Hierarchy.from_pairs(pairs, total=total)


@st.composite
def dimension_lists(draw):
    out = []
    for i in range(draw(st.integers(1, 3))):
        main = draw(hierarchies("abc"[i]))
        groupings = [main]
        if len(main.leaves) >= 4 and draw(st.booleans()):
            groupings.append(Hierarchy.from_tree({"even": main.leaves[::2], "odd": main.leaves[1::2]}))
        out.append(Dimension.of(f"v{i}", groupings))
    return out


@given(dimensions=dimension_lists(), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=26)
def test_sums_and_relations_match_hand_written_ones(dimensions, seed):
    leaf_shape = [len(d.leaves) for d in dimensions]
    leaves = np.random.default_rng(seed).integers(0, 20, leaf_shape)
    splits, codes = [d.groups for d in dimensions], [d.codes for d in dimensions]
    named = {
        tuple(d.leaves[i] for d, i in zip(dimensions, place, strict=True)): int(v)
        for place, v in np.ndenumerate(leaves)
    }
    value, labels = add_up(leaves, dimensions), Labels.cross(dimensions)
    expected = every_cell(named, splits, codes)
    assert {labels.codes_of(i): v for i, v in enumerate(value)} == expected

    relations = cross_relations(dimensions)
    written = set()
    for row in range(relations.shape[0]):
        part = slice(relations.indptr[row], relations.indptr[row + 1])
        cells = [labels.codes_of(int(c)) for c in relations.indices[part]]
        written.add(frozenset(zip(cells, relations.data[part].astype(int).tolist(), strict=True)))
    assert written == every_relation(splits, codes)
    assert relations.shape[0] == len(written)
    assert relations.has_sorted_indices


@given(dimensions=dimension_lists(), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=26)
def test_changed_cell_of_additive_table_is_detected(dimensions, seed):
    rng = np.random.default_rng(seed)
    leaves = rng.lognormal(3, 2, [len(d.leaves) for d in dimensions])
    table = Table(value=add_up(leaves, dimensions), dimensions=dimensions)
    assert len(broken(table.relations, table.value)) == 0
    spoilt = table.value.copy()
    cell = int(rng.integers(table.n_cells))
    spoilt[cell] += 1.0
    touched = np.flatnonzero(np.abs(table.relations.toarray()[:, cell]))
    assert set(broken(table.relations, spoilt)) == set(touched)


def test_full_cross_matches_explicit_positions():
    dimensions = [Dimension.of(n, Hierarchy.flat(c)) for n, c in (("x", "ab"), ("y", "cde"), ("z", "fg"))]
    cross = Labels.cross(dimensions)
    explicit = Labels(cross.names, cross.codes, np.stack([cross.column(v) for v in range(3)], axis=1))
    assert len(cross) == len(explicit) == 3 * 4 * 3
    for cell in range(len(cross)):
        assert cross.describe(cell) == explicit.describe(cell)
    frame = cross.frame()
    assert tuple(frame.iloc[7]) == cross.codes_of(7)
    assert cross.frame("polars").row(7) == cross.codes_of(7)
