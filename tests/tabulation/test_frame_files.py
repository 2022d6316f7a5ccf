"""Excel, Stata and SAS files give the same table as the frame they were written from."""

from __future__ import annotations

import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from tests.oracles.sas_transport import transport_file

from hitoku.errors import DataError
from hitoku.tabulation import columns_of, read_whole, tabulate

RECORDS = pd.DataFrame({"region": ["01", "02", "01"], "size": [1, 2, 2], "x": [1.5, 2.25, 4.0]})


def write(kind, folder):
    path = folder / f"records.{kind}"
    if kind == "xlsx":
        RECORDS.to_excel(path, index=False)
    else:
        RECORDS.to_stata(path, write_index=False)
    return path


@pytest.mark.parametrize("kind", ["xlsx", "dta"])
def test_file_table_matches_frame_table(kind, tmp_path):
    path = write(kind, tmp_path)
    expected = tabulate(RECORDS, ["region", "size"], value="x")
    table = tabulate(path, ["region", "size"], value="x")
    assert table.labels.codes == expected.labels.codes == (("01", "02", "Total"), ("1", "2", "Total"))
    assert_array_equal(table.value, expected.value)
    assert [column.kind for column in columns_of(path)[1]] == ["text", "whole", "number"]
    assert read_whole(path).to_pylist() == RECORDS.to_dict("records")


def test_missing_column_raises(tmp_path):
    with pytest.raises(DataError, match="no column 'regio'"):
        tabulate(write("xlsx", tmp_path), ["regio"], value="x")


def test_duplicate_column_names_raise(tmp_path):
    path = tmp_path / "twice.xlsx"
    RECORDS.set_axis(["g", "x", "x"], axis=1).to_excel(path, index=False)
    with pytest.raises(DataError, match="two columns are called 'x'"):
        tabulate(path, ["g"], value="x")


@pytest.mark.parametrize("kind", ["xlsx", "dta"])
def test_broken_file_raises_without_content(kind, tmp_path):
    path = tmp_path / f"broken.{kind}"
    path.write_text("secret,1\n")
    with pytest.raises(DataError, match="cannot read 'broken") as caught:
        tabulate(path, ["g"], value="x")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_sas_transport_file_matches_its_records(encoding, tmp_path):
    firms = pd.DataFrame({"TOWN": ["Köln", "01", "Köln"], "SIZE": [1, 2, 2], "X": [1.5, -2.25, 4.0]})
    path = tmp_path / "firms.xpt"
    path.write_bytes(transport_file(firms, encoding))
    table = tabulate(path, ["TOWN", "SIZE"], value="X", magnitude="signed")
    expected = tabulate(firms, ["TOWN", "SIZE"], value="X", magnitude="signed")
    assert table.labels.codes == expected.labels.codes == (("01", "Köln", "Total"), ("1", "2", "Total"))
    assert_array_equal(table.value, expected.value)


@pytest.mark.parametrize("name", ["firms.xpt", "firms.sas7bdat"])
def test_invalid_sas_file_raises_without_content(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(b"secret " * 40)
    with pytest.raises(DataError, match="cannot read") as refused:
        tabulate(path, ["TOWN"])
    assert "secret" not in str(refused.value)
