"""Readings of the paper: a stopped interior point, sums of multipliers, and the search over all changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.oracles.adjustment import kkt_violation

from hitoku.errors import DataError
from hitoku.io import read_jj
from hitoku.solver.closest import DeviationProgram, closest
from hitoku_papers.castro_2012 import TableInstance, made_up
from hitoku_papers.castro_2012.multipliers import multiplier_table, sums
from hitoku_papers.castro_2012.search import (
    AS_PRINTED,
    CHANGES,
    AttackReading,
    ReadingSearch,
    protection_problem,
    search,
)
from hitoku_papers.castro_2012.search_report import readings_table, readings_words, searched_readings
from hitoku_papers.castro_2012.stopped import stopped


def test_one_cell_on_the_central_path_by_hand():
    # Two equal cells, the first at least 1: on the path 4 z (z - 1) is the gap, a share of 1 + 2 z**2.
    problem = DeviationProgram(relations=[[1, -1]], weight=1.0, lower=[1, -np.inf])
    for gap in (0.1, 0.01):
        z, other = stopped(problem, gap)
        assert z == pytest.approx(other)
        assert 4 * z * (z - 1) == pytest.approx(gap * (1 + 2 * z**2), rel=0.21)


@pytest.mark.parametrize("place", range(4))
def test_smaller_gap_approaches_the_optimum(place):
    problem = protection_problem(made_up()[place], "l2")
    best = closest(problem, "l2")
    costs = []
    for gap in (1e-1, 1e-3, 1e-9):
        point = stopped(problem, gap)
        assert np.all(point >= problem.lower)
        assert np.all(point <= problem.upper)
        assert np.abs(problem.relations @ point).max() <= 1e-5
        costs.append(problem.cost(point, "l2"))
    assert costs[0] > costs[1] > costs[2] * (1 - 1e-9)
    # A gap is what the point can cost more than the optimum.
    assert costs[1] - best.cost <= 1.3e-3 * (1 + costs[1])
    np.testing.assert_allclose(point, best.deviation, atol=1e-4 * np.abs(best.deviation).max())
    assert kkt_violation(
        problem.relations, problem.weight, problem.lower, problem.upper, best.deviation, best.duals, "l2"
    ) < 1e-6  # fmt: skip


def test_every_change_differs_from_print_and_makes_sense():
    readings = [replace(AS_PRINTED, **change) for change in CHANGES]
    assert AS_PRINTED not in readings
    assert len({str(reading) for reading in readings}) == len(CHANGES)


def test_unused_results_are_not_recomputed():
    changed = AttackReading(error=0.3, level_of="guessed", senses="once", delta=1.0, tolerance=1e-3)
    assert changed.seen_by("C", "l2") == AS_PRINTED
    assert changed.seen_by("B2", "l1") == AttackReading(error=0.3, level_of="guessed", delta=1.0)
    assert AttackReading(stop=1e-2).seen_by("B3", "l1") == AS_PRINTED
    assert AttackReading(soft="squares").seen_by("B1", "l2").soft == "squares"


def test_synthetic_tables_have_no_published_comparison(tmp_path):
    with pytest.raises(DataError, match="no instance of the paper"):
        searched_readings(made_up(), tmp_path, replications=2)


@pytest.fixture(scope="module")
def targus(shared) -> TableInstance:
    return TableInstance.of("targus", *read_jj(shared / "data" / "csplib" / "targus.jj.gz"))


@pytest.mark.shared
def test_search_ends_no_farther_from_published_values(targus, tmp_path):
    lookup = ReadingSearch([targus], tmp_path, replications=2)
    rounds = search(lookup, CHANGES[:3])
    first, best = rounds[0][0], min(rounds[-1], key=lambda tried: tried.mean)
    assert first.reading == AS_PRINTED
    assert len(rounds[0]) == 4
    assert best.mean <= first.mean
    # Errors about levels change B1 and B2 alone.
    other = rounds[0][1]
    assert [first.distance(s, n) for s in ("B3", "C") for n in ("l1", "l2")] == [
        other.distance(s, n) for s in ("B3", "C") for n in ("l1", "l2")
    ]
    assert first.distances != other.distances
    # The published line is at no distance from itself, and a hit is a hit in both: B3 and C in L1.
    assert first.distance("C", "l1") == 0
    assert readings_table(rounds).rows[-1][0].startswith("by chance")
    assert str(best.reading) in " ".join(readings_words(rounds).text)


@pytest.mark.shared
@pytest.mark.parametrize("change", CHANGES[3:], ids=lambda change: str(*change.values()))
def test_every_reading_can_be_tried(targus, tmp_path, change):
    tried = ReadingSearch([targus], tmp_path, replications=1).tried(replace(AS_PRINTED, **change))
    assert len(tried.counts) == 8
    assert all(counts.sum() == targus.unsafe.sum() for counts in tried.counts.values())


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "printed"), [("osorio", 0.01), ("table8", 0.0), ("hier13x7x7d", 0.0), ("table1", 0.0)]
)
def test_printed_l2_multipliers_need_equal_bounds(shared, name, printed):
    instance = TableInstance.of(name, *read_jj(shared / "data" / "csplib" / f"{name}.jj.gz"))
    found = sums(instance, "l2")
    assert round(found["fixed"], 2) == printed
    assert round(found["moving"], 2) != printed
    assert multiplier_table([instance]).rows[-1][:3] == ("L2", "agree", 1)
