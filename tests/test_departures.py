"""Where hitoku departs from the papers: every line of the page is held by a test, which is named here."""

from __future__ import annotations

import numpy as np
import pytest
from tests.test_architecture import ROOT
from tests.test_threat_model import functions

import hitoku as ht
from hitoku.checks.policies import policy
from hitoku.testing import covers

PAGE = (ROOT / "docs" / "explanation" / "departures.md").read_text("utf-8")
# How a line of the page begins, and the tests that show what hitoku does there.
HELD = {
    "formula (8) fixes": "tests/attacks/test_interval.py::test_bounds_match_minami_abe_example_1",
    "Algorithm 1 updates": "tests/attacks/test_matching.py::test_single_match_sets_both_bounds "
    "papers/tests/test_minami_abe_2019_search.py::test_printed_algorithm_is_followed_step_by_step",
    '"the" optimal pattern': "tests/methods/optimal/test_optimal.py::"
    "test_two_way_pattern_matches_enumeration",
    "`w > 8` in definition 3": "papers/tests/test_minami_abe_2019.py::test_width_of_nine_exceeds_eight",
    "a zero is unsafe": "tests/rules/test_min_frequency.py::test_counts_below_n_are_unsafe",
    "effective *intervals*": "tests/attacks/test_matching.py::test_gaps_in_value_sets_are_reported",
    "one level to either side": "tests/test_departures.py::test_zero_level_forbids_that_direction",
    "values printed as the solver": "tests/methods/adjust/test_adjust.py::"
    "test_every_unsafe_cell_moves_and_every_sum_holds_exactly",
    "a cell with `freq(parent)": "tests/rules/test_direct_disclosure.py::test_all_but_k_in_a_cell_is_unsafe",
    "cells are suppressed; the choice": "tests/test_departures.py::test_need_from_cells_has_no_groups "
    "tests/methods/gauss/test_gauss.py::test_elimination_alone_is_not_enough_for_direct_disclosure",
    "no cell follows *exactly*": "tests/methods/gauss/test_gauss.py::"
    "test_no_unsafe_cell_is_exposed_and_every_secondary_one_is_needed "
    "papers/tests/test_lupp_langsrud_2021.py::test_r_package_publishes_the_same_table_1",
    "elimination in integers": "tests/attacks/test_linear_disclosure.py::"
    "test_exposed_cells_match_exact_fractions",
    "ties in R's order": "tests/methods/gauss/test_gauss.py::test_order_decides_which_cells_are_withheld",
    "p%: safe if": "tests/rules/test_p_percent.py::test_exact_p_percent_remainder_is_safe",
    "a threshold of 10 *elements*": "tests/test_departures.py::test_width_ten_spans_eleven_counts",
    "dominance applies to sums": "papers/tests/test_kikuchi_minami_2017.py::"
    "test_differences_from_the_paper_are_explained",
    "mode: from more than 10": "papers/tests/test_kikuchi_minami_2017.py::"
    "test_differences_from_the_paper_are_explained",
    "group disclosure: suppressed": "tests/rules/test_group_disclosure.py::"
    "test_levels_hide_a_share_that_width_does_not",
    "until *all* suppressed": "tests/methods/test_redundant_suppressions.py::"
    "test_suppressed_cells_have_widths_of_the_paper",
    "the smallest cell of the row": "tests/methods/greedy/test_greedy.py::"
    "test_pattern_matches_reference_implementation",
    "by value, zeros": "tests/methods/greedy/test_greedy.py::test_zeros_are_last_and_only_if_movable",
    "Appendix E prints": "tests/io/argus/test_table_file.py::"
    "test_appendix_e_example_raises_with_failing_relations",
    "more than 11 degrees": "tests/checks/policies/test_policy.py::"
    "test_operator_of_threshold_is_configurable",
}


def rows() -> list[str]:
    """The first column of every line of the page's tables."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    return [first for line in lines if (first := line.split("|")[1].strip()) != "the paper"]


def test_every_departure_has_a_test():
    found = rows()
    assert len(found) > 20
    assert [row for row in found if not any(row.startswith(start) for start in HELD)] == []
    assert [start for start in HELD if not any(row.startswith(start) for row in found)] == []


@pytest.mark.parametrize("start", HELD)
def test_departure_tests_exist(start):
    for test in HELD[start].split():
        file, _, name = test.partition("::")
        assert name in functions(file)


def test_zero_level_forbids_that_direction():
    table = ht.Table.from_array([[50.0, 70.0], [60.0, 80.0]])
    unsafe = np.arange(table.n_cells) == 0
    up = ht.Need(unsafe=unsafe, lower=0.0, upper=np.where(unsafe, 5.0, 0.0))
    for senses in ("up", "down"):
        assert ht.Adjust(norm="l1", senses=senses).protect(table, up).value[0] >= 55.0


def test_need_from_cells_has_no_groups():
    table = ht.Table.from_array([[0, 17], [5, 9]], names=["group", "injury"])
    need = ht.DirectDisclosure(k=1, sensitive="injury").assess(table)
    assert len(need.attributions) > 0
    assert len(ht.Need(unsafe=need.unsafe).attributions) == 0


def test_width_ten_spans_eleven_counts():
    """A count of 0 to 10 has width 10 and eleven values; 0 to 9, ten of them, is too narrow here."""
    width = policy("japan-2017").interval.count
    need = ht.Need(unsafe=[True], width=width)
    inside = ht.Table(value=[5.0], relations=np.zeros((0, 1)), frequency=[5], integer=True)
    assert [covers(ht.Bounds(lower=[0], upper=[high]), inside, need) for high in (9, 10)] == [False, True]
