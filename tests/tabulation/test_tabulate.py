"""Every statistic of every cell against its definition, on random records."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracles.tabulation import tabulated

from hitoku.model import Hierarchy
from hitoku.tabulation import tabulate
from hitoku.tabulation.engines import duckdb

FLAT = Hierarchy.flat(["1", "2", "3"])
RAGGED = Hierarchy.from_tree({"A": {"A1": ["A11", "A12"], "A2": None}, "B": None, "C": ["C1", "C2"]})
NORTH_SOUTH = Hierarchy.from_tree({"North": ["N1", "N2"], "South": ["S1", "S2"]})
COAST = Hierarchy.from_tree({"Coast": ["N1", "S1"], "Inland": ["N2", "S2"]})
HIERARCHIES = {"size": FLAT, "activity": RAGGED, "region": (NORTH_SOUTH, COAST)}
LEAVES = {"size": FLAT.leaves, "activity": RAGGED.leaves, "region": NORTH_SOUTH.leaves}

# Ties, zeros, decimals that doubles cannot hold, values of very different size.
VALUES = [0, 0.1, 0.2, 0.3, 1, 2.5, 7, 7, 100, 12345.67]
WEIGHTS = [0.25, 0.5, 0.7, 1, 1.5, 2.5, 3]


@st.composite
def microdata(draw, *, values=tuple(VALUES), names=("unit", "holding", "weight"), least=1):
    """Some variables and records; with few units and holdings, most of them span several cells."""
    by = draw(st.sampled_from([["region"], ["activity", "size"], ["activity", "region"], ["size", "region"]]))
    columns = {name: st.sampled_from(LEAVES[name]) for name in by}
    columns["x"] = st.sampled_from(values)
    if "unit" in names:
        columns["u"] = st.sampled_from([None, 1, 2, 3, 4, 5])
    if "holding" in names:
        columns["h"] = st.sampled_from([None, "p", "q", "r"])
    if "weight" in names:
        columns["w"] = st.sampled_from(WEIGHTS)
    records = draw(st.lists(st.fixed_dictionaries(columns), min_size=least, max_size=30))
    return by, records


def frame_of(records):
    """A frame whose columns of names keep their kind where some are missing."""
    frame = pd.DataFrame(records)
    return frame.astype({"u": "Int64"}) if "u" in frame else frame


def table_of(by, records, **options):
    hierarchies = {name: HIERARCHIES[name] for name in by}
    return tabulate(frame_of(records), by, hierarchies=hierarchies, **options)


def numbers(cells, name):
    return np.array([float(cell[name]) for cell in cells])


def assert_same(found, cells, top):
    assert_array_equal(found.count, numbers(cells, "count"))
    exact = np.array([[float(x) for x in cell["largest"]] for cell in cells]).reshape(len(cells), top)
    assert_allclose(found.largest, exact, rtol=1e-12, atol=1e-12)
    assert_allclose(found.total, numbers(cells, "total"), rtol=1e-12, atol=1e-12)


@settings(deadline=None, max_examples=10)
@given(microdata(names=("unit", "holding")), st.integers(1, 4))
def test_units_and_holdings_match_definition(given_records, top):
    by, records = given_records
    table = table_of(by, records, value="x", unit="u", holding="h", top=top)
    units = tabulated(records, table.dimensions, "units", top)
    holdings = tabulated(records, table.dimensions, "holdings", top)
    # Decimals: the sum is the double nearest to the decimal, not merely close to it.
    assert_array_equal(table.value, numbers(units, "sum"))
    assert_array_equal(table.frequency, numbers(units, "count"))
    assert_array_equal(table.measures["records"], numbers(units, "records"))
    assert_array_equal(table.measures["units"], numbers(units, "count"))
    assert_array_equal(table.measures["holdings"], numbers(holdings, "count"))
    assert_allclose(table.measures["squares"], numbers(holdings, "squares"), rtol=1e-12)
    assert_same(table.units, units, top)
    assert_same(table.holdings, holdings, top)
    for found, cells in ((table.units, units), (table.holdings, holdings)):
        assert_array_equal(found.largest, [[float(x) for x in cell["largest"]] for cell in cells])


@settings(deadline=None, max_examples=10)
@given(microdata(), st.integers(1, 3), st.sampled_from([None, "abs"]))
def test_weights_fill_several_ranks(given_records, top, magnitude):
    by, records = given_records
    options = {"value": "x", "weight": "w", "unit": "u", "holding": "h", "magnitude": magnitude}
    table = table_of(by, records, top=top, **options)
    units = tabulated(records, table.dimensions, "units", top, magnitude)
    holdings = tabulated(records, table.dimensions, "holdings", top, magnitude)
    assert_allclose(table.value, numbers(units, "weighted_sum"), rtol=1e-12)
    assert_allclose(table.measures["weighted_count"], numbers(units, "weighted_count"), rtol=1e-12)
    assert_array_equal(table.measures["sum"], numbers(units, "sum"))
    assert_allclose(table.measures["squares"], numbers(holdings, "squares"), rtol=1e-12, atol=1e-12)
    assert_same(table.units, units, top)
    assert_same(table.holdings, holdings, top)
    assert not table.integer


@settings(deadline=None, max_examples=11)
@given(
    microdata(values=(-100, -7, -0.3, 0, 0.1, 7, 100), names=("holding",)),
    st.sampled_from([None, "signed", "abs"]),
)
def test_negative_contributions_are_ranked_as_chosen(given_records, magnitude):
    by, records = given_records
    table = table_of(by, records, value="x", holding="h", magnitude=magnitude)
    cells = tabulated(records, table.dimensions, "holdings", 3, magnitude)
    assert_array_equal(table.value, numbers(cells, "sum"))
    assert_same(table.holdings, cells, 3)
    assert table.holdings.negative == any(record["x"] < 0 for record in records)
    assert table.holdings.magnitude == magnitude


@settings(deadline=None, max_examples=10)
@given(microdata(names=()))
def test_records_are_units_by_default(given_records):
    by, records = given_records
    table = table_of(by, records, value="x")
    cells = tabulated(records, table.dimensions, "units")
    assert_array_equal(table.value, numbers(cells, "sum"))
    assert_array_equal(table.frequency, numbers(cells, "records"))
    assert_same(table.units, cells, 3)
    assert table.holdings is None
    assert "units" not in table.measures


@settings(deadline=None, max_examples=6)
@given(microdata())
def test_counts_match_expected(given_records):
    by, records = given_records
    table = table_of(by, records, holding="h", unit="u")
    units = tabulated(records, table.dimensions, "units")
    assert table.integer
    assert table.measure == "count"
    assert_array_equal(table.value, numbers(units, "records"))
    assert_array_equal(table.frequency, numbers(units, "count"))
    assert_array_equal(
        table.contributors.count, numbers(tabulated(records, table.dimensions, "holdings"), "count")
    )
    weighted = table_of(by, records, weight="w", holding="h")
    assert_allclose(weighted.value, numbers(units, "weighted_count"), rtol=1e-15)
    assert_array_equal(weighted.frequency, numbers(units, "records"))


@settings(deadline=None, max_examples=7)
@given(
    microdata(values=(0.1, 1e16, 1e-3, 1 / 3, -2e9, 12345.678901), least=3),
    st.randoms(use_true_random=False),
    st.sampled_from(["abs", "signed"]),
)
def test_order_threads_and_batches_do_not_change_bytes(given_records, random, magnitude):
    by, records = given_records
    shuffled = records.copy()
    random.shuffle(shuffled)
    options = {"value": "x", "weight": "w", "unit": "u", "holding": "h", "magnitude": magnitude}
    first = table_of(by, records, threads=1, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duckdb, "ROWS_PER_BATCH", 4)  # contributors go into many states, merged at the end
        second = table_of(by, shuffled, threads=2, **options)
    for name in first.measures:
        assert first.measures[name].tobytes() == second.measures[name].tobytes(), name
    for one, other in ((first.units, second.units), (first.holdings, second.holdings)):
        assert one.largest.tobytes() == other.largest.tobytes()
        assert one.total.tobytes() == other.total.tobytes()


@pytest.mark.parametrize("unit", [None, "u"])
def test_record_order_does_not_change_bytes(unit):
    random = np.random.default_rng(7)
    n = 3000
    records = pd.DataFrame(
        {
            "g": random.choice(["a", "b", "c"], n),
            "u": random.integers(0, 40, n),
            "x": random.lognormal(0, 8, n) * random.choice([1, 1, -1], n),
            "w": random.uniform(0.5, 3, n),
        }
    )
    first = tabulate(records, ["g"], value="x", weight="w", unit=unit, threads=1)
    second = tabulate(
        records.sample(frac=1, random_state=1), ["g"], value="x", weight="w", unit=unit, threads=2
    )
    for name in first.measures:
        assert first.measures[name].tobytes() == second.measures[name].tobytes(), name
    assert first.largest.tobytes() == second.largest.tobytes()


def test_weighted_ranks_match_definition():
    # 100 stands for two and a half units, 80 for one: 100, 100, then half of each.
    records = pd.DataFrame({"g": ["a", "a", "b"], "x": [100, 80, 0], "w": [2.5, 1.0, 1.0]})
    table = tabulate(records, ["g"], value="x", weight="w")
    assert table.units.largest[0].tolist() == [100.0, 100.0, 90.0]
    assert table.value.tolist() == [330.0, 0.0, 330.0]


def test_merged_child_lists_differ_from_ranking():
    # One holding is second in both regions and first in the total.
    records = pd.DataFrame({"g": ["a", "a", "b", "b"], "h": ["p", "q", "r", "q"], "x": [10, 9, 10, 9]})
    table = tabulate(records, ["g"], value="x", holding="h")
    assert table.largest[2].tolist() == [18.0, 10.0, 10.0]
    assert table.contributors.count.tolist() == [2, 2, 3]


def test_missing_holding_is_a_unit_alone():
    # Unit 1 has no holding; holding 1 is somebody else.
    records = pd.DataFrame(
        {
            "g": ["a", "b", "a", "b"],
            "u": pd.array([1, 1, 2, None], dtype="Int64"),
            "h": pd.array([None, None, 1, None], dtype="Int64"),
            "x": [5, 6, 7, 8],
        }
    )
    table = tabulate(records, ["g"], value="x", unit="u", holding="h")
    assert table.holdings.count.tolist() == [2, 2, 3]
    assert table.holdings.largest[2].tolist() == [11.0, 8.0, 7.0]


def test_zero_contributors_count_and_never_rank():
    table = tabulate(pd.DataFrame({"g": ["a", "a", "b"], "x": [0, 4, 0]}), ["g"], value="x")
    assert table.units.count.tolist() == [2, 1, 3]
    assert table.units.largest.tolist() == [[4, 0, 0], [0, 0, 0], [4, 0, 0]]


@pytest.mark.parametrize("batch", [1, 3])
def test_batches_of_contributors_are_merged(batch, monkeypatch):
    monkeypatch.setattr(duckdb, "ROWS_PER_BATCH", batch)
    records = [
        {"region": r, "h": h, "u": u, "x": x}
        for r, h, u, x in [
            ("N1", "p", 1, 5), ("N2", "p", 1, 6), ("S1", "q", 2, 7), ("S2", "p", 3, 1), ("S2", None, None, 4),
            ("N1", None, 4, 3), ("S1", None, 4, 3), ("N1", None, None, 2),
        ]
    ]  # fmt: skip
    table = table_of(["region"], records, value="x", unit="u", holding="h")
    for level, found in (("units", table.units), ("holdings", table.holdings)):
        assert_same(found, tabulated(records, table.dimensions, level), 3)


def test_integer_type_and_measure_names_are_kept():
    records = pd.DataFrame({"g": ["a", "b"], "x": [1, 2], "y": [1.0, 2.0], "w": [1, 1]})
    assert tabulate(records, ["g"], value="x").integer
    assert tabulate(records, ["g"], value="x").measure == "x"
    assert tabulate(records, ["g"], value="x", measure="turnover").measure == "turnover"
    assert not tabulate(records, ["g"], value="y").integer
    assert not tabulate(records, ["g"], value="x", weight="w").integer
