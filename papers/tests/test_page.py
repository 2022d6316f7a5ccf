from __future__ import annotations

import math
import re

import pytest
from tests.io.test_content_policy import assert_policy

from hitoku.errors import OutputError
from hitoku_papers.page import Page, PageTable, Picture, Words, html, markdown, side_by_side, write


class Dot:
    """A figure of one byte."""

    def savefig(self, fname, **options):
        assert options["format"] == "png"
        fname.write(b"x")


PAGE = Page(
    "Hits & misses",
    (
        Words(("Some words.", "- one", "- two", "More <b>words</b>."), "First"),
        side_by_side("Table 1", ["n", "%"], {"a": [3, 97.7]}, {"a": [4, 100.0], "b": [5, math.nan]}, far=2),
        Picture("dot", Dot(), "A dot"),
        PageTable("", ("name", "x"), (("c", None), ("d", -1.25))),
    ),
)


def test_markdown_aligns_published_computed_and_difference():
    lines = markdown(PAGE).splitlines()
    assert "| a | published | 3 | 97.7 |" in lines
    assert "|  | ours | 4 | 100.0 |" in lines
    assert "|  | difference | +1 | +2.3 |" in lines
    assert "| b | ours | 5 | \N{EN DASH} |" in lines
    assert "![A dot](dot.png)" in lines
    assert "| d | \N{MINUS SIGN}1.2 |" in lines
    assert "- one\n- two\n\nMore" in markdown(PAGE)


def test_html_needs_nothing_else_and_escapes():
    text = html(PAGE)
    assert "Hits &amp; misses" in text
    assert "&lt;b&gt;words" in text
    assert "data:image/png;base64,eA==" in text
    assert not re.search(r"(src|href)=\"(?!data:)", text)
    assert text.count('class="far"') == 1  # +2.3, not +1


@pytest.mark.parametrize(
    ("printed", "own", "shown"),
    [
        (1.0, 1.04, "0.0"),
        (1.0, 0.0, "\N{MINUS SIGN}1.0"),
        (1000, 3500, "+2,500"),
        (5, 5, "0"),
        (1.0, math.nan, "\N{EN DASH}"),
    ],
)
def test_differences_are_signed(printed, own, shown):
    grid = side_by_side("", ["x"], {"a": [printed]}, {"a": [own]})
    assert grid.rows[2][2] == shown


def test_rewritten_page_keeps_its_pictures(tmp_path):
    text, page = write(PAGE, tmp_path / "new")
    assert text.read_text("utf-8") == markdown(PAGE)
    assert page.read_text("utf-8") == html(PAGE)
    assert (tmp_path / "new" / "dot.png").read_bytes() == b"x"


def test_folder_that_cannot_be_created_raises(tmp_path):
    (tmp_path / "file").write_text("here", "utf-8")
    with pytest.raises(OutputError):
        write(PAGE, tmp_path / "file" / "below")


def test_page_allows_its_own_style_and_nothing_else():
    assert_policy(html(Page("A paper", (Words(("A paragraph.",), "Heading"),))))
