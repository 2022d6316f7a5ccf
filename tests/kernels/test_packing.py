from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitoku.kernels.packing import pack


def packed(changes, owners, signs, levels, rooms, *, flips, n_packs, spread=np.inf):
    begins = np.cumsum([0, *(len(change) for change in changes)])
    cells = np.array([cell for change in changes for cell in change], dtype=np.int64)
    amounts = np.array([a for change in changes for a in change.values()], dtype=np.int64)
    n_cells = len(rooms[0])
    sums, held = np.zeros((n_packs, n_cells), dtype=np.int64), np.zeros((n_packs, n_cells), dtype=np.int8)
    numbers = np.full(len(changes), -7, dtype=np.int64)
    order = np.argsort([-level for level in levels], kind="stable")
    pack(
        (begins, cells, amounts),
        order,
        np.array(owners, dtype=np.int64),
        np.array(signs, dtype=np.int64),
        np.array(levels, dtype=np.float64),
        tuple(np.array(room, dtype=np.float64) for room in rooms),
        flips,
        spread,
        sums,
        held,
        numbers,
    )
    return sums, numbers


@pytest.mark.parametrize(
    ("rooms", "owner", "numbers"),
    [
        pytest.param([9, 9, 9], 0, [0, 0], id="room for both"),
        pytest.param([9, 3, 9], 0, [0, 0], id="the opposite fits where the same way does not"),
        pytest.param([9, 3, 9], 1, [0, 1], id="who has arrived is not moved back"),
    ],
)
def test_deviations_share_a_pack_within_slack(rooms, owner, numbers):
    changes = [{0: 2, 1: 2}, {1: 2, 2: 1}]
    _, found = packed(changes, [owner, 2], [1, 1], [2, 1], (rooms, rooms), flips=True, n_packs=2)
    assert found.tolist() == numbers


def test_owner_reached_by_opposite_is_not_reversed():
    """The second change fits as its opposite only: its owner is two below, and must stay there."""
    changes = [{1: 3, 2: 5}, {0: 2, 1: 1}, {0: 1, 3: 1}]
    rooms = [9, 3, 9, 9]
    sums, numbers = packed(changes, [2, 0, 3], [1, 1, 1], [5, 2, 1], (rooms, rooms), flips=True, n_packs=1)
    assert numbers.tolist() == [0, 0, 0]
    assert sums.tolist() == [[-3, 2, 5, -1]]


@pytest.mark.parametrize(("spread", "numbers"), [(2.0, [0, 0]), (1.9, [0, 1])])
def test_levels_of_different_size_are_packed_separately(spread, numbers):
    found = packed(
        [{0: 4}, {1: 2}], [0, 1], [1, 1], [4, 2], ([9, 9], [9, 9]), flips=False, n_packs=2, spread=spread
    )
    assert found[1].tolist() == numbers


@settings(deadline=None, max_examples=52)
@given(seed=st.integers(0, 2**32 - 1), flips=st.booleans())
def test_packing_respects_levels_and_slacks(seed, flips):
    random = np.random.default_rng(seed)
    n_cells, n_changes = int(random.integers(2, 8)), int(random.integers(1, 10))
    room = random.integers(1, 12, (2, n_cells))
    rooms = (room.min(axis=0), room.min(axis=0)) if flips else (room[0], room[1])
    changes, owners, signs, levels = [], [], [], []
    for _ in range(n_changes):
        cells = random.permutation(n_cells)[: random.integers(1, n_cells + 1)]
        change = {}
        for cell in cells.tolist():
            amount = int(random.integers(-rooms[0][cell], rooms[1][cell] + 1))
            change[cell] = amount or 1
        owner = int(cells[0])
        owners.append(owner)
        signs.append(1 if change[owner] > 0 else -1)
        levels.append(int(random.integers(1, abs(change[owner]) + 1)))
        changes.append(change)
    sums, numbers = packed(changes, owners, signs, levels, rooms, flips=flips, n_packs=4)
    assert np.all(sums >= -np.array(rooms[0]))
    assert np.all(sums <= np.array(rooms[1]))
    assert set(numbers.tolist()) <= {-1, 0, 1, 2, 3}
    for owner, sign, level, number in zip(owners, signs, levels, numbers.tolist(), strict=True):
        if number >= 0:
            reached = sums[number, owner]
            assert (abs(reached) if flips else sign * reached) >= level
    empty = [number for number in range(4) if number not in numbers.tolist()]
    assert not sums[empty].any()
