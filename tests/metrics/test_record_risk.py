"""Risk per record: end to end from records, against every table that fits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.record_risk import listed_risk

import hitoku as ht
from hitoku.errors import DataError, ScopeError
from hitoku.metrics import risk_per_record
from hitoku.model import Dimension, Shares
from hitoku.testing import one_cell

REGIONS, TRADES = ("N", "S"), ("a", "b", "c")


@st.composite
def released(draw, *, counts):
    """A few records, a release of their table with some cells withheld, and the shares behind it."""
    record = st.tuples(
        st.tuples(st.sampled_from(REGIONS), st.sampled_from(TRADES)),
        st.sampled_from(["f1", "f2", "f3", "f4"]),
        st.integers(0, 2),
    )
    records = draw(st.lists(record, min_size=1, max_size=6))
    cells, amounts = np.zeros((2, 3)), {}
    for (region, trade), name, amount in records:
        place = REGIONS.index(region), TRADES.index(trade)
        cells[place] += 1 if counts else amount
        key = name, int(np.ravel_multi_index(place, (2, 3)))
        amounts[key] = amounts.get(key, 0) + (1 if counts else amount)
    table = ht.Table.from_array(cells, names=["region", "trade"], codes=[REGIONS, TRADES], integer=True)
    hidden = draw(st.lists(st.integers(0, 10), max_size=4))  # the grand total stays: else nothing has an end
    mask = np.isin(np.arange(12), hidden)
    names = sorted({name for name, _ in amounts})
    who, leaf = zip(*((names.index(name), leaf) for name, leaf in amounts), strict=True)
    shares = Shares(names, np.array(who), np.array(leaf), np.array(list(amounts.values()), dtype=float))
    return records, table, ht.Release.of(table, ht.Protection.withhold(table, mask)), shares


@given(case=released(counts=False))
@settings(max_examples=20)
def test_sum_risks_match_enumeration(case):
    records, table, release, shares = case
    found = risk_per_record(table, ht.Interval().bounds(release), shares, counts=False)
    exact = listed_risk(release, records, int(table.value.max()), counts=False)
    assert list(found.names) == list(exact)
    for place, mine in enumerate(exact.values()):
        assert (found.cells[place], found.known[place]) == (mine["cells"], mine["known"])
        assert found.columns["fewest"][place] == mine["fewest"]
        for who in ("outsider", "insider"):
            assert getattr(found, who)[place] == pytest.approx(mine[who], abs=1e-4, nan_ok=True)


@given(case=released(counts=True))
@settings(max_examples=9)
def test_count_risks_match_enumeration(case):
    records, table, release, shares = case
    found = risk_per_record(table, ht.Interval().bounds(release), shares, counts=True)
    exact = listed_risk(release, records, int(table.value.max()), counts=True)
    assert list(found.names) == list(exact)
    for place, mine in enumerate(exact.values()):
        assert (found.cells[place], found.known[place]) == (mine["cells"], mine["known"])
        assert found.columns["fewest"][place] == mine["fewest"]
        told = {v for v, variable in enumerate(("region", "trade")) if found.exposed[variable][place]}
        assert told == mine["exposed"]


def test_estimate_matches_the_p_percent_rule():
    """80, 15, 5, published: the second can tell the first to within 5 / 80, as the rule computes it."""
    firms = pd.DataFrame({"region": ["N"] * 3 + ["S"] * 3, "firm": list("abcdef"), "sales": [80, 15, 5] * 2})
    table = ht.tabulate(firms, by=["region"], value="sales", unit="firm")
    everything = ht.Release.of(table, ht.Protection.withhold(table, np.zeros(3, dtype=bool)))
    risk = ht.record_risk(firms, table, everything, value="sales", unit="firm")
    assert risk.insider[0] == pytest.approx(100 * 5 / 80)
    # The rule calls the cell unsafe up to exactly this p.
    cell = one_cell(80, 15, 5)
    assert ht.PPercent(p=risk.insider[0] + 0.01).assess(cell).unsafe[0]
    assert not ht.PPercent(p=risk.insider[0] - 0.01).assess(cell).unsafe[0]


def test_more_suppressions_never_raise_risk():
    firms = pd.DataFrame(
        {
            "region": list("NNSSWW"),
            "trade": list("abbaab"),
            "firm": list("uvwxyz"),
            "sales": [7, 9, 20, 4, 5, 6],
        }
    )
    table = ht.tabulate(firms, by=["region", "trade"], value="sales", unit="firm")
    before = None
    for n in range(int(table.inner.sum()) + 1):
        mask = np.zeros(table.n_cells, dtype=bool)
        mask[np.flatnonzero(table.inner)[:n]] = True
        release = ht.Release.of(table, ht.Protection.withhold(table, mask))
        now = ht.record_risk(firms, table, release, value="sales", unit="firm").insider
        assert before is None or np.all(now >= before - 1e-6)
        before = now


def test_unnamed_records_are_numbered_under_filters(tmp_path):
    firms = pd.DataFrame({"region": list("NSNS"), "form": list("ABBB"), "sales": [1, 2, 3, 4]})
    firms.to_csv(tmp_path / "firms.csv", index=False)
    where = {"form": ["B"]}
    table = ht.tabulate(tmp_path / "firms.csv", by=["region"], value="sales", where=where)
    everything = ht.Release.of(table, ht.Protection.withhold(table, np.zeros(3, dtype=bool)))
    risk = ht.record_risk(tmp_path / "firms.csv", table, everything, value="sales", where=where)
    assert risk.names == ("2", "3", "4")
    assert risk.frame["cell"].tolist() == ["region=S", "region=N", "region=S"]


def test_holding_represents_its_units():
    firms = pd.DataFrame(
        {"region": list("NNN"), "firm": list("abc"), "owner": ["h", "h", None], "sales": [60, 20, 20]}
    )
    table = ht.tabulate(firms, by=["region"], value="sales", unit="firm", holding="owner")
    everything = ht.Release.of(table, ht.Protection.withhold(table, np.zeros(2, dtype=bool)))
    risk = ht.record_risk(firms, table, everything, value="sales", unit="firm", holding="owner")
    assert dict(zip(risk.names, risk.outsider.tolist(), strict=True)) == {"c": 400.0, "h": 25.0}


def test_share_appears_in_every_group_above():
    tree = ht.Hierarchy.from_tree({"A": ["a1", "a2"], "B": ["b1", "b2"]})
    dimension = Dimension.of("town", tree)
    every = Shares(["x"], np.array([0, 0]), np.array([1, 3]), np.array([2.0, 5.0])).in_all_cells([dimension])
    found = {dimension.codes[cell]: amount for cell, amount in zip(every.cell, every.amount, strict=True)}
    assert found == {"a2": 2.0, "b2": 5.0, "A": 2.0, "B": 5.0, "Total": 7.0}


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        pytest.param({"sales": [1, 2, 3, 99]}, DataError, "do not add up", id="other amounts"),
        pytest.param({"region": list("NSNX")}, DataError, "codes that the table lacks", id="other codes"),
        pytest.param({"sales": [1, 2, 3, -4]}, ScopeError, "are negative", id="negative amounts"),
    ],
)
def test_other_records_raise(change, kind, words):
    firms = pd.DataFrame({"region": list("NSNS"), "sales": [1, 2, 3, 4]})
    table = ht.tabulate(firms, by=["region"], value="sales")
    everything = ht.Release.of(table, ht.Protection.withhold(table, np.zeros(3, dtype=bool)))
    with pytest.raises(kind, match=words):
        ht.record_risk(firms.assign(**change), table, everything, value="sales")


def test_printed_summary_names_no_contributor():
    firms = pd.DataFrame({"region": list("NSNS"), "firm": ["Mill & Co"] * 4, "sales": [1, 2, 3, 41]})
    table = ht.tabulate(firms, by=["region"], value="sales", unit="firm")
    everything = ht.Release.of(table, ht.Protection.withhold(table, np.zeros(3, dtype=bool)))
    risk = ht.record_risk(firms, table, everything, value="sales", unit="firm")
    assert "Mill" not in f"{risk!r} {risk.summary}"


def test_known_cells_allow_rounding_and_zero_contributions():
    table = ht.Table.from_array([0.0, 5.0])
    shares = Shares(["a", "b"], np.arange(2), np.arange(2), np.array([0.0, 5.0]))
    for upper, known in ((1e-7, 2), (2e-7, 1)):  # its own cell, and the total
        bounds = ht.Bounds(lower=table.value, upper=[upper, 5.0, 5.0])
        found = risk_per_record(table, bounds, shares, counts=False)
        assert found.known.tolist() == [known, 2]


def test_without_an_upper_bound_no_amount_is_known():
    """All cells are withheld, so that nothing limits them: the other contributor learns nothing either."""
    firms = pd.DataFrame({"r": list("aabb"), "firm": list("pqrs"), "v": [41, 35, 42, 118]})
    table = ht.tabulate(firms, by=["r"], value="v", unit="firm")
    release = ht.Release.of(table, ht.Protection.withhold(table, np.ones(3, dtype=bool)))
    found = ht.record_risk(firms, table, release, value="v", unit="firm")
    assert np.isposinf(found.outsider).all()
    assert np.isposinf(found.insider).all()
