from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.optimize import linprog
from tests.strategies import count_tables

from hitoku.attacks.adjustment import FACTS, SCENARIOS, Adjustment, AttackerKnowledge, Scenario, relative
from hitoku.attacks.adjustment.adjustment import DRAWS
from hitoku.errors import ParameterError
from hitoku.metrics import attacker_knowledge
from hitoku.model import Need, Protection, Release, Table
from hitoku.solver.closest import DeviationProgram, closest, reciprocal

ALL = Scenario(FACTS, "all")
# Two parts and their total.
PARTS = Table(value=np.array([4.0, 6.0, 10.0]), relations=np.array([[1.0, 1.0, -1.0]]))
FIRST = Need(unsafe=[True, False, False], lower=1.0, upper=1.0)


def published(table: Table, values) -> Release:
    nowhere = np.zeros(table.n_cells, dtype=bool)
    return Release.of(table, Protection(withheld=nowhere, secondary=nowhere, value=values))


def protector(table: Table, need: Need, norm: str, senses) -> DeviationProgram:
    """(5) of the paper, written out once more."""
    low, high = table.lower - table.value, table.upper - table.value
    low = np.where(need.unsafe & (senses > 0), need.upper, low)
    high = np.where(need.unsafe & (senses < 0), -need.lower, high)
    weight = reciprocal(table.value, norm)
    return DeviationProgram(relations=table.relations, weight=weight, lower=low, upper=high)


@st.composite
def adjusted_tables(draw, norm: str):
    """Draw a table with unsafe cells and the closest safe one, all senses up or mixed."""
    table = draw(count_tables(max_side=3, max_count=40, dims=draw(st.integers(2, 3))))
    positive = table.inner & (table.value > 0)
    marks = draw(st.lists(st.integers(0, 2), min_size=table.n_cells, max_size=table.n_cells))
    unsafe = positive & (np.array(marks) == 0)
    level = np.where(unsafe, np.ceil(table.value * 0.2), 0.0)
    need = Need(unsafe=unsafe, lower=level, upper=level)
    senses = np.where(draw(st.booleans()) | (np.arange(table.n_cells) % 2 == 0), 1.0, -1.0)
    found = closest(protector(table, need, norm, senses), norm)
    if not found.optimal:
        senses = np.ones(table.n_cells)
        found = closest(protector(table, need, norm, senses), norm)
    assert found.optimal
    # To as many decimals as are printed: what is left of a zero after rounding is no value.
    return table, need, senses, published(table, table.value + found.deviation.round(6))


@pytest.mark.parametrize("norm", ["l1", "l2"])
@settings(max_examples=17)
@given(data=st.data())
def test_full_knowledge_recovers_the_original_table(norm, data):
    table, need, _, release = data.draw(adjusted_tables(norm))
    told = attacker_knowledge(table, need, release, norm=norm)
    estimates = Adjustment(scenario=ALL, norm=norm, replications=1).estimate(release, told)
    assert not estimates.soft.any()
    assert_allclose(estimates.value[0], table.value, atol=1e-6 * (1 + table.value.max()))


def test_l1_estimate_matches_hand_calculation():
    # Raising the 4 by 1 is cheapest with the total: 1/4 + 1/10. Taken back with weights 1/5, 1/6, 1/11 the
    # total is cheaper than the other part again.
    release = published(PARTS, [5.0, 6.0, 11.0])
    told = AttackerKnowledge(
        deviation=0, unsafe=FIRST.unsafe, senses=np.ones(3), lower=FIRST.lower, upper=FIRST.upper
    )
    estimates = Adjustment(scenario="B3", norm="l1", replications=1).estimate(release, told)
    assert_allclose(estimates.value, [[4, 6, 10]])


def test_l2_estimate_matches_hand_calculation():
    # With z = (1, -s, 1 - s): s = 36 / 136 for the protector, x2^2 / (x2^2 + x3^2) for the attacker.
    share = 36 / 136
    x = np.array([5.0, 6 - share, 11 - share])
    guess = x[1] ** 2 / (x[1] ** 2 + x[2] ** 2)
    told = AttackerKnowledge(
        deviation=0, unsafe=FIRST.unsafe, senses=np.ones(3), lower=FIRST.lower, upper=FIRST.upper
    )
    attack = Adjustment(scenario="B3", norm="l2", replications=1)
    estimates = attack.estimate(published(PARTS, x), told)
    assert_allclose(estimates.value, [[4, x[1] + guess, x[2] - 1 + guess]], rtol=1e-6)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("name", SCENARIOS)
