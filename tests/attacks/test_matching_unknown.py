"""Attackers who know the method, but not its threshold or its width: every pair, every candidate, tried."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hitoku.attacks import Interval
from hitoku.attacks.matching import Lattice, Matching, Suppressor, less_informed, possible_parameters
from hitoku.errors import ParameterError
from hitoku.methods.optimal import Optimal
from hitoku.model import Release, Table
from hitoku.rules import MinFrequency, PPercent, assess

METHOD = Optimal(cost="unit", keep="margins")
TABLES = [
    [[3, 12, 9, 14], [8, 2, 11, 21], [15, 9, 4, 8], [12, 16, 8, 1]],
    [[15, 15, 12, 10], [19, 14, 13, 9], [8, 8, 11, 14], [9, 9, 26, 3]],
]


def published(counts):
    table = Table.from_array(counts)
    need = assess(table, [MinFrequency(5)], width=9)
    return table, Release.of(table, METHOD.protect(table, need))


def test_unknown_parameters_have_expected_ranges():
    table, release = published(TABLES[0])
    pairs = possible_parameters(release, MinFrequency(5))
    shown = table.value[~release.withheld]
    assert {t for t, _ in pairs} == set(range(2, int(shown[shown > 0].min()) + 1))
    assert max(w for _, w in pairs) == Interval().bounds(release).width.max()
    assert (5, 9) in pairs


@pytest.mark.parametrize("counts", TABLES)
def test_remaining_tables_match_some_parameter_pair(counts):
    table, release = published(counts)
    lattice = Lattice.of(release)
    tables = lattice.filled(release, lattice.tables(10_000))
    pairs = [(t, w) for t in (2, 4, 5, 7) for w in (1, 5, 9)]
    kept = [
        candidate
        for candidate in tables
        if any(Suppressor(METHOD, [MinFrequency(t)], w).reproduces(release, candidate) for t, w in pairs)
    ]
    attack = Matching(method=METHOD, rules=[MinFrequency(5)], width=9)
    found = less_informed(attack, release, pairs)
    np.testing.assert_array_equal(found.lower, np.min(kept, axis=0))
    np.testing.assert_array_equal(found.upper, np.max(kept, axis=0))
    knows = attack.bounds(release)
    assert np.all(found.lower <= knows.lower)
    assert np.all(found.upper >= knows.upper)
    assert np.all((found.lower <= table.value) & (table.value <= found.upper))


def test_invalid_unknown_parameter_raises_and_progress_runs():
    _, release = published(TABLES[0])
    told = []
    attack = Matching(method=METHOD, rules=[MinFrequency(5)], width=9)
    less_informed(attack, release, [(5, 9), (4, 9)], lambda done, of: told.append((done, of)))
    assert told == [(1, 2), (2, 2)]
    with pytest.raises(ParameterError, match="MinFrequency"):
        less_informed(Matching(method=METHOD, rules=[PPercent(10)], width=9), release)


def test_time_limit_leaves_unknown_cells_and_reports_progress():
    _, release = published(TABLES[0])
    attack = Matching(method=METHOD, rules=[MinFrequency(5)], width=9, strategy="enumerate")
    told = []
    whole = attack.run(release, progress=lambda done, of: told.append((done, of)))
    assert told == [(done, whole.n_candidates) for done in range(1, whole.n_candidates + 1)]
    assert whole.complete
    hurried = replace(attack, time_limit_s=0).run(release)
    assert np.array_equal(hurried.bounds.unknown, release.withheld)
    assert np.array_equal(hurried.bounds.upper, hurried.feasible.upper)
    with pytest.raises(ParameterError, match="at least 0"):
        replace(attack, time_limit_s=-1)
