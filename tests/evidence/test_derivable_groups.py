"""Groups of units whose totals follow from published cells: none is smaller than rules require."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.oracles.derivable_groups import derivable, kernel, small_groups

from hitoku.attacks import Interval
from hitoku.errors import NeedError
from hitoku.evidence import audit, derivable_groups
from hitoku.methods import Adjust, Blocks, Circulation, Gauss, Randomised
from hitoku.methods.circulation import reach
from hitoku.model import Dimension, Hierarchy, Need, Protection, Release, Status, Table, add_up, counted_table
from hitoku.pipeline import protect, suppress_magnitude
from hitoku.rules import (
    AS_UNITS,
    SEVERAL_CELLS,
    Dominance,
    FewContributors,
    GroupDisclosure,
    MinFrequency,
    PPercent,
    assess,
)
from hitoku.samples import register
from hitoku.tabulation import tabulate

# All methods that promise it.
METHODS = ("auto", "greedy", "optimal:cost=value", "circulation")
# Two dimensions, three, and a hierarchy; few enough inner cells to list all groups.
SHAPES = ([4, 3], [2, 3, 2], [{"A": ["a1", "a2"], "B": ["b1", "b2", "b3"]}, 2], [7], [5, 2])


def variables(shape) -> tuple[Dimension, ...]:
    trees = [size if isinstance(size, dict) else {f"{n}": None for n in range(size)} for size in shape]
    return tuple(Dimension.of(f"v{at}", Hierarchy.from_tree(tree)) for at, tree in enumerate(trees))


def counts(seed: int) -> tuple[Table, int]:
    """Draw a table of counts and a threshold."""
    rng = np.random.default_rng(seed)
    dimensions = variables(SHAPES[seed % len(SHAPES)])
    shape = [len(d.leaves) for d in dimensions]
    inner = rng.negative_binomial(1, 1 / (1 + rng.choice([4, 8, 20])), shape)
    value = add_up(inner, dimensions)
    table = Table(value=value, dimensions=dimensions, frequency=value, integer=True, measure="count")
    return table, int(rng.choice([3, 5, 10]))


def amounts(seed: int, **columns) -> tuple[Table, int]:
    """Draw amounts with their contributors, each in one cell, and a threshold."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[seed % len(SHAPES)]
    dimensions = variables(shape)
    rows = []
    for leaf in np.ndindex(*(len(d.leaves) for d in dimensions)):
        codes = [d.leaves[at] for d, at in zip(dimensions, leaf, strict=True)]
        for _ in range(rng.choice([0, 1, 2, 3, 5, 9])):
            rows.append([*codes, len(rows), int(rng.integers(0, 8)), int(rng.pareto(1.2) * 50)])
    names = [d.name for d in dimensions]
    frame = pd.DataFrame(rows, columns=[*names, "firm", "owner", "amount"])
    trees = {
        d.name: Hierarchy.from_tree(s) for d, s in zip(dimensions, shape, strict=True) if isinstance(s, dict)
    }
    table = tabulate(frame, by=names, value="amount", hierarchies=trees, unit="firm", **columns)
    return table, int(rng.choice([2, 3, 5]))


def test_oracle_lists_all_derivable_sums():
    # Published: a + b and b + c. Their difference is no group, their sum counts b twice.
    rows = np.array([[1, 1, 0], [0, 1, 1]])
    assert kernel(rows).T.tolist() in ([[1, -1, 1]], [[-1, 1, -1]])
    assert derivable(rows).tolist() == [[1, 1, 0], [0, 1, 1]]
    # With b itself, everything follows.
    assert len(derivable(np.vstack([rows, [0, 1, 0]]))) == 7


