from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.errors import DataError, ParameterError
from hitoku.io.argus import Metadata, Variable, parse_metadata, read_metadata, read_microdata

FIXED = parse_metadata("""
Region 1 2 99
  <RECODEABLE>
Name 4 6
  <HOLDING>
Turnover 11 5 99999
  <NUMERIC>
  <DECIMALS> 1
""")
FREE = parse_metadata("""
<SEPARATOR> ";"
Region 2 99
  <RECODEABLE>
Turnover 5
  <NUMERIC>
""")


def record(region=" 1", name="A", turnover="12.5"):
    return f"{region:2} {name:6} {turnover:>5}"


def read(tmp_path, text, metadata, **options):
    (tmp_path / "data.asc").write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_microdata(tmp_path / "data.asc", metadata, **options)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_fixed_columns_are_read(tmp_path, end, last):
    lines = [
        record(" 1", "Smith", "12.5"),
        record("10", "Li", "3.25") + " ignored",
        record("99", "O'Hara", "-7"),
    ]
    lines[2] = lines[2].replace("99 ", "99\t")
    frame = read(tmp_path, end.join(lines) + (end if last else ""), FIXED)
    assert frame["Region"].tolist() == [" 1", "10", "99"], "blanks before a code belong to it"
    assert frame["Name"].tolist() == ["Smith", "Li", "O'Hara"]
    assert frame["Turnover"].tolist() == [12.5, 3.25, -7.0]


def test_decimals_follow_from_the_number(tmp_path):
    assert read(tmp_path, record(turnover="125"), FIXED)["Turnover"].tolist() == [125.0]
    assert read(tmp_path, record(turnover="12,50"), FIXED)["Turnover"].tolist() == [12.5]


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_columns_count_characters(tmp_path, encoding):
    frame = read(tmp_path, record(name="Müller").encode(encoding), FIXED)
    assert (frame["Name"][0], frame["Turnover"][0]) == ("Müller", 12.5)


def test_microdata_separator_is_applied(tmp_path):
    frame = read(tmp_path, ' 1 ; 12.5\n" 1";3\n\n"10"; "4" \n', FREE)
    assert frame["Region"].tolist() == ["1", " 1", "10"]
    assert frame["Turnover"].tolist() == [12.5, 3.0, 4.0]


def test_compressed_file_and_selected_columns_are_read(tmp_path):
    frame = read(tmp_path, gzip.compress(record().encode()), FIXED, variables=["turnover", "Region"])
    assert list(frame.columns) == ["Turnover", "Region"]


def test_variable_may_be_category_and_quantity(tmp_path):
    both = parse_metadata("Staff 1 3\n<RECODEABLE>\n<NUMERIC>")
    assert read(tmp_path, " 12\n  3\n", both)["Staff"].tolist() == [" 12", "  3"]
    assert read(tmp_path, " 12\n  3\n", both, quantities=["STAFF"])["Staff"].tolist() == [12.0, 3.0]


@pytest.mark.parametrize(
    ("text", "what", "where"),
    [
        (f"{record()}\n\n{record()[:-1]}", "1 record(s) are shorter than the 15 columns", "line 3"),
        (record(turnover="abc"), "column 'Turnover' contains text instead of numbers", "record 1"),
        (
            f"{record()}\n{record(turnover='99999')}",
            "variable 'Turnover' is missing in 1 record(s)",
            "record 2",
        ),
        (record(turnover=""), "variable 'Turnover' is missing in 1 record(s)", "record 1"),
        ("\n\n", "the data are empty", "data.asc"),
    ],
)
def test_unreadable_records_are_counted_not_shown(tmp_path, text, what, where):
    with pytest.raises(DataError) as error:
        read(tmp_path, text, FIXED)
    assert what in error.value.what
    assert error.value.where.endswith(where)
    assert "abc" not in str(error.value)


def test_table_metadata_raises(tmp_path):
    table = parse_metadata("A\n<RECODEABLE>")
    with pytest.raises(ParameterError, match="describe a table"):
        read_microdata(tmp_path / "x.asc", table)


CODES = st.text("ab1 ", min_size=1, max_size=3).filter(lambda code: code.strip() and code == code.rstrip())
NUMBERS = st.floats(-1e6, 1e6).map(lambda number: round(number, 2))


@given(st.data(), st.sampled_from(["fixed", "free"]))
def test_generated_records_round_trip(tmp_path_factory, data, layout):
    codes = data.draw(st.lists(CODES, min_size=1, max_size=6))
    numbers = data.draw(st.lists(NUMBERS, min_size=len(codes), max_size=len(codes)))
    fixed = layout == "fixed"
    metadata = Metadata(
        layout,
        (
            Variable("code", 1 if fixed else None, 3, recodable=True),
            Variable("number", 5 if fixed else None, 12, numeric=True),
        ),
        None if fixed else ";",
    )
    # In fixed columns a code is as wide as its column.
    frame = pd.DataFrame({"code": [c.rjust(3) if fixed else c for c in codes], "number": numbers}).astype(
        {"code": "str"}
    )
    path = tmp_path_factory.mktemp("asc") / data.draw(st.sampled_from(["x.asc", "x.asc.gz"]))
    line = "{:>3} {:>12}\n" if fixed else '"{}";{}\n'
    text = "".join(line.format(code, number) for code, number in zip(codes, numbers, strict=True)).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    pd.testing.assert_frame_equal(read_microdata(path, metadata), frame)


@pytest.mark.shared
def test_real_fixed_column_records_are_read(shared):
    folder = shared / "data/tables/tauargus"
    metadata = read_metadata(folder / "Tau_TestW.rda")
    records = read_microdata(folder / "tau_testW.asc.gz", metadata)
    codes = ["Year", "IndustryCode", "Size", "Region", "Request"]
    same = pd.read_csv(folder / "tau_testW.csv.gz", dtype=dict.fromkeys(codes, "str"))
    assert len(records) == 42_723
    assert list(records.columns) == list(same.columns)
    for name in codes:
        assert records[name].tolist() == same[name].tolist(), name
    for name in records.columns.difference(codes):
        np.testing.assert_array_equal(records[name], same[name].astype(float))


@pytest.mark.shared
def test_real_separated_records_are_read(shared):
    folder = shared / "data/tables/tauargus/cellkey"
    records = read_microdata(folder / "microdata.csv", read_metadata(folder / "microdata.rda"))
    same = pd.read_csv(folder / "microdata.csv", sep=";", header=None, dtype={0: str, 1: str})
    assert list(records.columns) == ["Sex", "Age", "HighIncome", "Savings", "Weigt", "Key"]
    for place, name in enumerate(records.columns):
        assert records[name].tolist() == same[place].tolist(), name
