"""The campaign's own pieces: its sums are those of the tables, its judge is right, and it finds a lie."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.oracles.enumeration import enumerated_bounds
from tools.campaign.__main__ import (
    asked,
    attacked,
    audited,
    differs,
    find_cheaper,
    is_met,
    kept,
    moved,
    protected,
    shown,
)
from tools.campaign.families import FAMILIES, Instance, drawn
from tools.campaign.judge import cheapest, ends, worked_out

from hitoku.attacks import Interval
from hitoku.methods import METHODS
from hitoku.model import Need, Protection, Release, Table


@pytest.mark.parametrize("family", FAMILIES)
def test_independent_relations_match_the_table(family):
    for seed in range(3):
        instance = drawn(np.random.default_rng(seed), family)
        assert np.allclose(instance.sums @ instance.table.value, 0, atol=1e-3)
        theirs = instance.table.relations.toarray()
        ranks = [
            np.linalg.matrix_rank(rows.T @ rows, hermitian=True)
            for rows in (instance.sums, theirs, np.vstack([instance.sums, theirs]))
        ]
        assert ranks[0] == ranks[1] == ranks[2]
        assert np.all(instance.level[instance.unsafe] > 0)


def two_by_two():
    table = Table.from_array(np.array([[3, 9], [7, 2]]))
    withheld = np.zeros(9, dtype=bool)
    withheld[[0, 1, 3, 4]] = True
    return table, Release.of(table, Protection.withhold(table, withheld))


@pytest.mark.parametrize("whole", [True, False])
def test_campaign_verdict_matches_enumeration(whole):
    table, release = two_by_two()
    listed = enumerated_bounds(release, largest=21)
    for cell in np.flatnonzero(release.withheld):
        found = ends(
            table.relations.toarray(),
            table.value,
            release.withheld,
            release.lower,
            release.upper,
            int(cell),
            whole=whole,
        )
        assert found == pytest.approx((listed.lower[cell], listed.upper[cell]))


def test_wrong_interval_is_detected():
    instance = drawn(np.random.default_rng(1), "2 dimensions")
    release = Release.of(instance.table, Protection.withhold(instance.table, instance.unsafe))
    bounds = Interval().bounds(release)
    cell = int(np.flatnonzero(release.withheld)[0])
    assert not differs(instance, release, bounds.lower, bounds.upper, cell)
    assert differs(instance, release, bounds.lower, bounds.upper + 1, cell)
    assert differs(instance, release, bounds.lower + 1, bounds.upper, cell)


def test_wrong_verdict_is_detected(monkeypatch):
    instance = drawn(np.random.default_rng(1), "2 dimensions")
    # Unsafe cells alone are withheld: some can be worked out.
    release = Release.of(instance.table, Protection.withhold(instance.table, instance.unsafe))
    need = Need(unsafe=instance.unsafe, lower=instance.level, upper=instance.level)
    generator = np.random.default_rng(1)
    assert audited(instance, need, release, generator)["wrong"] == []
    assert attacked(instance, release, generator)["wrong"] == []

    monkeypatch.setattr("tools.campaign.__main__.is_met", lambda *_: True)
    assert audited(instance, need, release, generator)["wrong"] != []


def test_expensive_pattern_is_detected():
    """The table of the matching attack's paper: four cells, all of them inner, blur the zero by nine."""
    table = Table.from_array(np.array([[15, 15, 12, 10], [19, 14, 13, 9], [8, 8, 11, 14], [9, 9, 26, 0]]))
    need = Need(unsafe=table.value == 0, lower=0, upper=0, width=9)
    sums = table.relations.toarray()
    assert cheapest(sums, table.value, table.lower, need.unsafe, need.lower, need.upper, need.width) == 4
    instance = Instance("2 dimensions", table, sums, need.unsafe, need.lower)
    square = np.isin(np.arange(25), [0, 3, 15, 18])
    assert find_cheaper(instance, need, Protection.withhold(table, square)) == []
    assert find_cheaper(instance, need, Protection.withhold(table, square | (np.arange(25) == 4))) == [
        "5 cells are called the cheapest, 4 are"
    ]


def test_derivable_cells_are_detected():
    table, release = two_by_two()
    sums = table.relations.toarray()
    assert not worked_out(sums, release.withheld, 0)
    assert worked_out(sums, release.withheld & (np.arange(9) != 4), 0)
    assert worked_out(sums, release.withheld, 8)


def test_adjusted_values_must_be_additive_and_distant():
    table, _ = two_by_two()
    unsafe = np.arange(9) == 0
    instance = Instance("2 dimensions", table, table.relations.toarray(), unsafe, unsafe * 2.0)
    need = Need(unsafe=unsafe, lower=2, upper=2)

    def instead(by):
        return Protection(
            value=table.value + by, withheld=np.zeros(9, dtype=bool), secondary=np.zeros(9, dtype=bool)
        )

    swap = np.array([1, -1, 0, -1, 1, 0, 0, 0, 0])
    assert moved(instance, need, instead(2 * swap)) == []
    assert moved(instance, need, instead(swap)) == ["cell 0 stays near its value"]
    assert moved(instance, need, instead(2 * (np.arange(9) == 0))) == ["published values do not add up"]


def test_counts_with_large_values_are_judged_exactly():
    """A count in one sum with a giant: two units of room are not three."""
    table = Table.from_array(np.array([[2, 10**12], [40, 50]]))
    unsafe = np.arange(9) == 0
    instance = Instance("giants", table, table.relations.toarray(), unsafe, unsafe * 2.0)
    withheld = np.isin(np.arange(9), [0, 1, 3, 4])
    release = Release.of(table, Protection.withhold(table, withheld))
    assert is_met(instance, Need(unsafe=unsafe, lower=2, upper=2), release, 0) is True
    assert is_met(instance, Need(unsafe=unsafe, lower=3, upper=2), release, 0) is False


def test_incomplete_last_line_is_dropped(tmp_path):
    row = {"seed": 3, "family": "linked", "what": "audit", "compared": 4, "wrong": [], "refused": False}
    path = tmp_path / "tried.jsonl"
    path.write_text(json.dumps(row) + '\n{"seed": 4, "fam', "utf-8")
    assert kept(path) == [row]
    assert "linked" in shown([row])


def test_table_without_removable_cells_is_searched_completely():
    """Found by the campaign: where nothing can be set free, the search for better patterns fell over."""
    instance, need, generator = asked(318)
    assert protected(instance, need, METHODS["auto"](), generator)["wrong"] == []


@pytest.mark.parametrize("seed", [1134, 1237])
def test_counts_with_large_values_can_be_adjusted(seed):
    """Found by a campaign: with cells of 10^11 and of one no answer was proved in units of each column."""
    instance, need, generator = asked(seed)
    found = protected(instance, need, METHODS["adjust"](), generator)
    assert not found["refused"]
    assert not found["wrong"]
    assert found["compared"] == instance.table.n_cells
