"""Code lists: every form gives the same hierarchy, and all problems are reported at once."""

from __future__ import annotations

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.errors import HitokuError
from hitoku.io import read_code_list
from hitoku.model import Hierarchy, nearest_code


@st.composite
def trees(draw):
    """Rows (depth, code) of a tree of three levels, in order; codes begin with the code of their group."""
    rows = []
    for top in range(draw(st.integers(2, 3))):
        rows.append((0, f"{top + 1}"))
        for group in range(draw(st.integers(1, 3))):
            rows.append((1, f"{top + 1}{group}"))
            rows += [(2, f"{top + 1}{group}{leaf}") for leaf in range(draw(st.integers(1, 3)))]
    return rows


def parents(rows):
    return [(code, code[:-1]) for _, code in rows]


def as_parents(rows):
    return "code,parent,label\n" + "".join(f"{code},{up},name {code}\n" for code, up in parents(rows))


def as_levels(rows):
    return "Level,Code,Description\n" + "".join(f"{depth + 1},{code},name {code}\n" for depth, code in rows)


def as_columns(rows):
    leaves = [code for depth, code in rows if depth == 2]
    lines = [f"{c},{c[:2]},{c[0]},name {c},name {c[:2]},name {c[0]}\n" for c in leaves]
    return "class,group,section,class label,group label,section label\n" + "".join(lines)


def as_indented(rows):
    return "code;name\n" + "".join(f"{'   ' * depth}{code};name {code}\n" for depth, code in rows)


def as_prefixes(rows):
    return "NUTS\tName\n" + "".join(f"{code}\tname {code}\n" for _, code in rows)


@pytest.mark.parametrize("form", [as_parents, as_levels, as_columns, as_indented, as_prefixes])
@given(rows=trees())
def test_every_form_gives_the_same_hierarchy(form, rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("list") / "codes.csv"
    path.write_text(form(rows))
    found = read_code_list(path)
    tree = Hierarchy.from_pairs([(code, up or "Total") for code, up in parents(rows)])
    assert (found.hierarchy.codes, found.hierarchy.parents.tolist()) == (tree.codes, tree.parents.tolist())
    assert found.labels == {code: f"name {code}" for _, code in rows}


def test_indented_sheet_cells_are_read(tmp_path):
    book = openpyxl.Workbook()
    page = book.active
    for row in ["code label", "A Agriculture", "01 Crops", "02 Forestry", "B Mining"]:
        page.append(row.split())
    for row in (3, 4):
        page.cell(row, 1).alignment = openpyxl.styles.Alignment(indent=1)
    book.save(tmp_path / "nace.xlsx")
    found = read_code_list(tmp_path / "nace.xlsx")
    assert found.hierarchy.codes == ("Total", "A", "01", "02", "B")
    assert found.labels["02"] == "Forestry"


def test_argus_and_indented_text_are_read(tmp_path):
    (tmp_path / "a.hrc").write_text("A\n@A1\n@A2\nB\n")
    (tmp_path / "a.txt").write_text("A\n  A1\n  A2\nB\n")
    found = [read_code_list(tmp_path / name).hierarchy.codes for name in ("a.hrc", "a.txt")]
    assert found == [("Total", "A", "A1", "A2", "B")] * 2


def test_total_of_code_list_is_used(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("コード,上位コード,名称\n計,,全国\n01,計,北海道\n02,計,青森県\n")
    found = read_code_list(path)
    assert found.hierarchy.codes == ("Total", "01", "02")
    assert found.labels == {"Total": "全国", "01": "北海道", "02": "青森県"}


def test_all_problems_are_reported_with_lines_and_nearest_codes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("code,parent\n10,\n1011,101\n1012,101\n10,\n102,10\n1021,102\n1021,10\n,10\n")
    with pytest.raises(HitokuError) as caught:
        read_code_list(path)
    told = str(caught.value)
    assert "code '10' is listed twice\n  where: a.csv, lines 2, 5" in told
    assert "code '1021' has two parents\n  where: a.csv, lines 7, 8, under '102' and '10'" in told
    assert "'101', the parent of '1011', '1012', is not listed" in told
    assert "probably under '10'" in told
    assert "a code is empty\n  where: a.csv, lines 9" in told


def test_columns_that_do_not_nest_are_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("class,section\n11,A\n11,B\n12,A\n")
    with pytest.raises(HitokuError, match=r"'class' in 'section' \('11'\) do not nest"):
        read_code_list(path)


def test_suggested_code_is_in_same_branch():
    assert nearest_code("1011", ["1311", "1012", "2011"]) == "1012"
    assert nearest_code("101", ["102", "10"]) == "10"
    assert nearest_code("X", ["1"]) == ""
