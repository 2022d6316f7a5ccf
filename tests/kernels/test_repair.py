"""Deviations that are repaired keep sums and rooms, and take their cell as far as before."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st

from hitoku.kernels.repair import repair, repair_deviation

SIDE = 4
# Every square of four cells in a flat table with published margins: one up, its neighbours down.
SQUARES = [
    ([a * SIDE + c, a * SIDE + d, b * SIDE + c, b * SIDE + d], [1.0, -1.0, -1.0, 1.0])
    for a, b in combinations(range(SIDE), 2)
    for c, d in combinations(range(SIDE), 2)
]


def listed(changes):
    """Write changes as the kernel reads them, and those that move each cell."""
    begins = np.cumsum([0, *(len(cells) for cells, _ in changes)])
    cells = np.array([cell for some, _ in changes for cell in some], dtype=np.int64)
    amounts = np.array([amount for _, some in changes for amount in some])
    number = np.repeat(np.arange(len(changes)), np.diff(begins))
    order = np.argsort(cells, kind="stable")
    ends = np.searchsorted(cells[order], np.arange(SIDE**2 + 1))
    return (begins, cells, amounts), (ends, number[order])


def slates():
    n = SIDE**2
    return np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)


@given(seed=st.integers(0, 2**32 - 1))
def test_repaired_witness_keeps_sums_slacks_and_movement(seed):
    random = np.random.default_rng(seed)
    some = random.permutation(len(SQUARES))[: random.integers(3, len(SQUARES))]
    changes = [(SQUARES[k][0], (random.choice([-3.0, 2.0, 5.0]) * np.array(SQUARES[k][1]))) for k in some]
    witnesses, through = listed(changes)
    room = np.where(random.random((2, SIDE**2)) < 0.2, 0.0, 6.0)
    owner = np.array([random.choice(cells) for cells, _ in changes])
    ends, done = (-room[0], room[1]), np.zeros(len(changes), dtype=np.bool_)
    repair(witnesses, through, owner, np.arange(len(changes)), ends, slates(), done)
    np.testing.assert_array_equal(ends, (-room[0], room[1]))
    event(f"some done: {done.any()}, all done: {done.all()}")
    for number in np.flatnonzero(done).tolist():
        cells, amounts = changes[number]
        far = dict(zip(cells, amounts, strict=True))[owner[number]]
        held = -room[0], room[1].copy()
        held[0 if far > 0 else 1][owner[number]] = far
        moved, touched, on = slates()
        _, keeps = repair_deviation(witnesses, through, number, held, moved, (touched, on))
        assert keeps
        assert np.all((moved >= -room[0] - 1e-9) & (moved <= room[1] + 1e-9))
        assert moved[owner[number]] * np.sign(far) >= abs(far) - 1e-9
        square = moved.reshape(SIDE, SIDE)
        np.testing.assert_allclose([*square.sum(axis=0), *square.sum(axis=1)], 0.0, atol=1e-9)


def test_known_cell_is_avoided_by_adding_a_square():
    """A square moves cells 0, 1, 4, 5; somebody knows cell 1, and a square of 1, 2, 5, 6 takes it out."""
    changes = [([0, 1, 4, 5], [3.0, -3.0, -3.0, 3.0]), ([1, 2, 5, 6], [1.0, -1.0, -1.0, 1.0])]
    witnesses, through = listed(changes)
    room = np.where(np.arange(SIDE**2) == 1, 0.0, 5.0)
    done = np.zeros(1, dtype=np.bool_)
    repair(witnesses, through, np.array([0, 1]), np.array([0]), (-room, room), slates(), done)
    assert done[0]
    known = np.where(np.isin(np.arange(SIDE**2), [1, 2]), 0.0, 5.0)
    repair(witnesses, through, np.array([0, 1]), np.array([0]), (-known, known), slates(), done)
    assert not done[0]
