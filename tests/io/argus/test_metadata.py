from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.errors import DataError, OutputError
from hitoku.io.argus import Metadata, Variable, parse_metadata, read_metadata, write_metadata

FIXED = """
// records of a survey
NACE 1 4 9999
  <RECODEABLE>
  <TOTCODE> "ALL"
  <HIERARCHICAL>
  <HIERLEVELS> 1 1 2
  <DISTANCE> 1 2 3 4 5
SIZE 6 1 9
\t<RECODABLE>
  <CODELIST> size.cdl
REG 8 3 999
  <RECODEABLE>
  <HIERARCHICAL>
  <HIERCODELIST> "reg.hrc"
  <HIERLEADSTRING> "@"
GROUP 12 4
  <HOLDING>
REQ 17 1
  <REQUEST> "1" "2"
W 19 5 99999
  <NUMERIC>
  <DECIMALS> 2
  <WEIGHT>
TURN 25 10 "9999999999" "8888888888"
  <numeric>
  <DECIMALS> 1
"""

TABLE = """
<SEPARATOR> ";"
<SAFE> "S"
<UNSAFE> "U"
<PROTECT> "Z"
NACE "99"
  <RECODEABLE>
TURN
  <NUMERIC>
  <DECIMALS> 2
N
  <FREQUENCY>
SH
  <NUMERIC> <SHADOW>
C
  <NUMERIC> <COST>
T1
  <MAXSCORE>
T2
  <MAXSCORE>
ST
  <STATUS>
LO
  <NUMERIC> <LOWERPL>
UP
  <NUMERIC> <UPPERPL>
"""

CELL_KEY = """
<SEPARATOR> ";"
Sex 1
  <RECODEABLE>
Savings 4
  <NUMERIC>
  <CKM> T(3)
  <SCALING> F(0.03,0.30,1000,3,0.5,0.2)
Key 10
  <RECORDKEY>
  <DECIMALS> 8
  <PFILE> "p table.txt"
"""


def test_fixed_column_metadata_is_read():
    metadata = parse_metadata(FIXED)
    assert (metadata.layout, metadata.separator) == ("fixed", None)
    assert metadata.variables == (
        Variable(
            "NACE", 1, 4, ("9999",), recodable=True, total="ALL", levels=(1, 1, 2), distance=(1, 2, 3, 4, 5)
        ),
        Variable("SIZE", 6, 1, ("9",), recodable=True, code_list="size.cdl"),
        Variable("REG", 8, 3, ("999",), recodable=True, hierarchy_file="reg.hrc", lead="@"),
        Variable("GROUP", 12, 4, holding=True),
        Variable("REQ", 17, 1, request=("1", "2")),
        Variable("W", 19, 5, ("99999",), numeric=True, decimals=2, weight=True),
        Variable("TURN", 25, 10, ("9999999999", "8888888888"), numeric=True, decimals=1),
    )
    assert [variable.name for variable in metadata.spanning] == ["NACE", "SIZE", "REG"]
    assert [variable.name for variable in metadata.variables if variable.is_number] == ["W", "TURN"]
    assert [variable.hierarchical for variable in metadata.spanning] == [True, False, True]


def test_table_metadata_is_read():
    metadata = parse_metadata(TABLE)
    assert (metadata.layout, metadata.separator, metadata.protect) == ("table", ";", "Z")
    parts = [(variable.name, variable.part) for variable in metadata.variables]
    assert parts == [
        ("NACE", None),
        ("TURN", "value"),
        ("N", "frequency"),
        ("SH", "shadow"),
        ("C", "cost"),
        ("T1", "largest"),
        ("T2", "largest"),
        ("ST", "status"),
        ("LO", "lower"),
        ("UP", "upper"),
    ]
    assert [variable.name for variable in metadata.of_part("largest")] == ["T1", "T2"]
    assert metadata.variable("turn").decimals == 2


def test_cell_key_keywords_are_kept_verbatim():
    metadata = parse_metadata(CELL_KEY)
    assert metadata.layout == "free"
    assert metadata.variable("Savings").cell_key == (
        ("<CKM>", "T(3)"),
        ("<SCALING>", "F(0.03,0.30,1000,3,0.5,0.2)"),
    )
    assert metadata.variable("Key").record_key
    assert metadata.variable("Key").is_number


@pytest.mark.parametrize(
    ("text", "kind", "layout"),
    [
        pytest.param("A 1 2\n<RECODEABLE>", None, "fixed", id="first column and width"),
        pytest.param('<SEPARATOR> ","\nA 2\n<RECODEABLE>', None, "free", id="a separator and widths"),
        pytest.param('<SEPARATOR> ","\nA\n<RECODEABLE>', None, "table", id="a name alone"),
        pytest.param(
            '<SEPARATOR> ","\nA 9\n<RECODEABLE>\nN 9\n<FREQUENCY>', None, "table", id="a table's keyword"
        ),
        pytest.param(
            '<SEPARATOR> ","\nA 9\n<RECODEABLE>', "table", "table", id="told so: 9 is a missing code"
        ),
    ],
)
def test_layout_is_detected_or_declared(text, kind, layout):
    assert parse_metadata(text, kind=kind).layout == layout


