"""What leaves the house: CSV and web page show published values and nothing else."""

from __future__ import annotations

import csv
import re

import numpy as np
import pandas as pd
import pytest

from hitoku.io import Publication, format_numbers
from hitoku.io.formats import page, write_table_csv
from hitoku.model import Hierarchy, Protection, Release, Table

SECRET = 4711


def release_of(array, **parts):
    table = Table.from_array(array, **parts)
    return Release.of(table, Protection.withhold(table, table.value == SECRET))


@pytest.mark.parametrize("integer", [True, False])
def test_numbers_round_trip(integer):
    values = np.array([0.0, 3.0, 1e16, -7.0, 123456789.0])
    values = values if integer else np.append(values, [0.1, 1 / 3, 2.5e-8])
    assert [float(text) for text in format_numbers(values, integer=integer)] == values.tolist()


def test_csv_lists_cells_without_suppressed_values(tmp_path):
    release = release_of([[20, 15], [72, SECRET]], names=("region", "job"))
    write_table_csv(tmp_path / "t.csv", Publication(release=release))
    with (tmp_path / "t.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 9
    assert rows[0] == {"region": "1", "job": "1", "value": "20", "status": "published"}
    assert rows[4] == {"region": "2", "job": "2", "value": "", "status": "withheld"}
    assert str(SECRET) not in (tmp_path / "t.csv").read_text()


@pytest.mark.parametrize(
    ("array", "tables"),
    [
        pytest.param([3, SECRET], 1, id="one variable"),
        pytest.param([[3, SECRET], [5, 6]], 1, id="two variables"),
        pytest.param([[[3, SECRET], [5, 6]], [[1, 2], [3, 4]]], 3, id="three variables"),
    ],
)
def test_html_shows_cells_without_suppressed_values(array, tables):
    release = release_of(array, measure="<persons>")
    html = page(release, title="A & B")
    assert html.count("<table>") == tables
    assert len(re.findall(r"<td(?: class=\"[a-z]+\"[^>]*)?>[^<]+</td>", html)) == release.n_cells
    assert html.count('class="withheld"') == 1
    assert "4,711" not in html
    assert "A &amp; B" in html
    assert "<persons>" not in html
    assert "http:" not in html
    assert "https:" not in html


def test_huge_html_table_refers_to_csv():
    table = Table.from_array(np.ones((600, 600), dtype=int))
    html = page(Release.of(table, Protection.withhold(table, table.value == SECRET)), title="big")
    assert "table.csv" in html
    assert len(html) < 10_000


def test_html_hierarchies_start_at_total_and_indent():
    """Leaves came first and groups last, and nothing told them apart."""
    tree = Hierarchy.from_tree({"North": ["N1", "N2"], "South": ["S1"]})
    cells = pd.DataFrame({"region": ["N1", "N2", "S1"], "job": ["a", "b", "a"], "n": [1, 2, 3]})
    table = Table.from_frame(cells, ["region", "job"], "n", hierarchies={"region": tree})
    html = page(Release.of(table, Protection.withhold(table, table.value == SECRET)), title="t")
    rows = re.findall(r'<th scope="row"(?: class="d(\d)")?>([^<]+)</th>', html)
    assert rows == [("", "Total"), ("1", "North"), ("2", "N1"), ("2", "N2"), ("1", "South"), ("2", "S1")]
    assert "th.d2 {" in html
    assert "position: sticky" in html


def test_layers_are_folded_with_open_totals_first():
    release = release_of([[[3, SECRET], [5, 6]], [[1, 2], [3, 4]]], names=["a", "b", "c"])
    html = page(release, title="t")
    folds = re.findall(r"<details( open)?><summary>([^<]+)</summary>", html)
    assert folds == [(" open", "c: Total"), ("", "c: 1"), ("", "c: 2")]
    assert "<script" not in html


def test_large_html_table_is_folded():
    table = Table.from_array(np.ones((2_000, 50), dtype=int))
    html = page(Release.of(table, Protection.withhold(table, table.value == SECRET)), title="big")
    assert html.count("<td>1</td>") == 2_000 * 50
    folds = re.findall(r"<details( open)?>", html)
    assert folds == [" open", "", "", "", ""]
    assert len(html) < 4_000_000


def test_numbers_equal_those_in_csv():
    """The page rounded to two decimals."""
    release = release_of([[1234.125, 2.0], [0.1, 0.2]])
    html = page(release, title="t")
    assert "<td>1,234.125</td>" in html
    assert '<td class="sum">0.3</td>' in html  # 0.1 + 0.2
