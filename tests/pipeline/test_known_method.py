"""What is known about an attacker who knows the method: theorem, full attack, or the auditor's walk."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from joblib import parallel_config
from tests.oracles import blocks as oracle

from hitoku.attacks.matching import Matching, Suppressor, random_cycle, walk_tables
from hitoku.attacks.matching.matching import MANY_CELLS
from hitoku.errors import ParameterError
from hitoku.methods import Blocks, Greedy, Optimal, Randomised
from hitoku.model import Protection, Release, Table
from hitoku.pipeline import KnownMethod, against_known_method, compare
from hitoku.rules import MinFrequency, assess

RULES = [MinFrequency(3)]
WIDTH = 4


def small(seed):
    return Table.from_array(np.random.default_rng(seed).integers(1, 6, (3, 3)))


def attacker_bounds(table, method):
    """List what leads to the same release, and give the width of every cell."""
    need = assess(table, RULES, width=WIDTH)
    wanted = method.protect(table, need).withheld
    inner = table.value.reshape(table.shape)[:-1, :-1].astype(int)
    kept = []
    for cells in oracle.tables(inner.sum(axis=1).tolist(), inner.sum(axis=0).tolist()):
        if np.any((np.array(cells) != inner) & ~wanted.reshape(table.shape)[:-1, :-1]):
            continue
        other = Table.from_array(np.array(cells))
        if np.array_equal(method.protect(other, assess(other, RULES, width=WIDTH)).withheld, wanted):
            kept.append(other.value)
    return np.ptp(np.array(kept), axis=0)


class Corners:
    """Withholds a square whenever its first cell is unsafe; so that cell is known to be small."""

    def protect(self, table, need, progress=None):  # noqa: ARG002 - as the protocol has it
        mask = np.zeros(table.shape, dtype=bool)
        mask[:2, :2] = need.unsafe[0]
        return Protection.withhold(table, mask.ravel(), need)


def corner_table():
    return Table.from_array([[1, 30, 9], [20, 40, 9], [9, 9, 30]])


def test_leaking_cell_is_counted():
    table, method = corner_table(), Corners()
    need = assess(table, RULES, width=WIDTH)
    found = against_known_method(table, need, method.protect(table, need), method, RULES, WIDTH)
    # The reader knows that the cell is 1 or 2, and it needs 4.
    assert found == KnownMethod(0, 1, 0)
    assert str(found) == "leaks 1 cells"


def test_leaks_match_enumeration():
    table, method = small(3), Greedy(keep="margins")
    need = assess(table, RULES, width=WIDTH)
    assert need.unsafe.any()
    width = attacker_bounds(table, method)
    found = against_known_method(table, need, method.protect(table, need), method, RULES, WIDTH)
    assert found.safe <= int((width[need.unsafe] >= WIDTH).sum())
    assert found.leaking <= int((width[need.unsafe] < WIDTH).sum())
    assert found.safe + found.leaking + found.unknown == need.unsafe.sum()


def test_blocks_are_proved_by_verifying_their_claim():
    rng = np.random.default_rng(0)
    table = Table.from_array(rng.poisson(np.outer(rng.lognormal(0, 1, 12), rng.lognormal(0, 1, 12)) * 20) + 1)
    rules, method = [MinFrequency(5)], Blocks(rules=[MinFrequency(5)], width=9)
    need = assess(table, rules, width=9)
    protection = method.protect(table, need)
    assert need.unsafe.sum() > 5
    assert str(against_known_method(table, need, protection, method, rules, 9)) == "proved"
    # The same claim with another pattern is not believed.
    greedy = Greedy(keep="margins").protect(table, need)
    forged = Protection(
        withheld=greedy.withheld,
        value=greedy.value,
        secondary=greedy.secondary,
        known_method=protection.known_method,
    )
    assert str(against_known_method(table, need, forged, method, rules, 9)) != "proved"


def seen_from(table, need, release, method, steps):
    def same(values):
        return Suppressor(method, RULES, WIDTH).reproduces(release, values)

    wanted = np.where(need.unsafe, need.width, 0)
    return walk_tables(release, same, table.value.astype(int), wanted, steps=steps, seed=1)


def test_walk_visits_only_tables_with_same_release():
    table, method = small(3), Greedy(keep="margins")
    need = assess(table, RULES, width=WIDTH)
    release = Release.of(table, method.protect(table, need))
    low, high = seen_from(table, need, release, method, steps=80)
    assert np.all(high - low <= attacker_bounds(table, method))


def test_walk_shows_pattern_independent_cells_safe():
    class Square(Corners):
        def protect(self, table, need, progress=None):  # noqa: ARG002 - as the protocol has it
            mask = np.zeros(table.shape, dtype=bool)
            mask[:2, :2] = True
            return Protection.withhold(table, mask.ravel(), need)

    table = corner_table()
    need = assess(table, RULES, width=WIDTH)
    release = Release.of(table, Square().protect(table, need))
    low, high = seen_from(table, need, release, Square(), steps=60)
    assert high[0] - low[0] >= WIDTH


def test_cycles_are_closed():
    hidden = np.random.default_rng(1).random((8, 9)) < 0.6
    random = np.random.default_rng(2)
    cells = [tuple(map(int, at)) for at in np.argwhere(hidden)]
    lengths = set()
    for at in cells:
        cycle = random_cycle(hidden, at, random)
        if cycle is None:
            continue
        lengths.add(len(cycle))
        change = np.zeros(hidden.shape, dtype=int)
        for place, one in enumerate(cycle):
            change[one] += 1 - 2 * (place % 2)
        assert cycle[0] == at
        assert not change.sum(axis=0).any()
        assert not change.sum(axis=1).any()
        assert not change[~hidden].any()
    assert min(lengths) == 4
    assert max(lengths) > 4


def test_compare_reports_known_method_result():
    table = Table.from_array([[16, 14, 21, 16], [10, 19, 28, 24], [8, 2, 9, 15], [8, 13, 3, 8]])
    rules = [MinFrequency(5)]
    need = assess(table, rules, width=9)
    methods = [Blocks(), Optimal(cost="unit", keep="margins")]
    found = {row.method: row.known for row in compare(table, need, methods, rules=rules, width=9)}
    assert found == {"blocks": "proved", "optimal": "leaks 2 cells"}
    assert "known" in compare(table, need, methods, rules=rules, width=9).frame.columns
    assert [row.known for row in compare(table, need, methods[1:])] == ["not asked"]


def test_walk_does_not_prove_randomised():
    table = Table.from_array([[15, 15, 12, 10], [19, 14, 13, 9], [8, 8, 11, 14], [9, 9, 26, 3]])
    rules = [MinFrequency(5)]
    need = assess(table, rules, width=9)
    method = Randomised(rules=rules, width=9, seed=1)
    found = against_known_method(table, need, method.protect(table, need), method, rules, 9)
    assert found.safe + found.leaking + found.unknown == 1


def test_large_table_walks_prove_widths_for_any_process_count():
    class Quarter:
        def protect(self, table, need, progress=None):  # noqa: ARG002 - as the protocol has it
            mask = np.zeros(table.shape, dtype=bool)
            mask[:11, :11] = True
            return Protection.withhold(table, mask.ravel(), need)

    counts = np.random.default_rng(1).poisson(20, (14, 14)) + 5
    counts[[0, 3, 8], [2, 9, 5]] = 2
    table, method = Table.from_array(counts), Quarter()
    need = assess(table, RULES, width=WIDTH)
    release = Release.of(table, method.protect(table, need))
    assert release.withheld.sum() > MANY_CELLS
    attack = Matching(method=method, rules=RULES, width=WIDTH, strategy="sample", limit=8, walks=3)
    alone = attack.run(release, start=table.value)
    with parallel_config(backend="threading"):
        together = replace(attack, n_jobs=2).run(release, start=table.value)
    assert need.unsafe.sum() == 3
    assert alone.safe(WIDTH)[need.unsafe].all()
    np.testing.assert_array_equal(alone.met.lower, together.met.lower)
    np.testing.assert_array_equal(alone.met.upper, together.met.upper)
    shorter = replace(attack, walks=1).run(release, start=table.value)
    assert np.all(shorter.met.width <= alone.met.width)
    assert np.all(alone.met.lower >= alone.feasible.lower)
    with pytest.raises(ParameterError, match="does not fit the release"):
        attack.run(release, start=table.value + 1)
    with pytest.raises(ParameterError, match="walks"):
        replace(attack, walks=0)
