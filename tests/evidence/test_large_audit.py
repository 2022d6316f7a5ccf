"""Patterns that come without witnesses: boxes and neighbourhoods decide as programs over everything do."""

from __future__ import annotations

import narwhals as nw
import numpy as np
import pytest
from hypothesis import event, given, settings
from tests.evidence.test_audit import count_cases, only, proved, real_cases
from tests.oracles.certificates import is_safe, programmed_bounds
from tests.oracles.enumeration import enumerated_bounds

import hitoku as ht
from hitoku.evidence import (
    AuditProblem,
    CellOutcome,
    CellSurroundings,
    Grid,
    WitnessSearch,
    audit,
    nearby,
    prover,
    settle_nearby,
)
from hitoku.feasibility import least_deviation

CASES = settings(max_examples=16, deadline=None)


@pytest.fixture(scope="module", autouse=True)
def _everything_is_large():
    usual = prover.SMALL, prover.SHORT_CELLS
    prover.SMALL = prover.SHORT_CELLS = 0
    yield
    prover.SMALL, prover.SHORT_CELLS = usual


@CASES
@given(case=count_cases())
def test_large_count_audit_matches_enumeration(tmp_path_factory, case):
    table, need, release = case
    found = audit(table, need, release)
    assert found.summary["undecided"] == 0
    event(f"safe: {found.safe}")
    bounds = enumerated_bounds(release, largest=100)
    met = nw.from_native(found.cells)["met"].to_list()
    assert met == [is_safe(table, only(need, cell), release, bounds) for cell in np.flatnonzero(need.unsafe)]
    proved(found, tmp_path_factory.mktemp("audit"))


@CASES
@given(case=real_cases())
def test_large_real_audit_matches_linear_programs(tmp_path_factory, case):
    table, need, release = case
    found = audit(table, need, release)
    assert found.summary["undecided"] == 0
    event(f"safe: {found.safe}")
    bounds = programmed_bounds(release)
    rows = nw.from_native(found.cells)
    met = rows["met"].to_list()
    assert met == [is_safe(table, only(need, cell), release, bounds) for cell in np.flatnonzero(need.unsafe)]
    proved(found, tmp_path_factory.mktemp("audit"))


@pytest.fixture(scope="module")
def register():
    firms = ht.samples.register(n=800, seed=1, regions=(3, 3), activities=(2, 3))
    table = ht.tabulate(
        firms.records, by=["region", "activity", "size"], value="turnover", unit="enterprise",
        hierarchies=firms.hierarchies,
    )  # fmt: skip
    need = ht.assess(table, [ht.PPercent(p=10), ht.FewContributors(n=3)])
    return table, need, ht.Circulation(rounds=0).protect(table, need)


def test_hypercubes_prove_pattern_without_witnesses(register):
    table, need, protection = register
    release = ht.Release.of(table, protection)
    search = WitnessSearch(AuditProblem.of(Grid.of(table.value), need, release), frozenset())
    search.push_hypercubes(release)
    # Witnesses come from boxes and sums of boxes that the method laid elsewhere; nearly all are found again.
    assert len(search.unsettled()) < 0.1 * need.unsafe.sum()
    assert audit(table, need, release).safe


def test_hypercubes_leave_few_cells_to_programs(register, monkeypatch):
    table, need, protection = register
    left, inner = [], WitnessSearch.push_all

    def noted(self):
        left.append(len(self.unsettled()))
        inner(self)

    monkeypatch.setattr(prover, "SMALL", 10**9)
    monkeypatch.setattr(WitnessSearch, "push_all", noted)
    assert audit(table, need, ht.Release.of(table, protection)).safe
    assert max(left, default=0) < 0.1 * need.unsafe.sum()


