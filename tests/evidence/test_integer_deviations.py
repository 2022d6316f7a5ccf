"""Differences in arrays are read as a dictionary of them would be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.evidence import IntegerDeviations

WHOLE = st.integers(-(2**63), 2**63 - 1)


@given(plain=st.dictionaries(st.integers(0, 40), WHOLE))
def test_arrays_behave_as_a_mapping(plain):
    places = np.array(sorted(plain), dtype=np.int64)
    made = IntegerDeviations(places, np.array([plain[place] for place in sorted(plain)], dtype=np.int64))
    assert dict(made.items()) == dict(made) == plain
    assert len(made) == len(plain)
    assert [made.get(place) for place in range(-1, 42)] == [plain.get(place) for place in range(-1, 42)]
    assert made.keys() == plain.keys()


def test_index_beyond_last_cell_raises():
    with pytest.raises(KeyError):
        IntegerDeviations(np.array([3]), np.array([1]))[4]
