from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.errors import DataError
from hitoku.io.argus import COUNT, Apriori, Recoding, Suppress, read_batch

START = """<OPENMICRODATA> "r.asc"
<OPENMETADATA> "r.rda"
<SPECIFYTABLE> "region""size"|"turnover"||
<SAFETYRULE> P(10,1)
<READMICRODATA>
"""


@pytest.fixture
def batch(tmp_path):
    def read(text, *, encoding="utf-8", **options):
        path = tmp_path / "b.arb"
        path.write_bytes(text.encode(encoding))
        return read_batch(path, **options)

    return read


def test_complete_batch_is_read(batch):
    text = (
        '// a comment\n\\\\ another\n<logbook> run.log\n\t<OPENMICRODATA> "r.asc"\n<OPENMETADATA> "r.rda"\n'
        '<SPECIFYTABLE> "region""size group"|"turnover"|"wages"|"jobs",0.5\n'
        "<SAFETYRULE> P(10,1)|FREQ(3,20)\n"
        '<SPECIFYTABLE> "region" |<freq>||"-2"\n<READMICRODATA>\n'
        '<RECODE> 1,"size group","s.grc"\n<RECODE> 1, region, 2\n'
        '<APRIORY> "t.hst",2,",",0,1\n<APRIORI> "u.hst",1,";"\n'
        '<SOLVER> XPRESS,"licence"\n<SUPPRESS> OPT(1,5)\n<SUPPRESS> opt(2)\n'
        '<WRITETABLE> (1,2,AS+FL-,"out.csv")\n<VERSIONINFO> "v.txt"\n'
    )
    found = batch(text.replace("\n", "\r\n"))
    first, second = found.sessions[0].tables
    assert (first.by, first.response, first.shadow) == (("region", "size group"), "turnover", "wages")
    assert (first.cost, first.power, first.safety.freq[0].least) == ("jobs", 0.5, 3)
    assert first.recodings == (Recoding(10, "size group", "s.grc", None), Recoding(11, "region", "", 2))
    assert first.apriori == (Apriori(13, "u.hst", ";", True, False),)
    assert (second.response, second.cost, second.power) == (COUNT, "-2", 1)
    assert second.apriori == (Apriori(12, "t.hst", ",", False, True),)
    assert found.sessions[0].suppress == (Suppress(15, "OPT", 1, 5), Suppress(16, "OPT", 2, 10))
    write = found.sessions[0].writes[0]
    assert (write.kind, write.file, write.options, write.protected) == (2, "out.csv", {"AS", "QU"}, True)
    assert (found.logbook, found.version_file) == ("run.log", "v.txt")
    assert found.notes == ("line 14: solver XPRESS: hitoku has its own, no licence is needed; not used",)


def test_batch_accepts_bar_before_exponent(batch):
    table = batch(START.replace("||", '||"-1"|0')).sessions[0].tables[0]
    assert (table.cost, table.power) == ("-1", 0)


def test_clear_starts_an_independent_session(batch):
    found = batch(f"{START}<SUPPRESS> OPT(1)\n<CLEAR>\n{START}<SUPPRESS> OPT(1)\n")
    assert [len(session.tables) for session in found.sessions] == [1, 1]
    assert [session.suppress[0].line for session in found.sessions] == [6, 13]