def test_large_audit_matches_small_audit_findings(register, monkeypatch):
    table, need, protection = register
    rng = np.random.default_rng(2)
    # Somebody publishes a fifth of the secondary cells.
    withheld = protection.withheld & ~(protection.secondary & (rng.random(table.n_cells) < 0.2))
    release = ht.Release.of(table, ht.Protection.withhold(table, withheld, need))
    told = []
    found = audit(table, need, release, progress=lambda done, most: told.append((done, most)))
    # Cells are settled one after the other, and in the end all of them.
    assert told == sorted(told)
    assert told[-1] == (need.unsafe.sum(), need.unsafe.sum())
    monkeypatch.setattr(prover, "SMALL", 10**9)
    monkeypatch.setattr(prover, "SHORT_CELLS", 10**9)
    expected = audit(table, need, release)
    assert found.summary["narrow"] > 0
    assert found.outcomes == expected.outcomes


@pytest.mark.parametrize("published", [0.0, 0.2], ids=["whole", "gaps"])
def test_smallest_deviations_prove_pattern_without_hypercubes(register, monkeypatch, published):
    table, need, protection = register
    rng = np.random.default_rng(3)
    withheld = protection.withheld & ~(protection.secondary & (rng.random(table.n_cells) < published))
    release = ht.Release.of(table, ht.Protection.withhold(table, withheld, need))
    problem = AuditProblem.of(Grid.of(table.value), need, release)
    search = WitnessSearch(problem, frozenset())
    monkeypatch.setattr(least_deviation, "SMALL", 0)
    settle_nearby(search)
    assert search.unsettled() == []
    monkeypatch.setattr(prover, "SMALL", 10**9)
    expected = audit(table, need, release)
    unmet = {int(problem.cells[place]) for place in search.proof().failed}
    assert unmet == {cell for cell, outcome in expected.outcomes.items() if outcome is not CellOutcome.SAFE}
    assert bool(unmet) == (published > 0)


# From a few relations on, or from all at once.
@pytest.mark.parametrize("small", [0, 10**9])
@CASES
@given(case=real_cases())
def test_smallest_deviation_is_found_if_any_exists(small, case):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(least_deviation, "SMALL", small)
        look_for_least_changes(*case)


def look_for_least_changes(table, need, release):
    problem = AuditProblem.of(Grid.of(table.value), need, release)
    around = CellSurroundings(problem)
    bounds = programmed_bounds(release)
    for place, demand in problem.demands.items():
        cell = int(problem.cells[place])
        for up, level in ((True, demand.upper), (False, demand.lower)):
            if level == 0:
                continue
            steps = float(np.ceil(float(level * problem.scale)))
            room = bounds.upper[cell] - table.value[cell] if up else table.value[cell] - bounds.lower[cell]
            room *= problem.scale
            if abs(room - steps) <= 1e-3 * steps:
                continue  # doubles do not tell
            change = around.least_deviation(place, steps if up else -steps, 1.0, most_cells=10**9)
            event(f"moves: {len(change.cells) > 0}")
            assert (len(change.cells) > 0) == (room > steps)
            if len(change.cells):
                moved = np.zeros(len(problem.cells))
                moved[change.cells] = change.steps
                assert moved[place] == pytest.approx(steps if up else -steps, rel=1e-5)
                assert np.abs(problem.matrix @ moved).max(initial=0.0) <= 1e-4 * steps


def test_work_limit_leaves_cells_undecided_not_safe(register, monkeypatch):
    table, need, protection = register
    release = ht.Release.of(table, protection)
    assert audit(table, need, release).safe
    monkeypatch.setattr(prover, "SMALL", 0)
    monkeypatch.setattr(nearby, "MAX_WORK", 0)
    monkeypatch.setattr(WitnessSearch, "push_hypercubes", lambda *_: None)
    found = audit(table, need, release)
    undecided = [cell for cell, outcome in found.outcomes.items() if outcome is CellOutcome.UNDECIDED]
    assert not found.safe
    assert found.certificate is None
    assert len(undecided) > 0.5 * need.unsafe.sum()
    monkeypatch.setattr(nearby, "MAX_WORK", 10**9)
    assert audit(table, need, release).safe
