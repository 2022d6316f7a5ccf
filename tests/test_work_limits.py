"""Searches end at a limit of counted work, and say so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import hitoku as ht
from hitoku import metrics
from hitoku.attacks.adjustment import Adjustment
from hitoku.checks.principles import Clearance, Principle
from hitoku.coalitions import InsiderVerdict, contributions_in
from hitoku.errors import SolverError, TableError
from hitoku.evidence import CellOutcome, judge, judge_attack, outcome, witness_search
from hitoku.feasibility import NetworkCirculation
from hitoku.feasibility.hypercubes import hypercube_search
from hitoku.methods import circulation, insiders, whole_numbers
from hitoku.methods.greedy import STOPPED, greedy
from hitoku.model import Colour, Status
from hitoku.solver import quadratic_program
from hitoku.solver.integer import IntegerProgram
from hitoku.solver.integer import solve as solve_integer
from hitoku.solver.linear import LinearProgram, SolverStatus, open_program
from hitoku.solver.quadratic import QuadraticProgram
from hitoku.solver.quadratic import solve as solve_quadratic
from hitoku.solver.solution import SET_UP, CountedWork


def thin(codes: int) -> tuple[ht.Table, ht.Need]:
    """Codes by six size classes, as in trial S15."""
    random, n = np.random.default_rng(1), 20 * codes
    firms = pd.DataFrame(
        {
            "code": random.integers(0, codes, n).astype(str),
            "size": random.choice(list("abcdef"), n, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04]),
            "v": np.round(random.lognormal(3, 1.5, n)) + 1,
        }
    )
    table = ht.tabulate(firms, by=["code", "size"], value="v")
    return table, ht.assess(table, [ht.PPercent(10), ht.FewContributors(3)])


def cube(side: int = 6) -> tuple[ht.Table, ht.Need]:
    """Counts by three variables, with a fifth of the cells unsafe."""
    counts = np.random.default_rng(1).integers(1, 16, (side, side, side))
    table = ht.Table.from_array(counts)
    return table, ht.assess(table, [ht.MinFrequency(4)], width=4)


@pytest.fixture
def pushed(monkeypatch):
    """Count the cells that flows push."""
    counted: list[int] = []
    inner = NetworkCirculation._flow

    def flow(self, x, lower, upper, low, high, order):
        counted.append(len(order))
        inner(self, x, lower, upper, low, high, order)

    monkeypatch.setattr(NetworkCirculation, "_flow", flow)
    return counted


def test_thin_table_audit_retries_open_cells_individually(pushed):
    table, need = thin(250)
    protection = ht.Greedy(prefer="closing", record="cells").protect(table, need)
    pushed.clear()
    found = ht.audit(table, need, ht.Release.of(table, protection))
    assert found.safe
    # In rounds of all open cells, then one by one: twice the unsafe cells for a round, twice for the rest.
    n_unsafe = int(need.unsafe.sum())
    assert len(pushed) > 10
    assert sum(pushed) < 10 * n_unsafe


def test_flows_at_limit_fall_back_on_programs(monkeypatch):
    table, need = thin(50)
    protection = ht.Greedy(prefer="closing", record="cells").protect(table, need)
    release = ht.Release.of(table, protection)
    flows = ht.audit(table, need, release)
    monkeypatch.setattr(witness_search, "MAX_FLOW_WORK", 1)
    programs = ht.audit(table, need, release)
    assert flows.safe
    assert programs.safe
    assert programs.proof.n_programs > flows.proof.n_programs


def test_integers_beyond_double_precision_raise():
    records = pd.DataFrame({"a": list("xxyyzz"), "b": list("pqpqpq"), "v": [2**60 + 1] * 6})
    with pytest.raises(TableError, match=r"beyond 2\*\*53"):
        ht.tabulate(records, by=["a", "b"], value="v")


def test_largest_exact_integer_is_accepted():
    assert ht.Table(value=[2.0**53, 2.0**53], relations=[[1, -1]], integer=True).n_cells == 2
    assert ht.Table(value=[2.0**60, 2.0**60], relations=[[1, -1]]).n_cells == 2


@pytest.mark.parametrize("power", [53, 60, 80])
def test_numbers_beyond_64_bits_are_protected(power):
    inner = np.random.default_rng(1).integers(1, 50, (6, 6)) * 2.0**power
    table = ht.Table.from_array(inner)
    unsafe = table.inner & (table.value < 8 * 2.0**power)
    need = ht.Need(unsafe=unsafe, width=np.where(unsafe, table.value / 5, 0))
    found = ht.Circulation().protect(table, need)
    assert found.withheld.sum() < table.inner.sum() + 4
    assert ht.audit(table, need, ht.Release.of(table, found)).safe


def test_values_within_solver_tolerance_raise():
    with pytest.raises(TableError, match="below 1e-6"):
        ht.Table(value=[1e-7, 1e-7], relations=[[1, -1]])
    assert ht.Table(value=[1e-7, 1.0, 1.0 + 1e-7], relations=[[1, 1, -1]]).n_cells == 3
    assert ht.Table(value=[0.0, 0.0], relations=[[1, -1]]).n_cells == 2


def test_linear_programs_share_a_limit():
    program = LinearProgram(cost=0, relations=[[1, 1]], rhs=[10], lower=0, upper=[4, np.inf])
    work = CountedWork(limit=1)
    with open_program(program, work=work) as warm:
        first, second = warm.minimise(1), warm.maximise(1)
    assert first.status is not SolverStatus.INFEASIBLE
    assert work.over
    assert second.status is SolverStatus.LIMIT
    whole = IntegerProgram(cost=[0, 0, 1], relations=[[1, 1, 1], [1, -2, 0]], rhs=[10, 0])
    assert solve_integer(whole, work=work).status is SolverStatus.LIMIT


def test_tidying_at_limit_is_reported_and_safe():
    table, need = cube()
    method = ht.Greedy(prefer="closing", tidy=True, work_limit=1)
    found = method.protect(table, need)
    assert STOPPED in found.note
    assert ht.audit(table, need, ht.Release.of(table, found)).safe
    longer = ht.Greedy(prefer="closing", tidy=True).protect(table, need)
    assert longer.note == ""
    assert longer.withheld.sum() < found.withheld.sum()


def test_greedy_program_stops_at_search_limit(monkeypatch):
    """Half of the work of the first program: it must not run to its end before the limit is looked at."""
    table, need = cube(6)
    walks, inner = [], greedy.IncrementalAudit

    def noted(*given, **options):
        walks.append(inner(*given, **options))
        return walks[-1]

    monkeypatch.setattr(greedy, "IncrementalAudit", noted)
    monkeypatch.setattr(greedy, "MINUTES", 2e5)
    with pytest.raises(SolverError, match=rf"not decided.*of {need.unsafe.sum()} unsafe cells open"):
        ht.Greedy().protect(table, need)
    per_step = table.relations.nnz + sum(table.relations.shape)
    assert walks[-1].work.done <= 2e5 + (SET_UP + 1) * per_step


def test_step_intervals_are_omitted_at_the_limit(monkeypatch):
    table, need = cube(4)
    every = ht.Greedy(record="cells").protect(table, need).steps
    steps = [step for step in every if step.protects >= 0]
    assert not np.isnan([s.after for s in greedy.with_intervals(table, need, need.unsafe, steps)]).any()
    monkeypatch.setattr(greedy, "MINUTES", 1)
    limited = greedy.with_intervals(table, need, need.unsafe, steps)
    assert [step.cell for step in limited] == [step.cell for step in steps]
    assert np.isnan(limited[-1].after).all()


def test_optimal_stopped_at_limit_is_safe():
    table, need = cube(4)
    found = ht.Optimal(work_limit=1).protect(table, need)
    assert not found.proven
    assert ht.audit(table, need, ht.Release.of(table, found)).safe


def linear_only(table: ht.Table) -> ht.Table:
    """Return a table without the names of its variables, so that only linear programs serve it."""
    return ht.Table(value=table.value, relations=table.relations, integer=table.integer)


def test_circulation_stopped_at_limit_reports_no_pattern(monkeypatch):
    table, need = cube(4)
    table = linear_only(table)
    assert ht.Circulation().protect(table, need).withheld.any()
    monkeypatch.setattr(circulation.circulation, "MAX_WORK", 1)
    with pytest.raises(SolverError, match="not decided"):
        ht.Circulation().protect(table, need)


def test_requirements_sharing_deviations_are_safe(monkeypatch):
    table, need = cube(5)
    table = linear_only(table)
    monkeypatch.setattr(circulation.circulation, "SHARED_WORK", -1)
    found = ht.Circulation(rounds=0).protect(table, need)
    assert ht.audit(table, need, ht.Release.of(table, found)).safe


def test_sweeps_stop_at_their_limit_and_are_safe(monkeypatch):
    table, need = cube(6)
    monkeypatch.setattr(circulation.circulation, "SWEEP_WORK", 1)
    found = ht.Circulation().protect(table, need)
    assert ht.audit(table, need, ht.Release.of(table, found)).safe


def test_sweep_of_few_requirements_needs_little_work(monkeypatch):
    limits, inner = [], circulation.circulation.swept

    def noted(state, program, batches, sharpness, more, work):
        limits.append(work.limit)
        return inner(state, program, batches, sharpness, more, work)

    table, need = cube(6)
    first = ht.Circulation().protect(table, need).withheld & ~need.unsafe
    few = ht.Need(unsafe=first & (np.cumsum(first) <= 2), width=4.0)
    monkeypatch.setattr(circulation.circulation, "swept", noted)
    monkeypatch.setattr(circulation.circulation, "SMALL", 0)
    ht.Circulation().protect(table, few)
    ht.Circulation().protect(table, need)
    each, most = circulation.circulation.SWEEP_WORK_EACH, circulation.circulation.SWEEP_WORK
    assert limits[0] <= 2 * 2 * each < limits[1] <= most


def test_interrupted_circulation_keeps_safe_pattern(monkeypatch):
    def interrupt(*_args):
        raise KeyboardInterrupt

    table, need = cube(6)
    monkeypatch.setattr(circulation.circulation, "BatchProgram", interrupt)
    found = ht.Circulation().protect(table, need)
    assert found.note == "interrupted: a longer search may withhold less"
    assert ht.audit(table, need, ht.Release.of(table, found)).safe


def test_unreached_intervals_are_unknown():
    table, need = cube(4)
    release = ht.Release.of(table, ht.Protection.withhold(table, table.inner, need))
    for integer in (False, True):
        bounds = ht.Interval(integer=integer, work_limit=1).bounds(release)
        assert bounds.unknown[release.withheld].any()
        full = ht.Interval(integer=integer).bounds(release)
        assert not full.unknown.any()
        # What is unknown holds bounds that are true, and no narrower ones.
        assert np.all(bounds.lower <= full.lower + 1e-6)
        assert np.all(bounds.upper >= full.upper - 1e-6)


def test_intervals_of_unreached_networks_are_unknown():
    table = ht.Table.from_array(np.arange(1, 26).reshape(5, 5))
    release = ht.Release.of(table, ht.Protection.withhold(table, table.inner))
    bounds = ht.Interval(work_limit=1).bounds(release)
    assert bounds.unknown[release.withheld].any()
    assert not ht.Interval().bounds(release).unknown.any()


def test_audit_reports_undecided_cells(monkeypatch):
    table, need = cube(4)
    release = ht.Release.of(table, ht.Protection.withhold(table, table.inner, need))
    assert ht.audit(table, need, release).safe
    monkeypatch.setattr(witness_search, "MAX_PROGRAM_WORK", 1)
    found = ht.audit(table, need, release)
    assert not found.safe
    assert set(found.outcomes.values()) >= {CellOutcome.UNDECIDED}
    assert CellOutcome.RECOMPUTABLE not in found.outcomes.values()
    assert CellOutcome.NARROW not in found.outcomes.values()


def test_audit_without_exact_solves_claims_nothing_false(monkeypatch):
    table, need = thin(20)
    release = ht.Release.of(table, ht.Greedy(prefer="closing", record="cells").protect(table, need))
    whole = ht.audit(table, need, release)
    monkeypatch.setattr(witness_search, "MAX_FLOW_WORK", 0)
    monkeypatch.setattr(witness_search, "MAX_EXACT_WORK", 0)
    found = ht.audit(table, need, release)
    for cell, result in found.outcomes.items():
        assert result in {whole.outcomes[cell], CellOutcome.UNDECIDED}
    assert CellOutcome.SAFE in found.outcomes.values()


def test_integer_closing_stops_at_its_limit(monkeypatch):
    table, need = cube(4)
    withheld = np.array(need.unsafe)
    monkeypatch.setattr(whole_numbers, "SECONDS", 1)
    found = ht.Protection.withhold(table, withheld, need)
    closed = whole_numbers.close_in_whole_numbers(ht.Greedy(), table, need, found)
    assert closed.withheld.sum() >= withheld.sum()


def test_hidden_cells_count_as_suppressed_over_integers():
    counts = np.random.default_rng(1).integers(0, 6, (3, 3, 3))
    plain = ht.Table.from_array(counts)
    hidden = np.zeros(plain.n_cells, dtype=bool)
    hidden[np.flatnonzero(plain.inner)[:4]] = True
    table = ht.Table(value=plain.value, relations=plain.relations, integer=True, hidden=hidden)
    unsafe = plain.inner & ~hidden & (plain.value > 0) & (plain.value < 3)
    need = ht.Need(unsafe=unsafe, lower=3.0, upper=3.0, width=6.0)
    narrow = whole_numbers.narrow_in_whole_numbers(table, need, plain.inner & ~hidden)
    assert set(narrow.tolist()) <= set(np.flatnonzero(unsafe).tolist())


def test_run_stopped_at_tiny_limits_reports_it(monkeypatch):
    table, _ = cube(5)
    monkeypatch.setattr(outcome, "SECONDS", 1)
    monkeypatch.setattr(witness_search, "MAX_PROGRAM_WORK", 1)
    monkeypatch.setattr(witness_search, "MAX_FLOW_WORK", 1)
    found = ht.protect(table, rules=[ht.MinFrequency(4)], width=4)
    assert found.bounds.unknown.any()
    assert found.audit.intervals is found.bounds


def test_non_text_key_raises():
    with pytest.raises(ht.HitokuError, match="key cannot be '<bytes>'"):
        ht.Adjust(senses="hash", key=b"x")


@pytest.mark.parametrize("power", [7, 8, 9, 10, 11, 12])
def test_large_cell_with_small_requirement_is_protected(power):
    table = ht.Table.from_array(np.array([5 * 10**power, 15, 28, 40]))
    unsafe = table.value == 5 * 10**power
    need = ht.Need(unsafe=unsafe, width=np.where(unsafe, 7.0, 0))
    for method in (ht.Auto(), ht.Optimal(cost="unit"), ht.Circulation(), ht.Greedy()):
        found = method.protect(table, need)
        assert ht.audit(table, need, ht.Release.of(table, found)).safe


def test_adjust_at_limit_keeps_best_table_or_raises():
    table, need = cube(4)
    for work_limit, closest in ((1, None), (4e6, False)):
        method = ht.Adjust(senses="optimal", norm="l2", work_limit=work_limit)
        if closest is None:
            with pytest.raises(SolverError, match="not decided"):
                method.protect(table, need)
            continue
        found = method.protect(table, need)
        assert not found.proven
        assert "stopped at its work limit" in found.note
        moved = np.abs(found.value - table.value)[need.unsafe]
        assert np.all(moved >= np.maximum(need.width / 2, need.upper)[need.unsafe] - 1e-6)
    with pytest.raises(SolverError, match="not decided"):
        ht.Adjust(senses="up", work_limit=1).protect(table, need)


def test_replications_beyond_limit_are_not_decided():
    table, need = cube(4)
    adjusted = ht.Adjust(senses="up", norm="l2").protect(table, need)
    release = ht.Release.of(table, adjusted)
    attack = Adjustment(scenario="B2", norm="l2", replications=3, work_limit=1)
    told = metrics.attacker_knowledge(table, need, release, norm="l2")
    estimates = attack.estimate(release, told)
    assert estimates.undecided.all()
    assert "3 not decided" in repr(estimates)
    found = metrics.errors(table, need, estimates)
    assert (found.undecided, found.exact, found.counts.shape) == (3, 0, (0, len(metrics.BINS)))
    judged = judge_attack(replace(attack, known=told), table, need, release)
    assert [(one.severity.value, "did not decide 3 of 3" in one.reason) for one in judged] == [
        ("review", True)
    ]
    assert not replace(attack, work_limit=None).estimate(release, told).undecided.any()


def test_cycling_active_set_method_is_stopped(monkeypatch):
    program = QuadraticProgram(0, [[1, 1]], [10], lower=[0, 6], curvature=1)
    given: list[int] = []
    engine = quadratic_program.engine

    def noted(options):
        given.append(options["qp_iteration_limit"])
        return engine(options)

    monkeypatch.setattr(quadratic_program, "engine", noted)
    assert solve_quadratic(program).x is not None
    assert set(given) == {quadratic_program.STEPS_PER_LINE * 3}


def test_session_at_comparison_limit_needs_review(monkeypatch):
    monkeypatch.setattr("hitoku.attacks.differencing.atoms.MAX_TOGETHER", 1)
    random = np.random.default_rng(1)
    people = pd.DataFrame({name: random.integers(0, 4, 200).astype(str) for name in "ab"})

    def second(flow_work):
        work = ht.Session("people", people)
        work.frequency_table(by="a")
        work._draft.ledger.search.flow_work = flow_work
        made = work.frequency_table(by="b")
        return work.verdict(made), [v for v in made.verdicts if v.principle is Principle.DIFFERENCING]

    (_, (whole,)), (verdict, (limited,)) = second(1e9), second(0)
    assert whole.status is Clearance.PASS
    assert (limited.status, limited.reason) == (Clearance.REVIEW, "limit_of_work")
    assert limited.text.startswith("not decided")
    assert verdict["groups"].status is Status.NOT_DECIDED
    assert verdict["groups"].reason.startswith("not decided")
    assert verdict.colour is Colour.AMBER


def test_auto_switches_heuristic_when_search_is_limited(monkeypatch):
    table, need = cube(9)
    monkeypatch.setattr(greedy, "MINUTES", 0)
    found = ht.Auto().protect(table, need)
    assert found.method == "circulation"
    assert ht.audit(table, need, ht.Release.of(table, found)).safe


def test_insider_protection_at_limit_is_reported(monkeypatch):
    table, _ = thin(20)
    rules = [ht.PPercent(10), ht.FewContributors(3)]
    assert ht.protect(table, rules=rules).audit.safe
    monkeypatch.setattr(insiders, "MAX_WORK", 0)
    found = ht.protect(table, rules=rules)
    assert insiders.STOPPED in found.protection.note
    assert not found.protection.proven
    assert not found.audit.safe
    assert found.verdict.refused


def _insiders(table: ht.Table, release: ht.Release, work_limit: float | None) -> ht.Insider:
    """Return the attack of all contributors to withheld cells."""
    inside = tuple(one for one in contributions_in(table) if release.withheld[one.cell])
    return ht.Insider(inside, work_limit=work_limit)


@pytest.mark.parametrize("contributors", [False, True])
def test_audit_at_a_tiny_limit_is_not_decided(contributors, monkeypatch):
    table, need = thin(20)
    found = ht.protect(table, rules=[ht.PPercent(10), ht.FewContributors(3)], insiders="contributors")
    release = ht.Release.of(table, found.protection)
    monkeypatch.setattr(witness_search, "MAX_FLOW_WORK", 0)
    monkeypatch.setattr(witness_search, "MAX_PROGRAM_WORK", 0)
    attack = _insiders(table, release, 0) if contributors else None
    audit = ht.audit(table, need, release, insiders=attack)
    verdict = judge(audit, ("outsider",), insiders="contributors" if contributors else "none")
    assert not audit.safe
    assert audit.certificate is None
    assert set(audit.outcomes.values()) <= {CellOutcome.SAFE, CellOutcome.UNDECIDED}
    assert verdict["outsider"].status is Status.NOT_DECIDED
    if not contributors:
        assert verdict["contributors"].status is Status.NOT_CONSIDERED


def test_insider_audit_at_limit_claims_nothing_false():
    table, need = thin(20)
    release = ht.Release.of(table, ht.Greedy(prefer="closing", record="cells").protect(table, need))
    whole = ht.audit(table, need, release, insiders=_insiders(table, release, None))
    assert whole.insiders.cells
    assert whole.insiders.undecided == 0
    limited = [ht.audit(table, need, release, insiders=_insiders(table, release, n)) for n in (0, 300, 3000)]
    for one in limited:
        assert not one.safe
        assert set(one.insiders.cells) <= set(whole.insiders.cells)
        assert one.insiders.undecided or one.insiders.cells == whole.insiders.cells
    assert limited[0].insiders.undecided > 0
    assert any("not decided" in finding.reason for finding in limited[0].findings)


def test_undecided_insiders_withhold_the_certificate():
    table, need = cube(4)
    release = ht.Release.of(table, ht.Protection.withhold(table, table.inner, need))
    one = [ht.Contribution("A", cell=int(np.flatnonzero(table.inner)[0]), amount=1, sole=False)]
    assert ht.audit(table, need, release, insiders=ht.Insider(one)).safe
    audit = replace(ht.audit(table, need, release), insiders=InsiderVerdict(5, (), 2))
    assert not audit.safe
    assert audit.certificate is None
    assert "2 insiders not decided" in repr(audit)
    records, known = thin(20)
    values = ht.Release.of(records, ht.Protection.withhold(records, records.inner, known))
    audit = replace(ht.audit(records, known, values), insiders=InsiderVerdict(5, (), 2))
    row = judge(audit, ("contributors",), insiders="contributors")["contributors"]
    assert row.status is Status.NOT_DECIDED
    assert "2 of them open" in row.reason


def test_interrupted_interval_attack_keeps_audited_pattern(monkeypatch):
    def interrupt(*_args, **_more):
        raise KeyboardInterrupt

    table, _ = cube(5)
    monkeypatch.setattr(outcome.Interval, "bounds", interrupt)
    found = ht.protect(table, rules=[ht.MinFrequency(4)], width=4)
    assert found.audit.safe
    assert found.bounds.unknown[found.protection.withheld].all()
    assert np.all(found.bounds.lower <= table.value)


def test_hypercubes_are_searched_among_all_leaves_within_a_limit(monkeypatch):
    tried: list[int] = []
    inner = hypercube_search.HypercubeSearch.route

    def noted(self, order, *, effort=None, pieces=(1,), tick=None):
        tried.append(len(order) if effort else 0)
        inner(self, order, effort=effort, pieces=pieces, tick=tick)

    table, need = cube(4)
    need = ht.Need(unsafe=need.unsafe, width=table.value[-1] / 8)
    monkeypatch.setattr(hypercube_search.HypercubeSearch, "route", noted)
    ht.Circulation().protect(table, need)
    assert sum(tried) > 0
    tried.clear()
    monkeypatch.setattr(hypercube_search, "MAX_WORK", 1)
    found = ht.Circulation().protect(table, need)
    assert sum(tried) == 0
    assert ht.audit(table, need, ht.Release.of(table, found)).safe
