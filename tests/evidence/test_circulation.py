from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hitoku.attacks import Interval
from hitoku.evidence import AuditProblem, Grid, audit
from hitoku.feasibility import NetworkCirculation
from hitoku.model import Need, Protection, Release, Table


def case(seed, *, decimals=0):
    random = np.random.default_rng(seed)
    inner = random.integers(0, 12, random.integers(2, 6, 2))
    table = Table.from_array(inner / 10**decimals)
    withheld = random.random(table.n_cells) < 0.6
    unsafe = withheld & (random.random(table.n_cells) < 0.6)
    levels = random.integers(0, 6, (3, table.n_cells)) / 10**decimals
    need = Need(unsafe=unsafe, lower=levels[0] * unsafe, upper=levels[1] * unsafe, width=levels[2] * unsafe)
    return table, need, Release.of(table, Protection.withhold(table, withheld, need))


def circulation(problem):
    return NetworkCirculation.of(problem.in_doubles, problem.levels())


@settings(deadline=None, max_examples=69)
@given(seed=st.integers(0, 2**32 - 1), decimals=st.sampled_from([0, 2]))
def test_flows_settle_exactly_the_protected_cells(seed, decimals):
    table, need, release = case(seed, decimals=decimals)
    problem = AuditProblem.of(Grid.of(table.value), need, release)
    circles = circulation(problem)
    if circles is None:
        return
    steps = np.zeros(len(problem.cells), dtype=np.int64)
    for change in circles.deviations():
        steps[circles.cells] = change
        assert problem.in_steps(steps) is not None
    down, up = circles.lacking
    bounds = Interval().bounds(release)
    for place, number in enumerate(circles.cells.tolist()):
        cell = problem.cells[number]
        if not need.unsafe[cell]:
            continue
        low, high, value = bounds.lower[cell], bounds.upper[cell], table.value[cell]
        hair = 1e-6
        far_down, far_up = low <= value - need.lower[cell] + hair, high >= value + need.upper[cell] - hair
        wide = high - low >= need.width[cell] - hair and high > low + hair
        assert (not down[place] and not up[place]) == bool(far_down and far_up and wide)


def test_two_way_table_is_proved_without_linear_programs():
    counts = np.random.default_rng(1).integers(1, 10, (30, 40))
    table = Table.from_array(counts)
    need = Need(unsafe=table.inner, width=10.0)
    found = audit(table, need, Release.of(table, Protection.withhold(table, table.inner, need)))
    assert found.safe
    assert found.summary["programs"] == 0
    assert found.summary["witnesses"] < 30  # one each way for every cell would be 2,400


def test_inexact_numbers_use_linear_programs():
    table = Table.from_array(np.array([[2.0**51, 1], [1, 1]]))
    need = Need(unsafe=table.value == 1, lower=1.0, upper=1.0)
    release = Release.of(table, Protection.withhold(table, table.inner, need))
    assert circulation(AuditProblem.of(Grid.of(table.value), need, release)) is None
