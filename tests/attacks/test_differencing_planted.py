"""Planted disclosures and decoys among harmless outputs: all of the first are found, none of the second."""

from __future__ import annotations

import numpy as np
import pytest

from hitoku.attacks.differencing import DifferencingSearch, Partition

N = 20_000
RANDOM = np.random.default_rng(7)
AGE, SEX = RANDOM.integers(0, 100, N), RANDOM.integers(0, 2, N)
REGION, WORK = RANDOM.integers(0, 12, N), RANDOM.integers(0, 4, N)
ZONE = RANDOM.integers(0, 6, N)
# Three people aged 19 or 20 in region 0 are kept; the others there are aged 18.
YOUNG = np.flatnonzero((REGION == 0) & np.isin(AGE, [19, 20]))
AGE[YOUNG[3:]] = 18
# Two zonings cover the same area but for three people of zone 0.
MOVED = np.flatnonzero(ZONE == 0)[:3]
# A rare condition within others, four people.
RARE = np.zeros(N, dtype=bool)
RARE[np.flatnonzero(SEX == 1)[:4]] = True

CALM = [
    AGE // 20 + 5 * SEX + 1,
    AGE // 20 + 5 * REGION + 1,
    REGION + 12 * SEX + 1,
    WORK + 4 * SEX + 1,
    np.where(WORK == 1, REGION + 1, 0),
    ZONE + 6 * SEX + 1,
]
WHOLE = (SEX == 1) & (WORK < 2)
FIRST, SECOND = WHOLE & (REGION < 6), WHOLE & (REGION >= 6) & ~RARE & (AGE != 1)
LEFT = np.flatnonzero(WHOLE & ~FIRST & ~SECOND)
SECOND[LEFT[4:]] = True
A, B = RANDOM.random(N) < 0.3, RANDOM.random(N) < 0.3
BOTH = np.flatnonzero(A & B)
B[BOTH[5:]] = False

PLANTED = [
    pytest.param(
        [np.digitize(AGE, [19, 40]) + 3 * REGION + 1],
        np.digitize(AGE, [21, 40]) + 3 * REGION + 1,
        YOUNG[:3],
        2,
        id="shifted banding of a rare group",
    ),
    pytest.param(
        [REGION + 1],
        np.where(RARE, 0, REGION + 1),
        None,
        2,
        id="same table without a small subgroup",
    ),
    pytest.param(
        [np.where(ZONE < 3, ZONE + 1, 0)],
        np.where((ZONE < 3) & ~np.isin(np.arange(N), MOVED), 1 + (SEX == 1), 0),
        MOVED,
        2,
        id="union of zones less own zones",
    ),
    pytest.param(
        [WHOLE.astype(int), FIRST.astype(int)], SECOND.astype(int), LEFT[:4], 3, id="chain of three"
    ),
    pytest.param(
        [A.astype(int), B.astype(int)], (A | B).astype(int), BOTH[:5], 3, id="both of two conditions"
    ),
]
DECOYS = [
    pytest.param(
        [np.digitize(AGE, [30, 60]) + 1],
        np.digitize(AGE, [35, 60]) + 1,
        id="banding shifted by a large group",
    ),
    pytest.param(
        [((AGE >= 20) & (AGE < 50)).astype(int)],
        ((AGE >= 21) & (AGE < 51)).astype(int),
        id="symmetric difference",
    ),
    pytest.param([], AGE // 20 + 5 * WORK + 1, id="another harmless table"),
]


def ledger_with(partners, depth):
    ledger = DifferencingSearch(N, threshold=10, depth=depth)
    for number, codes in enumerate([*CALM[:3], *partners, *CALM[3:]]):
        ledger.release([Partition.published(f"output {number}", codes)])
    return ledger


@pytest.mark.parametrize(("partners", "new", "units", "depth"), PLANTED)
def test_planted_groups_are_found_at_their_depth(partners, new, units, depth):
    part = [Partition.published("new", new)]
    if depth == 3:
        assert ledger_with(partners, 2).check(part) == []
    found = ledger_with(partners, 3).check(part)
    assert found
    assert all(len(group) < 10 and len(group.outputs) <= depth for group in found)
    if units is not None:
        assert sorted(units) in [sorted(group.units) for group in found]
    else:
        assert set(np.concatenate([group.units for group in found])) == set(np.flatnonzero(RARE))


@pytest.mark.parametrize(("partners", "new"), DECOYS)
def test_decoys_raise_no_finding(partners, new):
    assert ledger_with(partners, 3).check([Partition.published("new", new)]) == []
