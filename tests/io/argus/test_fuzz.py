"""Whatever stands in a file, it is read or refused: no other exception, and no value in the message."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.errors import HitokuError
from hitoku.io.argus import (
    MICRODATA,
    TABLE,
    check_batch,
    parse_metadata,
    parse_recode,
    parse_tree,
    read_apriori,
    read_batch,
    read_code_value,
    read_microdata,
    read_table,
    write_metadata,
)

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


@pytest.mark.parametrize("parse", [parse_metadata, parse_tree, parse_recode])
@given(text=LINES | NOISE)
def test_any_text_is_read_or_raises(parse, text):
    with contextlib.suppress(HitokuError):
        parse(text)


@pytest.mark.parametrize("metadata", [FREE, FIXED], ids=["separator", "fixed columns"])
@given(text=NOISE | RECORDS)
def test_any_records_are_read_or_raise(tmp_path_factory, metadata, text):
    path = tmp_path_factory.mktemp("fuzz") / "x.asc"
    path.write_bytes(text.encode())
    with contextlib.suppress(HitokuError):
        read_microdata(path, metadata)


@given(text=RECORDS, additivity=st.sampled_from(["check", "recompute", "open"]))
def test_any_table_is_read_or_raises_without_values(tmp_path_factory, text, additivity):
    path = tmp_path_factory.mktemp("fuzz") / "x.tab"
    path.write_text(text)
    codes = {entry for line in text.splitlines() for entry in line.split(";")[:2]}
    message = ""
    try:
        read_table(path, CELLS, additivity=additivity)
    except HitokuError as error:
        message = str(error)
    assert TRUE_VALUE in codes or TRUE_VALUE not in message


BATCH = """<OPENTABLEDATA> "x.tab"
<OPENMETADATA> "x.rda"
<SPECIFYTABLE> "R""S"|"V"||"-2",0.5
<SAFETYRULE> P(10,2)|NK(1,75)|FREQ(3,20)|ZERO(5)|MAN(20)
<READTABLE> 1
<APRIORI> "x.hst",1,";",1,0
<SUPPRESS> OPT(1,5)
<WRITETABLE> (1,3,AS+,"o.csv")
<LOGBOOK> "x.log"
"""
# Every number, name and switch of the batch.
PLACES = [match.span() for match in re.finditer(r"[\w.]+", BATCH)]
STRANGE = st.sampled_from(
    ["", "0", "-1", "nan", "inf", "1e999", "9" * 5000, "\N{SUPERSCRIPT TWO}", "\0", "x" * 300, "/", "..", '"']
)


@given(place=st.sampled_from(PLACES), word=STRANGE | st.text(max_size=5))
def test_any_batch_argument_is_read_or_raises(tmp_path_factory, place, word):
    folder = tmp_path_factory.mktemp("fuzz")
    folder.joinpath("x.tab").write_text("a;1;1;1;S;1\n")
    folder.joinpath("x.hst").write_text("a;1;u\n")
    write_metadata(folder / "x.rda", CELLS)
    path = folder / "b.arb"
    path.write_text(BATCH[: place[0]] + word + BATCH[place[1] :], encoding="utf-8")
    with contextlib.suppress(HitokuError):
        check_batch(read_batch(path))


CELL = st.sampled_from(
    ["a", '"b"', "1", "1.5", "x", "-", "nan", "inf", "V", "A", "9" * 30, "", '"', "\0", TRUE_VALUE]
)


@given(text=NOISE | st.lists(st.lists(CELL, max_size=6).map(",".join), max_size=5).map("\n".join))
def test_any_safe_file_is_read_or_raises(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("fuzz") / "x.csv"
    path.write_text(text, encoding="utf-8")
    with contextlib.suppress(HitokuError):
        read_code_value(path, 2)


@given(text=NOISE | RECORDS, ignore=st.booleans())
def test_any_apriori_file_is_read_or_raises(tmp_path_factory, text, ignore):
    path = tmp_path_factory.mktemp("fuzz") / "x.hst"
    path.write_text(text, encoding="utf-8")
    with contextlib.suppress(HitokuError):
        read_apriori(path, 2, ignore=ignore)
