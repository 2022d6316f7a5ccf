"""A search among blocks of units that are alike finds what a search among units does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitoku.attacks.differencing import DifferencingSearch, Partition, condensed, search

PUBLISHES = [frozenset({"count"}), frozenset({"count", "income"}), frozenset({"income"})]


def outputs(random, n_units):
    """Draw outputs of one or two partitions by a few variables, some of whose cells are withheld."""
    variables = [random.integers(0, 3, n_units) for _ in range(3)]
    for number in range(int(random.integers(2, 5))):
        publishes = PUBLISHES[int(random.integers(len(PUBLISHES)))]
        parts = []
        for place in range(int(random.integers(1, 3))):
            codes = np.zeros(n_units, dtype=np.int64)
            for chosen in random.choice(3, int(random.integers(1, 3)), replace=False):
                codes = codes * 3 + variables[chosen]
            withheld = random.integers(0, int(codes.max()) + 1)
            _, shown = np.unique(np.where(codes == withheld, -1, codes), return_inverse=True)
            parts.append(Partition.published(f"output {number}", shown, part=place, publishes=publishes))
        yield parts


def found_in(n_units, seed, depth):
    """Check and release output by output: everything that is said of each."""
    ledger = DifferencingSearch(n_units, threshold=14, depth=depth)
    said = []
    for parts in outputs(np.random.default_rng(seed), n_units):
        small = [(group.cells, group.units.tolist(), group.hash) for group in ledger.check(parts)]
        found = ledger.searched(parts)
        exact = [(group.cells, group.units.tolist(), len(group)) for group in ledger.exact(parts)]
        derived = [
            (part.certificates, part.hashes.tolist(), part.sizes.tolist(), part.codes.tolist())
            for part in map(condensed.expand, found.derived)
        ]
        said.append((small, derived, exact, found.left_out))
        ledger.release(parts)
    return said


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), depth=st.integers(2, 4))
def test_blocks_and_units_give_equal_findings(seed, depth):
    n_units = 90
    plain = found_in(n_units, seed, depth)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(search, "FEW_UNITS", 0)
        patched.setattr(condensed, "PART", 1)
        assert found_in(n_units, seed, depth) == plain


def test_random_blocks_contain_findings(monkeypatch):
    monkeypatch.setattr(search, "FEW_UNITS", 0)
    monkeypatch.setattr(condensed, "PART", 1)
    told = [said for seed in range(8) for said in found_in(90, seed, 3)]
    assert sum(bool(small) for small, *_ in told) > 3
    assert sum(bool(derived) for _, derived, *_ in told) > 3


def test_units_are_searched_if_blocks_save_little():
    ledger = DifferencingSearch(20_000, threshold=10)
    codes = np.arange(20_000) // 7
    parts = [Partition.published("fine", codes + 1)]
    assert ledger.check(parts) == []
    ledger.release(parts)
    without_one = codes + 1
    without_one[0] = 0
    numbers = np.unique(without_one, return_inverse=True)[1]
    # The cell of seven without the one: found among units as among blocks.
    (group,) = [each for each in ledger.check([Partition.published("other", numbers)]) if len(each) == 1]
    assert group.units.tolist() == [0]
