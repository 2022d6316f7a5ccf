"""Every certificate is added up again before it is shown: one that does not give its group is an error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitoku.attacks.differencing import (
    CommonRefinement,
    DifferencingSearch,
    JointPartition,
    Partition,
    SingledOut,
    common_refinement,
    comparing,
    verify,
)
from hitoku.errors import SolverError

# Ages 10, 19, 25: 0-18 and 19+, then 0-20 and 21+.
FIRST = Partition.published("first", [1, 1, 1, 2, 2, 2])
SECOND = Partition.published("second", [1, 1, 1, 1, 2, 2])
PLACES = {("first", 0): FIRST, ("second", 0): SECOND}


def claim(certificate, units):
    return SingledOut(certificate=certificate, members=np.array(units), hash=0)


@pytest.mark.parametrize(
    ("certificate", "units", "holds"),
    [
        pytest.param({("second", 0, 1): 1, ("first", 0, 1): -1}, [3], True, id="0-20 less 0-18"),
        pytest.param({("first", 0, 2): 1, ("second", 0, 2): -1}, [3], True, id="19+ less 21+"),
        pytest.param({("second", 0, 1): 1, ("first", 0, 1): -1}, [4], False, id="somebody else"),
        pytest.param({("second", 0, 1): 1, ("first", 0, 1): -1}, [3, 4], False, id="one more"),
        pytest.param({("second", 0, 1): 1, ("first", 0, 1): 1}, [3], False, id="twice"),
        pytest.param({("first", 0, 1): 1, ("second", 0, 1): -1}, [3], False, id="negative"),
        pytest.param({("second", 0, 1): 2, ("first", 0, 1): -2}, [3], False, id="two for one"),
        pytest.param({("first", 0, 1): 1}, [0, 1], False, id="a part of a cell"),
    ],
)
def test_certificate_evaluates_to_exactly_its_group(certificate, units, holds):
    if holds:
        verify([claim(certificate, units)], PLACES)
    else:
        with pytest.raises(SolverError, match="does not add up"):
            verify([claim(certificate, units)], PLACES)


def test_wrong_certificate_among_valid_ones_is_found():
    right = claim({("second", 0, 1): 1, ("first", 0, 1): -1}, [3])
    with pytest.raises(SolverError):
        verify([right, claim({("second", 0, 1): 1, ("first", 0, 1): -1}, [2])], PLACES)


def test_wrong_search_result_is_rejected(monkeypatch):
    monkeypatch.setattr(
        comparing.JointPartition, "units_of_each", lambda _, groups: [np.array([0]) for _ in groups]
    )
    ledger = DifferencingSearch(6, threshold=3)
    ledger.release([FIRST])
    with pytest.raises(SolverError):
        ledger.check([SECOND])


@settings(deadline=None, max_examples=39)
@given(seed=st.integers(0, 2**32 - 1))
def test_verification_matches_summing_over_all_units(seed):
    random = np.random.default_rng(seed)
    n = 30
    parts = [Partition.published(str(p), random.integers(0, 4, n)) for p in range(int(random.integers(1, 4)))]
    places = {(str(p), 0): part for p, part in enumerate(parts)}
    certificate = {
        (str(p), 0, int(random.integers(1, len(part) + 1))): int(random.choice([-1, 1]))
        for p, part in enumerate(parts)
        if len(part)
    }
    if not certificate:
        return
    total = np.zeros(n, dtype=int)
    for (name, _, cell), times in certificate.items():
        total += times * (parts[int(name)].codes == cell)
    units = np.flatnonzero(total == 1) if random.random() < 0.7 else random.choice(n, 3, replace=False)
    expected = np.zeros(n, dtype=int)
    expected[units] = 1
    if np.array_equal(total, expected):
        verify([claim(certificate, units)], places)
    else:
        with pytest.raises(SolverError):
            verify([claim(certificate, units)], places)


@settings(deadline=None, max_examples=39)
@given(seed=st.integers(0, 2**32 - 1), most=st.sampled_from([1, 6, 512]))
def test_combined_partitions_intersect_like_separate_ones(seed, most):
    random = np.random.default_rng(seed)
    parts = [Partition.published(str(p), random.integers(0, 4, 40)) for p in range(4)]
    *own, other = parts
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(common_refinement, "MAX_BLOCKS", most)
        refinement = CommonRefinement(own)
    assert refinement.holds(own[0])
    for part in (part for part in own if refinement.holds(part)):
        alone, together = JointPartition.of(part, other), JointPartition.of(part, other, None, refinement)
        for name in ("tail", "head", "size", "start", "incident"):
            assert getattr(alone, name).tolist() == getattr(together, name).tolist()
