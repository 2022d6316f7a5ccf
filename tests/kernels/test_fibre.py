from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.matching import fitting

from hitoku.kernels.fibre import count, list_tables
from hitoku.model import Protection, Release, Table


@settings(max_examples=39)
@given(data=st.data())
def test_fibre_matches_enumeration(data):
    rows, columns = data.draw(st.tuples(st.integers(2, 3), st.integers(2, 3)))
    n = rows * columns
    counts = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    withheld = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    table = Table.from_array(counts.reshape(rows, columns))
    mask = np.zeros((rows + 1, columns + 1), dtype=bool)
    mask[:-1, :-1] = withheld.reshape(rows, columns)
    expected = fitting(Release.of(table, Protection.withhold(table, mask.ravel())), (rows, columns))
    found = list_tables(columns, counts, withheld, 10**6)
    assert found.tolist() == [counts.ravel().tolist() for counts in expected]
    assert count(columns, counts, withheld, 10**6) == len(expected)


def test_fibre_stops_at_the_limit():
    counts, everything = np.full(9, 5), np.ones(9, dtype=bool)
    assert count(3, counts, everything, 7) == 7
    assert (
        list_tables(3, counts, everything, 7).tolist() == list_tables(3, counts, everything, 9)[:7].tolist()
    )
