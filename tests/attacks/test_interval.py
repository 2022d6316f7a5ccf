from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog
from tests.oracles.enumeration import enumerated_bounds
from tests.strategies import count_tables, magnitude_tables, protections

from hitoku.attacks import Interval
from hitoku.errors import ParameterError, TableError
from hitoku.feasibility import Problem, parts_of, settle
from hitoku.model import Labels, Protection, Release, Table

TOL = 1e-7


@st.composite
def linked_tables(draw, max_count=6):
    """Two tables of one population that share a variable, linked."""
    size = draw(st.tuples(*[st.integers(2, 3)] * 3))
    cells = draw(
        st.lists(st.integers(0, max_count), min_size=int(np.prod(size)), max_size=int(np.prod(size)))
    )
    cube = np.array(cells).reshape(size)
    first = Table.from_array(cube.sum(axis=2), names=["region", "sex"])
    second = Table.from_array(cube.sum(axis=1), names=["region", "age"])
    return Table.link([first, second])


def tables(max_count=6):
    return st.one_of(
        count_tables(max_side=4, max_count=max_count),
        count_tables(max_side=3, max_count=max_count, hierarchical=True),
        count_tables(max_side=2, max_count=max_count, dims=3),
        linked_tables(max_count),
    )


@st.composite
def releases(draw, some_tables, *, bounded=None):
    """Withhold cells of a table, and let the outsider know more or less about them."""
    table = draw(some_tables)
    release = Release.of(table, draw(protections(table)))
    if bounded is None:
        bounded = draw(st.booleans())
    if not bounded:
        return table, release
    below = np.array(draw(st.lists(st.integers(0, 3), min_size=table.n_cells, max_size=table.n_cells)))
    above = np.array(draw(st.lists(st.integers(0, 4), min_size=table.n_cells, max_size=table.n_cells)))
    lower = np.where(below == 3, -np.inf, np.maximum(table.value - below, 0))
    upper = np.where(above == 4, np.inf, table.value + above)
    return table, with_bounds(release, lower, upper)


def with_bounds(release, lower, upper):
    return Release(
        published=release.published,
        relations=release.relations,
        labels=release.labels,
        lower=lower,
        upper=upper,
        integer=release.integer,
    )


def cold_bounds(release):
    """One linear program of scipy per end, from scratch, with every cell a variable."""
    shown = ~release.withheld
    lower = np.where(shown, release.published, release.lower)
    upper = np.where(shown, release.published, release.upper)
    ends = []
    for sign in (1.0, -1.0):
        end = release.published.copy()
        for cell in np.flatnonzero(release.withheld):
            cost = np.zeros(release.n_cells)
            cost[cell] = sign
            zeros = np.zeros(release.relations.shape[0])
            found = linprog(cost, A_eq=release.relations, b_eq=zeros, bounds=np.c_[lower, upper])
            assert found.status in {0, 3}
            end[cell] = sign * found.fun if found.status == 0 else -sign * np.inf
        ends.append(end)
    return ends


def released(table, *cells):
    return Release.of(table, Protection.withhold(table, np.isin(np.arange(table.n_cells), cells)))


def test_bounds_match_minami_abe_example_1():
    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    bounds = Interval().bounds(released(table, 0, 1, 4, 5))
    assert (bounds.lower[0], bounds.upper[0]) == (0, 17)


def test_bounds_match_minami_abe_example_2():
    table = Table.from_array([[15, 15, 12, 10], [19, 14, 13, 9], [8, 8, 11, 14], [9, 9, 26, 0]])
    cells = [6, 8, 16, 18]
    bounds = Interval().bounds(released(table, *cells))
    # (14, 9, 9, 0) + k (1, -1, -1, 1) with k in 0..9
    assert bounds.lower[cells].tolist() == [14, 0, 0, 0]
    assert bounds.upper[cells].tolist() == [23, 9, 9, 9]


@settings(deadline=None, max_examples=16)
@given(pair=releases(count_tables(max_side=3, max_count=3)))
def test_two_way_bounds_match_enumeration(pair):
    table, release = pair
    largest = int(table.value.max())
    # An open total would make the list infinite; then the outsider knows a ceiling.
    release = with_bounds(release, np.maximum(release.lower, 0), np.minimum(release.upper, largest))
    exact, bounds = enumerated_bounds(release, largest), Interval().bounds(release)
    assert bounds.lower.tolist() == exact.lower.tolist()
    assert bounds.upper.tolist() == exact.upper.tolist()


