from __future__ import annotations

import pytest

from hitoku_papers.page import Page, html
from hitoku_papers.reproduction import Reproduction, failing, overview, same


@pytest.mark.parametrize(
    ("agrees", "distance", "verdict", "how_far"),
    [
        (True, "", "same", "none"),
        (False, "", "differs", "not measured"),
        (False, "2 cells", "differs", "2 cells"),
        (None, "", "open", "nothing printed"),
    ],
)
def test_result_reports_its_distance_from_print(agrees, distance, verdict, how_far):
    line = Reproduction(place="a", what="b", published="1", ours="2", agrees=agrees, distance=distance)
    assert (line.verdict, line.how_far) == (verdict, how_far)


def test_only_what_contradicts_print_fails():
    lines = [same("a", "b", "1", "1"), same("a", "c", "1", "2")]
    lines.append(Reproduction(place="a", what="d", published="-", ours="2", agrees=None))
    assert [line.what for line in failing(lines)] == ["c"]


def test_overview_wraps_text_and_marks_differences():
    grid = overview("All", [same("Table 1", "sum", "17", "18", "because")])
    assert grid.rows == (("Table 1", "sum", "17", "18", "not measured", "because"),)
    text = html(Page("p", (grid,)))
    assert '<table class="wrapped">' in text
    assert '<tr class="differs first">' in text
