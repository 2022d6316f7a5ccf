"""The workbook, read back by another program: what stands where, how it looks, what Excel would refuse."""

from __future__ import annotations

import zipfile
from datetime import datetime
from types import SimpleNamespace

import numpy as np
import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitoku.errors import OutputError
from hitoku.io import LEGEND, Publication, sheets_of
from hitoku.io import layout as laid_out
from hitoku.io.formats import FORBIDDEN, sheet_names, write_xlsx, xlsx
from hitoku.model import Dimension, Hierarchy, Labels, Protection, Release, Table

HEAD = 6  # the row with the codes; the table begins below


def shown(table, hidden=None, **words) -> Publication:
    mask = np.zeros(table.n_cells, dtype=bool) if hidden is None else hidden
    return Publication(release=Release.of(table, Protection.withhold(table, mask)), **words)


def opened(tmp_path, publication):
    file = tmp_path / "table.xlsx"
    write_xlsx(file, publication)
    return openpyxl.load_workbook(file)


def grid(sheet, n_rows, n_columns):
    """Texts and numbers below the head, stub included."""
    rows = sheet.iter_rows(min_row=HEAD + 1, max_row=HEAD + n_rows, max_col=n_columns, values_only=True)
    return [list(row) for row in rows]


@pytest.fixture
def persons():
    return Table.from_array(
        [[20, 15], [72, 1]], names=["region", "sex"], codes=[["N", "S"], ["f", "m"]], measure="persons"
    )


def test_two_way_xlsx_table_is_crossed(persons, tmp_path):
    words = {"title": "Persons in 2026", "source": "Census", "footnotes": ("At night.",)}
    book = opened(tmp_path, shown(persons, persons.inner, **words))
    assert book.sheetnames == ["Table", "Notes"]
    sheet = book["Table"]
    assert sheet["A1"].value == "Persons in 2026"
    assert sheet["A2"].value == "persons by region and sex"
    assert sheet["A3"].value == LEGEND
    assert [cell.value for cell in sheet[HEAD]] == ["region", "f", "m", "Total"]
    assert sheet.cell(HEAD - 1, 2).value == "sex"
    assert grid(sheet, 3, 4) == [["N", "c", "c", 35], ["S", "c", "c", 73], ["Total", 92, 16, 108]]
    assert [sheet.cell(row, 1).value for row in (11, 12, 13)] == [
        "At night.",
        "Source: Census",
        "See also the sheet Notes.",
    ]


def test_suppressed_cells_have_letter_and_pattern(persons, tmp_path):
    sheet = opened(tmp_path, shown(persons, persons.value == 1))["Table"]
    hidden, open_ = sheet.cell(HEAD + 2, 3), sheet.cell(HEAD + 2, 2)
    assert (hidden.value, hidden.data_type, hidden.fill.patternType) == ("c", "s", "lightUp")
    assert hidden.font.i
    assert (open_.value, open_.fill.patternType) == (72, None)


def test_xlsx_has_frozen_panes_and_print_setup(persons, tmp_path):
    sheet = opened(tmp_path, shown(persons))["Table"]
    assert sheet.freeze_panes == "B7"
    assert sheet.page_setup.orientation == "landscape"
    assert sheet.print_title_rows == "$5:$6"
    assert sheet.sheet_properties.pageSetUpPr.fitToPage
    assert sheet.page_setup.fitToHeight == 0
    assert sheet.column_dimensions["A"].width > 8


@pytest.mark.parametrize(("n_columns", "pages"), [(10, 1), (100, 4)])
def test_wide_xlsx_table_is_printed_on_several_pages(n_columns, pages, tmp_path):
    table = Table.from_array(np.full((2, n_columns), 7), names=["region", "branch"])
    sheet = opened(tmp_path, shown(table))["Table"]
    # 101 columns of nine characters; a page has room for 260, of which the stub takes eleven.
    assert (sheet.page_setup.fitToWidth or 1) == pages
    assert sheet.print_title_cols == "$A:$A"


def test_two_line_code_is_wrapped(tmp_path):
    table = Table.from_array([[20, 15], [72, 1]], codes=[["one\ntwo", "three"], ["f", "m"]])
    sheet = opened(tmp_path, shown(table))["Table"]
    assert [bool(sheet.cell(HEAD + row, 1).alignment.wrap_text) for row in (1, 2)] == [True, False]


def test_xlsx_notes_explain_suppression_when_present(persons, tmp_path):
    notes = opened(tmp_path, shown(persons, persons.inner, source="Census"))["Notes"]
    text = "\n".join(str(row[0]) for row in notes.iter_rows(values_only=True))
    assert "4 of 9 cells are withheld." in text
    assert LEGEND in text
    assert "Census" in text
    told = opened(tmp_path, shown(persons))
    assert "No cell is withheld." in [row[0] for row in told["Notes"].iter_rows(values_only=True)]
    assert told["Table"]["A3"].value in {None, ""}


