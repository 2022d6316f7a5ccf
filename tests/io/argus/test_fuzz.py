"""Whatever stands in a file, it is read or refused: no other exception, and no value in the message."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.errors import HitokuError
from hitoku.io.argus.code_list import parse_code_list
from hitoku.io.argus.metadata import MICRODATA, TABLE, parse_metadata
from hitoku.io.argus.microdata import read_microdata
from hitoku.io.argus.recode import parse_recode
from hitoku.io.argus.table_file import read_table
from hitoku.io.argus.tree import parse_tree

WORDS = st.sampled_from(
    [*MICRODATA, *TABLE, "<UNKNOWN>", "A", "b", "1", "2", "99", '" x"', '"', "@", "-", ","]
)
LINES = st.lists(st.lists(WORDS, max_size=4).map(" ".join), max_size=8).map("\n".join)
NOISE = st.text(st.sampled_from('Aab12 @.,:;-<>"/\n\r\t\x85é'), max_size=60)

FREE = parse_metadata('<SEPARATOR> ";"\nR 3\n<RECODEABLE>\nV 9 999\n<NUMERIC>')
FIXED = parse_metadata("R 1 2\n<RECODEABLE>\nV 4 4 9999\n<NUMERIC>")
CELLS = parse_metadata("""
<SEPARATOR> ";"
R
  <RECODEABLE>
S
  <RECODEABLE>
  <HIERLEVELS> 1 1
  <HIERARCHICAL>
V
  <NUMERIC>
N
  <FREQUENCY>
ST
  <STATUS>
T
  <MAXSCORE>
""")
# A number that occurs nowhere else, so that a message which holds it has it from a cell.
TRUE_VALUE = "7654.25"
ENTRY = st.sampled_from(
    ["a", "b", "Total", "", "1", "11", "12", "2", "0", "S", "U", "?", TRUE_VALUE, "-1", '" a"']
)
RECORDS = st.lists(st.lists(ENTRY, min_size=5, max_size=7).map(";".join), min_size=1, max_size=9).map(
    "\n".join
)


@pytest.mark.parametrize("parse", [parse_metadata, parse_tree, parse_recode, parse_code_list])
@given(text=LINES | NOISE)
def test_any_text_is_read_or_refused(parse, text):
    with contextlib.suppress(HitokuError):
        parse(text)


@pytest.mark.parametrize("metadata", [FREE, FIXED], ids=["separator", "fixed columns"])
@given(text=NOISE | RECORDS)
def test_any_records_are_read_or_refused(tmp_path_factory, metadata, text):
    path = tmp_path_factory.mktemp("fuzz") / "x.asc"
    path.write_bytes(text.encode())
    with contextlib.suppress(HitokuError):
        read_microdata(path, metadata)


@given(text=RECORDS, additivity=st.sampled_from(["check", "recompute", "open"]))
def test_any_table_is_read_or_refused_without_showing_a_value(tmp_path_factory, text, additivity):
    path = tmp_path_factory.mktemp("fuzz") / "x.tab"
    path.write_text(text)
    codes = {entry for line in text.splitlines() for entry in line.split(";")[:2]}
    message = ""
    try:
        read_table(path, CELLS, additivity=additivity)
    except HitokuError as error:
        message = str(error)
    assert TRUE_VALUE in codes or TRUE_VALUE not in message
