"""Bounds that follow from each other: each is exact and no narrower than linear programs show."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import event, given, settings
from tests.evidence.test_audit import count_cases, real_cases
from tests.oracles.certificates import programmed_bounds
from tests.oracles.enumeration import enumerated_bounds

import hitoku as ht
from hitoku.evidence import HIGH, LOW, AuditProblem, BoundPropagation, Grid, ruled_out

CASES = settings(max_examples=12, deadline=None)


def narrowed(problem):
    """Narrow the bounds until nothing changes."""
    propagation = BoundPropagation(problem)
    for _ in range(20):
        if not propagation.narrow():
            break
    return propagation


def agrees(table, need, release, bounds):
    problem = AuditProblem.of(Grid.of(table.value), need, release)
    propagation, truth = narrowed(problem), table.value[problem.cells]
    low, high = bounds.lower[problem.cells] - truth, bounds.upper[problem.cells] - truth
    slack = 1e-6 * np.maximum(1.0, np.abs(truth))
    assert np.all(propagation.bounds[LOW] / problem.scale <= low + slack)
    assert np.all(propagation.bounds[HIGH] / problem.scale >= high - slack)
    found = ruled_out(problem, problem.levels())
    for place, reasons in found.items():
        for up, reason in reasons.items():
            # Exact, and not narrower than what there is.
            if up:
                assert float(reason.difference) >= high[place] - slack[place]
            else:
                assert float(reason.difference) <= low[place] + slack[place]
    return len(found)


@CASES
@given(case=real_cases())
def test_propagation_is_sound_for_real_tables(case):
    table, need, release = case
    event(f"ruled out: {agrees(table, need, release, programmed_bounds(release)) > 0}")


@CASES
@given(case=count_cases())
def test_propagation_is_sound_for_counts(case):
    table, need, release = case
    event(f"ruled out: {agrees(table, need, release, enumerated_bounds(release, largest=100)) > 0}")


def test_chain_of_relations_is_proved_jointly():
    # 3 + 4 in the first row, 4 + 90 in the second column: what bounds the 3 bounds the 4, and so the 90.
    table = ht.Table.from_array([[3, 4, 50], [60, 90, 70], [80, 20, 30]])
    withheld = np.isin(table.value, [3, 4, 90, 60])
    need = ht.Need(unsafe=table.value == 90, lower=8.0, upper=8.0)
    release = ht.Release.of(table, ht.Protection.withhold(table, withheld, need))
    problem = AuditProblem.of(Grid.of(table.value), need, release)
    ((place, reasons),) = ruled_out(problem, problem.levels()).items()
    assert int(problem.cells[place]) == int(np.flatnonzero(table.value == 90)[0])
    # 94 less the second column's 4 can be at most 94 less zero; at least 94 less seven.
    assert {up: reason.difference for up, reason in reasons.items()} in (
        {True: Fraction(4)},
        {False: Fraction(-3)},
    )


@pytest.mark.parametrize("level", [3.0, 4.0])
def test_attainable_values_are_not_ruled_out(level):
    table = ht.Table.from_array([[3, 4], [60, 90]])
    need = ht.Need(unsafe=table.value == 90, lower=level, upper=0.0)
    release = ht.Release.of(table, ht.Protection.withhold(table, table.inner, need))
    problem = AuditProblem.of(Grid.of(table.value), need, release)
    # The 90 may fall by 3, where its column's 4 rises by 3 and the 3 beside it is gone.
    assert bool(ruled_out(problem, problem.levels())) == (level > 3)
