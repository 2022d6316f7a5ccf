"""Controlled tabular adjustment: published objectives, tiny tables by brute force, what it refuses."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.oracles.adjustment import closest_l1, closest_linf, every_sense, whole_tables, within
from tests.strategies import count_tables, magnitude_tables

from hitoku.attacks.adjustment import Adjustment
from hitoku.errors import HitokuError, NeedError, ParameterError, ProtectionError
from hitoku.evidence import audit
from hitoku.io import read_jj
from hitoku.methods import METHODS
from hitoku.methods.adjust import Adjust, hash_senses
from hitoku.metrics import recovery
from hitoku.model import Need, Release, Table
from hitoku.rules import PPercent
from hitoku.solver.closest import DeviationProgram, closest, reciprocal

SMALL = (
    *("targus", "targus_additive", "table8", "table1", "table1_additive", "table3", "table3_additive", "cbs"),
    *("hier13x7x7d", "jjtabeltest3", "jjtabeltest3_additive", "osorio", "hier13x13x13a"),
)
LARGE = [
    *((name, norm) for name in ("hier13", "hier13x13x13d", "hier16x16x16a") for norm in ("l1", "l2")),
    *(("hier16", "l1"), ("two5in6", "l1"), ("two5in6", "l2"), ("nine5d", "l1"), ("nine5d", "l2")),
]


def reference(shared, name):
    with (shared / "data" / "csplib" / "reference_cta.csv").open(newline="") as file:
        row = next(row for row in csv.DictReader(file) if row["instance"] == name)
    table, need = read_jj(shared / "data" / "csplib" / f"{name}.jj.gz")
    return table, need, [float(row[key]) for key in row if key != "instance"]


@pytest.mark.shared
@pytest.mark.parametrize("name", SMALL)
def test_objectives_match_published_instances(shared, name):
    table, need, (linear, by_value, by_square) = reference(shared, name)
    cases = [
        (Adjust(norm="l1"), linear),
        (Adjust(norm="l2", weights=reciprocal(table.value, "l1")), by_value),
        (Adjust(norm="l2"), by_square),
    ]
    for method, objective in cases:
        found = method.protect(table, need)
        assert found.cost == pytest.approx(objective, rel=1e-6)
        assert found.proven
        checked = audit(table, need, Release.of(table, found))
        assert checked.safe
        assert (checked.certificate is not None) == table.additive
        # The cost is that of what is published, not of what the solver said.
        power = 1 if method.norm == "l1" else 2
        weight = reciprocal(table.value, method.norm) if isinstance(method.weights, str) else method.weights
        recomputed = weight @ np.abs(found.value - table.value) ** power
        assert recomputed == pytest.approx(found.cost, rel=1e-6)


@pytest.mark.shared
@pytest.mark.long
@pytest.mark.parametrize(("name", "norm"), LARGE)
def test_objectives_match_large_published_instances(shared, name, norm):
    table, need, (linear, _, by_square) = reference(shared, name)
    found = Adjust(norm=norm).protect(table, need)
    assert found.cost == pytest.approx(linear if norm == "l1" else by_square, rel=1e-6)
    assert found.proven
    # Values of these tables are whole, so sums of six decimals can be checked exactly.
    steps = np.rint(found.value * 1e6)
    assert steps / 1e6 == pytest.approx(found.value, rel=1e-15)
    assert not np.any(table.relations @ steps)


def levels(table, draw, *, most=4):
    """Some unsafe cells with levels at random."""
    n = table.n_cells
    cells = draw(st.lists(st.sampled_from(np.flatnonzero(table.inner).tolist()), min_size=1, max_size=most))
    unsafe = np.isin(np.arange(n), cells)
    drawn = [draw(st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=n, max_size=n)) for _ in range(2)]
    return Need(unsafe=unsafe, lower=np.where(unsafe, drawn[0], 0), upper=np.where(unsafe, drawn[1], 0))


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
@settings(max_examples=6)
@given(data=st.data(), table=count_tables(max_side=3, max_count=15))
def test_optimal_senses_match_enumeration(norm, data, table):
    need = levels(table, data.draw)
    kept = np.array(data.draw(st.lists(st.sampled_from([False] * 6 + [True]), min_size=table.n_cells)))
    kept = np.resize(kept, table.n_cells) & ~need.unsafe
    best = np.inf
    for sense in every_sense(need.unsafe):
        lower, upper = within(table, need, sense)
        lower, upper = np.where(kept, 0, lower), np.where(kept, 0, upper)
        if norm == "l1" and np.all(lower <= upper):
            found = closest_l1(table.relations, reciprocal(table.value, "l1"), lower, upper)
            best = min(best, np.inf if found is None else found[0])
        elif norm == "linf" and np.all(lower <= upper):
            found = closest_linf(table.relations, reciprocal(table.value, "linf"), lower, upper)
            best = min(best, np.inf if found is None else found)
        elif norm == "l2":
            weight = reciprocal(table.value, "l2")
            tried = closest(
                DeviationProgram(relations=table.relations, weight=weight, lower=lower, upper=upper), "l2"
            )
            best = min(best, tried.cost if tried.optimal else np.inf)
    method = Adjust(norm=norm, senses="optimal", keep=kept)
    if np.isinf(best):
        with pytest.raises(HitokuError):
            method.protect(table, need)
        return
    found = method.protect(table, need)
    assert found.cost == pytest.approx(best, rel=1e-5)
    assert audit(table, need, Release.of(table, found)).safe


@settings(max_examples=6)
@given(data=st.data(), table=count_tables(max_side=2, max_count=8))
def test_integer_solution_is_close_to_enumerated_optimum(data, table):
    need = levels(table, data.draw, most=2)
    found = Adjust(norm="l1", integer=True).protect(table, need)
    weight = reciprocal(table.value, "l1")
    best = np.inf
    for moved in whole_tables(table, 3):
        rises = np.all(moved[need.unsafe] >= need.upper[need.unsafe])
        if rises and np.all(table.value + moved >= 0):
            best = min(best, float(weight @ np.abs(moved)))
    assert np.array_equal(found.value, np.round(found.value))
    assert not np.any(table.relations @ found.value)
    assert np.all((found.value - table.value)[need.unsafe] >= need.upper[need.unsafe])
    assert np.all(found.value >= 0)
    # Two-way tables are networks: whole levels have whole optima.
    assert found.cost == pytest.approx(best)


@settings(max_examples=16)
@given(table=magnitude_tables(max_side=3, hierarchical=True), senses=st.sampled_from(["up", "hash"]))
def test_every_unsafe_cell_moves_and_every_sum_holds_exactly(table, senses):
    need = PPercent(p=10).assess(table)
    assume(need.unsafe.any())
    adjusted = Adjust(norm="l2", senses=senses, repair="senses").adjust(table, need)
    checked = audit(table, need, Release.of(table, adjusted.protection))
    assert checked.safe
    assert checked.certificate is not None
    moved = np.sign(adjusted.protection.value - table.value)
    assert np.array_equal(moved[need.unsafe], adjusted.sense[need.unsafe])


TABLE = Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 3]])
NEED = Need(unsafe=TABLE.value == 3, lower=2.0, upper=2.0)


def test_single_cell_matches_hand_calculation():
    # 3 rises by 2; its row (52), column (35) and the grand total (181) are the cheapest to follow.
    found = Adjust(norm="l1").adjust(TABLE, NEED)
    assert found.protection.cost == pytest.approx(2 / 3 + 2 / 52 + 2 / 35 + 2 / 181)
    assert found.protection.proven
    # Half the cost for each unit of the level: the multiplier.
    assert found.multiplier[NEED.unsafe] == pytest.approx(found.protection.cost / 2)
    assert np.abs(found.multiplier).sum() == pytest.approx(found.protection.cost / 2)


def test_no_cell_moves_by_a_larger_share_in_linf():
    table = Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 3]])
    need = Need(unsafe=table.value == 22, lower=11.0, upper=11.0)
    largest = {
        norm: np.max(np.abs(Adjust(norm=norm, keep="margins").protect(table, need).value / table.value - 1))
        for norm in ("l1", "l2", "linf")
    }
    # Half of 22 in any case; its row gives 11 of 8 and 19, its column 11 of 10 and 3. The least largest share
    # of the column is 11/13, and the other columns need not move by more.
    assert largest["linf"] == pytest.approx(11 / 13)
    assert largest["linf"] < largest["l2"]
    assert largest["linf"] < largest["l1"]


def test_linf_release_is_audited_proved_and_attacked():
    table = Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 3]])
    need = Need(unsafe=table.value == 3, lower=2.0, upper=2.0)
    protection = METHODS["adjust"](norm="linf", integer=True).protect(table, need)
    release = Release.of(table, protection)
    checked = audit(table, need, release)
    assert checked.safe
    assert checked.certificate is not None
    assert protection.proven
    assert protection.cost == pytest.approx(2 / 3)
    # Who knows all bounds takes it back; who guesses senses and levels does not.
    assert recovery(table, need, release, Adjustment(scenario="C", norm="linf")).exact == 10
    assert recovery(table, need, release, Adjustment(scenario="B1", norm="linf")).exact == 0


def test_down_sense_lowers_cells_and_keeps_margins():
    found = Adjust(norm="l1", senses="down", keep="margins").protect(TABLE, NEED)
    moved = (found.value - TABLE.value).reshape(4, 4)
    assert moved[2, 2] == pytest.approx(-2)
    assert not moved[3].any()
    assert not moved[:, 3].any()


def test_cell_that_cannot_fall_rises():
    need = Need(unsafe=TABLE.value == 3, lower=4.0, upper=2.0)
    assert Adjust(senses="down").adjust(TABLE, need).sense[need.unsafe].tolist() == [1.0]


def test_width_is_split_between_both_directions():
    need = Need(unsafe=TABLE.value == 3, lower=1.0, width=6.0)
    up, down = (Adjust(senses=s).protect(TABLE, need).value - TABLE.value for s in ("up", "down"))
    assert up[need.unsafe] == pytest.approx(2.5)
    # 1 + 2.5 below, but a count of three cannot fall by more than three.
    assert down[need.unsafe] == pytest.approx(2.5)


def test_zeros_option_decides_movement_of_zeros():
    table = Table.from_array([[0.0, 40.0], [30.0, 3.0]], upper=None)
    need = Need(unsafe=table.value == 3, lower=2.0, upper=2.0)
    kept = Adjust(keep="margins").protect(table, need)
    assert kept.value[0] == 2.0
    with pytest.raises(NeedError, match="contradict"):
        Adjust(keep="margins", zeros="keep", senses="down").protect(table, need)


def test_hash_gives_same_direction_in_every_table():
    counts = np.random.default_rng(1).integers(1, 40, (6, 5, 4))
    big = Table.from_array(counts, names=["a", "b", "c"])
    small = Table.from_array(counts.sum(axis=2), names=["a", "b"])
    drawn = hash_senses(big, np.arange(big.n_cells), "secret").reshape(7, 6, 5)[:, :, -1]
    assert np.array_equal(drawn, hash_senses(small, np.arange(small.n_cells), "secret").reshape(7, 6))
    other = hash_senses(small, np.arange(small.n_cells), "another").reshape(7, 6)
    assert 0.2 < (drawn == other).mean() < 0.8


@settings(max_examples=13)
@given(table=magnitude_tables(max_side=3))
def test_hash_depends_on_contributors_not_codes(table):
    renamed = Table(
        value=table.value,
        relations=table.relations,
        units=table.units,
        holdings=table.holdings,
        frequency=table.frequency,
    )
    cells = np.arange(table.n_cells)
    assume(table.contributors is not None)
    assert np.array_equal(
        hash_senses(table, cells, "k"),
        hash_senses(Table(**{**vars(renamed), "measure": table.measure}), cells, "k"),
    )


# Three parts of a kept total that may not all rise.
FLAT = Table.from_array([10, 20, 30], names=["region"])
ALL = Need(unsafe=[True, True, True, False], lower=2.0, upper=2.0)
TOTAL = [False, False, False, True]


def test_contradicting_senses_raise_with_cells():
    with pytest.raises(NeedError) as caught:
        Adjust(keep=TOTAL).protect(FLAT, ALL)
    told = str(caught.value)
    assert "contradict" in told
    assert "region=1" in told
    assert "region=Total" in told
    assert "1 relation(s)" in told
    assert not any(text in told for text in ("10", "20", "30", "60"))


def test_sense_repair_changes_fewest_senses():
    # One of them must fall by as much as the others rise.
    found = Adjust(keep=TOTAL, repair="senses").adjust(FLAT, ALL)
    assert len(found.turned) == 1
    assert audit(FLAT, ALL, Release.of(FLAT, found.protection)).safe


def test_elastic_repair_misses_levels_and_is_reported():
    # None of them can fall by more than one, so not all can rise by two.
    table = Table.from_array([10, 20, 30], names=["region"], lower=[9, 19, 29, 0])
    found = Adjust(keep=TOTAL, repair="elastic").adjust(table, ALL)
    assert len(found.short)
    checked = audit(table, ALL, Release.of(table, found.protection))
    assert not checked.safe
    assert checked.certificate is None
    assert not np.any(table.relations @ found.protection.value)
    with pytest.raises(ProtectionError, match="no senses"):
        Adjust(keep=TOTAL, repair="senses").protect(table, ALL)


def test_optimal_senses_need_no_repair():
    found = Adjust(keep=TOTAL, senses="optimal").protect(FLAT, ALL)
    # 10 and 20 up by two, 30 down by four: 2/10 + 2/20 + 4/30; any other choice is dearer.
    assert found.cost == pytest.approx(2 / 10 + 2 / 20 + 4 / 30)


def test_missing_integer_solution_raises():
    table = Table.from_array([10.5, 20.5], names=["region"])
    need = Need(unsafe=[True, False, False], lower=2.0, upper=2.0)
    with pytest.raises(ProtectionError, match="integers are required"):
        Adjust(integer=True).protect(table, need)


@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param({"norm": "l3"}, id="norm"),
        pytest.param({"repair": "magic"}, id="repair"),
        pytest.param({"zeros": "go"}, id="zeros"),
        pytest.param({"gap": 1.5}, id="gap"),
        pytest.param({"penalty": -1}, id="penalty"),
        pytest.param({"senses": "sideways"}, id="word for senses"),
        pytest.param({"senses": [1, 1]}, id="too few senses"),
        pytest.param({"senses": np.zeros(16)}, id="no sense for an unsafe cell"),
        pytest.param({"weights": "heavy"}, id="word for weights"),
        pytest.param({"weights": np.zeros(16)}, id="weights of zero"),
    ],
)
def test_invalid_parameters_raise(parameters):
    with pytest.raises(ParameterError):
        Adjust(**parameters).protect(TABLE, NEED)


@pytest.mark.parametrize(
    ("need", "keep", "match"),
    [
        pytest.param(Need(unsafe=TABLE.value == 3), None, "without a level", id="no level"),
        pytest.param(NEED, TABLE.value == 3, "may not be changed", id="kept"),
        pytest.param(Need(unsafe=[True], lower=1.0), None, "need has 1 cells", id="another table"),
    ],
)
def test_unattainable_need_raises(need, keep, match):
    with pytest.raises(NeedError, match=match) as caught:
        Adjust(keep=keep).protect(TABLE, need)
    assert "181" not in str(caught.value)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_values_up_to_200_billion_are_adjusted(norm):
    # In six digits it would not even add up; all numbers here are whole, so it must, to the last one.
    rng = np.random.default_rng(7)
    inner = np.round(np.exp(rng.uniform(0, np.log(2e10), (12, 10))))
    table = Table.from_array(inner, frequency=None)
    unsafe = table.inner & (rng.random(table.n_cells) < 0.2)
    need = Need(
        unsafe=unsafe, lower=np.where(unsafe, table.value / 5, 0), upper=np.where(unsafe, table.value / 5, 0)
    )
    found = Adjust(norm=norm).protect(table, need)
    weight = reciprocal(table.value, norm)
    lower, upper = within(table, need, unsafe.astype(float))
    if norm == "l1":
        # Relative deviations as columns: the scaling that makes it an easy problem for scipy, too.
        scaled = table.relations * table.value
        scaled = scaled / np.abs(scaled).max(axis=1).toarray()[:, None]
        best, _ = closest_l1(scaled, np.ones(table.n_cells), lower / table.value, upper / table.value)
        assert found.cost == pytest.approx(best, rel=1e-6)
    assert weight @ np.abs(found.value - table.value) ** (1 if norm == "l1" else 2) == pytest.approx(
        found.cost, rel=1e-6
    )
    assert found.proven
    assert audit(table, need, Release.of(table, found)).certificate is not None


@pytest.mark.parametrize("senses", ["up", "hash", "optimal"])
def test_same_table_gives_same_adjustment(senses):
    rng = np.random.default_rng(2)
    table = Table.from_array(rng.integers(1, 60, (6, 5)))
    unsafe = table.inner & (table.value < 8)
    need = Need(unsafe=unsafe, lower=np.where(unsafe, 3.0, 0), upper=np.where(unsafe, 3.0, 0))
    first, second = (Adjust(norm="l1", senses=senses).protect(table, need) for _ in range(2))
    assert first.value.tobytes() == second.value.tobytes()
    assert first.cost == second.cost


def test_time_limit_is_reported():
    rng = np.random.default_rng(3)
    table = Table.from_array(rng.integers(1, 60, (9, 9)))
    unsafe = table.inner & (table.value < 25)
    need = Need(unsafe=unsafe, lower=np.where(unsafe, table.value / 2, 0), upper=np.where(unsafe, 9.0, 0))
    found = Adjust(norm="l2", senses="optimal", time_limit_s=1e-6).protect(table, need)
    assert not found.proven
    assert found.gap > 0
    assert audit(table, need, Release.of(table, found)).safe


def test_unmet_optimality_conditions_leave_proof_open(monkeypatch):
    table = Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 3]])
    need = Need(unsafe=table.value == 3, lower=2.0, upper=2.0)
    assert Adjust(norm="l2").protect(table, need).proven
    near = lambda *parts, **more: replace(closest(*parts, **more), conditions=1e-3)  # noqa: E731
    monkeypatch.setattr("hitoku.methods.adjust.adjust.closest", near)
    assert not Adjust(norm="l2").protect(table, need).proven
    assert Adjust(norm="l1").protect(table, need).proven
