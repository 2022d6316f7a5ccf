"""Kikuchi and Minami (2017) computed again: what agrees, what does not and why, and the typed tables."""

from __future__ import annotations

import numpy as np
import pytest

from hitoku_papers.kikuchi_minami_2017 import page, results
from hitoku_papers.kikuchi_minami_2017.procedures import COUNTS, stages
from hitoku_papers.kikuchi_minami_2017.published import TABLE_1, TABLE_2, TABLE_3, TABLE_6
from hitoku_papers.page import html, markdown
from hitoku_papers.reproduction import failing


@pytest.fixture(scope="module")
def found():
    return results()


def test_differences_from_the_paper_are_explained(found):
    apart = failing(found)
    assert all(line.why and line.distance for line in apart)
    # Two numbers for the mode in the paper, a stricter rule on squares here, and its misprints.
    places = ["section 3, mode", "Appendix D", "Appendix E, Table 6", "Appendix E, Table 2"]
    assert [line.place for line in apart] == places


def test_every_section_with_something_to_compute_is_there(found):
    places = {line.place.split(",")[0] for line in found}
    assert {"Table 1", "section 3", "section 4.3", "Figure 3", "Figures 3 and 4", "Figure 5"} <= places
    assert {f"Appendix {letter}" for letter in "CDE"} <= places


def test_five_principles_are_tried_on_both_sides(found):
    tried = [line for line in found if line.place.startswith("Appendix C")]
    both = {line.place: set() for line in tried}
    for line in tried:
        both[line.place].add(line.published)
    assert len(both) == 6  # five principles, and the rule that is to replace the fourth
    assert {place for place, said in both.items() if said == {"refused"}} == {"Appendix C, individual values"}


def test_misprints_are_in_the_paper():
    magnitudes, counts = np.array(TABLE_2), np.array(TABLE_3)
    assert magnitudes[:2, :2].sum() == 140 != magnitudes[2, 2]
    assert counts[:2, :2].sum() == counts[2, 2]
    printed = {tuple(line.split(", ")[:2]): int(line.split(", ")[3]) for line in TABLE_6.splitlines()}
    assert printed["TOTAL", "a"] == 90 != magnitudes[2, 0]
    assert printed["TOTAL", "b"] == magnitudes[2, 1]


def test_both_halves_of_table_1_match():
    first, second = TABLE_1.values()
    assert sum(first) == sum(second)


def test_every_step_of_figure_4_withholds_something_new():
    grid = stages()
    counts = np.array(COUNTS)
    shares = counts / counts.sum(axis=1, keepdims=True), counts / counts.sum(axis=0)
    small, row, column = counts < 10, shares[0] > 0.9, shares[1] > 0.9
    added = [row_[1] for row_ in grid.rows]
    expected = [small.sum(), (row & ~small).sum(), (column & ~row & ~small).sum()]
    assert added[:3] == expected
    assert min(added) > 0
    assert grid.rows[-1][2] == sum(added)


def test_page_marks_differences(found):
    written = page(found)
    assert html(written).count('<tr class="differs first">') == len(failing(found))
    assert "Appendix F" in markdown(written)
