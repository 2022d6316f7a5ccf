from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.errors import DataError, OutputError
from hitoku.io.argus.code_list import parse_code_list, read_code_list, write_code_list

LABEL = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=10).map(str.strip)
CODE = st.text("ab1 .", min_size=1, max_size=3).filter(lambda code: code.strip() and code == code.rstrip())


def test_a_code_a_comma_a_label():
    text = '// sizes\r\n 1,small\r\n10 , large, very\r\n\r\n"x","in quotes"\r\nz,\r\n'
    assert parse_code_list(text) == {" 1": "small", "10": "large, very", "x": "in quotes", "z": ""}


@pytest.mark.parametrize("text", ["a label", ",label", "1,a\n1,b"])
def test_lines_that_are_none_are_refused(text):
    with pytest.raises(DataError, match=r"a comma and a label|two labels") as error:
        parse_code_list(text, name="x.cdl")
    assert error.value.where.startswith("x.cdl, line ")


@given(st.dictionaries(CODE, LABEL.filter(lambda label: '"' not in label)))
def test_any_code_list_comes_back(tmp_path_factory, labels):
    path = tmp_path_factory.mktemp("cdl") / "x.cdl"
    write_code_list(path, labels)
    assert read_code_list(path) == labels


@pytest.mark.parametrize("labels", [{"1,2": "x"}, {"1 ": "x"}, {"1": " x"}, {"1": "x\ny"}, {"": "x"}])
def test_what_would_come_back_as_something_else_is_refused(tmp_path, labels):
    with pytest.raises((OutputError, DataError)):
        write_code_list(tmp_path / "x.cdl", labels)
    assert not (tmp_path / "x.cdl").exists()


@pytest.mark.shared
def test_real_code_lists(shared):
    folder = shared / "data/tables/tauargus"
    regions = read_code_list(folder / "region.cdl")
    assert len(regions) == 16
    assert (regions[" 1"], regions["Zd"]) == ("Groningen", "South")
    assert read_code_list(folder / "GK.CDL")["1"] == "small"