@settings(deadline=None, max_examples=26)
@given(data=st.data(), kind=st.sampled_from(["cube", "hierarchy", "linked"]))
def test_integer_bounds_match_enumeration(data, kind):
    some_tables = {
        "cube": count_tables(max_side=2, max_count=2, dims=3),
        "hierarchy": count_tables(max_side=3, max_count=2, hierarchical=True),
        "linked": linked_tables(2),
    }[kind]
    table = data.draw(some_tables)
    release = Release.of(table, data.draw(protections(table, inner_only=True)))
    slack = data.draw(st.integers(0, 3))
    release = with_bounds(release, np.maximum(table.value - slack, 0), table.value + slack)
    exact = enumerated_bounds(release, int(table.value.max()) + slack)
    bounds = Interval(integer=True).bounds(release)
    assert bounds.lower.tolist() == exact.lower.tolist()
    assert bounds.upper.tolist() == exact.upper.tolist()


def odd_circle():
    """Three unknowns in three pairwise sums: the smallest system whose vertices need not be whole."""
    relations = np.array([[1, 1, 0, -1, 0, 0], [0, 1, 1, 0, -1, 0], [1, 0, 1, 0, 0, -1]])
    published = np.array([np.nan, np.nan, np.nan, np.nan, 3, 3])
    return Release(
        published=published,
        relations=relations,
        labels=Labels.numbered(6),
        lower=0,
        upper=[9, 9, 9, 3, 9, 9],
        integer=True,
    )


def test_integer_bounds_are_narrower_at_fractional_vertex():
    release = odd_circle()
    # x1 + x2 = 3 = x0 + x2, so x0 = x1; and x0 + x1 <= 3.
    real, whole = Interval().bounds(release), Interval(integer=True).bounds(release)
    assert (real.upper[0], real.lower[2]) == (1.5, 1.5)
    assert (whole.upper[0], whole.lower[2]) == (1, 2)
    exact = enumerated_bounds(release, 9)
    assert whole.lower.tolist() == exact.lower.tolist()
    assert whole.upper.tolist() == exact.upper.tolist()


@settings(deadline=None, max_examples=21)
@given(pair=releases(tables()))
def test_real_bounds_match_linear_programs(pair):
    _, release = pair
    lower, upper = cold_bounds(release)
    bounds = Interval().bounds(release)
    np.testing.assert_allclose(bounds.lower, lower, atol=1e-6)
    np.testing.assert_allclose(bounds.upper, upper, atol=1e-6)


@settings(deadline=None, max_examples=20)
@given(data=st.data(), size=st.sampled_from([1e-4, 1.0, 1e7]))
def test_bounds_of_any_size_match_linear_programs(data, size):
    table = data.draw(magnitude_tables(max_side=3))
    release = Release.of(table, data.draw(protections(table)))
    # An irrational factor takes the data off every decimal grid.
    scaled = Release(
        published=release.published * (size * np.pi), relations=release.relations, labels=release.labels
    )
    lower, upper = cold_bounds(release)
    bounds = Interval().bounds(scaled)
    top = table.value.max() + 1
    np.testing.assert_allclose(bounds.lower / (size * np.pi), lower, atol=1e-8 * top)
    np.testing.assert_allclose(bounds.upper / (size * np.pi), upper, atol=1e-8 * top)


@settings(deadline=None, max_examples=39)
@given(pair=releases(tables(12)))
def test_flows_equal_linear_programs(pair):
    _, release = pair
    flows, programs = Interval().bounds(release), Interval(mode="linear").bounds(release)
    np.testing.assert_allclose(flows.lower, programs.lower, atol=TOL)
    np.testing.assert_allclose(flows.upper, programs.upper, atol=TOL)


@settings(deadline=None, max_examples=39)
@given(pair=releases(tables(12)), integer=st.booleans())
def test_true_value_lies_in_every_interval(pair, integer):
    table, release = pair
    bounds = Interval(integer=integer).bounds(release)
    assert np.all(bounds.lower <= table.value + TOL)
    assert np.all(table.value <= bounds.upper + TOL)
    assert np.array_equal(bounds.lower[~release.withheld], table.value[~release.withheld])
    assert not bounds.unknown.any()