def test_numbers_keep_their_decimals(tmp_path):
    table = Table.from_array(np.array([0.1, 0.2, 1234.5]), integer=False)
    sheet = opened(tmp_path, shown(table))["Table"]
    assert sheet.cell(HEAD + 1, 2).number_format == "#,##0.0"
    assert sheet.cell(HEAD + 4, 2).value == 1234.8
    whole = opened(tmp_path, shown(Table.from_array([3, 4])))["Table"]
    assert whole.cell(HEAD + 1, 2).number_format == "#,##0"


def test_xlsx_hierarchy_uses_outline_levels(tmp_path):
    tree = Hierarchy.from_tree({"North": ["N1", "N2"], "South": ["S1", "S2"]})
    dimensions = (Dimension.of("region", tree), Dimension.of("sex", Hierarchy.flat(["f", "m"])))
    inner = np.arange(1.0, 9.0).reshape(4, 2)
    value = (dimensions[0].closure @ inner @ dimensions[1].closure.T.toarray()).ravel()
    sheet = opened(tmp_path, shown(Table(value=value, dimensions=dimensions)))["Table"]
    codes = [sheet.cell(HEAD + 1 + row, 1) for row in range(7)]
    assert [cell.value for cell in codes] == ["Total", "North", "N1", "N2", "South", "S1", "S2"]
    assert [cell.alignment.indent for cell in codes] == [0, 1, 2, 2, 1, 2, 2]
    assert [sheet.row_dimensions[HEAD + 1 + row].outlineLevel for row in range(7)] == [0, 1, 2, 2, 1, 2, 2]
    assert [cell.font.b for cell in codes] == [True, True, False, False, True, False, False]
    assert grid(sheet, 7, 4)[0] == ["Total", 16, 20, 36]
    assert grid(sheet, 7, 4)[2] == ["N1", 1, 2, 3]
    assert not sheet.sheet_properties.outlinePr.summaryBelow


def test_additional_hierarchy_comes_last(tmp_path):
    region = Hierarchy.from_tree({"North": ["N1", "N2"], "South": ["S1", "S2"]})
    coast = Hierarchy.from_tree({"Coast": ["N1", "S1"], "Inland": ["N2", "S2"]})
    both = Dimension("region", (region, coast))
    table = Table(value=both.closure @ np.array([1.0, 2.0, 3.0, 4.0]), dimensions=(both,))
    sheet = opened(tmp_path, shown(table))["Table"]
    assert grid(sheet, 9, 2) == [
        ["Total", 10],
        ["North", 3],
        ["N1", 1],
        ["N2", 2],
        ["South", 7],
        ["S1", 3],
        ["S2", 4],
        ["Coast", 4],
        ["Inland", 6],
    ]


def test_third_variable_makes_sheets_or_blocks(tmp_path, monkeypatch):
    table = Table.from_array(np.arange(8).reshape(2, 2, 2), names=["a", "b", "c"])
    book = opened(tmp_path, shown(table))
    assert book.sheetnames == ["1", "2", "Total", "Notes"]
    assert book["2"]["A2"].value == "count by a, b and c; c: 2"
    cube = table.value.reshape(3, 3, 3)
    for place, name in enumerate(["1", "2", "Total"]):
        assert [row[1:] for row in grid(book[name], 3, 4)] == cube[:, :, place].tolist()
    links = [cell.hyperlink.location for row in book["Notes"].iter_rows() for cell in row if cell.hyperlink]
    assert links == ["'1'!A1", "'2'!A1", "'Total'!A1"]
    monkeypatch.setattr(laid_out, "MAX_SHEETS", 2)
    book = opened(tmp_path, shown(table))
    assert book.sheetnames == ["Table", "Notes"]
    assert [cell.value for cell in book["Table"][HEAD]] == ["c", "a", "1", "2", "Total"]
    assert [row[:2] for row in grid(book["Table"], 9, 5)] == [
        [c, a] for c in ("1", "2", "Total") for a in ("1", "2", "Total")
    ]
    blocks = np.array([row[2:] for row in grid(book["Table"], 9, 5)]).reshape(3, 3, 3)
    assert np.array_equal(blocks.transpose(1, 2, 0), cube)


