"""Witnesses kept for cells: who goes too far is found, shrunk or repaired by hand-made others."""

from __future__ import annotations

import numpy as np
import pytest

from hitoku.coalitions import CellWitnesses, CoalitionDeviations, CoalitionRange, cell_witnesses

# Three by three cells: boxes of the first two rows and two columns.
LEFT = np.array([0, 1, 3, 4]), np.array([5.0, -5.0, -5.0, 5.0])
RIGHT = np.array([1, 2, 4, 5]), np.array([2.0, -2.0, -2.0, 2.0])


def listed(*made):
    """Put deviations, each with the cell it is kept for, one after the other."""
    found = CoalitionDeviations.none()
    for own, (cells, amounts) in made:
        found = found.and_then(
            CoalitionDeviations(np.array([own]), np.array([0, len(cells)]), cells, amounts)
        )
    return found


def kept(*made, at_once):
    witnesses = CellWitnesses(9)
    if at_once:
        witnesses.add_all(listed(*made))
    else:
        for own, (cells, amounts) in made:
            witnesses.add(own, cells, amounts)
    return witnesses


def rooms(**known):
    """Every cell may fall and rise by nine, but for those named by ``c1=(down, up)``."""
    down, up = np.full(9, 9.0), np.full(9, 9.0)
    for name, (fall, rise) in known.items():
        down[int(name[1:])], up[int(name[1:])] = fall, rise
    return down, up


def test_deviations_combine_and_reverse():
    found = listed((0, LEFT), (1, RIGHT))
    assert found.owner.tolist() == [0, 1]
    assert found.begins.tolist() == [0, 4, 8]
    back = found.opposite(np.array([False, True]))
    assert (back.owner.tolist(), back.begins.tolist()) == ([1], [0, 4])
    assert back.cells.tolist() == RIGHT[0].tolist()
    assert back.amounts.tolist() == [-2.0, 2.0, 2.0, -2.0]


@pytest.mark.parametrize("at_once", [True, False])
def test_only_excessive_witnesses_are_shrunk(at_once):
    witnesses = kept((0, LEFT), (1, RIGHT), (2, (np.array([2, 8]), np.array([3.0, -3.0]))), at_once=at_once)
    assert len(witnesses) == 3
    assert witnesses.shrunk([(0, 9.0, 9.0), (1, 5.0, 2.0)]) == {}  # Just as far as they may go.
    assert witnesses.shrunk([(1, 4.0, 9.0)]) == {0: 0.8}  # The cell falls in the first, rises in the second.
    assert witnesses.shrunk([(1, 9.0, 1.0)]) == {1: 0.5}
    # By the cell that allows least of it, whatever comes first.
    assert witnesses.shrunk([(1, 4.0, 9.0), (3, 1.0, 9.0), (4, 9.0, 4.0)]) == {0: 0.2}
    assert witnesses.shrunk([(8, 0.0, 0.0)]) == {2: 0.0}
    assert witnesses.shrunk([(7, 0.0, 0.0)]) == {}
    # A rise is a rise, however small.
    small = kept((0, (np.array([0, 8]), np.array([1.0, -1.0]))), at_once=at_once)
    assert small.shrunk([(0, 9.0, 0.5)]) == {0: 0.5}
    assert small.shrunk([(0, 0.5, 9.0)]) == {}
    assert witnesses.owners([0, 2]) == {0, 2}


@pytest.mark.parametrize("at_once", [True, False])
def test_cell_moves_as_far_as_consistent_witnesses(at_once):
    back = LEFT[0], -0.6 * LEFT[1]
    witnesses = kept((0, LEFT), (0, back), (1, RIGHT), at_once=at_once)
    assert (witnesses.low[:3].tolist(), witnesses.high[:3].tolist()) == ([-3, 0, 0], [5, 2, 0])
    assert witnesses.reach(0, {}) == (3, 5)
    assert witnesses.reach(0, {0: 0.2, 1: 0.5}) == (1.5, 1)
    assert witnesses.reach(8, {}) == (0, 0)  # Nothing is kept for it.