def test_three_people_in_two_suppressed_cells_are_found():
    """Trial S9: 2 and 1 are withheld beside 40 and 9, so everybody can tell that they are three."""
    people = pd.DataFrame({"r": ["a"] * 2 + ["b"] + ["c"] * 40 + ["d"] * 9})
    rules = ["min_frequency:n=5"]
    before = protect(people, by=["r"], rules=rules, groups=False)
    assert before.release.withheld.tolist() == [True, True, False, False, False]
    assert before.groups.status is Status.NOT_CONSIDERED
    assert before.groups.reason == "groups=False"
    assert small_groups(before.table, before.release.withheld, before.table.value, 5) == [(0, 1)]
    found = derivable_groups(before.table, [MinFrequency(5)], before.release)
    assert found.status is Status.FAILED
    assert set(found.failing) == {0, 1}
    assert found.failing[0].endswith("52 - 0 - 40 - 9 = 3")

    outcome = protect(people, by=["r"], rules=rules)
    assert outcome.audit.safe
    assert outcome.groups.status is Status.PROVED
    assert small_groups(outcome.table, outcome.release.withheld, outcome.table.value, 5) == []
    assert np.all(Interval().bounds(outcome.release).upper[:2] >= 5)


def hold_counts(seeds) -> int:
    """Protect tables of counts by every method; return how many groups would be too small without."""
    without = 0
    for seed in seeds:
        table, n = counts(seed)
        for method in METHODS:
            outcome = protect(table, rules=[MinFrequency(n)], method=method)
            assert outcome.audit.safe
            assert outcome.groups.status is Status.PROVED, (seed, method)
            withheld = outcome.release.withheld
            assert small_groups(table, withheld, table.value, n) == [], (seed, method)
            high = Interval().bounds(outcome.release).upper
            assert np.all(high[outcome.need.unsafe] >= n - 1e-6), (seed, method)
        cells_only = protect(table, rules=[MinFrequency(n)], groups=False)
        without += len(small_groups(table, cells_only.release.withheld, table.value, n))
    return without


def test_no_derivable_group_of_counts_is_too_small():
    assert hold_counts(range(25)) > 0


@pytest.mark.long
def test_no_derivable_group_of_a_thousand_tables_of_counts_is_too_small():
    assert hold_counts(range(100, 1_100)) > 0


def hold_amounts(seeds) -> int:
    """The same for contributors behind amounts."""
    without = 0
    for seed in seeds:
        table, n = amounts(seed)
        units = table.units.count
        for method in METHODS:
            rules = [FewContributors(n)] if seed % 2 else [PPercent(10), MinFrequency(n)]
            outcome = protect(table, rules=rules, method=method, insiders="none")
            assert outcome.audit.safe
            assert outcome.groups.safe, (seed, method)
            assert small_groups(table, outcome.release.withheld, units, n) == [], (seed, method)
            behind = counted_table(table, units)
            release = Release.of(behind, Protection.withhold(behind, outcome.release.withheld))
            small = (units > 0) & (units < n)
            assert np.all(Interval().bounds(release).upper[small] >= n - 1e-6), (seed, method)
        cells_only = protect(table, rules=[FewContributors(n)], groups=False, insiders="none")
        without += len(small_groups(table, cells_only.release.withheld, units, n))
    return without


def test_no_derivable_group_of_contributors_is_too_small():
    assert hold_amounts(range(10)) > 0


@pytest.mark.long
def test_no_derivable_group_behind_many_tables_of_amounts_is_too_small():
    assert hold_amounts(range(100, 1_100)) > 0


def by_hand(seed: int) -> tuple[Table, int, Release]:
    """Withhold the small cells of a table and others at random."""
    table, n = counts(seed)
    rng = np.random.default_rng(seed)
    withheld = ((table.value > 0) & (table.value < n)) | (rng.random(table.n_cells) < 0.25)
    return table, n, Release.of(table, Protection.withhold(table, withheld))


def test_pattern_verdict_matches_enumeration():
    """A pattern passes exactly if every small cell can hold n; then no group is too small."""
    passed = failed = 0
    for seed in range(60):
        table, n, release = by_hand(seed)
        found = derivable_groups(table, [MinFrequency(n)], release)
        high = Interval(integer=True).bounds(release).upper
        small = np.flatnonzero((table.value > 0) & (table.value < n))
        assert set(found.failing) == {int(cell) for cell in small if high[cell] < n}
        assert found.safe == (not found.failing)
        if found.safe:
            assert small_groups(table, release.withheld, table.value, n) == []
        passed += found.safe
        failed += not found.safe
    assert passed > 5
    assert failed > 5