def test_linked_tables_are_listed(tmp_path):
    regions = Table.from_array([3, 4], names=["region"], codes=[["N", "S"]], measure="n")
    trades = Table.from_array([5, 2], names=["trade"], codes=[["p", "q"]], measure="n")
    whole = Table.link([regions, trades])
    sheet = opened(tmp_path, shown(whole))["Table"]
    assert [cell.value for cell in sheet[HEAD]] == ["region", "trade", "n"]
    assert grid(sheet, 5, 3) == [[*whole.labels.codes_of(c), whole.value[c]] for c in range(whole.n_cells)]


def test_formula_like_codes_stay_text(tmp_path):
    codes = ["=1+1", "+cmd|' /C calc'!A0", "-2", "@SUM(A1)", "http://example.org", "0012"]
    table = Table.from_array(
        np.arange(36).reshape(6, 6), names=["=name", "b"], codes=[codes, codes], measure='=HYPERLINK("x")'
    )
    book = opened(tmp_path, shown(table, title="=1+1", source="=2", footnotes=("@x",)))
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert {cell.data_type for cell in cells} <= {"s", "n"}
    assert not any(cell.hyperlink for cell in cells)
    sheet = book["Table"]
    assert [sheet.cell(HEAD + 1 + row, 1).value for row in range(6)] == codes
    assert [cell.value for cell in sheet[HEAD]][1:-1] == codes


@pytest.mark.parametrize(
    ("limit", "said"),
    [("MAX_ROWS", "rows"), ("MAX_COLUMNS", "columns"), ("MAX_TEXT", "characters in one text")],
)
def test_content_beyond_excel_limits_raises_before_writing(persons, tmp_path, monkeypatch, limit, said):
    limits = {each.name: each.value for each in xlsx.Excel} | {limit: 3}
    monkeypatch.setattr(xlsx, "Excel", SimpleNamespace(**limits))
    with pytest.raises(OutputError, match=f"{said}, at most 3 are possible"):
        write_xlsx(tmp_path / "table.xlsx", shown(persons))
    assert list(tmp_path.iterdir()) == []


def test_real_table_with_too_many_columns_raises(tmp_path):
    wide = Table.from_array(np.ones((2, 16_383), dtype=int))
    with pytest.raises(OutputError, match="16,385 columns"):
        write_xlsx(tmp_path / "table.xlsx", shown(wide))


def test_xlsx_bytes_are_independent_of_date(persons, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    for name in ("one.xlsx", "two.xlsx"):
        write_xlsx(tmp_path / name, shown(persons, persons.inner))
    assert (tmp_path / "one.xlsx").read_bytes() == (tmp_path / "two.xlsx").read_bytes()
    assert list(scratch.iterdir()) == []
    about = openpyxl.load_workbook(tmp_path / "one.xlsx").properties
    assert (about.created, about.modified) == (datetime(2000, 1, 1), datetime(2000, 1, 1))  # noqa: DTZ001 - as Excel
    assert not about.creator
    assert not about.lastModifiedBy
    with zipfile.ZipFile(tmp_path / "one.xlsx") as archive:
        assert {item.date_time[0] for item in archive.infolist()} == {1980}


@given(wanted=st.lists(st.text(max_size=40), max_size=30))
@settings(max_examples=32)
def test_sheet_names_are_valid_in_excel(wanted):
    names = sheet_names(wanted)
    assert len({name.lower() for name in names}) == len(names)
    for name in names:
        assert 1 <= len(name) <= 31
        assert not FORBIDDEN.search(name)
        assert name.lower() not in {"history", "notes"}
        assert name.strip("'") == name


@given(sizes=st.lists(st.integers(2, 4), min_size=1, max_size=4), most=st.sampled_from([1, 40]))
@settings(max_examples=20)
def test_every_cell_has_one_position(sizes, most):
    table = Table.from_array(np.arange(np.prod(sizes)).reshape(sizes))
    release = Release.of(table, Protection.withhold(table, np.zeros(table.n_cells, dtype=bool)))
    kept = laid_out.MAX_SHEETS
    laid_out.MAX_SHEETS = most
    try:
        sheets = sheets_of(release)
    finally:
        laid_out.MAX_SHEETS = kept
    cells = sorted(cell for sheet in sheets for row in sheet.rows for cell in row.cells)
    assert cells == list(range(table.n_cells))
    labels: Labels = release.labels
    for sheet in sheets:
        for row in sheet.rows:
            for line, cell in zip(sheet.columns, row.cells, strict=True):
                codes = labels.codes_of(cell)
                assert row.texts[-1] == codes[0]
                assert not sheet.across or codes[1] == line.code
                further = ", ".join(f"{n}: {c}" for n, c in zip(labels.names[2:], codes[2:], strict=True))
                assert sheet.title in {further, ""}
                assert sheet.title or row.texts[:-1] == codes[2:]
