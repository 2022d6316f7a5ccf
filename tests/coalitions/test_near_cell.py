"""One cell in the eyes of somebody: it is found to go as far as programs of scipy say, and no farther."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from hitoku.coalitions import CellSearch, CoalitionRange, near_cell
from hitoku.feasibility import DeviationSearch, Problem, least_deviation
from hitoku.solver.solution import CountedWork

# Two rows of three cells, and what is seen of them: the sums of rows and columns.
SUMS = sparse.csr_array(np.vstack([np.kron(np.eye(2), np.ones(3)), np.kron(np.ones(2), np.eye(3))]))
LEAST, SLACK = 1e-6, 1e-9


def sides(down, up):
    """Return how far down and up the first cell goes, by scipy."""
    ends = list(zip(-down, up, strict=True))
    cost = np.eye(6)[0]
    lowest, highest = (linprog(way * cost, A_eq=SUMS, b_eq=np.zeros(5), bounds=ends) for way in (1, -1))
    return -lowest.fun, -highest.fun


def look(down, up, levels):
    """Look for changes of the first cell that must go down, up, and in all as far as levels say."""
    asked = tuple(np.array([float(level)]) for level in levels)
    reach = CoalitionRange(
        np.array([7]), np.full(1, SLACK), np.full(1, LEAST), asked, (np.zeros(1), np.zeros(1))
    )
    ways = DeviationSearch.of(Problem.deviations(SUMS, -down, up))
    return reach, list(CellSearch(reach, 0, 0, np.ones(6), CountedWork()).deviations(ways))


def draws(n):
    random = np.random.default_rng(7)
    levels = itertools.cycle([(2, 2, 0), (0, 3, 0), (3, 0, 0), (0, 0, 4), (1, 2, 5), (2, 1, 6), (0, 0, 0)])
    for _ in range(n):
        yield *random.choice([0.0, 1.0, 2.0, 3.0, 6.0, 9.0], size=(2, 6)), next(levels)


# As it is; from relation to relation; and with no changes near the cell, so that it is pushed at the end.
@pytest.mark.parametrize(
    ("small", "nearby"), [(10**9, 20_000), (0, 20_000), (0, 0)], ids=["at once", "growing", "pushed"]
)
def test_cell_moves_as_required_if_possible(monkeypatch, small, nearby):
    monkeypatch.setattr(least_deviation, "SMALL", small)
    monkeypatch.setattr(near_cell, "NEARBY_CELLS", (nearby,))
    outcomes = set()
    for down, up, levels in draws(70):
        reach, changes = look(down, up, levels)
        farthest = sides(down, up)
        can = farthest[0] >= levels[0] and farthest[1] >= levels[1] and sum(farthest) >= max(levels[2], 1)
        assert bool(reach.missing[0]) == (not can)
        moved = [0.0]
        for places, steps in changes:
            change = np.zeros(6)
            change[places] = steps
            moved.append(change[0])
            assert np.abs(SUMS @ change).max() < 1e-7
            assert np.all(change <= up + 1e-7)
            assert np.all(change >= -down - 1e-7)
        # It is said to go as far as its changes take it.
        assert (reach.down[0], reach.up[0]) == pytest.approx((-min(moved), max(moved)))
        outcomes.add((can, levels))
    assert len(outcomes) > 10


def test_one_deviation_serves_both_directions():
    reach, changes = look(np.full(6, 9.0), np.full(6, 9.0), (2, 3, 5))
    (one, there), (other, back) = changes
    assert one.tolist() == other.tolist()
    np.testing.assert_array_equal(there, -back)
    # The larger of both levels, and a little more so that rounding takes nothing away.
    assert reach.up[0] == pytest.approx(3, abs=5 * LEAST)
    assert reach.up[0] > 3


def test_second_direction_supplies_the_remaining_width():
    """The first cell rises by four and falls by one at most, and must be open over five."""
    down, up = np.full(6, 9.0), np.full(6, 9.0)
    down[0], up[0] = 1.0, 4.0
    reach, changes = look(down, up, (0, 0, 5))
    assert [float(steps[cells == 0][0]) for cells, steps in changes] == pytest.approx([4, -1])
    assert not reach.missing[0]
    # Where up alone will do, nobody looks down.
    up[0] = 9.0
    reach, changes = look(down, up, (0, 0, 5))
    assert reach.up[0] == pytest.approx(5, abs=5 * LEAST)
    assert (len(changes), reach.down[0]) == (1, 0)


def test_each_direction_meets_its_level():
    """The first cell rises by six at most and falls by one: not both ways at once."""
    down, up = np.full(6, 9.0), np.full(6, 9.0)
    down[0], up[0] = 1.0, 6.0
    reach, changes = look(down, up, (1, 4, 0))
    assert [float(steps[cells == 0][0]) for cells, steps in changes] == pytest.approx([4, -1], abs=5 * LEAST)
    assert not reach.missing[0]
    # Less than one is enough to look for where less than one is asked for.
    up[0] = 0.5
    reach, changes = look(down, up, (0, 0.5, 0))
    assert [float(steps[cells == 0][0]) for cells, steps in changes[:1]] == pytest.approx(
        [0.5], abs=5 * LEAST
    )