@pytest.mark.parametrize(
    ("text", "what", "line", "fix"),
    [
        ("A 1 2\n<RECODEBLE>", "unknown keyword <RECODEBLE>", 2, "did you mean '<RECODEABLE>'?"),
        ("A\n<STATUS>\nB\n<HOLDING>", "unknown keyword <HOLDING> (it belongs to microdata)", 4, ""),
        ("<SPSS>\nA 1 2", "hitoku reads no SPSS files (<SPSS>)", 1, ""),
        ("<RECODEABLE>\nA 1 2", "<RECODEABLE> comes before any variable", 1, ""),
        ('A 1 2\n<SEPARATOR> ";"', "<SEPARATOR> comes too late", 2, ""),
        ('<SEPARATOR> "ab"\nA 1', "the separator has 2 signs", 1, ""),
        ("A 1\n<RECODEABLE>", "variable 'A' lacks its position in the record", 1, ""),
        ("A one 2", "the place of variable 'A' is not a whole number", 1, ""),
        ("A 0 2", "the place of variable 'A' is not a whole number, or too small", 1, ""),
        ("A 1 2 97 98 99", "variable 'A' has 3 missing codes", 1, ""),
        ("A 1 2 999", "a missing code of 'A' is wider than the variable", 1, ""),
        ("A 1 2\na 3 2", "variable 'a' is declared twice", 2, ""),
        ("A 1 2\n<HIERLEVELS> 1 2", "the levels of 'A' have 3 digits for a width of 2", 2, ""),
        ("A 1 2\n<HIERARCHICAL>", "variable 'A' is <HIERARCHICAL>, but its tree is not given", 1, ""),
        ('A 1 2\n<HIERCODELIST> "a.hrc"', "'A' has a <HIERCODELIST> but is not <HIERARCHICAL>", 1, ""),
        ('A 1 2\n<HIERARCHICAL>\n<HIERLEVELS> 1 1\n<HIERCODELIST> "x"', "variable 'A' has two trees", 1, ""),
        ("A 1 2 <NUMERIC>", "a keyword stands on the line of variable 'A'", 1, ""),
        ("A 1 2\n<TOTCODE>", "<TOTCODE> takes one value, got 0", 2, ""),
        ("A 1 2\n<DECIMALS> two", "the number of decimals is not a whole number", 2, ""),
        ("A 1 2\n<REQUEST> 1 2 3", "<REQUEST> has 3 codes", 2, ""),
        ("A 1 2\n<DISTANCE> 1 2 3 4 5 6", "<DISTANCE> has 6 numbers", 2, ""),
        ("A 1 2\n<NUMERIC> 2", "something follows <NUMERIC>, which stands alone", 2, ""),
        ("A\n<SHADOW>", "<SHADOW> without <NUMERIC>", 2, ""),
        ('<SAFE> "S"', "the metadata name no variable", 1, ""),
    ],
)
def test_invalid_metadata_raises_with_line(text, what, line, fix):
    with pytest.raises(DataError) as error:
        parse_metadata(text, name="x.rda")
    assert what in error.value.what
    assert error.value.where == f"x.rda, line {line}"
    assert error.value.fix == fix or not fix


def test_table_keyword_in_microdata_raises():
    with pytest.raises(DataError, match=r"unknown keyword <MAXSCORE> \(it belongs to tables\)"):
        parse_metadata("A 1 2\n<MAXSCORE>", kind="microdata")


def test_omitted_distances_repeat_the_last():
    assert parse_metadata("A 1 2\n<DISTANCE> 1 3").variables[0].distance == (1, 3, 3, 3, 3)


def test_separator_of_published_example_is_comma():
    """Appendix E of Kikuchi and Minami (2017) writes the separator with a blank."""
    assert parse_metadata('<SEPARATOR> ", "\nA\n<RECODEABLE>').separator == ","


def test_unknown_variable_suggests_nearest():
    with pytest.raises(DataError, match="no variable 'TRN'") as error:
        parse_metadata(FIXED).variable("TRN")
    assert error.value.fix == "did you mean 'TURN'?"


@pytest.mark.parametrize("text", [FIXED, TABLE, CELL_KEY])
def test_metadata_round_trips(tmp_path, text):
    metadata = parse_metadata(text)
    write_metadata(tmp_path / "x.rda", metadata)
    assert read_metadata(tmp_path / "x.rda") == metadata
    assert read_metadata(tmp_path / "x.rda").folder == tmp_path


