"""Witnesses that a method hands over: taken where they hold, and never trusted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.circulation.test_circulation import hierarchy

from hitoku.evidence import audit
from hitoku.evidence.verify import verify
from hitoku.methods.circulation import Circulation
from hitoku.model import Deviations, Need, Protection, Release, Table


def test_deviations_behave_as_sequence_of_mappings():
    deviations = Deviations(np.array([0, 2, 3]), np.array([4, 7, 1]), np.array([1, -1, 5]), scale=1)
    assert [dict(move) for move in deviations] == [{4: 1, 7: -1}, {1: 5}]
    assert dict(deviations[-1]) == {1: 5}
    assert deviations[:1] == [{4: 1, 7: -1}]
    with pytest.raises(IndexError):
        deviations[2]


@settings(deadline=None, max_examples=16)
@given(seed=st.integers(0, 2**32 - 1), drop=st.booleans())
def test_given_deviations_never_change_the_verdict(seed, drop):
    random = np.random.default_rng(seed)
    table, need = hierarchy(int(seed % 7), sides=((2, 2), (3,), (2,)))
    protection = Circulation().protect(table, need)
    withheld = protection.withheld.copy()
    if drop:
        secondary = np.flatnonzero(protection.secondary)
        withheld[random.permutation(secondary)[:3]] = False
    release = Release.of(table, Protection.withhold(table, withheld, need))
    amounts = protection.deviations.amounts.copy()
    wrong = random.random(len(amounts)) < 0.2
    amounts[wrong] += random.integers(-9, 10, int(wrong.sum()))
    forged = Deviations(protection.deviations.begins, protection.deviations.cells, amounts, scale=1)
    alone, helped = audit(table, need, release), audit(table, need, release, deviations=forged)
    assert alone.outcomes == helped.outcomes


@pytest.mark.parametrize("scale", [1, 60, 7])
def test_fractional_steps_are_witnesses_for_real_values(scale, tmp_path):
    table = Table.from_array([[2.5, 1.5], [7.0, 1.0]])
    need = Need(
        unsafe=table.value == 1,
        lower=np.where(table.value == 1, 0.5, 0),
        upper=np.where(table.value == 1, 0.5, 0),
    )
    deviations = Deviations(np.array([0, 4]), np.array([0, 1, 3, 4]), scale * np.array([1, -1, -1, 1]), scale)
    release = Release.of(table, Protection.withhold(table, table.inner, need))
    found = audit(table, need, release, deviations=deviations)
    assert found.safe
    assert found.summary["programs"] == 0
    assert verify(found.certificate.write(tmp_path / "certificate.json"))


def test_deviation_with_repeated_cell_is_not_a_witness():
    """Its two parts cancel, so nothing moves; one of them alone would look like a way to move the cell."""
    table = Table.from_array([[20, 15], [72, 1]])
    need = Need(unsafe=table.value == 1, lower=1.0, upper=1.0)
    release = Release.of(table, Protection.withhold(table, need.unsafe))
    twice = np.repeat(np.flatnonzero(need.unsafe), 2)
    deviations = Deviations.of([(twice, np.array([1, -1])), (twice, np.array([-1, 1]))], scale=1)
    assert audit(table, need, release, deviations=deviations).outcomes == audit(table, need, release).outcomes
