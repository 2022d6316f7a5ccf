"""Integers of two words against Python's own integers and fractions."""

from __future__ import annotations

from fractions import Fraction
from math import trunc

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hitoku.kernels import fixed_point

WHOLE = st.integers(-(2**119), 2**119)


def words_of(number):
    return np.array([[number >> 62, number & (2**62 - 1)]], dtype=np.int64)


def number_of(words):
    return (int(words[0]) << 62) + int(words[1])


@settings(deadline=None, max_examples=65)
@given(WHOLE | st.integers(-(2**64), 2**64) | st.builds(lambda n, k: n << k, st.integers(-9, 9), st.just(53)))
def test_nearest_double_matches_python(number):
    # Python rounds an integer to the nearest double, ties to even.
    assert fixed_point.round_all(words_of(number), 1.0)[0] == float(number)
    assert fixed_point.round_all(words_of(number), 2.0**20)[0] == float(Fraction(number, 2**20))


def test_ties_round_to_even():
    for number in (
        2**53 + 1,
        2**53 + 3,
        2**80 + 2**27,
        2**80 + 2**27 + 1,
        -(2**53) - 1,
        -(2**90) - 2**37 - 1,
    ):
        assert fixed_point.round_all(words_of(number), 1.0)[0] == float(number)


@settings(deadline=None, max_examples=39)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.floats(-1e6, 1e6) | st.sampled_from([1e16, -1e16, 0.1, 1e-9])),
        max_size=30,
    ),
    st.randoms(use_true_random=False),
)
def test_sums_match_integers_in_any_order(rows, random):
    fine = 2.0**60
    exact = [sum(trunc(Fraction(x) * 2**60) for leaf, x in rows if leaf == place) for place in range(4)]
    found = []
    for _ in range(2):
        words = np.zeros((4, 2), dtype=np.int64)
        key = np.array([leaf + 4 * 7 for leaf, _ in rows], dtype=np.uint64)
        fixed_point.leaf_sums(key, 3, np.array([x for _, x in rows]), fine, words)
        found.append(words)
        random.shuffle(rows)
    assert found[0].tobytes() == found[1].tobytes()
    assert [number_of(row) for row in found[0]] == exact
    assert fixed_point.round_all(found[0], fine).tolist() == [float(Fraction(n, 2**60)) for n in exact]


@settings(deadline=None, max_examples=39)
@given(st.lists(st.integers(-(2**53) + 1, 2**53 - 1), max_size=8))
def test_squares_are_exact(amounts):
    high, low = np.int64(0), np.int64(0)
    for amount in amounts:
        high, low = fixed_point.plus_square(high, low, float(amount))
    assert number_of((high, low)) == sum(amount * amount for amount in amounts)


@settings(deadline=None, max_examples=39)
@given(st.lists(st.tuples(st.integers(-(2**28), 2**28), *[st.integers(-(2**58), 2**58)] * 3), min_size=1))
def test_parts_of_31_bits_are_added_separately(limbs):
    found = fixed_point.from_limbs(np.array(limbs, dtype=np.int64))
    assert [number_of(row) for row in found] == [
        sum(part << 31 * (3 - place) for place, part in enumerate(row)) for row in limbs
    ]


@settings(deadline=None, max_examples=20)
@given(st.lists(WHOLE, min_size=12, max_size=12))
def test_leaves_are_added_to_codes(numbers):
    words = np.concatenate([words_of(number) for number in numbers])  # two before, three leaves, two behind
    members = [[0], [1], [2], [0, 2], [0, 1, 2]]
    indptr = np.cumsum([0, *map(len, members)])
    found = np.zeros((2 * 5 * 2, 2), dtype=np.int64)
    fixed_point.add_axis(words, indptr, np.array([leaf for own in members for leaf in own]), found, 2, 3, 2)
    shaped = np.array(numbers, dtype=object).reshape(2, 3, 2)
    expected = [
        sum(shaped[b, leaf, a] for leaf in own) for b in range(2) for own in members for a in range(2)
    ]
    assert [number_of(row) for row in found] == expected