@settings(max_examples=8)
@given(data=st.data())
def test_guesses_match_the_paper(name, norm, data):
    """Section 5, cell by cell; the guessed value is read off the weight."""
    table, need, senses, release = data.draw(adjusted_tables(norm))
    told = attacker_knowledge(table, need, release, norm=norm)
    level_of = data.draw(st.sampled_from(["published", "guessed"]))
    attack = Adjustment(scenario=name, norm=norm, seed=data.draw(st.integers(0, 5)), level_of=level_of)
    assume(told.deviation <= 1)  # beyond, a guess may be negative, and a weight does not tell the sign
    problem = attack.problem(release, told, data.draw(st.integers(0, 3)))
    x, beta, slack = release.published, told.deviation, 1e-6
    a, upl, lpl = table.value, need.upper, need.lower
    for i in range(table.n_cells):
        if x[i] == 0:
            guess = 0.0
        else:
            guess = 1 / problem.weight[i] if norm == "l1" else problem.weight[i] ** -0.5
            assert x[i] * (1 - beta) - slack <= guess <= x[i] * (1 + beta) + slack
        low, high = problem.lower[i], problem.upper[i]
        free = (guess - table.upper[i], guess - table.lower[i])
        if name == "C":
            free = (table.lower[i] - a[i], table.upper[i] - a[i])
        if not need.unsafe[i]:
            assert_allclose((low, high), free, atol=slack)
            continue
        if name == "B1" and x[i] == 0:
            continue  # a level of zero: up and down look the same
        raised = senses[i] > 0 if name != "B1" else low > 0
        assert_allclose(high if raised else low, free[1] if raised else free[0], atol=slack)
        level = low if raised else -high
        true = (upl if raised else lpl)[i]
        if name in {"B3", "C"}:
            assert level == true
        else:
            share = true / (a[i] + 1e-6)
            size = guess if level_of == "guessed" else x[i]
            assert size * max(0, share - 0.2) - slack <= level <= size * (share + 0.2) + slack


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("name", [*SCENARIOS, "own"])
@settings(max_examples=5)
@given(data=st.data())
def test_estimates_are_additive_and_respect_guesses(name, norm, data):
    table, need, _, release = data.draw(adjusted_tables(norm))
    scenario = Scenario(()) if name == "own" else name
    attack = Adjustment(scenario=scenario, norm=norm, replications=2)
    told = attacker_knowledge(table, need, release, norm=norm)
    estimates = attack.estimate(release, told)
    slack = 1e-5 * (1 + table.value.max())
    for replication in range(2):
        z = release.published - estimates.value[replication]
        assert_allclose(table.relations @ z, 0, atol=slack)
        problem = attack.problem(release, told, replication)
        low, high = np.minimum(problem.lower, problem.upper), np.maximum(problem.lower, problem.upper)
        outside = np.maximum(z - high, 0) - np.maximum(low - z, 0)
        assert_allclose(outside, estimates.excess[replication], atol=slack)
        if not estimates.soft[replication]:
            assert np.all(problem.lower <= problem.upper)
            assert_allclose(outside, 0, atol=slack)


