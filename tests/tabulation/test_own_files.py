# ruff: noqa: RUF001 - full-width digits are the subject
"""Files as people have them: full-width digits, markers of missing values, sheets, cross tables."""

from __future__ import annotations

import logging

import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.errors import DataError
from hitoku.io import read_marked_cells
from hitoku.tabulation import FileFormat, columns_of, look_at, shape_of, share_records, style_of, tabulate

WIDE = str.maketrans("0123456789.,-", "０１２３４５６７８９．，▲")


def book(path, sheets):
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        page = made.create_sheet(name)
        for row in rows:
            page.append(row)
    made.save(path)
    return path


@given(st.integers(-(10**9), 10**9))
def test_full_width_number_equals_plain_number(number):
    wide = f"{number:,}".translate(WIDE)
    style = style_of([shape_of(wide), shape_of("1,234,567.5")], "x", "file")
    assert int(style.plain(wide)) == number


def test_full_width_digits_are_read_and_reported(tmp_path, caplog):
    path = tmp_path / "a.csv"
    path.write_text('g,x\na,"１，２３４"\nb,"5,678.5"\nb,▲８\n')
    with caplog.at_level(logging.INFO, "hitoku.reading"):
        table = tabulate(path, by=["g"], value="x")
    assert table.value.tolist() == [1234, 5670.5, 6904.5]
    assert "full-width digits or signs in 2 entries of x" in caplog.text


@pytest.mark.parametrize(
    ("file", "counts", "values"),
    [
        (FileFormat(na=("x", "-"), drop_missing="x"), [1, 1, 2], [3, 5, 8]),
        (FileFormat(na=("x", "-"), zero_missing="x"), [3, 2, 5], [3, 5, 8]),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize("shared", [False, True])
def test_missing_values_count_as_chosen(file, counts, values, kind, shared, tmp_path):
    rows = [("g", "x"), ("a", 3), ("a", "x"), ("a", ""), ("b", 5), ("b", " - ")]
    path = tmp_path / f"a.{kind}"
    if kind == "csv":
        path.write_text("".join(f"{g},{x}\n" for g, x in rows))
    else:
        book(path, {"A": rows})
    if shared:
        with share_records(path, file) as records:
            table = tabulate(records, by=["g"], value="x")
    else:
        table = tabulate(path, by=["g"], value="x", file=file)
    assert (table.frequency.tolist(), table.value.tolist()) == (counts, values)


def test_missing_values_of_frame_file_are_counted(tmp_path):
    path = tmp_path / "a.dta"
    pd.DataFrame({"g": ["a", "a", "b"], "x": [1.0, None, 2.0]}).to_stata(path, write_index=False)
    dropped = tabulate(path, by=["g"], value="x", file=FileFormat(drop_missing="x"))
    zero = tabulate(path, by=["g"], value="x", file=FileFormat(zero_missing="x"))
    assert (dropped.frequency.tolist(), zero.frequency.tolist()) == ([1, 1, 2], [2, 1, 3])


def test_text_among_numbers_is_counted_and_located(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("g,x,w\na,1,1\nb,unknown,n/a\nb,unknown,1\n")
    with pytest.raises(DataError) as caught:
        tabulate(path, by=["g"], value="x", weight="w")
    assert "in 2 of 3 entries: 'unknown' (2)" in str(caught.value)
    assert "a.csv, lines 3, 4" in caught.value.where
    assert 'na="unknown"' in caught.value.fix


def test_names_of_respondents_are_not_quoted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("g,x\n" + "".join(f"a,Miller and sons No. {n}\n" for n in range(30)))
    with pytest.raises(DataError, match="contains text instead of numbers in 30 of 30 entries") as caught:
        tabulate(path, by=["g"], value="x")
    assert "Miller" not in str(caught.value)


def test_all_missing_columns_are_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("region,x\nN,1\n")
    with pytest.raises(DataError, match="no columns 'reigon', 'y'"):
        tabulate(path, by=["reigon"], value="y")


@pytest.mark.parametrize("part", ["#Data", "#Data!B3:C5", "#'Data'!$B$3:$C$5"])
def test_sheet_and_range_are_read(part, tmp_path):
    path = book(
        tmp_path / "a.xlsx",
        {
            "Cover": [["Figures"]],
            "Data": [[], [None, "Title"], [None, "g", "x"], [None, "01", 1], [None, "02", 2.5]],
        },
    )
    found = look_at(tmp_path / f"a.xlsx{part}")
    assert found.header == ("g", "x")
    assert list(found.rows()) == [["01", "1"], ["02", "2.5"]]
    assert tabulate(f"{path}{part}", by=["g"], value="x").value.tolist() == [1, 2.5, 3.5]


def test_another_sheet_is_suggested(tmp_path):
    path = book(tmp_path / "a.xlsx", {"Cover": [["title", "note"], ["a", "b"]], "Data": [["g"], ["1"]]})
    with pytest.raises(DataError) as caught:
        tabulate(path, by=["g"])
    assert "a.xlsx#Data" in caught.value.fix
    with pytest.raises(DataError, match="no sheet 'Dat'"):
        look_at(tmp_path / "a.xlsx#Dat")


def test_codes_shown_with_zeros_keep_them(tmp_path):
    path = book(tmp_path / "a.xlsx", {"A": [["g", "x"], [7, 1], [12, 2]]})
    made = openpyxl.load_workbook(path)
    for row in (2, 3):
        made["A"].cell(row, 1).number_format = "000"
    made.save(path)
    assert tabulate(path, by=["g"], value="x").cells["g"].tolist() == ["007", "012", "Total"]
    assert columns_of(path)[0] == 2


CROSS = [
    ["Table 1: firms"],
    [],
    ["industry", "size", None, None],
    [None, "small", "large", "計"],
    ["B", 2, 3, 5],
    ["C", 10, 20, 30],
    ["計", 12, 23, 35],
    ["Note: made up"],
]


def test_cross_table_is_a_list_of_cells(tmp_path, caplog):
    path = book(tmp_path / "a.xlsx", {"A": CROSS})
    with caplog.at_level(logging.INFO, "hitoku.reading"):
        table, _ = read_marked_cells(path, ["size", "industry"], "n", None, frequency="n")
    assert table.labels.names == ("size", "industry")
    assert table.value.reshape(table.shape).tolist() == [[3, 20, 23], [2, 10, 12], [5, 30, 35]]
    assert "'industry' at the side (2 codes and total), 'size' on top (2 codes and total)" in caplog.text


def test_cross_table_with_two_header_rows_and_marks_is_read(tmp_path):
    years = [[None, None, "2023", None, None, "2024", None, None], [None, None, *["A", "B", "Total"] * 2]]
    true = [
        ["N", "s", 1, 2, 3, 4, 5, 9],
        [None, "b", 5, 6, 11, 7, 8, 15],
        [None, "Total", 6, 8, 14, 11, 13, 24],
    ]
    shown = [[entry if entry != 1 else "x" for entry in row] for row in true]
    path = book(tmp_path / "a.xlsx", {"true": years + true, "shown": years + shown})
    table, withheld = read_marked_cells(
        f"{path}#true", ["region", "size", "year", "nace"], "n", "#shown", frequency="n"
    )
    assert table.value[withheld].tolist() == [1]
    assert table.describe(int(withheld.argmax())) == "region=N, size=s, year=2023, nace=A"