TEXT = st.text(
    st.characters(min_codepoint=33, max_codepoint=126, exclude_characters='"'), min_size=1, max_size=8
)
NAMES = TEXT.filter(lambda name: not name.startswith(("<", "//")))


@st.composite
def variables(draw, layout):
    start = draw(st.integers(1, 99)) if layout == "fixed" else None
    length = draw(st.integers(1, 9)) if layout != "table" else None
    missing = draw(st.lists(st.text("0129 ", min_size=1, max_size=length or 4).filter(str.strip), max_size=2))
    variable = Variable(draw(NAMES), start, length, tuple(missing), decimals=draw(st.integers(0, 9)))
    kind = draw(st.sampled_from(["flat", "tree", "digits", "number", "other"]))
    table = layout == "table"
    if kind == "number":
        part = draw(st.sampled_from(["value", "shadow", "cost", "lower", "upper"]))
        return replace(variable, numeric=True, part=part if table else None)
    if kind == "other" and table:
        return replace(variable, part=draw(st.sampled_from(["frequency", "largest", "status"])))
    if kind == "other":
        request = tuple(draw(st.lists(TEXT.filter(lambda code: code != ","), max_size=2)))
        keys = draw(st.sampled_from([(), (("<RECORDKEY>", ""), ("<PFILE>", "p t.txt"))]))
        flags = {draw(st.sampled_from(["weight", "holding"])): True}
        return replace(variable, request=request, cell_key=keys, **flags)
    variable = replace(variable, recodable=True, total=draw(TEXT), code_list=draw(st.none() | TEXT))
    if kind == "tree":
        return replace(variable, hierarchy_file=draw(TEXT), lead=draw(TEXT))
    if kind == "digits":
        return replace(variable, levels=(length or 3,), distance=(1, 2, 3, 3, 3))
    return variable


@given(st.data(), st.sampled_from(["fixed", "free", "table"]))
def test_generated_metadata_round_trips(tmp_path_factory, data, layout):
    drawn = data.draw(
        st.lists(variables(layout), min_size=1, max_size=4, unique_by=lambda v: v.name.casefold())
    )
    separator = None if layout == "fixed" else data.draw(st.sampled_from(";,|"))
    metadata = Metadata(layout, tuple(drawn), separator)
    path = tmp_path_factory.mktemp("rda") / "x.rda"
    write_metadata(path, metadata)
    kind = "table" if layout == "table" else "microdata"
    assert read_metadata(path, kind=kind) == metadata


@pytest.mark.parametrize(
    ("variable", "what"),
    [
        (Variable("<A>", 1, 1), "cannot be the name of a variable"),
        (Variable('a"b', 1, 1), "double quote"),
        (Variable("Zürich", 1, 1), "'ü'"),
        (Variable("A", 1, 1, part="frequency"), "unknown keyword"),
        (Variable("A", 1, 1, lead="#"), "cannot represent the lead of variable 'A'"),
    ],
)
def test_unsupported_metadata_raises(tmp_path, variable, what):
    with pytest.raises((OutputError, DataError), match=what):
        write_metadata(tmp_path / "x.rda", Metadata("fixed", (variable,)))
    assert not (tmp_path / "x.rda").exists()


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "layout", "n_variables", "spanning"),
    [
        ("Tau_TestW.rda", "fixed", 14, ["Year", "IndustryCode", "Size", "Region"]),
        ("tableinput/pp.rda", "table", 11, ["Size", "Region"]),
        ("batch_ex1/metadata_ex1.rda", "table", 6, ["region", "gender"]),
        ("cellkey/microdata.rda", "free", 6, ["Sex", "Age"]),
    ],
)
def test_real_metadata_is_read(shared, tmp_path, file, layout, n_variables, spanning):
    metadata = read_metadata(shared / "data/tables/tauargus" / file)
    assert (metadata.layout, len(metadata.variables)) == (layout, n_variables)
    assert [variable.name for variable in metadata.spanning] == spanning
    write_metadata(tmp_path / "again.rda", metadata)
    assert read_metadata(tmp_path / "again.rda") == metadata


@pytest.mark.shared
def test_variable_properties_are_read(shared):
    metadata = read_metadata(shared / "data/tables/tauargus/Tau_TestW.rda")
    assert metadata.variable("IndustryCode") == Variable(
        "IndustryCode", 4, 5, ("99999",), recodable=True, levels=(3, 1, 1, 0, 0), distance=(1, 3, 5, 7, 9)
    )
    assert metadata.variable("Wgt") == Variable("Wgt", 15, 4, ("9999",), decimals=1, weight=True)
    assert metadata.variable("Request").request == ("1", "2")
    assert metadata.path("REGION.CDL").name == "region.cdl"