@settings(deadline=None, max_examples=32)
@given(data=st.data(), table=tables(12))
def test_more_suppressions_never_narrow_intervals(data, table):
    few, extra = data.draw(protections(table)), data.draw(protections(table))
    many = Protection.withhold(table, few.withheld | extra.withheld)
    narrow, wide = (Interval().bounds(Release.of(table, p)) for p in (few, many))
    assert np.all(wide.lower <= narrow.lower + TOL)
    assert np.all(narrow.upper <= wide.upper + TOL)


@settings(deadline=None, max_examples=39)
@given(data=st.data(), pair=releases(tables(12)), integer=st.booleans())
def test_target_is_met_if_bounds_reach_it(data, pair, integer):
    table, release = pair
    n = table.n_cells
    distance = st.one_of(st.none(), st.integers(0, 8))
    draws = [data.draw(st.lists(distance, min_size=n, max_size=n)) for _ in range(2)]
    below, above = (np.array([np.nan if d is None else d for d in draw]) for draw in draws)
    low, high = table.value - below, table.value + above
    attack = Interval(integer=integer)
    bounds, (reached_low, reached_high) = attack.bounds(release), attack.meets(release, low, high)
    assert np.array_equal(reached_low, bounds.lower <= low + TOL)
    assert np.array_equal(reached_high, bounds.upper >= high - TOL)


@settings(deadline=None, max_examples=20)
@given(pair=releases(count_tables(max_side=4, max_count=9)))
def test_two_dimensional_tables_are_networks(pair):
    settled = settle(Problem.of(pair[1]))
    matrix = settled.rest.matrix
    parts = parts_of(matrix)
    assert parts.network.all()
    signed = sparse.diags_array(parts.sign) @ matrix
    assert np.all(np.abs(signed.sum(axis=0)) <= 1)


def test_three_pairwise_sums_are_not_a_network():
    matrix = sparse.csr_array(np.array([[1.0, 1, 0], [0, 1, 1], [1, 0, 1]]))
    assert parts_of(matrix).network.tolist() == [False]
    assert parts_of(sparse.csr_array([[1.0, 1, 0], [0, -1, 1], [1, 0, 1]])).network.tolist() == [True]


def test_bounds_keep_published_decimals():
    table = Table.from_array(np.array([[0.1, 0.2], [0.3, 0.7]]))
    bounds = Interval().bounds(released(table, 0, 1, 3, 4))
    assert bounds.lower[[0, 1, 3, 4]].tolist() == [0.0, 0.0, 0.1, 0.6]
    assert bounds.upper[[0, 1, 3, 4]].tolist() == [0.3, 0.3, 0.4, 0.9]


def test_fully_published_table_equals_its_bounds():
    table = Table.from_array([[1, 2], [3, 4]])
    bounds = Interval().bounds(released(table))
    assert bounds.lower.tolist() == bounds.upper.tolist() == table.value.tolist()


def test_full_suppression_leaves_known_bounds():
    table = Table.from_array([[1, 2], [3, 4]])
    bounds = Interval().bounds(released(table, *range(9)))
    assert np.all(bounds.lower == 0)
    assert np.all(bounds.upper == np.inf)


def test_cell_without_relation_keeps_known_bounds():
    release = Release(
        published=[np.nan, 4], relations=np.zeros((0, 2)), labels=Labels.numbered(2), lower=1, upper=[7, 9]
    )
    bounds = Interval().bounds(release)
    assert (bounds.lower.tolist(), bounds.upper.tolist()) == ([1, 4], [7, 4])


def test_negative_values_widen_to_infinity():
    table = Table.from_array([[5, -3], [2, 8]])
    bounds = Interval().bounds(released(table, 0, 1, 3, 4))
    assert np.all(np.isinf(bounds.width[[0, 1, 3, 4]]))
    assert np.array_equal(Interval(mode="linear").bounds(released(table, 0, 1, 3, 4)).lower, bounds.lower)


@pytest.mark.parametrize(
    ("published", "lower", "upper"),
    [
        pytest.param([5, 6, 12], 0, np.inf, id="published parts and total disagree"),
        pytest.param([np.nan, 6, 5], 0, np.inf, id="what is left is negative"),
        pytest.param([np.nan, np.nan, 12], 0, 5, id="bounds leave no room"),
        pytest.param([np.nan, 6, 12], 0, 5, id="what is left is too much"),
    ],
)
def test_contradictory_release_raises_without_values(published, lower, upper):
    release = Release(
        published=published, relations=[[1, 1, -1]], labels=Labels.numbered(3), lower=lower, upper=upper
    )
    for attack in (Interval(), Interval(mode="linear"), Interval(integer=True)):
        with pytest.raises(TableError) as error:
            attack.bounds(release)
        assert "12" not in str(error.value)