@settings(max_examples=10)
@given(data=st.data())
def test_l1_optimum_matches_another_solver(data):
    table, need, _, release = data.draw(adjusted_tables("l1"))
    told = attacker_knowledge(table, need, release)
    attack = Adjustment(scenario="B3", replications=1)
    problem = attack.problem(release, told, 0)
    estimates = attack.estimate(release, told)
    if estimates.soft[0]:
        return
    relations = table.relations.toarray()
    rise = [(max(low, 0), max(high, 0)) for low, high in zip(problem.lower, problem.upper, strict=True)]
    fall = [(max(-high, 0), max(-low, 0)) for low, high in zip(problem.lower, problem.upper, strict=True)]
    reference = linprog(
        np.tile(problem.weight, 2),
        A_eq=np.hstack([relations, -relations]),
        b_eq=np.zeros(len(relations)),
        bounds=rise + fall,
    )
    cost = problem.weight @ np.abs(release.published - estimates.value[0])
    assert cost == pytest.approx(reference.fun, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("most", [0.05, 0.5, 1.0, 1.7])
def test_draws_are_quantiles_of_truncated_distribution(most):
    """Against scipy's own distributions: a truncated one has F(x) = (G(x) - G(low)) / (G(high) - G(low))."""
    uniform = np.linspace(-0.999, 0.999, 41)
    share = (uniform + 1) / 2

    def cut(distribution, low, high, x):
        return (distribution.cdf(x) - distribution.cdf(low)) / (
            distribution.cdf(high) - distribution.cdf(low)
        )

    for name, distribution in {
        "uniform": stats.uniform(-most, 2 * most),
        "normal": stats.norm(scale=most / 2),
        "laplace": stats.laplace(scale=most / 2),
    }.items():
        drawn = relative(name, uniform, most)
        assert np.abs(drawn).max() <= most
        assert_allclose(cut(distribution, -most, most, drawn), share, atol=1e-9)
    factor = 1 + relative("lognormal", uniform, np.full(41, most))
    logs = stats.lognorm(s=np.log1p(most) / 2)
    assert_allclose(cut(logs, max(1 - most, 0), 1 + most, factor), share, atol=1e-9)


def test_draws_stay_in_interval_and_keep_order():
    release = published(PARTS, [5.0, 6.0, 11.0])
    told = AttackerKnowledge(
        deviation=0.25, unsafe=FIRST.unsafe, senses=np.ones(3), lower=FIRST.lower, upper=FIRST.upper
    )
    guesses = {
        draws: 1 / Adjustment(scenario="B3", draws=draws).problem(release, told, 2).weight for draws in DRAWS
    }
    for guess in guesses.values():
        assert np.all(np.abs(guess / release.published - 1) <= 0.25)
    # The middle of the interval is likelier than in the paper's draws, cell by cell.
    far = {draws: np.abs(guess / release.published - 1) for draws, guess in guesses.items()}
    assert np.all(far["normal"] < far["uniform"])
    assert np.all(far["laplace"] < far["normal"])
    assert not np.array_equal(guesses["lognormal"], guesses["normal"])


def test_deviation_may_differ_for_every_cell():
    release = published(PARTS, [5.0, 6.0, 11.0])
    told = AttackerKnowledge(
        deviation=np.array([0.2, 0.0, 0.1]),
        unsafe=FIRST.unsafe,
        senses=np.ones(3),
        lower=FIRST.lower,
        upper=FIRST.upper,
    )
    guess = 1 / Adjustment(scenario="B3").problem(release, told, 0).weight
    assert guess[1] == 6
    assert 0 < abs(guess[0] / 5 - 1) <= 0.2
    assert 0 < abs(guess[2] / 11 - 1) <= 0.1


def test_contradicting_guesses_are_violated_at_least_cost():
    # All three unsafe; both parts are said to have risen by 2, the total to have fallen by 1.
    unsafe, levels = np.ones(3, dtype=bool), np.array([2.0, 2.0, 1.0])
    x = np.array([4.0, 6.0, 10.0])
    release = published(PARTS, x)
    told = AttackerKnowledge(
        deviation=0, unsafe=unsafe, senses=np.array([1, 1, -1]), lower=levels, upper=levels
    )
    estimates = Adjustment(scenario="B3", norm="l1", replications=1).estimate(release, told)
    assert estimates.soft.tolist() == [True]

    def price(z):
        low, high = np.array([2, 2, x[2] - np.inf]), np.array([x[0], x[1], -1])
        excess = np.maximum(z - high, 0) + np.maximum(low - z, 0)
        return np.sum(np.abs(z) / x + 100 * excess / x)

    grid = np.arange(-3, 5.01, 0.25)
    best = min(price(np.array([p, q, p + q])) for p in grid for q in grid)
    assert price(x - estimates.value[0]) == pytest.approx(best)


def test_replication_depends_on_seed_and_number_only():
    release = published(PARTS, [5.0, 6.0, 11.0])
    few, many = (Adjustment(scenario="B1", replications=n).estimate(release, FIRST) for n in (2, 5))
    assert_array_equal(few.value, many.value[:2])
    alone = Adjustment(scenario="B1").estimate_once(release, AttackerKnowledge.of(release, FIRST), 4)
    assert_array_equal(alone.value[0], many.value[4])
    other = Adjustment(scenario="B1", replications=2, seed=2).estimate(release, FIRST)
    assert not np.allclose(few.value, other.value)


@pytest.mark.parametrize(
    ("name", "unused"),
    [
        (
            "B1",
            {"senses": [-1.0] * 3, "lower": [9.0] * 3, "upper": [9.0] * 3, "slack": None, "weights": None},
        ),
        ("B2", {"lower": [9.0] * 3, "upper": [9.0] * 3, "slack": None, "weights": None}),
        ("B3", {"lower_share": [9.0] * 3, "upper_share": [9.0] * 3, "slack": None, "weights": None}),
        ("C", {"lower_share": None, "senses": None, "upper": None, "weights": None}),
    ],
)
def test_scenario_uses_only_its_own_knowledge(name, unused):
    release = published(PARTS, [5.0, 6.0, 11.0])
    told = attacker_knowledge(PARTS, FIRST, release)
    attack = Adjustment(scenario=name, replications=3)
    as_told, without = attack.estimate(release, told), attack.estimate(release, replace(told, **unused))
    assert_array_equal(as_told.value, without.value)


def test_unknown_unsafe_cells_are_drawn_among_movable_ones():
    table = Table.from_array([[4.0, 6.0, 3.0], [9.0, 9.0, 5.0]], upper=[4.0] + [99.0] * 11)
    need = Need(unsafe=np.arange(12) < 2, lower=1.0, upper=1.0)
    release = published(table, table.value)
    attack = Adjustment(scenario=Scenario({"bounds"}), error=0)
    drawn = set()
    for replication in range(20):
        problem = attack.problem(
            release, replace(AttackerKnowledge.of(release, need), deviation=0), replication
        )
        forced = (problem.lower > 0) | (problem.upper < 0)
        assert forced.sum() == 2
        drawn.update(np.flatnonzero(forced).tolist())
    assert len(drawn) > 2


def test_cell_with_equal_bounds_is_not_a_variable():
    table = replace(PARTS, lower=[0.0, 6.0, 0.0], upper=[9.0, 6.0, 20.0])
    release = published(table, [5.0, 6.0, 11.0])
    problem = Adjustment(scenario="B2").problem(release, AttackerKnowledge.of(release, FIRST), 0)
    assert (problem.lower[1], problem.upper[1]) == (0, 0)


def test_unknown_bounds_allow_nonnegative_values():
    table = replace(PARTS, lower=[3.0, 5.0, 9.0], upper=[6.0, 7.0, 12.0])
    release = published(table, [5.0, 6.0, 11.0])
    told = replace(AttackerKnowledge.of(release, FIRST), deviation=0.0)
    problem = Adjustment(scenario=Scenario({"unsafe"})).problem(release, told, 0)
    assert problem.lower[1] == -np.inf
    assert problem.upper[1] == 6


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda: Adjustment(scenario="B4"), id="no such scenario"),
        pytest.param(lambda: Adjustment(norm="l3"), id="no such norm"),
        pytest.param(lambda: Adjustment(replications=0), id="no replications"),
        pytest.param(lambda: Adjustment(error=-0.1), id="negative error"),
        pytest.param(lambda: Adjustment(level_of="true"), id="levels of what nobody knows"),
        pytest.param(lambda: Scenario({"levles"}), id="no such fact"),
        pytest.param(lambda: Scenario({"senses"}), id="senses of unknown cells"),
        pytest.param(lambda: AttackerKnowledge(deviation=float("inf")), id="endless deviation"),
    ],
)
def test_invalid_parameters_raise(wrong):
    with pytest.raises(ParameterError):
        wrong()


def test_missing_scenario_fact_raises():
    release = published(PARTS, [5.0, 6.0, 11.0])
    with pytest.raises(ParameterError, match="senses"):
        Adjustment(scenario="B2").estimate(release, AttackerKnowledge(deviation=0.1, unsafe=FIRST.unsafe))
    with pytest.raises(ParameterError, match="slack"):
        Adjustment(scenario="C").estimate(release, FIRST)


def test_release_with_suppressed_cells_raises():
    release = Release.of(PARTS, Protection.withhold(PARTS, PARTS.value == 4))
    with pytest.raises(ParameterError, match="withheld"):
        Adjustment().estimate(release, FIRST)


def test_repr_omits_values():
    release = published(PARTS, [5.0, 6.0, 11.0])
    told = attacker_knowledge(PARTS, FIRST, release)
    shown = repr(told) + repr(Adjustment(replications=1).estimate(release, told))
    assert not any(digit in shown for digit in ("4", "5", "6"))