@pytest.mark.parametrize("at_once", [True, False])
def test_witness_is_repaired_through_the_excess_cell(at_once):
    """Who knows the second cell: two and a half of the right box on top of the left one leave it in place."""
    witnesses = kept((0, LEFT), (1, RIGHT), at_once=at_once)
    scale = witnesses.shrunk([(1, 0.0, 0.0)])
    assert scale == {0: 0.0, 1: 0.0}
    for _ in range(2):  # Nothing of it is left behind.
        down, up = witnesses.repaired(np.array([0, 1]), scale, rooms(c1=(0.0, 0.0)))
        assert (down.tolist(), up.tolist()) == ([0, 0], [5, 0])
    # The sum of both goes through the third column, which must have room: down there, up below it.
    for tight in ({"c2": (4.0, 9.0)}, {"c5": (9.0, 4.0)}, {"c0": (9.0, 4.0)}):
        _, up = witnesses.repaired(np.array([0]), scale, rooms(c1=(0.0, 0.0), **tight))
        assert up.tolist() == [0]
    for enough in ({"c2": (5.0, 0.0)}, {"c5": (0.0, 5.0)}, {"c0": (0.0, 5.0)}, {"c3": (5.0, 0.0)}):
        _, up = witnesses.repaired(np.array([0]), scale, rooms(c1=(0.0, 0.0), **enough))
        assert up.tolist() == [5]


@pytest.mark.parametrize("at_once", [True, False])
def test_downward_witness_is_repaired(at_once):
    witnesses = kept((0, (LEFT[0], -LEFT[1])), (1, RIGHT), at_once=at_once)
    scale = witnesses.shrunk([(1, 0.0, 0.0)])
    down, up = witnesses.repaired(np.array([0]), scale, rooms(c1=(0.0, 0.0)))
    assert (down.tolist(), up.tolist()) == ([5], [0])


def test_many_new_witnesses_are_sorted(monkeypatch):
    monkeypatch.setattr(cell_witnesses, "FRESH", 1.0)
    witnesses = kept((0, LEFT), at_once=True)
    witnesses.add(0, *RIGHT)  # As many as are sorted already: not too many.
    scale = witnesses.shrunk([(1, 0.0, 0.0)])
    assert scale == {0: 0.0, 1: 0.0}
    assert witnesses.repaired(np.array([0]), scale, rooms(c1=(0.0, 0.0)))[1].tolist() == [0]
    witnesses.add(7, np.array([7, 8]), np.array([1.0, -1.0]))
    assert witnesses.repaired(np.array([0]), scale, rooms(c1=(0.0, 0.0)))[1].tolist() == [5]


def reach_of(down, up):
    levels = np.array([1.0, 1.0]), np.array([2.0, 2.0]), np.array([4.0, 4.0])
    return CoalitionRange(np.array([3, 4]), np.full(2, 0.1), np.full(2, 0.5), levels, (down, up))


def test_missing_movement_ignores_rounding():
    reach = reach_of(np.array([1.0, 1.0]), np.array([3.0, 2.0]))
    assert reach.missing.tolist() == [False, True]
    assert reach.enough.tolist() == [6.0, 6.0]
    assert not reach.lacks(0, 0.9, 3.1)
    assert reach.lacks(0, 0.8, 3.2)
    assert reach.lacks(0, 2.1, 1.8)
    assert reach.lacks(0, 1.0, 2.8)
    reach.note(np.array([1]), np.array([3.0]))
    assert (reach.up.tolist(), reach.down.tolist()) == ([3, 3], [1, 1])
    reach.note(np.array([1]), np.array([-2.0]))
    assert (reach.up.tolist(), reach.down.tolist()) == ([3, 3], [1, 2])
    assert not reach.missing.any()


def test_single_value_lacks_movement_without_levels():
    nothing = np.zeros(1)
    reach = CoalitionRange(np.array([3]), nothing, np.full(1, 0.5), (nothing,) * 3, (nothing, nothing))
    assert reach.far_enough(np.array([0.25]), np.array([0.25])).tolist() == [False]
    assert reach.far_enough(np.array([0.25]), np.array([0.5])).tolist() == [True]
    assert (reach.lacks(0, 0.25, 0.25), reach.lacks(0, 0.25, 0.5)) == (True, False)
