"""The search over readings: the printed algorithm, the distances, a small run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.attacks.matching import Matching
from hitoku.model import Release
from hitoku_papers.minami_abe_2019.published import SIDES, TABLES, UNSAFE
from hitoku_papers.minami_abe_2019.reading import Reading, drawn
from hitoku_papers.minami_abe_2019.search import (
    USUAL,
    Combination,
    Widths,
    apart,
    as_printed,
    by_chance,
    changes,
    combinations,
    distances,
    printed_shares,
    search,
    search_table,
    search_words,
    shares,
)
from hitoku_papers.minami_abe_2019.ties import method_of

SOME = [USUAL, Combination(Reading(zeros=False), "both"), Combination(Reading(), "else if")]


def algorithm_1(matched):
    """Lines 2 to 20 of Algorithm 1, word by word."""
    least, most = [np.inf] * matched.shape[1], [0] * matched.shape[1]
    for solution in matched:
        for i, value in enumerate(solution):
            if value < least[i]:
                least[i] = value
            elif value > most[i]:
                most[i] = value
    return least, most


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, 6), min_size=n, max_size=n), min_size=1, max_size=8)
    )
)
def test_printed_algorithm_is_followed_step_by_step(rows):
    matched = np.array(rows)
    least, most = as_printed(matched)
    assert (least.tolist(), most.tolist()) == algorithm_1(matched)


@pytest.mark.parametrize("side", SIDES)
def test_published_shares_are_whole(side):
    assert printed_shares(side).sum() == pytest.approx(1)
    assert printed_shares(side)[:-1].sum() == pytest.approx(UNSAFE[side][0] / UNSAFE[side][1])


def test_distances_count_cells_to_be_changed():
    one = shares([Widths(4, (0.0, 0.0, 3.0, 9.0))], 4)
    other = shares([Widths(4, (0.0, 3.0, 3.0, 9.0)), Widths(4, None), Widths(5, (1.0,))], 4)
    assert apart(one, other) == 25
    assert apart(one, one) == 0


def test_chance_makes_nothing_where_all_tables_are_alike():
    alike = [Widths(4, (0.0, 9.0))] * TABLES
    assert by_chance(alike, 4) == 0
    assert by_chance([*alike, *[Widths(4, (9.0, 9.0))] * TABLES], 4) > 0


def test_every_combination_is_tried_once():
    tried = combinations()
    assert len(set(tried)) == len(tried) == 3 * 2 * 2 * 3 * 2
    assert USUAL in tried
    assert changes(USUAL) == []


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return search(tmp_path_factory.mktemp("search"), tables=3, sides=(3, 4), tried=SOME, limit=100)


def test_widths_are_those_of_the_attack(found):
    reading = USUAL.reading
    for number, row in enumerate(found[USUAL][3:]):
        table = drawn(reading, 4, number, 1)
        need, method = reading.need(table), method_of(reading)
        release = Release.of(table, method.protect(table, need))
        bounds = Matching(method=method, rules=reading.rules, width=reading.width).bounds(release)
        assert row.widths == tuple(bounds.width[need.unsafe].tolist())


def test_printed_update_never_widens(found):
    """What is skipped can only be missing from the maximum."""
    for meant, printed in zip(found[USUAL], found[SOME[2]], strict=True):
        if printed.widths is not None:
            assert all(b <= a for a, b in zip(meant.widths, printed.widths, strict=True))


def test_closest_result_comes_first_and_is_named(found):
    sides = (4,)
    measured = distances(found, sides)
    means = [np.mean(far) for far in measured.values()]
    assert means == sorted(means)
    grid = search_table(found, sides)
    assert [row[0] for row in grid.rows] == ["1", "2", "3"]
    words = " ".join(search_words(found, sides).text)
    assert next(iter(measured)).reading.text in words
    assert "fits" in words
