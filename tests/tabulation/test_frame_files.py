"""Excel and Stata files give the same table as the frame they were written from."""

from __future__ import annotations

import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from hitoku.errors import DataError
from hitoku.tabulation.columns import columns_of
from hitoku.tabulation.tabulate import tabulate
from hitoku.tabulation.whole_file import read_whole

RECORDS = pd.DataFrame({"region": ["01", "02", "01"], "size": [1, 2, 2], "x": [1.5, 2.25, 4.0]})


def write(kind, folder):
    path = folder / f"records.{kind}"
    if kind == "xlsx":
        RECORDS.to_excel(path, index=False)
    else:
        RECORDS.to_stata(path, write_index=False)
    return path


@pytest.mark.parametrize("kind", ["xlsx", "dta"])
def test_the_table_is_that_of_the_frame(kind, tmp_path):
    path = write(kind, tmp_path)
    expected = tabulate(RECORDS, ["region", "size"], value="x")
    table = tabulate(path, ["region", "size"], value="x")
    assert table.labels.codes == expected.labels.codes == (("01", "02", "Total"), ("1", "2", "Total"))
    assert_array_equal(table.value, expected.value)
    assert [column.kind for column in columns_of(path)[1]] == ["text", "whole", "number"]
    assert read_whole(path).to_pylist() == RECORDS.to_dict("records")


def test_a_column_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="no column 'regio'"):
        tabulate(write("xlsx", tmp_path), ["regio"], value="x")


def test_two_columns_of_one_name_are_refused(tmp_path):
    path = tmp_path / "twice.xlsx"
    RECORDS.set_axis(["g", "x", "x"], axis=1).to_excel(path, index=False)
    with pytest.raises(DataError, match="two columns are called 'x'"):
        tabulate(path, ["g"], value="x")


@pytest.mark.parametrize("kind", ["xlsx", "dta"])
def test_a_broken_file_is_refused_without_showing_it(kind, tmp_path):
    path = tmp_path / f"broken.{kind}"
    path.write_text("secret,1\n")
    with pytest.raises(DataError, match="cannot read 'broken") as caught:
        tabulate(path, ["g"], value="x")
    assert "secret" not in str(caught.value)