def test_magnitude_patterns_use_rational_coefficients():
    """Numbers behind amounts pass exactly if every small cell can hold n; then no group is too small."""
    passed = failed = 0
    for seed in range(60):
        table, n = amounts(seed)
        rng, units = np.random.default_rng(seed), table.units.count
        small = (units > 0) & (units < n)
        withheld = small | (rng.random(table.n_cells) < rng.choice([0.1, 0.5]))
        release = Release.of(table, Protection.withhold(table, withheld))
        found = derivable_groups(table, [FewContributors(n)], release)
        behind = counted_table(table, units)
        high = Interval(integer=False).bounds(Release.of(behind, Protection.withhold(behind, withheld))).upper
        assert set(found.failing) == set(np.flatnonzero(small & (high < n - 1e-6)).tolist())
        assert found.safe == (not found.failing)
        if found.safe:
            assert small_groups(table, withheld, units, n) == []
        passed += found.safe
        failed += not found.safe
    assert passed > 5
    assert failed > 5


def test_integrality_applies_to_published_numbers_only():
    """The first of eight cells moves in twos, and by one at most: it can hold three in fractions alone.

    Behind amounts that is enough. Readers who see the counts know that the first cell is below three.
    """
    sums = [[0, 1, 2], [1, 3], [2, 3], [5, 3], [6, 3], [4, 5, 6], [4, 7]]
    relations, groups = np.zeros((7, 15)), np.zeros((7, 8), dtype=np.int64)
    for number, cells in enumerate(sums):
        relations[number, cells], relations[number, 8 + number], groups[number, cells] = 1, -1, 1
    inner = np.array([2, 4, 4, 5, 6, 4, 4, 1])
    number, withheld = np.concatenate([inner, groups @ inner]), np.arange(15) < 8
    # Nothing that follows from the seven published sums has fewer than three units.
    follows = derivable(groups)
    assert min((follows @ inner).tolist()) >= 3
    amount = Table(value=10.0 * number, relations=relations, frequency=number)
    counted = Table(value=1.0 * number, relations=relations, frequency=number, integer=True, measure="count")
    behind, published = (
        derivable_groups(table, [MinFrequency(3)], Release.of(table, Protection.withhold(table, withheld)))
        for table in (amount, counted)
    )
    assert (behind.status, behind.n_examined) == (Status.PASSED, 2)
    assert (published.status, set(published.failing)) == (Status.FAILED, {0})
    # Numbers that are published stay whole where readers know no lower bound of them.
    unbounded = replace(counted, lower=np.full(15, -np.inf))
    release = Release.of(unbounded, Protection.withhold(unbounded, withheld))
    assert set(derivable_groups(unbounded, [MinFrequency(3)], release).failing) == {0}


def test_published_small_cell_is_a_derivable_group():
    table = Table.from_array([[2, 30, 40], [20, 30, 50]])
    release = Release.of(table, Protection.withhold(table, np.zeros(table.n_cells, dtype=bool)))
    found = derivable_groups(table, [MinFrequency(5)], release)
    assert found.status is Status.FAILED
    assert dict(found.failing) == {0: "published"}


def test_table_without_small_cells_is_unchanged():
    table = Table.from_array([[20, 30], [40, 50]])
    release = Release.of(table, Protection.withhold(table, np.zeros(table.n_cells, dtype=bool)))
    assert derivable_groups(table, [MinFrequency(5)], release).status is Status.PROVED
    found = derivable_groups(table, [GroupDisclosure(0.9)], release)
    assert (found.status, found.required) == (Status.NOT_CONSIDERED, False)


