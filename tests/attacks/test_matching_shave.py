"""Shaving gives what looking at every candidate gives, and both give what brute force gives."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.matching import fitting, matches

from hitoku.attacks.matching import Bayes, Matching
from hitoku.errors import NeedError
from hitoku.methods.optimal import Optimal
from hitoku.model import Release, Table
from hitoku.rules import MinFrequency, assess

SHAPES = [(2, 3), (3, 2), (3, 3), (2, 5), (3, 4), (4, 4), (3, 5)]
MODES = {
    "as the paper": {},
    "zeros unsafe": {"zeros": True},
    "by value": {"cost": "value"},
    "by value, zeros unsafe": {"cost": "value", "zeros": True},
    "by frequency": {"cost": "frequency", "width": 5},
    "least 3, width 4": {"least": 3, "width": 4},
    "least 8, width 15, zeros unsafe": {"least": 8, "width": 15, "zeros": True},
    "one cell may not be withheld": {"keep": True},
    "own costs": {"cost": "own"},
}


def attacked(rng, *, least=5, width=9, zeros=False, cost="unit", keep=False, most=40):
    """Draw tables until one has a release with few candidates; its attack and its release."""
    while True:
        shape = SHAPES[rng.integers(len(SHAPES))]
        spread = (15, 10) if rng.random() < 0.5 else (6, 5)
        counts = np.abs(np.rint(rng.normal(*spread, shape))).astype(int)
        table = Table.from_array(counts)
        stay = ~table.inner
        stay[0] = keep
        costs = rng.integers(1, 5, table.n_cells) if cost == "own" else cost
        method = Optimal(cost=costs, keep=stay if keep else "margins")
        rules = [MinFrequency(least, zeros=zeros)]
        try:
            need = assess(table, rules, width=width)
            if not need.unsafe.any():
                continue
            release = Release.of(table, method.protect(table, need))
        except NeedError:
            continue
        attack = Matching(method=method, rules=rules, width=width, limit=most, strategy="enumerate")
        found = attack.run(release)
        if found.complete:
            return table, release, attack, found


@pytest.mark.parametrize("mode", MODES)
def test_shaving_matches_enumeration(mode):
    rng = np.random.default_rng(sum(mode.encode()))
    for _ in range(8):
        table, release, slow, expected = attacked(rng, **MODES[mode])
        fast = Matching(method=slow.method, rules=slow.rules, width=slow.width, strategy="shave")
        found, bounds = fast.run(release), fast.bounds(release)
        for ends in (found.bounds, bounds):
            assert not ends.unknown.any()
            assert np.array_equal(ends.lower, expected.bounds.lower)
            assert np.array_equal(ends.upper, expected.bounds.upper)
        assert np.array_equal(found.feasible.lower, expected.feasible.lower)
        assert np.array_equal(found.feasible.upper, expected.feasible.upper)
        assert found.null_dimension == expected.null_dimension
        assert (found.n_candidates, found.n_matched) == (expected.n_candidates, expected.n_matched)
        assert found.values.keys() == expected.values.keys()
        for cell, values in expected.values.items():
            assert np.array_equal(found.values[cell], values)
            assert found.posterior[cell] == pytest.approx(expected.posterior[cell])
            assert table.value[cell] in values


@pytest.mark.parametrize(("zeros", "by_value"), [(False, False), (True, False), (True, True), (False, True)])
def test_equals_brute_force_over_all_patterns(zeros, by_value):
    rng = np.random.default_rng(11 + 2 * zeros + by_value)
    done = 0
    while done < 1:
        counts = np.abs(np.rint(rng.normal(7, 5, (3, 3)))).astype(int)
        table = Table.from_array(counts)
        rules = [MinFrequency(4, zeros=zeros)]
        method = Optimal(cost="value" if by_value else "unit", keep="margins")
        try:
            need = assess(table, rules, width=6)
            release = Release.of(table, method.protect(table, need))
        except NeedError:
            continue
        tables = fitting(release, (3, 3))
        if not need.unsafe.any() or len(tables) > 20:
            continue
        done += 1
        pattern = release.withheld.reshape(4, 4)[:3, :3]
        expected = [
            x for x in tables if matches(x, pattern, least=4, zeros=zeros, width=6, by_value=by_value)
        ]
        found = Matching(method=method, rules=rules, width=6).run(release)
        assert (found.n_candidates, found.n_matched) == (len(tables), len(expected))
        for cell, values in found.values.items():
            i, j = divmod(cell, 4)
            assert values.tolist() == sorted({int(x[i, j]) for x in expected})


def medium():
    """A table whose attack takes more than a few boxes, and its release."""
    rng = np.random.default_rng(7)
    table = Table.from_array(np.abs(np.rint(rng.normal(15, 10, (6, 6)))).astype(int))
    rules = [MinFrequency(5, zeros=True)]
    method = Optimal(keep="margins")
    release = Release.of(table, method.protect(table, assess(table, rules, width=9)))
    return table, release, {"method": method, "rules": rules, "width": 9}


def test_work_limit_returns_unknown_and_valid_bounds():
    table, release, known = medium()
    exact = Matching(**known).bounds(release)
    hit = 0
    for limit in (1, 3, 10, 30, 100, 300):
        found = Matching(**known, limit=limit, strategy="shave")
        bounds = found.bounds(release)
        hit += bounds.unknown.any()
        assert np.all((bounds.lower <= exact.lower) & (exact.upper <= bounds.upper))
        settled = ~bounds.unknown
        assert np.array_equal(bounds.lower[settled], exact.lower[settled])
        assert np.array_equal(bounds.upper[settled], exact.upper[settled])
        assert np.all((bounds.lower <= table.value) & (table.value <= bounds.upper))
    assert hit >= 3


def test_posterior_requires_all_candidates():
    _, release, known = medium()
    everything = Matching(**known, attacker=Bayes(lambda x: 0.9**x)).run(release)
    assert everything.posterior
    few = Matching(**known, attacker=Bayes(), limit=5).run(release)
    assert few.bounds.unknown.tolist() == release.withheld.tolist()
    assert not few.posterior


def test_inner_counts_are_settled_without_enumeration(monkeypatch):
    # As for tables with more candidates than are listed.
    monkeypatch.setattr("hitoku.attacks.matching.matching.FEW", 0)
    rng = np.random.default_rng(3)
    for _ in range(15):
        _, release, slow, expected = attacked(rng, zeros=True)
        found = Matching(method=slow.method, rules=slow.rules, width=slow.width).run(release)
        assert found.n_matched is None
        assert found.n_candidates == expected.n_candidates
        assert {c: v.tolist() for c, v in found.values.items()} == {
            c: v.tolist() for c, v in expected.values.items()
        }


def test_fully_published_release_has_point_intervals():
    table = Table.from_array([[12, 15], [20, 9]])
    release = Release.of(
        table, Optimal(keep="margins").protect(table, assess(table, [MinFrequency(5)], width=9))
    )
    attack = Matching(method=Optimal(keep="margins"), rules=[MinFrequency(5)], width=9)
    assert np.array_equal(attack.bounds(release).upper, table.value)
    assert (attack.run(release).n_candidates, attack.run(release).n_matched) == (1, 1)