@pytest.mark.parametrize("mode", ["exact", "linear"])
def test_joint_contradiction_of_relations_raises(mode):
    # Rows 1 and 2 need 10000 from columns 1 and 2, which hold 9998; each cell on its own looks fine.
    cells = [(0, 0), (0, 1), (1, 0), (1, 1), *((row, column) for row in (2, 3) for column in range(4))]
    totals = [5000, 5000, 499, 499, 4999, 4999, 500, 500]
    relations = np.zeros((8, len(cells) + 8))
    for place, (row, column) in enumerate(cells):
        relations[[row, 4 + column], place] = 1
    relations[np.arange(8), len(cells) + np.arange(8)] = -1
    release = Release(
        published=[*[np.nan] * len(cells), *totals],
        relations=relations,
        labels=Labels.numbered(len(cells) + 8),
    )
    with pytest.raises(TableError, match="no table fits"):
        Interval(mode=mode).bounds(release)


@pytest.mark.parametrize(
    "parts",
    [{"mode": "quick"}, {"time_limit_s": -1}, {"time_limit_s": float("nan")}, {"most_cells": 0}],
)
def test_invalid_parameters_raise(parts):
    with pytest.raises(ParameterError):
        Interval(**parts)


def test_groups_above_cell_limit_stay_unknown():
    """The eight inner cells of a cube hang together and move by one amount: four up, four down."""
    table = Table.from_array(np.array([[[3, 5], [4, 6]], [[7, 2], [9, 8]]]))
    release = Release.of(table, Protection.withhold(table, table.inner))
    gone_into = Interval(most_cells=8).bounds(release)
    assert not gone_into.unknown.any()
    # Up in 3, 6, 2, 9 and down in 5, 4, 7, 8: by 4 at most; the other way by 2.
    assert (gone_into.lower[0], gone_into.upper[0]) == (1.0, 7.0)
    left = Interval(most_cells=7).bounds(release)
    assert np.array_equal(left.unknown, table.inner)
    assert np.all(left.lower <= gone_into.lower)
    assert np.all(left.upper >= gone_into.upper)
    assert np.array_equal(left.lower[~table.inner], table.value[~table.inner])


def test_rounding_is_not_a_contradiction():
    # The total is off by its last bit, and bounds leave no room for that.
    value = np.array([1 / 3, 1 / 7, np.nextafter(1 / 3 + 1 / 7, 1)])
    table = Table(value=value, relations=[[1, 1, -1]], lower=value, upper=value)
    bounds = Interval().bounds(Release.of(table, Protection.withhold(table, [True] * 3)))
    assert np.allclose(bounds.lower, value, rtol=1e-12)
    assert np.allclose(bounds.upper, value, rtol=1e-12)


def test_integer_bounds_of_magnitudes_raise():
    table = Table.from_array(np.array([[0.5, 0.2], [0.3, 0.7]]))
    with pytest.raises(ParameterError, match="not an integer"):
        Interval(integer=True).bounds(released(table, 0, 1))


@pytest.mark.parametrize("mode", ["exact", "linear"])
@pytest.mark.parametrize("shape", [(8, 8), (4, 4, 4)])
def test_time_limit_is_reported_and_bounds_are_valid(mode, shape):
    table = Table.from_array(np.random.default_rng(1).integers(1, 20, shape))
    release = Release.of(table, Protection.withhold(table, table.inner))
    stopped = Interval(mode=mode, time_limit_s=0.0).bounds(release)
    assert stopped.unknown[table.inner].all()
    exact = Interval(mode=mode).bounds(release)
    assert np.all(stopped.lower <= exact.lower)
    assert np.all(exact.upper <= stopped.upper)


def test_bounds_are_identical_on_every_run():
    table = Table.from_array(np.random.default_rng(4).integers(0, 9, (4, 4, 4)))
    withheld = np.random.default_rng(5).random(table.n_cells) < 0.5
    release = Release.of(table, Protection.withhold(table, withheld))
    first, second = (Interval().bounds(release) for _ in range(2))
    assert first.lower.tobytes() == second.lower.tobytes()
    assert first.upper.tobytes() == second.upper.tobytes()