def test_group_requirement_raises_protection_levels():
    table = Table.from_array([[2, 1, 40, 9], [30, 8, 0, 70]])
    without, required = (assess(table, [MinFrequency(5)], groups=groups) for groups in (False, True))
    assert required.unsafe.tolist() == without.unsafe.tolist()
    assert required.lower.tolist() == without.lower.tolist()
    assert required.upper[:2].tolist() == [3, 4]
    # Neither a width nor a percentage takes its place, and both are kept.
    narrow = assess(table, [MinFrequency(5)], width=3)
    assert (narrow.upper[:2].tolist(), narrow.width[:2].tolist()) == ([3, 4], [3, 3])
    wide = assess(table, [MinFrequency(5, percent=400)])
    assert wide.upper[:2].tolist() == [8, 4]
    # Empty cells hold nobody.
    zeros = assess(table, [MinFrequency(5, zeros=True)])
    assert zeros.upper[7] == assess(table, [MinFrequency(5, zeros=True)], groups=False).upper[7]


@pytest.mark.parametrize("width", [5, 9])
def test_width_of_n_implies_group_requirement(width):
    table = Table.from_array([[2, 1, 40, 9], [30, 8, 0, 70]])
    without, required = (assess(table, [MinFrequency(5)], width, groups=groups) for groups in (False, True))
    for name in ("unsafe", "lower", "upper", "width"):
        assert np.array_equal(getattr(without, name), getattr(required, name))
    outcome = protect(table, rules=[MinFrequency(5)], width=width)
    assert outcome.groups.status is Status.PROVED


def test_known_upper_bounds_below_n_are_named():
    table = replace(Table.from_array([[2, 30, 40], [20, 30, 50]]), upper=np.full(12, np.inf))
    bounded = replace(table, upper=np.where(table.value == 2, 4.0, np.inf))
    with pytest.raises(NeedError, match="cannot be protected") as raised:
        assess(bounded, [MinFrequency(5)])
    assert "row=1, column=1" in raised.value.where
    assert "groups=False" in raised.value.fix
    assert assess(bounded, [MinFrequency(5)], groups=False).upper[0] == 1


def test_contributors_that_cannot_be_hidden_are_named():
    # Only two contributors are in the cells that may be withheld.
    cells = pd.DataFrame({"r": list("abcd"), "v": [10.0, 20.0, 30.0, 40.0], "n": [1, 1, 9, 9]})
    table = Table.from_frame(cells, by=["r"], value="v", frequency="n")
    table = replace(table, fixed=np.array([False, False, True, True, True]))
    assert protect(table, rules=[MinFrequency(3)], groups=False).audit.safe
    with pytest.raises(NeedError, match="fewer than 3 units can be derived") as raised:
        protect(table, rules=[MinFrequency(3)])
    assert "r=a" in raised.value.where


def test_units_in_several_cells_are_not_considered():
    records = pd.DataFrame(
        {"r": list("aabbccccdddd"), "p": [1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], "v": range(12)}
    )
    outcome = protect(records, by=["r"], value="v", unit="p", rules=[MinFrequency(3)], insiders="none")
    assert (outcome.groups.status, outcome.groups.reason) == (Status.NOT_CONSIDERED, SEVERAL_CELLS)


def test_holdings_are_counted_by_their_units():
    table, n = amounts(1, holding="owner")
    outcome = protect(table, rules=[FewContributors(n)], insiders="none")
    assert (outcome.groups.status, outcome.groups.reason) == (Status.PASSED, AS_UNITS)
    assert small_groups(table, outcome.release.withheld, table.units.count, n) == []


def test_weighted_counts_are_judged_by_their_units():
    records = pd.DataFrame({"r": ["a"] * 2 + ["b"] + ["c"] * 40 + ["d"] * 9, "w": [3.0] * 52})
    rules = [MinFrequency(5)]
    table = tabulate(records, by=["r"], weight="w")
    assert not np.array_equal(table.value, table.frequency)
    before, after = (protect(table, rules=rules, groups=groups) for groups in (False, True))
    assert small_groups(table, before.release.withheld, table.frequency, 5) == [(0, 1)]
    assert after.groups.status is Status.PASSED
    assert small_groups(table, after.release.withheld, table.frequency, 5) == []


