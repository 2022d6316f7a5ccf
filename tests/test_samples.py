from __future__ import annotations

import pytest

from hitoku.errors import ParameterError
from hitoku.samples import RULED, SIZES, register


@pytest.fixture(scope="module")
def country():
    return register()


def test_same_seed_gives_same_register():
    assert register(2_000, seed=3).records.equals(register(2_000, seed=3).records)
    assert not register(2_000, seed=3).records.equals(register(2_000, seed=4).records)


def test_every_enterprise_is_one_leaf_record(country):
    records = country.records
    assert records["enterprise"].is_unique
    assert len(records) == 50_000
    assert not records.isna().to_numpy().any()
    for name, hierarchy in country.hierarchies.items():
        assert set(records[name]) == set(hierarchy.leaves)
        assert hierarchy.n_levels == 4  # three below the total
    assert (records["turnover"] >= 0).all()


def test_size_class_follows_from_employees(country):
    starts = [*SIZES.values(), None]
    for place, name in enumerate(SIZES):
        staff = country.records.loc[country.records["size"] == name, "employees"]
        assert staff.min() >= starts[place]
        assert starts[place + 1] is None or staff.max() < starts[place + 1]
    assert sorted(SIZES) == list(SIZES), "a flat variable is shown in alphabetical order"


def test_register_table_has_the_documented_size(country):
    region, activity = (len(country.hierarchies[name].codes) for name in ("region", "activity"))
    assert 8_000 <= region * activity * (len(SIZES) + 1) <= 10_000


@pytest.mark.parametrize("activity", RULED)
def test_dominated_industry_has_dominant_firm(country, activity):
    turnover = country.records.loc[country.records["activity"] == activity, "turnover"]
    assert turnover.max() > 0.5 * turnover.sum()


def test_holdings_span_cells_and_most_firms_are_independent(country):
    by_holding = country.records.groupby("holding")
    cells = country.records.drop_duplicates(["holding", "region", "activity"]).groupby("holding").size()
    alone = by_holding.size() == 1
    assert (cells >= 10).sum() >= 5
    assert alone.sum() > 0.85 * len(country.records)


def test_some_corners_are_empty_and_some_nearly(country):
    corners = country.records.groupby(["region", "activity"]).size()
    possible = len(country.hierarchies["region"].leaves) * len(country.hierarchies["activity"].leaves)
    assert len(corners) < possible
    assert (corners < 3).any()


@pytest.mark.parametrize("n", [1, 2, 30])
def test_tiny_register_is_built(n):
    assert len(register(n).records) == n


@pytest.mark.parametrize(("n", "seed", "where"), [(0, 1, "n"), (-5, 1, "n"), (10, -1, "seed")])
def test_invalid_register_raises(n, seed, where):
    with pytest.raises(ParameterError) as caught:
        register(n, seed)
    assert caught.value.where == where
    assert caught.value.fix


def test_random_hierarchies_have_any_size():
    sample = register(n=500, seed=3, regions=(3, 4), activities=(5,))
    assert len(sample.hierarchies["region"].leaves) == 12
    assert sample.hierarchies["region"].n_levels == 3
    assert sorted(sample.hierarchies["activity"].leaves) == ["A01", "A02", "A03", "A04", "A05"]
    assert set(sample.records["region"]) <= set(sample.hierarchies["region"].leaves)
    assert sample.records.equals(register(n=500, seed=3, regions=(3, 4), activities=(5,)).records)


def test_level_with_one_child_raises():
    with pytest.raises(ParameterError, match="at least two children"):
        register(n=10, regions=(3, 1))
