"""The matching attack: the paper's examples, attackers, limits, and what it tells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.oracles.enumeration import fitting_tables
from tests.strategies import count_tables

from hitoku.attacks import Interval
from hitoku.attacks.matching import Bayes, Lattice, Likelihood, Matching, Support, null_basis
from hitoku.errors import NeedError, ParameterError
from hitoku.methods.gauss import Gauss
from hitoku.methods.greedy import Greedy
from hitoku.methods.optimal import Optimal
from hitoku.model import Protection, Release, Table
from hitoku.rules import MinFrequency, assess

RULES = [MinFrequency(5, zeros=True)]


class Fixed:
    """Withholds the same cells of every table that passes a test, and nothing of the others."""

    def __init__(self, cells, passes=lambda _table: True):
        self.cells, self.passes = cells, passes

    def protect(self, table, need):  # noqa: ARG002 - as the protocol has it
        mask = np.isin(np.arange(table.n_cells), self.cells) & self.passes(table)
        return Protection.withhold(table, mask)


class Lottery(Fixed):
    """Draws lots: how probably it withholds its cells depends on one of them."""

    def __init__(self, cells, chances):
        super().__init__(cells)
        self.chances = chances

    def likelihoods(self, release, candidates):  # noqa: ARG002 - as the protocol has it
        return np.array([self.chances.get(int(table[self.cells[0]]), 0.0) for table in candidates])


def released(table, method):
    return Release.of(table, method.protect(table, assess(table, RULES, width=9)))


# Figure 2 of the paper, cells (1, 1), (1, 2), (2, 1), (2, 2) withheld.
FIGURE_2 = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
CORNER_2 = [0, 1, 4, 5]
# Table 1 of the paper; its four unknowns, in its order.
TABLE_1 = Table.from_array([[15, 15, 12, 10], [19, 14, 13, 9], [8, 8, 11, 14], [9, 9, 26, 0]])
CORNER_1 = [6, 8, 16, 18]


def test_posterior_matches_example_1():
    found = Matching(method=Fixed(CORNER_2), rules=RULES, width=9).run(released(FIGURE_2, Fixed(CORNER_2)))
    assert (found.feasible.lower[0], found.feasible.upper[0]) == (0, 17)
    # This method withholds the same in any case, so nothing is ruled out.
    assert found.bounds.lower.tolist() == found.feasible.lower.tolist()
    assert found.bounds.upper.tolist() == found.feasible.upper.tolist()


def test_posterior_matches_example_2():
    lattice = Lattice.of(released(TABLE_1, Fixed(CORNER_1)))
    assert lattice.basis.tolist() == [[1, -1, -1, 1]]
    expected = [[14 + k, 9 - k, 9 - k, k] for k in range(10)]
    assert lattice.tables(limit=10).tolist() == expected
    assert lattice.tables(limit=9) is None


def test_single_match_sets_both_bounds():
    # Algorithm 1 as printed would leave the largest value at zero.
    only = Fixed(CORNER_2, lambda table: table.value[0] == 7)
    found = Matching(method=only, rules=RULES, width=9).run(released(FIGURE_2, only))
    assert (found.n_candidates, found.n_matched, found.null_dimension) == (18, 1, 1)
    assert np.array_equal(found.bounds.lower, FIGURE_2.value)
    assert np.array_equal(found.bounds.upper, FIGURE_2.value)


def test_gaps_in_value_sets_are_reported():
    method = Fixed(CORNER_2, lambda table: table.value[0] in {1, 2, 3, 7, 12})
    found = Matching(method=method, rules=RULES, width=9).run(released(FIGURE_2, method))
    assert found.values[0].tolist() == [1, 2, 3, 7, 12]
    assert found.holes[0].tolist() == [4, 5, 6, 8, 9, 10, 11]
    assert found.posterior[0].tolist() == [0.2] * 5
    assert (found.bounds.lower[0], found.bounds.upper[0]) == (1, 12)
    assert found.below(12)[0]
    assert not found.below(11)[0]
    assert found.safe(11)[0]
    assert not found.safe(12)[0]


CHANCES = {7: 0.4, 8: 0.4, 9: 0.019, 10: 0.1}


@pytest.mark.parametrize(
    ("attacker", "values", "posterior"),
    [
        pytest.param(Support(), [7, 8, 9, 10], [0.4, 0.4, 0.019, 0.1], id="everything possible"),
        pytest.param(Likelihood(20), [7, 8, 10], [0.4, 0.4, 0.1], id="not one to twenty-one"),
        pytest.param(Likelihood(22), [7, 8, 9, 10], [0.4, 0.4, 0.019, 0.1], id="but one to twenty-two"),
        pytest.param(Likelihood(1), [7, 8], [1, 1], id="only the likeliest"),
        pytest.param(
            Bayes(lambda x: np.where(x == 61, 0.0, 1.0)), [7, 9, 10], [0.4, 0.019, 0.1], id="no 61, so no 8"
        ),
    ],
)
def test_attacker_choice_changes_candidates(attacker, values, posterior):
    method = Lottery(CORNER_2, CHANCES)
    found = Matching(method=method, rules=RULES, width=9, attacker=attacker).run(released(FIGURE_2, method))
    assert found.values[0].tolist() == values
    assert found.posterior[0] == pytest.approx(np.array(posterior) / sum(posterior))
    assert (found.bounds.lower[0], found.bounds.upper[0]) == (min(values), max(values))


def test_prior_multiplies_over_independent_cells():
    method = Lottery(CORNER_2, {7: 1.0, 8: 1.0})
    # Cells (7, 11, 10, 60) or (8, 10, 9, 61).
    attack = Matching(method=method, rules=RULES, width=9, attacker=Bayes(lambda x: 1.0 / (1 + x)))
    found = attack.run(released(FIGURE_2, method))
    before = np.array([1 / (8 * 12 * 11 * 61), 1 / (9 * 11 * 10 * 62)])
    assert found.posterior[0] == pytest.approx(before / before.sum())


def test_credible_set_holds_the_likeliest_values():
    method = Lottery(CORNER_2, {7: 0.5, 3: 0.3, 9: 0.15, 1: 0.05})
    found = Matching(method=method, rules=RULES, width=9).run(released(FIGURE_2, method))
    assert [found.credible(share)[0].tolist() for share in (0.5, 0.8, 0.95, 1)] == [
        [7],
        [3, 7],
        [3, 7, 9],
        [1, 3, 7, 9],
    ]
    with pytest.raises(ParameterError, match="share"):
        found.credible(0)


def test_too_many_candidates_return_unknown():
    found = Matching(method=Fixed(CORNER_2), rules=RULES, width=9, limit=17).run(
        released(FIGURE_2, Fixed(CORNER_2))
    )
    assert found.bounds.unknown.tolist() == released(FIGURE_2, Fixed(CORNER_2)).withheld.tolist()
    assert not found.complete
    assert (found.met, found.n_candidates) == (None, None)
    assert not found.safe(1).any()
    with pytest.raises(ParameterError, match="no posterior"):
        found.credible()


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"method": Fixed([0, 1, 2])}, id="another method"),
        pytest.param({"method": Optimal(keep="margins"), "width": 30}, id="another width"),
        pytest.param({"method": Optimal(keep="margins"), "rules": [MinFrequency(70)]}, id="another rule"),
    ],
)
def test_release_of_another_method_raises(changes):
    release = released(FIGURE_2, Fixed(CORNER_2))
    with pytest.raises(ParameterError, match="no table leads to this release"):
        Matching(**{"method": Fixed([0]), "rules": RULES, "width": 9, **changes}).run(release)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        pytest.param({"strategy": "shav"}, "strategy cannot be 'shav'", id="strategy"),
        pytest.param({"limit": 0}, "limit must be a whole number", id="limit"),
        pytest.param({"method": "optimal"}, "is not a method", id="method"),
        pytest.param({"strategy": "sample", "attacker": Likelihood(20)}, "require all of them", id="walk"),
    ],
)
def test_invalid_parameters_raise(parameters, match):
    with pytest.raises(ParameterError, match=match):
        Matching(**{"method": Fixed([0]), "rules": RULES, "width": 9, **parameters})


def test_shaving_raises_outside_its_scope():
    release = released(FIGURE_2, Fixed(CORNER_2))
    with pytest.raises(ParameterError, match="cannot be shaved"):
        Matching(method=Fixed(CORNER_2), rules=RULES, width=9, strategy="shave").run(release)
    with pytest.raises(ParameterError, match="at least 1"):
        Likelihood(0.5)


def test_magnitudes_raise():
    table = Table.from_array(np.array([[7.5, 11], [10, 60]]))
    release = Release.of(table, Protection.withhold(table, table.inner))
    with pytest.raises(ParameterError, match="whole numbers"):
        Matching(method=Fixed([0]), rules=RULES, width=9).run(release)


@settings(max_examples=26)
@given(
    data=st.data(),
    table=count_tables(max_side=3, max_count=4) | count_tables(max_side=2, max_count=3, dims=3),
)
def test_candidates_match_enumeration(data, table):
    withheld = np.array(data.draw(st.lists(st.booleans(), min_size=table.n_cells, max_size=table.n_cells)))
    total = int(table.value.max())
    withheld[-1] = False
    release = Release.of(
        table, Protection.withhold(table, withheld & (table.inner | (np.arange(table.n_cells) % 3 > 0)))
    )
    if release.withheld.sum() > 9:
        return
    expected = fitting_tables(release, total)
    lattice = Lattice.of(release)
    assert [tuple(row) for row in lattice.tables(10**6).tolist()] == sorted(expected)
    every = lattice.filled(release, lattice.tables(10**6))
    assert np.all(every @ release.relations.T.toarray() == 0)


def test_null_basis_generates_all_integer_solutions():
    # 2a + 3b = 0 in whole numbers: (3, -2), and nothing between.
    assert null_basis(sparse.csr_array([[2.0, 3.0]])).tolist() == [[3, -2]]
    assert null_basis(sparse.csr_array([[0.5, 1.5]])).tolist() == [[3, -1]]


METHODS = [Optimal(keep="margins"), Optimal(cost="value"), Greedy(keep="margins"), Gauss(keep="margins")]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("strategy", ["auto", "enumerate", "sample"])
@settings(max_examples=4)
@given(table=count_tables(max_side=3, max_count=9) | count_tables(max_side=2, max_count=9, dims=3))
def test_true_table_is_never_excluded(method, strategy, table):
    rules = [MinFrequency(3)]
    need = assess(table, rules, width=4)
    try:
        release = Release.of(table, method.protect(table, need))
    except NeedError:
        return
    assume(np.isfinite(Interval().bounds(release).upper).all())
    attack = Matching(method=method, rules=rules, width=4, strategy=strategy, limit=60)
    found = attack.run(release)
    plain = Interval().bounds(release)
    assert np.all((found.bounds.lower <= table.value) & (table.value <= found.bounds.upper))
    assert np.all((found.bounds.lower >= plain.lower - 1e-9) & (found.bounds.upper <= plain.upper + 1e-9))
    assert all(table.value[cell] in values for cell, values in found.values.items())


def test_walk_returns_inner_intervals():
    method = Optimal(keep="margins")
    table = Table.from_array([[3, 12, 9, 14], [8, 2, 11, 21], [15, 9, 4, 8], [12, 16, 8, 1]])
    release = released(table, method)
    exact = Matching(method=method, rules=RULES, width=9).run(release)
    walk = Matching(method=method, rules=RULES, width=9, strategy="sample", limit=5000)
    for start in (None, table.value):
        found = walk.run(release, start=start)
        assert found.strategy == "sample"
        assert np.array_equal(found.met.lower, exact.bounds.lower)
        assert np.array_equal(found.met.upper, exact.bounds.upper)
        open_ends = (found.met.lower > found.feasible.lower) | (found.met.upper < found.feasible.upper)
        assert np.array_equal(found.bounds.unknown, open_ends)
        assert np.array_equal(found.bounds.lower, found.feasible.lower)
    short = Matching(method=method, rules=RULES, width=9, strategy="sample", limit=3).run(
        release, start=table.value
    )
    assert np.all((short.met.lower >= exact.bounds.lower) & (short.met.upper <= exact.bounds.upper))
    with pytest.raises(ParameterError, match="does not fit the release"):
        walk.run(release, start=table.value + 1)


def test_process_count_does_not_change_results():
    rng = np.random.default_rng(5)
    method = Optimal(keep="margins")
    releases = []
    while len(releases) < 3:
        table = Table.from_array(np.abs(np.rint(rng.normal(15, 10, (4, 4)))).astype(int))
        if np.any(table.value < 5):
            releases.append(released(table, method))
    attack = Matching(method=method, rules=RULES, width=9, strategy="sample", limit=40, seed=3)
    told = []
    alone = attack.run_all(releases, n_jobs=1, progress=lambda done, of: told.append((done, of)))
    together = attack.run_all(releases, n_jobs=2)
    assert told == [(1, 3), (2, 3), (3, 3)]
    for one, other in zip(alone, together, strict=True):
        assert np.array_equal(one.met.lower, other.met.lower)
        assert np.array_equal(one.met.upper, other.met.upper)