def test_negative_amounts_have_nonnegative_units():
    records = pd.DataFrame({"r": ["a"] * 2 + ["b"] + ["c"] * 40 + ["d"] * 9, "v": [-5.0] * 3 + [7.0] * 49})
    table = tabulate(records, by=["r"], value="v", magnitude="abs")
    outcome = protect(table, rules=[FewContributors(5)], insiders="none")
    assert outcome.groups.status is Status.PASSED
    assert small_groups(table, outcome.release.withheld, table.units.count, 5) == []


def test_counts_without_known_lower_bound_are_judged():
    """Witnesses below zero prove nothing about groups, so the units are judged apart."""
    table = replace(Table.from_array([2, 1, 40, 9]), lower=np.full(5, -np.inf))
    outcome = protect(table, rules=[MinFrequency(5)])
    assert outcome.groups.status is Status.PASSED
    assert small_groups(table, outcome.release.withheld, table.value, 5) == []


@pytest.mark.parametrize(
    ("method", "width"), [(Gauss(), None), (Blocks(), 3), (Blocks(), 9), (Randomised(seed=1), 3)]
)
def test_methods_with_own_promise_are_judged_unchanged(method, width):
    table = Table.from_array([[15, 15, 12, 10], [19, 14, 13, 9], [8, 8, 11, 14], [9, 9, 26, 3]])
    rules = [MinFrequency(5)]
    without, outcome = (
        protect(table, rules=rules, method=method, width=width, groups=groups) for groups in (False, True)
    )
    assert np.array_equal(without.release.withheld, outcome.release.withheld)
    fails = small_groups(table, outcome.release.withheld, table.value, 5)
    assert outcome.groups.status in {Status.PROVED, Status.PASSED, Status.FAILED}
    assert outcome.groups.safe or outcome.groups.failing
    assert not (outcome.groups.safe and fails)


def test_gauss_pattern_fails_the_group_requirement():
    table = Table.from_array([2, 1, 40, 9])
    outcome = protect(table, rules=[MinFrequency(5)], method=Gauss())
    assert outcome.groups.status is Status.FAILED


def test_adjusted_values_are_not_considered():
    table = Table.from_array([[2, 30, 40], [20, 30, 50], [9, 9, 9]])
    outcome = protect(table, rules=[MinFrequency(5)], method=Adjust())
    assert outcome.groups.status is Status.NOT_CONSIDERED
    assert "adjusted" in outcome.groups.reason


def test_companion_counts_are_considered_in_both_tables():
    table, _ = amounts(2)
    both = suppress_magnitude(
        table,
        [Dominance(n=1, k=75)],
        method=Circulation(),
        frequency_rules=[MinFrequency(3)],
        frequency_width=1,
        insiders="none",
    )
    assert both.frequency.groups.status is Status.PROVED
    # Cells withheld in the counts are withheld in the magnitudes, so these give no further group.
    assert small_groups(table, both.magnitude.release.withheld, table.units.count, 3) == []


def test_circulation_finds_integers_despite_fractional_vertices(monkeypatch):
    """The last line of trial S9 in small: the cell moves by even numbers only, and must move by three."""
    monkeypatch.setattr(reach, "FEW", 0)  # as if the table were too large for one integer program
    halves = np.array([[1, -1, -1, 0], [0, 1, 0, -1], [0, 0, 1, -1]])
    table = Table(value=np.array([2.0, 1.0, 1.0, 1.0]), relations=halves, integer=True)
    need = Need(unsafe=[True, False, False, False], upper=[3, 0, 0, 0])
    pattern = Circulation(cost="value").protect(table, need)
    assert pattern.withheld.all()
    assert audit(table, need, Release.of(table, pattern)).safe


@pytest.mark.long
def test_demo_register_has_expected_group_counts():
    """Trial S9: no unsafe count of the register can be proved to be below five, whatever cells cost."""
    firms = register(50_000, 1)
    by = ["region", "activity", "size"]
    table = tabulate(firms.records, by=by, hierarchies=dict(firms.hierarchies))
    need = assess(table, [MinFrequency(5)])
    for cost in ("value", "unit"):
        pattern = Circulation(cost=cost).protect(table, need)
        found = derivable_groups(table, [MinFrequency(5)], Release.of(table, pattern))
        assert found.safe
        assert found.n_examined == 1_477