@pytest.mark.shared
def test_sdctable_example_bounds_match(shared):
    with (shared / "data/tables/sdctable/attack_4x4.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    inner = np.array([int(r["freq"]) for r in rows if "tot" not in (r["v1"], r["v2"])]).reshape(4, 4)
    table = Table.from_array(inner, names=["v1", "v2"], codes=[list("wxyz"), list("abcd")])
    assert table.value.tolist() == [int(r["freq"]) for r in rows]
    withheld = np.array([r["status"] == "u" for r in rows])
    at = {(r["v1"], r["v2"]): place for place, r in enumerate(rows)}
    bounds = Interval().bounds(Release.of(table, Protection.withhold(table, withheld)))
    expected = {"wa": (25, 94), "wb": (47, 47), "wc": (0, 69), "xa": (26, 95), "xc": (0, 69)}
    expected |= {"yb": (0, 185), "yd": (0, 185), "zb": (906, 1091), "zd": (585, 770)}
    for cell, ends in expected.items():
        place = at[tuple(cell)]
        assert (bounds.lower[place], bounds.upper[place]) == ends, cell
    withheld[at["x", "d"]] = True
    bounds = Interval().bounds(Release.of(table, Protection.withhold(table, withheld)))
    assert (bounds.lower[at["w", "b"]], bounds.upper[at["w", "b"]]) == (0, 78)


@pytest.mark.shared
def test_sdctable_attack_bounds_match(shared):
    cases = sorted((shared / "oracles/sdctable").glob("*/case.json"))
    assert len(cases) >= 10
    for path in cases:
        case = json.loads(path.read_text())
        cells = case["cells"]
        side = int(np.sqrt(len(cells)))
        codes = [[c["v2_o"] for c in cells[1:side]], [c["v1_o"] for c in cells[side::side]]]
        square = np.array([c["freq"] for c in cells]).reshape(side, side)
        table = Table.from_array(square[1:, 1:], names=["v1", "v2"], codes=[codes[1], codes[0]])
        # Their totals stand first, ours last.
        order = np.roll(np.roll(np.arange(side * side).reshape(side, side), -1, axis=0), -1, axis=1).ravel()
        assert table.value.tolist() == [cells[place]["freq"] for place in order]
        withheld = np.array([cells[place]["sdcStatus"] in "ux" for place in order])
        release = Release.of(table, Protection.withhold(table, withheld))
        release = with_bounds(release, 0.0, table.value.max())
        bounds = Interval().bounds(release)
        back = np.argsort(order)
        for attacked in case["attack"]:
            place = back[attacked["id"] - 1]
            assert (bounds.lower[place], bounds.upper[place]) == (attacked["low"], attacked["up"]), case["id"]


def release_of(case, value):
    """Outputs are sums of inner cells: both are cells here, the inner ones withheld."""
    x = case["gauss_input"]["x"]
    n_inner, n_cells = max(x["i"]) + 1, len(case["cells"])
    sums = sparse.coo_array((x["v"], (x["j"], x["i"])), shape=(n_cells, n_inner))
    relations = sparse.hstack([-sparse.eye_array(n_cells), sums])
    shown = [np.nan if c["suppressed"] else float(c[value]) for c in case["cells"]]
    return Release(
        published=[*shown, *[np.nan] * n_inner],
        relations=relations,
        labels=Labels.numbered(n_cells + n_inner),
    )


@pytest.mark.shared
@pytest.mark.parametrize(("name", "value"), [("ssc_z1_intervals", "ant"), ("dom_m1_intervals", "value")])
def test_gausssuppression_intervals_match(shared, name, value):
    case = json.loads((shared / "oracles/gausssuppression" / name / "case.json").read_text())
    bounds = Interval().bounds(release_of(case, value))
    asked = [place for place, cell in enumerate(case["cells"]) if cell["lo"] is not None]
    assert len(asked) >= 3
    for place in asked:
        cell = case["cells"][place]
        assert bounds.lower[place] == pytest.approx(cell["lo"], abs=1e-6)
        assert bounds.upper[place] == pytest.approx(cell["up"], abs=1e-6)


@pytest.mark.shared
def test_published_pattern_discloses_a_cell(shared):
    case = json.loads((shared / "oracles/gausssuppression/paper_t1_direct_k1/case.json").read_text())
    place = next(
        place
        for place, cell in enumerate(case["cells"])
        if (cell["group"], cell["injury"]) == ("Bergen_Car_Passenger", "Unknown")
    )
    assert case["cells"][place]["primary"]
    bounds = Interval().bounds(release_of(case, "freq"))
    assert bounds.lower[place] == bounds.upper[place] == 14
