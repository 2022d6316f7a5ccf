"""The search over bit patterns against all patterns, judged by linprog."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.patterns import safe

from hitoku.kernels.line_masks import lines_of, precedes
from hitoku.kernels.patterns import FAR, cheapest
from hitoku.model import Need, Table


def mask_of(bits: int, n: int) -> np.ndarray:
    return np.array([bits >> k & 1 for k in range(n)], dtype=bool)


def listed(table: Table, need: Need, weight: np.ndarray, forced: int, allowed: int) -> int | None:
    """First safe pattern by weight, then by the lowest bit where two differ."""
    n = len(weight)
    inner = np.flatnonzero(table.inner)
    patterns = [bits for bits in range(2**n) if bits & forced == forced and not bits & ~(allowed | forced)]

    def rank(bits: int) -> tuple[int, list[int]]:
        cells = [(bits >> k) & 1 for k in range(n)]
        return int(
            sum(w for w, c, k in zip(weight, cells, range(n), strict=True) if c and not forced >> k & 1)
        ), cells

    for bits in sorted(patterns, key=rank):
        withheld = np.zeros(table.n_cells, dtype=bool)
        withheld[inner[[k for k in range(n) if bits >> k & 1]]] = True
        if safe(table, need, withheld):
            return bits
    return None


@settings(max_examples=10)
@given(data=st.data())
def test_search_returns_first_safe_pattern(data):
    rows, columns = data.draw(st.sampled_from([(2, 2), (2, 3), (3, 2), (2, 4)]))
    n = rows * columns
    counts = np.array(data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)))
    ceiling = np.array(data.draw(st.lists(st.sampled_from([1, 4, FAR]), min_size=n, max_size=n)))
    unsafe = np.zeros(n, dtype=bool)
    unsafe[data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=2))] = True
    levels = np.where(
        unsafe[:, None], data.draw(st.lists(st.tuples(*[st.integers(0, 5)] * 3), min_size=n, max_size=n)), 0
    )
    levels[unsafe & (levels.sum(axis=1) == 0), 2] = 1
    weight = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    forbidden = data.draw(st.integers(0, n - 1))
    forced = int(sum(1 << int(k) for k in np.flatnonzero(unsafe)))
    allowed = (2**n - 1) & ~(1 << forbidden) | forced

    upper = np.full((rows + 1, columns + 1), np.inf)
    upper[:rows, :columns] = (counts + np.where(ceiling == FAR, np.inf, ceiling)).reshape(rows, columns)
    table = Table.from_array(counts.reshape(rows, columns), upper=upper.ravel())
    spread = np.zeros((3, table.n_cells))
    spread[:, np.flatnonzero(table.inner)] = levels.T
    mask = spread.any(axis=0)
    need = Need(unsafe=mask, upper=spread[0], lower=spread[1], width=spread[2])

    status, found, _ = cheapest(
        rows, columns, ceiling, counts, levels, weight, mask_of(forced, n), mask_of(allowed, n), 10**6
    )
    expected = listed(table, need, weight, forced, allowed)
    assert status == (expected is not None)
    if expected is not None:
        assert np.array_equal(found, mask_of(expected, n))


def test_search_stops_at_node_limit():
    counts, room = np.full(16, 5), np.full(16, FAR)
    need = np.zeros((16, 3), dtype=np.int64)
    need[[0, 5, 10], 2] = 9
    forced, everything = need[:, 2] > 0, np.ones(16, dtype=bool)
    weight = np.ones(16, dtype=np.int64)
    assert cheapest(4, 4, room, counts, need, weight, forced, everything, 2)[0] == -1
    assert cheapest(4, 4, room, counts, need, weight, forced, everything, 10**6)[0] == 1


def test_first_pattern_has_zero_at_first_difference():
    patterns = [lines_of(1, 3, mask_of(bits, 3)) for bits in (0b000, 0b100, 0b010, 0b110, 0b001)]
    order = [[precedes(1, a, b) for b in patterns] for a in patterns]
    assert order == [[j > i for j in range(5)] for i in range(5)]
