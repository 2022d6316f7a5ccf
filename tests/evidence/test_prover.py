"""What is tried when, on tables whose every table that fits is counted on the fingers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hitoku.evidence import AuditProblem, Grid, WitnessSearch, nearby, prove, prover, settle_nearby
from hitoku.model import Deviations, Need, Protection, Release, Table

# All four inner cells move together by some d: -1 <= d <= 15, and the last one is 1 + d.
SQUARE = [[20, 15], [72, 1]]
# So do all eight, up and down in turns: the cell of 9 is 9 + d, with -5 <= d <= 2.
CUBE = [[[9, 2], [4, 5]], [[6, 7], [8, 3]]]


def asked(counts, value, **levels):
    table = Table.from_array(counts)
    need = Need(unsafe=table.inner & (table.value == value), **levels)
    release = Release.of(table, Protection.withhold(table, table.inner, need))
    return AuditProblem.of(Grid.of(table.value), need, release), release


@pytest.fixture
def tried(monkeypatch):
    """Return the stages that are entered, as they are."""
    entered = []

    def watch(owner, name):
        usual = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given: (entered.append(name), usual(*given))[1])

    for stage in ("propagate", "push_hypercubes", "push_all"):
        watch(WitnessSearch, stage)
    watch(prover, "settle_nearby")
    return entered


@pytest.mark.parametrize(
    ("short", "large", "stages"),
    [
        pytest.param(8, 8, ["push_all"], id="neither long nor large"),
        pytest.param(7, 8, ["propagate", "push_hypercubes"], id="long: hypercubes settle it"),
        pytest.param(8, 7, [], id="large: nearby cells settle it"),
    ],
)
def test_proof_stages_depend_on_suppressed_cell_count(monkeypatch, tried, short, large, stages):
    problem, release = asked(CUBE, 9, lower=2.0, upper=1.0)
    monkeypatch.setattr(prover, "SHORT_CELLS", short)
    monkeypatch.setattr(prover, "SMALL", large)
    found = prove(problem, release=release)
    assert found.undecided == ()
    assert not found.failed
    assert [stage for stage in tried if stage != "settle_nearby"] == stages
    assert ("settle_nearby" in tried) == (large == 7)


def test_missing_release_skips_hypercubes(monkeypatch, tried):
    monkeypatch.setattr(prover, "SMALL", 7)
    found = prove(asked(CUBE, 9, lower=2.0, upper=1.0)[0])
    assert tried == ["settle_nearby"]
    assert found.undecided == ()
    assert not found.failed


def test_cells_abandoned_nearby_skip_the_full_program(monkeypatch, tried):
    monkeypatch.setattr(prover, "SMALL", 7)
    monkeypatch.setattr(nearby, "MAX_WORK", -1)
    problem, _ = asked(CUBE, 9, lower=2.0, upper=1.0)
    assert prove(problem).undecided == tuple(problem.demands)
    assert tried == ["settle_nearby"]


@pytest.mark.parametrize("side", ["lower", "upper"])
@pytest.mark.parametrize("size", [1, 10**9], ids=["counts", "giants beside the level"])
def test_one_failed_direction_fails_the_cell(monkeypatch, side, size):
    rooms = []
    usual = prover.open_program

    def seen(program, **limits):
        rooms.append(float(-program.lower.min()))
        return usual(program, **limits)

    monkeypatch.setattr(prover, "open_program", seen)
    problem, _ = asked(size * np.array(CUBE), 9 * size, **{side: 2.0})
    # What is handed over moves the cell by one either way: enough on one side, not on the other.
    by_one = Deviations.of([(problem.cells, np.array([1, -1, -1, 1, -1, 1, 1, -1]))], scale=1)
    found = prove(problem, deviations=by_one)
    assert found.undecided == ()
    assert not found.failed
    (attained,) = found.attained.values()
    assert (attained.high >= 2) if side == "upper" else (attained.low <= -2)
    assert size > 1 or found.n_programs == 1
    # Beside giants the cell is moved in a problem of its own size, and no other is asked.
    assert len(rooms) == 1
    assert size == 1 or rooms[0] < size


@pytest.mark.parametrize("part", [1, 2], ids=["whole numbers", "halves"])
@pytest.mark.parametrize(
    "levels", [{"lower": 1.0}, {"upper": 15.0}, {"lower": 1.0, "upper": 1.0, "width": 16.0}]
)
def test_nearby_cells_move_cell_to_its_limit(levels, part):
    problem, _ = asked(np.array(SQUARE) / part, 1 / part, **{name: x / part for name, x in levels.items()})
    search = WitnessSearch(problem, frozenset())
    assert settle_nearby(search)
    assert search.unsettled() == []
    assert not search.proof().failed


@pytest.mark.parametrize(
    ("levels", "up", "end"),
    [
        pytest.param({"lower": 2.0}, False, -1, id="below nothing"),
        pytest.param({"upper": 16.0}, True, 15, id="more than the column has"),
    ],
)
def test_nearby_relations_rule_out_the_requirement(levels, up, end):
    search = WitnessSearch(asked(SQUARE, 1, **levels)[0], frozenset())
    assert settle_nearby(search)
    ((reason, *others),) = search.proof().failed.values()
    found = {one.up: one.difference for one in (reason, *others)}
    assert found[up] == Fraction(end)


def test_both_bounds_rule_out_a_width():
    search = WitnessSearch(asked(SQUARE, 1, width=17.0)[0], frozenset())
    assert settle_nearby(search)
    (reasons,) = search.proof().failed.values()
    assert {one.up: one.difference for one in reasons} == {False: -1, True: 15}


def test_given_deviation_proves_both_directions():
    problem, _ = asked(CUBE, 9, lower=1.0, upper=1.0)
    by_one = Deviations.of([(problem.cells, np.array([1, -1, -1, 1, -1, 1, 1, -1]))], scale=1)
    found = prove(problem, deviations=by_one)
    assert found.n_programs == 0
    assert found.undecided == ()
    assert {(attained.low, attained.high) for attained in found.attained.values()} == {(-1, 1)}


def test_cell_derivable_from_one_relation_has_one_reason():
    table = Table.from_array(SQUARE)
    need = Need(unsafe=table.value == 1, lower=1.0, upper=1.0)
    release = Release.of(table, Protection.withhold(table, need.unsafe))
    (reasons,) = prove(AuditProblem.of(Grid.of(table.value), need, release)).failed.values()
    assert len(reasons) == 1
    assert reasons[0].linear
