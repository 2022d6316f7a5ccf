"""Patterns of circulations: always safe, by the audit and the verifier; never by their own bookkeeping."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import dimension_tuples

from hitoku.attacks import Interval
from hitoku.errors import NeedError, ParameterError, ProtectionError
from hitoku.evidence import audit
from hitoku.evidence.verify import verify
from hitoku.feasibility.hypercubes import Requirements, Slacks, cross_table_of
from hitoku.methods.circulation import Batches, Circulation, WitnessBatch, free_moves, level_prices
from hitoku.methods.circulation.reach import CHEAPEST, DEAREST
from hitoku.model import Dimension, Hierarchy, Need, Protection, Release, Table, add_up
from hitoku.testing import covers


@st.composite
def cross_tables(draw, dims, *, hierarchical=False, negative=False, decimals=False):
    """Draw a cross table with small, large and empty cells; some cells fixed, some bounds known."""
    side = {1: 6, 2: 4, 3: 3, 4: 2, 5: 2}[dims]
    dimensions = draw(dimension_tuples(dims, side, hierarchical=hierarchical))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = tuple(len(d.leaves) for d in dimensions)
    cells = np.floor(np.exp(random.normal(1.5, 1.5, shape))) - (2 if negative else 0)
    value = add_up(cells, dimensions) / (4 if decimals else 1)
    known = {}
    if draw(st.booleans()):
        known["fixed"] = (random.random(len(value)) < 0.15) & (np.abs(value) > 5)
    if draw(st.booleans()) and not negative:
        known["lower"], known["upper"] = np.floor(value / 2), np.ceil(1.5 * value + 3)
    return Table(value=value, dimensions=dimensions, integer=not decimals, **known)


def needs(draw, table):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    unsafe = (np.abs(table.value) <= 3) & (random.random(table.n_cells) < 0.6)
    if table.fixed is not None:
        unsafe &= ~table.fixed
    kind = draw(st.sampled_from(["nothing", "levels", "width", "all"]))
    levels = np.where(unsafe, random.integers(0, 3, (3, table.n_cells)), 0)
    parts = {
        "nothing": {},
        "levels": {"lower": levels[0], "upper": levels[1]},
        "width": {"width": 2 * levels[2]},
    }
    asked = {**parts["levels"], **parts["width"]} if kind == "all" else parts[kind]
    return Need(unsafe=unsafe, **asked)


def judged(table, need, method=None):
    """Protect and audit, with the witnesses and without; or see that nobody could have done it."""
    method = method or Circulation()
    try:
        protection = method.protect(table, need)
    except NeedError:
        free = np.ones(table.n_cells, dtype=bool) if table.fixed is None else ~table.fixed
        everything = Release.of(table, Protection.withhold(table, free, need))
        assert not audit(table, need, everything).safe
        return None
    release = Release.of(table, protection)
    assert np.all(protection.withheld[need.unsafe])
    if table.fixed is not None:
        assert not np.any(protection.withheld & table.fixed)
    assert audit(table, need, release, deviations=protection.deviations).safe
    assert audit(table, need, release).safe
    for move in protection.deviations:
        change = np.zeros(table.n_cells)
        change[list(move)] = list(move.values())
        assert not np.any(table.relations @ change)
        assert np.all(protection.withheld[change != 0])
    return protection


@pytest.mark.parametrize("hierarchical", [False, True])
@pytest.mark.parametrize("dims", [1, 2, 3, 4, 5])
@settings(deadline=None, max_examples=6)
@given(data=st.data())
def test_every_pattern_of_a_cross_table_is_audited_safe(dims, hierarchical, data):
    table = data.draw(cross_tables(dims, hierarchical=hierarchical))
    judged(table, needs(data.draw, table))


@settings(deadline=None, max_examples=26)
@given(data=st.data(), dims=st.integers(1, 3), decimals=st.booleans())
def test_negative_and_decimal_values_are_protected(data, dims, decimals):
    table = data.draw(cross_tables(dims, hierarchical=True, negative=True, decimals=decimals))
    judged(table, needs(data.draw, table))


def several_groupings(random):
    places = Hierarchy.from_tree({"North": ["N1", "N2", "N3"], "South": ["S1", "S2"]})
    coast = Hierarchy.from_tree({"Coast": ["N1", "S1"], "Inland": ["N2", "N3", "S2"]})
    dimensions = Dimension.of("place", [places, coast]), Dimension.of("size", Hierarchy.flat("abc"))
    counts = np.floor(np.exp(random.normal(1.5, 1.3, (5, 3))))
    return Table(value=add_up(counts, dimensions), dimensions=dimensions, integer=True)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), data=st.data())
def test_several_groupings_of_a_variable_are_protected(seed, data):
    table = several_groupings(np.random.default_rng(seed))
    judged(table, needs(data.draw, table))


def linked(random, sides=(3, 3, 3)):
    dimensions = tuple(
        Dimension.of(name, Hierarchy.from_tree({"P": [f"{name}1", f"{name}2"], f"{name}3": None}))
        for name in "xyz"
    )
    counts = np.floor(np.exp(random.normal(1.2, 1.2, sides)))
    pairs = [((0, 1), 2), ((1, 2), 0), ((0, 2), 1)]
    return Table.link(
        [
            Table(
                value=add_up(counts.sum(axis=summed), [dimensions[v] for v in kept]),
                dimensions=tuple(dimensions[v] for v in kept),
                integer=True,
            )
            for kept, summed in pairs
        ]
    )


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), data=st.data())
def test_linked_tables_use_enclosing_cross_table(seed, data):
    table = linked(np.random.default_rng(seed))
    assert cross_table_of(table) is not None
    judged(table, needs(data.draw, table))


@settings(deadline=None, max_examples=16)
@given(data=st.data(), hierarchical=st.booleans())
def test_table_without_dimensions_uses_linear_programs(data, hierarchical):
    told = data.draw(cross_tables(2, hierarchical=hierarchical))
    table = Table(
        value=told.value, relations=told.relations, integer=told.integer, lower=told.lower, upper=told.upper,
        fixed=told.fixed,
    )  # fmt: skip
    assert cross_table_of(table) is None
    judged(table, needs(data.draw, table))


@settings(deadline=None, max_examples=16)
@given(data=st.data(), cost=st.sampled_from(["unit", "value", "log"]))
def test_keep_and_start_are_respected(data, cost):
    table = data.draw(cross_tables(2))
    need = needs(data.draw, table)
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    keep = ~table.inner & ~need.unsafe
    start = table.inner & (random.random(table.n_cells) < 0.2)
    if table.fixed is not None:
        start &= ~table.fixed
    whole = Table(
        value=table.value, dimensions=table.dimensions, integer=True, lower=table.lower, upper=table.upper,
        fixed=keep | (False if table.fixed is None else table.fixed),
    )  # fmt: skip
    protection = judged(whole, need, Circulation(cost=cost, start=start))
    if protection is not None:
        assert np.all(protection.withheld[start])
        again = Circulation(cost=cost, keep=keep, start=start).protect(table, need)
        assert np.array_equal(again.withheld, protection.withheld)


def hierarchy(seed=0, sides=((3, 4), (4, 3), (3,))):
    random = np.random.default_rng(seed)
    dimensions = []
    for axis, children in enumerate(sides):
        tree = Hierarchy.flat([f"{axis}.{i}" for i in range(children[0])])
        if len(children) > 1:
            groups = {
                f"{axis}.{i}": [f"{axis}.{i}.{j}" for j in range(children[1])] for i in range(children[0])
            }
            tree = Hierarchy.from_tree(groups)
        dimensions.append(Dimension.of(f"v{axis}", tree))
    counts = np.floor(np.exp(random.normal(2.4, 1.3, [len(d.leaves) for d in dimensions])))
    table = Table(value=add_up(counts, dimensions), dimensions=tuple(dimensions), integer=True)
    return table, Need(unsafe=(table.value > 0) & (table.value < 4), width=5)


def test_same_table_gives_same_pattern_and_proof(tmp_path):
    table, need = hierarchy()
    first, again = (Circulation().protect(table, need) for _ in range(2))
    assert np.array_equal(first.withheld, again.withheld)
    assert [dict(m) for m in first.deviations] == [dict(m) for m in again.deviations]
    release = Release.of(table, first)
    verdict = audit(table, need, release, deviations=first.deviations)
    assert verdict.summary["programs"] == 0
    assert verify(verdict.certificate.write(tmp_path / "certificate.json.gz"))
    assert covers(Interval().bounds(release), table, need)


def test_rounds_never_raise_cost_and_zero_is_safe():
    table, need = hierarchy(1)
    costs = []
    for rounds in (0, 1, 3):
        protection = judged(table, need, Circulation(rounds=rounds))
        costs.append(float(table.value[protection.secondary].sum()))
    # Not strictly: rounds count cells, too.
    assert costs[2] <= costs[0]


def test_time_limit_returns_safe_pattern_and_is_reported():
    table, need = hierarchy(2)
    protection = judged(table, need, Circulation(time_limit_s=1e-9))
    assert protection.note == "stopped after 1e-09 s: a longer search may withhold less"
    assert Circulation().protect(table, need).note == ""


def test_time_limit_in_programs_keeps_best_pattern(monkeypatch):
    table, need = hierarchy(2)
    asked = []

    def goes_on(clock):
        asked.append(clock)
        return len(asked) < 4

    monkeypatch.setattr("hitoku.methods.circulation.circulation.Clock.goes_on", goes_on)
    judged(table, need)
    assert 4 <= len(asked) <= 10


@settings(deadline=None, max_examples=13)
@given(data=st.data(), dims=st.integers(2, 3))
def test_shared_deviations_respect_slacks_and_levels(data, dims):
    table = data.draw(cross_tables(dims, hierarchical=True))
    need = needs(data.draw, table)
    try:
        deviations = Circulation().protect(table, need).deviations
    except NeedError:
        return
    low, high = np.zeros(table.n_cells), np.zeros(table.n_cells)
    for move in deviations:
        change = np.zeros(table.n_cells)
        change[list(move)] = np.array(list(move.values())) / deviations.scale
        for way in (change, -change):
            if np.all(table.value + way >= table.lower) and np.all(table.value + way <= table.upper):
                low, high = np.minimum(low, way), np.maximum(high, way)
    unsafe = need.unsafe
    assert np.all(low[unsafe] <= -need.lower[unsafe])
    assert np.all(high[unsafe] >= need.upper[unsafe])
    assert np.all((high - low)[unsafe] >= np.maximum(need.width[unsafe], 1))


def test_progress_reaches_its_end():
    table, need = hierarchy(3)
    told = []
    Circulation().protect(table, need, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1]


def test_safe_table_has_no_suppressions():
    table, _ = hierarchy()
    protection = Circulation().protect(table, Need(unsafe=np.zeros(table.n_cells, dtype=bool)))
    assert not protection.withheld.any()
    assert len(protection.deviations) == 0


@pytest.mark.parametrize(
    ("table", "need"),
    [
        pytest.param(
            Table.from_array([[20, 15], [72, 1]], upper=np.array([20, 15, 35, 72, 1, 73, 92, 16, 108.0]),
                             lower=np.array([20, 15, 35, 72, 1, 73, 92, 16, 108.0])),
            {"width": 2}, id="everything is known",
        ),
        pytest.param(Table.from_array([[20, 15], [72, 1]]), {"lower": 2.0}, id="lower than zero"),
        pytest.param(
            Table.from_array([[20, 15], [72, 1]], fixed=np.array([0, 0, 1, 1, 0, 1, 1, 1, 1], dtype=bool)),
            {"width": 2}, id="alone among cells that must stay",
        ),
    ],
)  # fmt: skip
def test_unprotectable_cell_is_named(table, need):
    with pytest.raises(NeedError, match="row=2, column=2"):
        Circulation().protect(table, Need(unsafe=table.value == 1, **need))


def test_invalid_parameters_raise():
    table, need = hierarchy()
    with pytest.raises(ParameterError):
        Circulation(rounds=-1)
    with pytest.raises(ParameterError):
        Circulation(time_limit_s=0)
    with pytest.raises(ProtectionError, match="must stay published"):
        Circulation(keep="margins", start=~table.inner).protect(table, need)
    assert repr(Circulation(cost=np.ones(3), time_limit_s=5)) == "Circulation(cost=<given>, time_limit_s=5)"


@given(st.lists(st.floats(0.0, 1e6), min_size=2, max_size=8))
def test_compressed_prices_keep_their_order(prices):
    price = np.array([1.0, *prices])
    near = level_prices(price, price <= 1.0)
    assert near.max() / near.min() <= DEAREST / CHEAPEST * (1 + 1e-12)
    assert np.all(np.diff(near[np.argsort(price)]) >= 0)
    between = (price >= CHEAPEST) & (price <= DEAREST)
    assert np.array_equal(near[between], price[between])


def alone(table, need):
    """Which unsafe cells are protected by withholding unsafe cells and nothing else."""
    bounds = Interval().bounds(Release.of(table, Protection.withhold(table, need.unsafe, need)))
    return need.unsafe & need.met(table.value, bounds) & (bounds.upper > bounds.lower)


@settings(deadline=None, max_examples=30)
@given(data=st.data(), hierarchical=st.booleans())
def test_mutually_protecting_cells_need_nothing_more(data, hierarchical):
    table = data.draw(cross_tables(2, hierarchical=hierarchical))
    need = needs(data.draw, table)
    rooms = Slacks.of(table.value, table.lower, table.upper, table.upper > table.lower, integer=table.integer)
    try:
        requirements = Requirements.of(need, rooms, table.describe)
    except NeedError:
        return
    before = requirements.amount.copy()
    deviations = free_moves(table.relations, rooms, requirements, need.unsafe)
    low, high = np.zeros(table.n_cells), np.zeros(table.n_cells)
    for move in deviations:
        change = np.zeros(table.n_cells)
        change[list(move)] = list(move.values())
        assert not np.any(table.relations @ change)
        assert not np.any(change[~need.unsafe])
        assert np.all((-rooms.down <= change) & (change <= rooms.up))
        low, high = np.minimum(low, change), np.maximum(high, change)
    claimed = requirements.amount.reshape(2, -1).any(axis=0)
    served = requirements.cells[~claimed]
    assert np.all(low[served] <= -need.lower[served])
    assert np.all(high[served] >= need.upper[served])
    assert np.all((high - low)[served] >= np.maximum(need.width[served], 1))
    np.testing.assert_array_equal(requirements.amount[np.tile(claimed, 2)], before[np.tile(claimed, 2)])
    if not hierarchical:
        # Flat tables are networks, so that flows decide: nothing more could be had for nothing.
        assert not np.any(alone(table, need)[requirements.cells[claimed]])


def test_mutually_protecting_unsafe_cells_need_no_secondary():
    counts = np.floor(np.exp(np.random.default_rng(1).normal(2.0, 1.3, (30, 30)))).astype(int)
    table = Table.from_array(counts)
    need = Need(unsafe=table.value < 4, width=5)
    assert np.array_equal(alone(table, need), need.unsafe)
    protection = judged(table, need)
    assert not protection.secondary.any()


@pytest.mark.parametrize(
    ("level", "value", "step"),
    [
        pytest.param(3_001, 9_000, 60, id="fifths, thirds and halves are whole"),
        pytest.param(601, 9_000, 12, id="thirds and halves"),
        pytest.param(101, 9_000, 2, id="halves"),
        pytest.param(99, 9_000, 1, id="too small a level"),
        pytest.param(3_001, 3_010, 1, id="no room for a level that is rounded up"),
    ],
)
def test_large_amounts_are_multiples_of_steps(level, value, step):
    table = Table.from_array([[value, 8_999], [7_777, 9_999]])
    need = Need(unsafe=np.arange(9) == 0, lower=level, upper=level)
    rooms = Slacks.of(table.value, table.lower, table.upper, np.ones(9, dtype=bool), integer=table.integer)
    requirements = Requirements.of(need, rooms, table.describe)
    state = Batches(rooms, requirements, np.ones(9), np.ones(9, dtype=bool))
    change = np.array([1, -1, 0, -1, 1, 0, 0, 0, 0]) * 4_000.0
    (batch,) = state.assigned([WitnessBatch(change, np.zeros(0, dtype=np.int64), 1.0, even=True)])
    low, high = (np.rint(ends * batch.unit) for ends in state.ends(batch, np.arange(9)))
    assert np.all(low % step == 0)
    assert low[0] == step * np.ceil(level / step)
    assert np.all(low <= high)
    inside = high[high < 64 * low[0]]
    assert np.all(inside % step == 0)
    assert high[1] == min(step * (8_999 // step), high.max())


@settings(deadline=None, max_examples=6)
@given(data=st.data())
def test_large_values_are_swept_in_coarse_steps_and_audited_safe(data):
    table = data.draw(cross_tables(2, hierarchical=True))
    few = needs(data.draw, table)
    large = Table(value=table.value * 997, dimensions=table.dimensions, integer=True)
    unsafe = few.unsafe & (table.value > 0)
    judged(large, Need(unsafe=unsafe, lower=few.lower * 401 * unsafe, upper=few.upper * 401 * unsafe))