@pytest.mark.parametrize(
    ("lines", "what", "fix"),
    [
        ("<GOINTERACTIVE>", "<GOINTERACTIVE> is not supported", "not interactive"),
        ("<ANCO>", "<ANCO> is not supported", "audits every table"),
        ("<COVER>", "<COVER> is not supported", "no cover table"),
        ("<JJ>", "<JJ> is not supported", "(1,6,"),
        ("<SUPRESS> OPT(1)", "<SUPRESS> is not a batch command", "did you mean 'SUPPRESS'?"),
        ("SUPPRESS OPT(1)", "no command", "//"),
        ("<SUPPRESS> RND(1,5,0,10,0,2)", "RND (controlled rounding) is not supported", "CTA(1)"),
        ('<SUPPRESS> CKM(1) "ptab"', "CKM (the cell key method) is not supported", "OPT(1,10)"),
        ("<SUPPRESS> BEST(1)", "BEST is not a method", "OPT"),
        ("<SUPPRESS> OPT(2)", "no table '2' yet", "1 table(s)"),
        ("<SUPPRESS> OPT(1,0)", "the minutes of a search must be above zero", "OPT(1,10)"),
        ("<SUPPRESS> OPT(1)\n»<SUPPRESS> OPT(1)", "table 1 is suppressed already", "<CLEAR>"),
        ('<SUPPRESS> OPT(1)\n»<RECODE> 1,"size",1', "table 1 is suppressed already", "in this order"),
        ('<SUPPRESS> OPT(1)\n»<APRIORI> "a",1,";"', "table 1 is suppressed already", "in this order"),
        ('<WRITETABLE> (1,7,,"a")', "type 7 (cell key method) is not supported", "1 to 6"),
        ('<WRITETABLE> (1,9,,"a")', "no safe file of type 9", "<WRITETABLE>"),
        ('<WRITETABLE> (1,5,HI+,"a")', "option HI is not supported", "AS, SE"),
        ('<WRITETABLE> (1,6,TR+,"a")', "option TR is not supported", "AS, SE"),
        ('<WRITETABLE> (1,3,AS,"a")', "options 'AS' are not pairs", "AS+"),
        ("<WRITETABLE> (1,3,AS+)", "<WRITETABLE> needs table, type, options and a file", "<WRITETABLE>"),
        ('<RECODE> 1,"region"', "a recoding names table, variable, and a file or level", "<RECODE>"),
        ('<RECODE> 1,"regoin","a"', "table 1 has no variable 'regoin'", "did you mean 'region'?"),
        ('<RECODE> 1,"size",1\n»<RECODE> 1,"size",2', "'size' is recoded twice", "one .grc"),
        ('<APRIORI> "a",1', "an a priori file comes with table, separator and two switches", "<APRIORI>"),
        ('<APRIORI> "a",1,";",2', "an a priori file comes with", "<APRIORI>"),
        ('<SPECIFYTABLE> "a"|"b"||"-3"\n<READMICRODATA>', "cost -3 (distance) is not supported", '"-1"'),
        ('<SPECIFYTABLE> "a"|"b"||', "table 2 is specified but never read", "<READMICRODATA>"),
        ('<SPECIFYTABLE> "a"\n<READMICRODATA>', "a table needs variables and a response", "<SPECIFYTABLE>"),
        ('<SPECIFYTABLE> "a""a"|"b"\n<READMICRODATA>', "a table names a variable twice", "<SPECIFYTABLE>"),
        ("<SAFETYRULE> P(10)", "rules without a table", "<SPECIFYTABLE>"),
        ("<READTABLE> 0", "<READTABLE> without a table opened and specified", ""),
        ('<OPENTABLEDATA> "t"\n»<SPECIFYTABLE> "a"|"b"||', "before its data and metadata are opened", ""),
        ("<LOGBOOK>", "a file name is missing", "double quotes"),
    ],
)
def test_unsupported_batch_line_raises_with_line_number(batch, lines, what, fix):
    """The line at fault is marked, or the first."""
    marked = [number for number, line in enumerate(lines.splitlines()) if line.startswith("»")]
    line = START.count("\n") + 1 + (marked[0] if marked else 0)
    with pytest.raises(DataError, match=re.escape(what)) as refused:
        batch(START + lines.replace("»", "") + "\n")
    assert f"b.arb, line {line}" in refused.value.where
    assert fix in refused.value.fix


def test_all_batch_problems_are_reported_together(batch):
    with pytest.raises(DataError) as refused:
        batch(f"{START}<SUPPRESS> RND(1)\n<GOINTERACTIVE>\n")
    assert refused.value.what == "RND (controlled rounding) is not supported"
    assert refused.value.where == "b.arb, line 6; line 7: <GOINTERACTIVE> is not supported"


def test_empty_batch_has_no_tables(batch):
    with pytest.raises(DataError, match="specifies no table"):
        batch("// nothing\n")


@pytest.mark.parametrize("method", ["GH(1,100,0,1)", "MOD(1,5,1,1,1)", "NET(1)"])
def test_batch_method_is_replaced_by_own(batch, method):
    found = batch(f"{START}<SUPPRESS> {method}\n")
    assert found.sessions[0].suppress[0].table == 1


def test_rounding_is_not_replaced(batch):
    with pytest.raises(DataError, match="RND"):
        batch(f"{START}<SUPPRESS> RND(1,5)\n")


PIECES = st.sampled_from(
    [
        "<OPENMICRODATA>",
        "<OPENTABLEDATA>",
        "<OPENMETADATA>",
        "<SPECIFYTABLE>",
        "<SAFETYRULE>",
        "<READTABLE>",
        "<READMICRODATA>",
        "<RECODE>",
        "<APRIORI>",
        "<SUPPRESS>",
        "<WRITETABLE>",
        "<CLEAR>",
        "<SOLVER>",
        "<LOGBOOK>",
        '"a"',
        '"b"',
        '"',
        "|",
        ",",
        "(",
        ")",
        "1",
        "0",
        "-1",
        "OPT(1,5)",
        "MOD(1)",
        "P(10,1)",
        "AS+",
        "\n",
        "\n",
        "\n",
        "x",
    ]
)


@given(pieces=st.lists(PIECES, max_size=40), started=st.booleans())
def test_any_batch_text_is_read_or_raises(tmp_path_factory, pieces, started):
    path = tmp_path_factory.mktemp("arb") / "b.arb"
    path.write_text((START if started else "") + "".join(pieces), encoding="utf-8")
    try:
        sessions = read_batch(path).sessions
    except DataError:
        return
    for session in sessions:
        numbers = {table.number for table in session.tables}
        assert {one.table for one in session.suppress} <= numbers | {0}
        assert {one.table for one in session.writes} <= numbers
