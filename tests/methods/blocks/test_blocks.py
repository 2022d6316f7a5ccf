"""The method of blocks against full enumeration: every table that leads to the same release is listed."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.blocks.fibres import fibres, too_narrow
from tests.oracles import blocks as oracle

from hitoku.attacks import Interval
from hitoku.attacks.matching import Matching
from hitoku.errors import ParameterError, ScopeError
from hitoku.methods.blocks import (
    FAR,
    Blocks,
    Local,
    Terms,
    downwards,
    expectation,
    pattern,
    raised,
    tree,
    wide_alone,
    wide_together,
)
from hitoku.methods.blocks import patterns as hierarchical_patterns
from hitoku.methods.greedy import Greedy
from hitoku.model import Dimension, Hierarchy, Release, Table, add_up
from hitoku.rules import GroupDisclosure, MinFrequency, assess


def local_of(rows, columns, rule):
    shape = (1, len(rows), len(columns))
    parts = (np.full(shape, part, dtype=np.int64) for part in (rule.first, rule.last, FAR, rule.width))
    return Local(np.array([rows]), np.array([columns]), *parts)


@st.composite
def small_sums(draw, rows, columns, most=5):
    cells = draw(st.lists(st.integers(0, most), min_size=rows * columns, max_size=rows * columns))
    table = np.array(cells).reshape(rows, columns)
    return table.sum(axis=1).tolist(), table.sum(axis=0).tolist()


RULES = st.builds(
    lambda first, last, width: oracle.Rule(first, max(first, last), width),
    st.integers(0, 1), st.integers(1, 4), st.integers(2, 7),
)  # fmt: skip


@settings(deadline=None, max_examples=98)
@given(data=st.data(), rule=RULES)
def test_leaf_verdict_matches_enumeration(data, rule):
    rows, columns = data.draw(st.sampled_from([(2, 2), (2, 3), (3, 2), (3, 3)]))
    sums = data.draw(small_sums(rows, columns, 3 if rows * columns == 9 else 8))
    assert wide_alone(local_of(*sums, rule))[0] == oracle.leaf_is_wide(*sums, rule)


@settings(deadline=None, max_examples=98)
@given(data=st.data(), rule=RULES)
def test_inner_node_verdict_matches_enumeration(data, rule):
    (rows, columns), axis = data.draw(st.sampled_from([((2, 4), 1), ((4, 2), 0), ((3, 4), 1), ((2, 5), 1)]))
    sums = data.draw(small_sums(rows, columns, 2 if rows * columns > 8 else 5))
    cut = 2
    assert wide_together(local_of(*sums, rule), axis, cut)[0] == oracle.node_is_wide(*sums, axis, cut, rule)


def test_leaf_verdicts_cover_both_outcomes():
    rule = oracle.Rule(1, 2, 4)
    verdicts = set()
    for sums in ([6, 6], [4, 8]), ([2, 9], [5, 6]), ([9, 9], [9, 9]), ([3, 3], [3, 3]):
        verdicts.add((oracle.leaf_is_wide(*sums, rule), bool(wide_alone(local_of(*sums, rule))[0])))
    assert verdicts == {(True, True), (False, False)}


def plain(nodes_by_depth):
    """Turn a tree into the plain one of the oracle."""
    every = {
        int(number): (tuple(rows.tolist()), tuple(columns.tolist()), children.tolist())
        for depth in nodes_by_depth
        for nodes in depth
        for number, rows, columns, children in zip(
            nodes.number, nodes.rows, nodes.columns, nodes.children, strict=True
        )
    }

    def node(number):
        rows, columns, children = every[number]
        return rows, columns, tuple(node(child) for child in children if child >= 0)

    return node(0)


@settings(deadline=None, max_examples=8)
@given(data=st.data(), rule=RULES, split=st.sampled_from(["count", "mass"]))
def test_pattern_matches_the_definition(data, rule, split):
    rows, columns = data.draw(st.sampled_from([(2, 4), (4, 2), (3, 4), (4, 4), (2, 5)]))
    cells = st.lists(st.integers(0, 3), min_size=rows * columns, max_size=rows * columns)
    values = np.array(data.draw(cells)).reshape(rows, columns)
    terms = Terms.below((rows, columns), rule.last + 1, rule.width, zeros=rule.first == 0)
    levels = tree(expectation(values.sum(axis=1), values.sum(axis=0), None), split)
    expected = oracle.withheld(plain(levels), tuple(map(tuple, values.tolist())), rule)
    assert {(int(i), int(j)) for i, j in np.argwhere(pattern(levels, values, terms))} == expected


# Margins that allow the widths: the method refuses others.
EXAMPLES = {
    "square": ([[3, 1, 2], [2, 4, 1], [1, 2, 4]], 3, 3, False),
    "long": ([[1, 3, 2, 4], [4, 2, 3, 1]], 3, 4, False),
    "two pairs": ([[2, 0, 3, 1], [1, 3, 0, 2], [3, 1, 1, 1]], 2, 3, False),
    "unsafe zeros": ([[3, 0, 2, 3], [1, 4, 2, 2]], 2, 3, True),
    "odd": ([[1, 2, 3, 1, 2], [2, 3, 1, 2, 1]], 2, 3, False),
    "four by four": ([[1, 2, 0, 1], [2, 0, 2, 0], [0, 2, 1, 1], [1, 0, 1, 2]], 2, 3, False),
    "two leaves": ([[2, 9, 4, 8], [8, 3, 9, 5]], 3, 4, False),
}


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("split", ["count", "mass"])
def test_attacker_knowing_the_method_keeps_the_width(name, split):
    values, threshold, width, zeros = EXAMPLES[name]
    terms, groups = fibres(np.array(values), threshold, width, zeros=zeros, split=split)
    cells, narrow = too_narrow(terms, groups)
    assert cells > 100
    assert narrow == 0


def test_some_examples_are_not_fully_suppressed():
    # Otherwise the test above would say nothing.
    releases = {name: len(fibres(np.array(e[0]), e[1], e[2], zeros=e[3])[1]) for name, e in EXAMPLES.items()}
    assert releases["two leaves"] > 20
    assert sum(n > 20 for n in releases.values()) >= 2


def test_suppressing_leaves_without_sum_test_would_leak():
    # Negative control: every leaf with an unsafe cell, and no joining.
    example = np.array(EXAMPLES["two pairs"][0])
    terms = Terms.below(example.shape, 2, 3)
    found = defaultdict(list)
    for cells in oracle.tables(example.sum(axis=1).tolist(), example.sum(axis=0).tolist()):
        values = np.array(cells)
        hidden = np.zeros(values.shape, dtype=bool)
        for part in (slice(0, 2), slice(2, 4)):
            hidden[:, part] = terms.unsafe(values)[:, part].any()
        found[(hidden.tobytes(), np.where(hidden, -1, values).tobytes())].append(values)
    assert too_narrow(terms, [np.array(group) for group in found.values()])[1] > 0


@settings(deadline=None, max_examples=16)
@given(data=st.data())
def test_width_holds_for_any_expectation(data):
    cells = data.draw(st.lists(st.integers(0, 3), min_size=8, max_size=8))
    expected = data.draw(st.lists(st.integers(0, 9), min_size=8, max_size=8))
    example = np.array(cells).reshape(2, 4) + 1
    groups = fibres(example, 3, 3, expected=np.array(expected).reshape(2, 4))
    least = np.maximum(0, example.sum(1)[:, None] + example.sum(0)[None] - example.sum())
    most = np.minimum(example.sum(1)[:, None], example.sum(0)[None])
    if np.all(most - least >= 3):
        assert too_narrow(*groups)[1] == 0


def lognormal(side, seed, mean=100.0):
    rng = np.random.default_rng(seed)
    rate = np.outer(rng.lognormal(0, 1.2, side), rng.lognormal(0, 1.2, side))
    return Table.from_array(rng.poisson(rate * mean / rate.mean()) + 0)


@pytest.mark.parametrize("seed", range(3))
def test_outsider_keeps_the_width_on_large_table(seed):
    table = lognormal(40, seed)
    need = assess(table, [MinFrequency(5)], width=9)
    protection = Blocks(rules=[MinFrequency(5)], width=9).protect(table, need)
    bounds = Interval().bounds(Release.of(table, protection))
    assert need.unsafe.sum() > 10
    assert protection.withheld.sum() < table.inner.sum() / 2
    assert np.all(bounds.width[need.unsafe] >= 9)


@pytest.mark.parametrize("seed", range(3))
def test_method_publishes_same_release_for_every_witness(seed):
    table = lognormal(14, seed, mean=40.0)
    rules = [MinFrequency(4)]
    method = Blocks(rules=rules, width=3)
    protection = method.protect(table, assess(table, rules, width=3, groups=False))
    shown = Release.of(table, protection).published
    seen = [table.value]
    for move in protection.deviations:
        value = table.value.copy()
        value[list(move)] += list(move.values())
        other = Table.from_array(value.reshape(table.shape)[:-1, :-1].astype(int))
        again = method.protect(other, assess(other, rules, width=3, groups=False))
        np.testing.assert_array_equal(Release.of(other, again).published, shown)
        seen.append(value)
    unsafe = assess(table, rules, width=3, groups=False).unsafe
    assert len(seen) > 1
    assert np.all(np.ptp(seen, axis=0)[unsafe] >= 3)


def test_matching_attack_fails_where_other_methods_leak():
    rules, width = [MinFrequency(3)], 4
    rng = np.random.default_rng(2)
    kept = leaked = 0
    for _ in range(8):
        table = Table.from_array(rng.poisson(7, (4, 4)) + 1)
        need = assess(table, rules, width=width)
        if not need.unsafe.any():
            continue
        for method in (Blocks(rules=rules, width=width), Greedy(keep="margins")):
            release = Release.of(table, method.protect(table, need))
            matched = Matching(method=method, rules=rules, width=width, limit=3_000).run(release)
            narrow = int((matched.bounds.width[need.unsafe & ~matched.bounds.unknown] < width).sum())
            if isinstance(method, Blocks):
                assert narrow == 0
                kept += int((need.unsafe & ~matched.bounds.unknown).sum())
            else:
                leaked += narrow
    assert kept > 0
    assert leaked > 0


def test_pattern_depends_only_on_the_table():
    table = lognormal(30, 5)
    need = assess(table, [MinFrequency(5)], width=9)
    first, second = (Blocks(rules=[MinFrequency(5)], width=9).protect(table, need) for _ in range(2))
    assert np.array_equal(first.withheld, second.withheld)


def test_expectation_from_earlier_table_saves_cells():
    # Zipf totals with strong interaction; the earlier table is off by a fifth at most.
    saved = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        zipf = 1 / np.arange(1, 41)
        rate = np.outer(zipf, zipf) * rng.gamma(1, 1, (40, 40))
        rate *= 300 / rate.mean()
        table = Table.from_array(rng.poisson(rate) + 10 * np.eye(40, dtype=int))
        rules = [MinFrequency(5)]
        need = assess(table, rules, width=9)
        before = rate * rng.uniform(0.8, 1.2, rate.shape)
        alone, helped = (
            Blocks(rules=rules, width=9, expected=given).protect(table, need) for given in (None, before)
        )
        saved += int(alone.withheld.sum()) - int(helped.withheld.sum())
    assert saved > 0


def test_release_with_suppressions_serves_as_expectation():
    table = lognormal(12, 1)
    rules = [MinFrequency(5)]
    need = assess(table, rules, width=9)
    release = Release.of(table, Greedy(keep="margins").protect(table, need))
    assert np.isnan(release.published).any()
    assert Blocks(rules=rules, width=9, expected=release.published).protect(table, need).withheld.any()


def test_counts_filling_their_row_are_unsafe():
    rules = [MinFrequency(3), GroupDisclosure(share=0.9)]
    table = Table.from_array([[40, 2, 30, 35], [3, 60, 20, 28], [25, 31, 44, 22], [19, 33, 27, 41]])
    need = assess(table, rules, width=5)
    protection = Blocks(rules=rules, width=5).protect(table, need)
    assert np.all(protection.withheld[need.unsafe])


def refused(table, rules, width, **given):
    with pytest.raises((ScopeError, ParameterError)) as raised:
        Blocks(rules=rules, width=width, **given).protect(table, assess(table, rules, width=width))
    return str(raised.value)


def test_revealing_totals_raise_with_reason():
    small_row = Table.from_array([[2, 3, 1], [20, 30, 40], [25, 35, 45]])
    assert "totals alone" in refused(small_row, [MinFrequency(5)], 9)
    assert "whatever the inner cells are" in refused(small_row, [MinFrequency(5)], 9)
    unsafe_row = Table.from_array([[1, 1, 1], [20, 30, 40], [25, 35, 45]])
    assert "whatever the inner cells are" in refused(unsafe_row, [MinFrequency(5)], 9)


@settings(deadline=None, max_examples=8)
@given(data=st.data())
def test_rejection_depends_on_totals_only(data):
    cells = data.draw(st.lists(st.integers(0, 6), min_size=6, max_size=6))
    example = np.array(cells).reshape(2, 3)
    rules, verdicts = [MinFrequency(3)], set()
    for other in oracle.tables(example.sum(axis=1).tolist(), example.sum(axis=0).tolist()):
        table = Table.from_array(np.array(other))
        try:
            Blocks(rules=rules, width=3).protect(table, assess(table, rules, width=3, groups=False))
            verdicts.add("treated")
        except ScopeError as error:
            verdicts.add(str(error))
    assert len(verdicts) == 1


def test_unsupported_tables_and_parameters_raise():
    three = Table.from_array(np.full((2, 2, 2), 9))
    assert "two-way" in refused(three, [MinFrequency(5)], 9)
    plain_table = Table.from_array(np.full((4, 4), 30))
    assert "expected" in refused(plain_table, [MinFrequency(5)], 9, expected=np.ones((3, 3)))
    with pytest.raises(ParameterError, match="split"):
        Blocks(split="halves")
    with pytest.raises(ParameterError, match="must know"):
        Blocks().protect(plain_table, assess(plain_table, [MinFrequency(5)], width=9))


def test_need_of_other_rules_raises():
    table = Table.from_array(np.full((4, 4), 30) + np.arange(16).reshape(4, 4))
    need = assess(table, [MinFrequency(32)], width=9)
    with pytest.raises(ScopeError, match="marks other cells"):
        Blocks(rules=[MinFrequency(5)], width=9).protect(table, need)


TREE = Hierarchy.from_tree({"A": ["a1", "a2"], "B": ["b1", "b2"]})


def nested(leaves, *, both):
    rows = Dimension.of("row", TREE)
    flat = Hierarchy.flat([str(j) for j in range(leaves.shape[1])])
    columns = Dimension.of("column", TREE if both else flat)
    value = add_up(leaves, (rows, columns))
    return Table(value=value, dimensions=(rows, columns), integer=True, measure="count", frequency=value)


@pytest.mark.parametrize(
    ("example", "both", "width"),
    [
        pytest.param([[3, 1], [0, 3], [2, 2], [2, 1]], False, 2, id="rows in two groups"),
        pytest.param([[9, 3], [2, 8], [7, 6], [4, 9]], False, 3, id="larger counts"),
        pytest.param([[1, 1, 0, 1], [1, 0, 1, 1], [0, 1, 1, 1], [1, 1, 1, 0]], True, 2, id="both in groups"),
    ],
)
def test_attacker_keeps_width_in_hierarchies(example, both, width):
    example = np.array(example)
    table = nested(example, both=both)
    closures = [d.closure.toarray().astype(int) for d in table.dimensions]
    groups = [downwards(d) for d in table.dimensions]
    terms = raised(~table.inner.reshape(table.shape), 1, 1, width)
    found, releases = defaultdict(list), set()
    for cells in oracle.tables(example.sum(axis=1).tolist(), example.sum(axis=0).tolist()):
        values = closures[0] @ np.array(cells) @ closures[1].T
        hidden = hierarchical_patterns(values, terms, groups, "count")
        assert not hidden[-1].any()
        assert not hidden[:, -1].any()
        found[np.where(hidden, -1, values).tobytes()].append(values)
        releases.add(int(hidden.sum()))
    narrow = cells_judged = 0
    for group in found.values():
        same = np.array(group)
        unsafe = same == 1
        narrow += int((unsafe & (np.ptp(same, axis=0) < width)).sum())
        cells_judged += int(unsafe.sum())
    assert cells_judged > 20
    assert narrow == 0
    if width == 3:
        # Not everything is withheld every time.
        assert len(releases) > 1


def test_descendants_of_suppressed_cell_are_suppressed():
    leaves = np.array([[1, 2, 40, 50], [2, 1, 60, 70], [50, 60, 30, 41], [70, 80, 52, 61]])
    table = nested(leaves, both=True)
    rules = [MinFrequency(3)]
    need = assess(table, rules, width=5)
    protection = Blocks(rules=rules, width=5).protect(table, need)
    hidden = protection.withheld.reshape(table.shape)
    bounds = Interval().bounds(Release.of(table, protection))
    code = table.dimensions[0].position
    # The group of the small ones sums up to 6, too little to hide its parts.
    assert hidden[code["A"], code["A"]]
    assert hidden[:2, :2].all()
    assert np.all(bounds.width[need.unsafe] >= 5)


def test_hierarchies_with_single_groups_or_small_totals_raise():
    single = Dimension.of("row", Hierarchy.from_tree({"A": ["a1"], "B": ["b1", "b2"]}))
    columns = Dimension.of("column", TREE)
    leaves = np.full((3, 4), 30)
    value = add_up(leaves, (single, columns))
    table = Table(value=value, dimensions=(single, columns), integer=True, measure="count", frequency=value)
    assert "single part" in refused(table, [MinFrequency(5)], 9)
    small = nested(np.array([[3, 3, 2, 2], [20, 30, 20, 30], [20, 30, 20, 30], [20, 30, 20, 30]]), both=True)
    assert "too small" in refused(small, [MinFrequency(5)], 9)
