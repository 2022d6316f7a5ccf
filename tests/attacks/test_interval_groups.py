"""Withheld cells that hang together in groups: networks, others, and those that adding gives away."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from tests.oracles.enumeration import enumerated_bounds

from hitoku.attacks import Interval
from hitoku.errors import TableError
from hitoku.model import Protection, Release, Table

SQUARE = Table.from_array([[7, 11], [10, 60]])  # a network: 7 + k, 11 - k, 10 - k, 60 + k for k in -7..10
CUBE = Table.from_array([[[3, 5], [4, 6]], [[7, 2], [9, 8]]])  # no network: k in -2..4, signs of a chessboard
SQUARE_ENDS = ([0, 1, 0, 53], [17, 18, 17, 70])
CUBE_ENDS = ([1, 1, 0, 4, 3, 0, 7, 4], [7, 7, 6, 10, 9, 6, 13, 10])


def beside(*tables):
    """Tables of which nobody says what they have to do with each other, inner cells withheld."""
    value = np.concatenate([table.value for table in tables])
    relations = sparse.block_diag([table.relations for table in tables])
    inner = np.concatenate([table.inner for table in tables])
    table = Table(value=value, relations=relations)
    return Release.of(table, Protection.withhold(table, inner)), np.flatnonzero(inner)


@pytest.mark.parametrize("mode", ["exact", "linear"])
def test_every_group_is_solved_in_any_order(mode):
    release, inner = beside(SQUARE, CUBE, SQUARE, CUBE)
    bounds = Interval(mode=mode).bounds(release)
    assert bounds.lower[inner].tolist() == (SQUARE_ENDS[0] + CUBE_ENDS[0]) * 2
    assert bounds.upper[inner].tolist() == (SQUARE_ENDS[1] + CUBE_ENDS[1]) * 2
    assert not bounds.unknown.any()


@pytest.mark.parametrize(
    ("mode", "most", "unknown"),
    [
        pytest.param("exact", 1, [False, True, False], id="networks take no linear program"),
        pytest.param("exact", 8, [False] * 3, id="just as many"),
        pytest.param("linear", 7, [False, True, False], id="the cube is too large, the squares are not"),
        pytest.param("linear", 4, [False, True, False], id="just as many as a square has"),
        pytest.param("linear", 3, [True] * 3, id="everything is too large for linear programs"),
    ],
)
def test_only_oversized_groups_are_skipped(mode, most, unknown):
    release, inner = beside(SQUARE, CUBE, SQUARE)
    bounds = Interval(mode=mode, most_cells=most).bounds(release)
    assert bounds.unknown[inner].tolist() == np.repeat(unknown, [4, 8, 4]).tolist()
    ends = [np.array([*SQUARE_ENDS[side], *CUBE_ENDS[side], *SQUARE_ENDS[side]]) for side in (0, 1)]
    known = ~bounds.unknown[inner]
    assert bounds.lower[inner][known].tolist() == ends[0][known].tolist()
    assert bounds.upper[inner][known].tolist() == ends[1][known].tolist()


@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("table", [SQUARE, CUBE], ids=["square", "cube"])
def test_met_targets_match_enumeration(table, integer):
    release = Release.of(table, Protection.withhold(table, table.inner))
    every = enumerated_bounds(release, 100)
    attack = Interval(integer=integer)
    for far in (0.0, 1.0):
        low, high = (np.where(table.inner, end, np.nan) for end in (every.lower - far, every.upper + far))
        down, up = attack.meets(release, low, high)
        assert down.tolist() == up.tolist() == (table.inner & (far == 0)).tolist()
    nothing = np.full(table.n_cells, np.nan)
    for cell in np.flatnonzero(table.inner):  # asked for alone, so that no other search passes by
        here = np.arange(table.n_cells) == cell
        assert (
            attack.meets(release, np.where(here, every.lower, np.nan), nothing)[0].tolist() == here.tolist()
        )
        assert (
            attack.meets(release, nothing, np.where(here, every.upper, np.nan))[1].tolist() == here.tolist()
        )
    inside = np.where(table.inner, table.value, np.nan)
    assert np.array_equal(attack.meets(release, inside, inside)[0], table.inner)


# y + z, x + z and x + y are published: nobody can tell x from one of them, everybody from all three.
GIVEN_AWAY = [
    [0, 1, 1, 0, 0, -1, 0, 0, 0],
    [1, 0, 1, 0, 0, 0, -1, 0, 0],
    [1, 1, 0, 0, 0, 0, 0, -1, 0],
    [1, 0, 0, 1, 1, 0, 0, 0, -1],  # x with two others
]
OPEN = np.arange(9) < 5


def given_away(*value):
    x, y, z, u, v = value
    table = Table(value=[*value, y + z, x + z, x + y, x + u + v], relations=GIVEN_AWAY)
    return Release.of(table, Protection.withhold(table, OPEN))


@pytest.mark.parametrize("integer", [False, True])
def test_derivable_cells_are_substituted(integer):
    bounds = Interval(integer=integer).bounds(given_away(1, 2, 3, 4, 5))
    assert bounds.lower[OPEN].tolist() == [1, 2, 3, 0, 0]
    assert bounds.upper[OPEN].tolist() == [1, 2, 3, 9, 9]  # u + v is 10 - 1
    assert not bounds.unknown.any()


def test_derivable_cell_has_equal_bounds_despite_rounding():
    value = np.array([1 / 3, 1 / 7, 1 / 11, 1 / 13, 1 / 17])
    bounds = Interval().bounds(given_away(*value))
    assert bounds.lower[:3].tolist() == bounds.upper[:3].tolist()
    assert np.allclose(bounds.lower[:3], value[:3])
    assert np.allclose(bounds.upper[3:5], value[3] + value[4])


def test_time_limit_leaves_bounds_of_single_relations():
    bounds = Interval(time_limit_s=0).bounds(given_away(1, 2, 3, 4, 5))
    assert np.array_equal(bounds.unknown, OPEN)
    assert np.all(bounds.lower[OPEN] <= [1, 2, 3, 0, 0])
    assert np.all(bounds.upper[OPEN] >= [1, 2, 3, 9, 9])


def test_derived_fraction_contradicts_integer_table():
    """x + y, x + z and y + z are all 1: each is a half."""
    whole = given_away(1, 2, 3, 4, 5)
    halves = Release(
        published=[*[np.nan] * 5, 1, 1, 1, 9],
        relations=whole.relations,
        labels=whole.labels,
        lower=np.zeros(9),
        integer=True,
    )
    assert Interval().bounds(halves).lower[:3].tolist() == [0.5] * 3
    with pytest.raises(TableError, match="no table fits"):
        Interval(integer=True).bounds(halves)
