from __future__ import annotations

import shutil
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from tests.strategies import magnitude_tables

from hitoku.errors import DataError, ParameterError, TableError
from hitoku.evidence import audit
from hitoku.io import read_jj
from hitoku.io.argus import parse_metadata, read_metadata, read_microdata, read_table, tree_of, write_table
from hitoku.methods.gauss import Gauss
from hitoku.methods.greedy import Greedy
from hitoku.methods.optimal import Optimal
from hitoku.model import Release, Table
from hitoku.rules import PPercent, assess
from hitoku.tabulation import tabulate

# Appendix E of Kikuchi and Minami (2017), Tables 6 and 7.
APPENDIX_E = """
A, a, 10, 40, 10, 5, s
A, b, 10, 50, 12, 8, s
A, TOTAL, 20, 90, 12, 10, s
B, a, 10, 20, 8, 5, s
B, b, 10, 30, 7, 7, s
B, TOTAL, 20, 50, 8, 7, s
TOTAL, a, 20, 90, 10, 8, s
TOTAL, b, 20, 80, 12, 8, s
TOTAL, TOTAL, 40, 280, 12, 10, s
"""
APPENDIX_E_METADATA = parse_metadata("""
<SEPARATOR> ", "
<SAFE> "S"
<UNSAFE> "U"
<PROTECT> "P"
Vname
  <RECODEABLE>
  <TOTCODE> "TOTAL"
Class "x"
  <RECODEABLE>
  <TOTCODE> "TOTAL"
N
  <FREQUENCY>
VAR
  <NUMERIC>
TOP1
  <MAXSCORE>
TOP2
  <MAXSCORE>
StatusVar
  <STATUS>
""")
FLAT = parse_metadata("""
<SEPARATOR> ";"
Region
  <RECODEABLE>
Turnover
  <NUMERIC>
  <DECIMALS> 1
Status
  <STATUS>
Lower
  <NUMERIC> <LOWERPL>
""")


def read(tmp_path, text, metadata, **options):
    (tmp_path / "t.tab").write_text(text)
    return read_table(tmp_path / "t.tab", metadata, **options)


def by_codes(table, values=None):
    values = table.value if values is None else values
    return {table.labels.codes_of(cell): value for cell, value in enumerate(values.tolist())}


def test_appendix_e_example_raises_with_failing_relations(tmp_path):
    """The paper prints 280 where the parts give 140, and 90 in the file where its table says 60."""
    with pytest.raises(TableError) as error:
        read(tmp_path, APPENDIX_E, APPENDIX_E_METADATA)
    assert error.value.what == "the table does not add up: 3 of 6 relations fail"
    assert error.value.where.removeprefix("t.tab: ").split("; ") == [
        "TOTAL \N{MULTIPLICATION SIGN} a does not equal the sum of Vname A, B",
        "TOTAL \N{MULTIPLICATION SIGN} TOTAL does not equal the sum of Vname A, B",
        "TOTAL \N{MULTIPLICATION SIGN} TOTAL does not equal the sum of Class a, b",
    ]
    assert not any(value in str(error.value) for value in ("280", "140", "90", "60", "170"))


def test_appendix_e_example_with_recomputed_totals(tmp_path):
    given_table = read(tmp_path, APPENDIX_E, APPENDIX_E_METADATA, additivity="recompute")
    table = given_table.table
    assert table.value.reshape(3, 3).tolist() == [[40, 50, 90], [20, 30, 50], [60, 80, 140]]
    assert table.frequency.reshape(3, 3)[2].tolist() == [20, 20, 40]
    # Tables 4 and 5 of the paper: the largest and second largest contributions.
    assert table.largest[:, 0].reshape(3, 3).tolist() == [[10, 12, 12], [8, 7, 8], [10, 12, 12]]
    assert table.largest[:, 1].reshape(3, 3).tolist() == [[5, 8, 10], [5, 7, 7], [8, 8, 10]]
    assert set(given_table.status) == {"S"}
    assert table.additive


def test_appendix_e_example_is_read_unchanged(tmp_path):
    table = read(tmp_path, APPENDIX_E, APPENDIX_E_METADATA, additivity="open").table
    assert by_codes(table)["TOTAL", "TOTAL"] == 280
    assert not table.additive


def test_table_file_columns_are_assigned(tmp_path):
    metadata = parse_metadata("""
<SEPARATOR> ";"
<PROTECT> "Z"
R
  <RECODEABLE>
V
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
ST
  <STATUS>
LO
  <NUMERIC> <LOWERPL>
UP
  <NUMERIC> <UPPERPL>
""")
    text = """"a";1,25;3;10;7;6;U;0,5;0,75
"b";2,5;4;11;8;5;z;0;0
"c";0;0;0;0;0;E;0;0
Total;3,75;7;21;9;6;s;0;0"""
    found = read(tmp_path, text, metadata)
    table = found.table
    assert table.cells["R"].tolist() == ["a", "b", "c", "Total"]
    assert table.value.tolist() == [1.25, 2.5, 0, 3.75]
    assert table.frequency.tolist() == [3, 4, 0, 7]
    assert table.cost.tolist() == [7, 8, 0, 9]
    assert table.largest[:, 0].tolist() == [6, 5, 0, 6]
    assert table.contributors.total.tolist() == [10, 11, 0, 21], "rules look at the shadow variable"
    assert found.status.tolist() == ["U", "P", "E", "S"]
    assert table.fixed.tolist() == [False, True, True, False], "protected and empty cells are published"
    assert found.need.unsafe.tolist() == [True, False, False, False]
    assert (found.need.lower[0], found.need.upper[0]) == (0.5, 0.75)
    assert (table.measure, table.integer) == ("V", False)


def test_cell_without_line_is_empty(tmp_path):
    metadata = parse_metadata('<SEPARATOR> ";"\nR\n<RECODEABLE>\nS\n<RECODEABLE>\nV\n<NUMERIC>')
    text = "a;x;1\nb;y;2\na;Total;1\nb;Total;2\nTotal;x;1\nTotal;y;2\nTotal;Total;3\n"
    found = read(tmp_path, text, metadata)
    assert by_codes(found.table)["a", "y"] == 0
    assert found.table.fixed.sum() == 2
    assert found.in_file.sum() == 7
    assert found.status is None
    with pytest.raises(TableError, match="does not add up") as error:
        read(tmp_path, text.replace("b;Total;2\n", ""), metadata)
    assert (
        "b \N{MULTIPLICATION SIGN} Total, which has no line, does not equal the sum of S x, y"
        in error.value.where
    )


def test_decimals_do_not_break_additivity(tmp_path):
    """0.1 + 0.2 is 0.3, also in a computer; a difference of a last digit is one."""
    lines = "a;0.1;S;0\nb;0.2;S;0\nTotal;{};S;0\n"
    assert read(tmp_path, lines.format("0.3"), FLAT).table.additive
    large = "a;16847646.8;S;0\nb;99999999.9;S;0\nTotal;116847646.7;S;0\n"
    assert read(tmp_path, large, FLAT).table.n_cells == 3
    with pytest.raises(TableError, match="1 of 1 relations fail"):
        read(tmp_path, large.replace("46.7", "46.8"), FLAT)
    with pytest.raises(TableError):
        read(tmp_path, lines.format("0.4"), FLAT)


def test_totals_with_extra_decimals_may_be_rounded(tmp_path):
    lines = "a;0.333;S;0\nb;0.333;S;0\nc;0.333;S;0\nTotal;{};S;0\n"
    table = read(tmp_path, lines.format("1.0"), FLAT).table
    assert not table.additive, "it adds up to one decimal only, and says so"
    with pytest.raises(TableError):
        read(tmp_path, lines.format("1.1"), FLAT)


@pytest.mark.parametrize(
    ("text", "error", "what"),
    [
        ("a;1;S;0\na;1;S;0\nb;1;S;0\nTotal;1;S;0", DataError, "1 cell(s) have more than one line"),
        ("a;1;X;0\nb;1;S;0\nTotal;2;S;0", DataError, "1 cell(s) have a status that the metadata do not name"),
        ("a;;S;0\nb;1;S;0\nTotal;1;S;0", DataError, "column 'Turnover' is blank in 1 line(s)"),
        ("a;1;S;0\nb;1;S;0\nALL;2;S;0", DataError, "no line has the total 'Total' of variable 'Region'"),
        ("a;1,5;S;0.5\nb;1;S;0\nTotal;2,5;S;0", DataError, "both points and commas"),
        ("a;1;S\nTotal;1;S;0", DataError, "a line has 3 columns, the metadata name 4"),
    ],
)
def test_invalid_table_file_raises(tmp_path, text, error, what):
    with pytest.raises(error) as raised:
        read(tmp_path, text, FLAT)
    assert what in str(raised.value)


def test_wrong_frequencies_and_contributions_raise(tmp_path):
    text = APPENDIX_E.replace("A, a, 10, 40, 10, 5", "A, a, 10, 40, 5, 10")
    with pytest.raises(DataError, match=r"1 cell\(s\) have largest contributions .* not in falling order"):
        read(tmp_path, text, APPENDIX_E_METADATA, additivity="open")
    text = APPENDIX_E.replace("A, a, 10, 40", "A, a, 1.5, 40")
    with pytest.raises(DataError, match=r"1 cell\(s\) have a frequency that is not a count"):
        read(tmp_path, text, APPENDIX_E_METADATA, additivity="open")


def test_response_is_chosen_or_frequency(tmp_path):
    counts = read(tmp_path, APPENDIX_E, APPENDIX_E_METADATA, value="<freq>").table
    assert counts.value.reshape(3, 3).tolist() == [[10, 10, 20], [10, 10, 20], [20, 20, 40]]
    assert counts.integer
    two = parse_metadata('<SEPARATOR> ";"\nR\n<RECODEABLE>\nV\n<NUMERIC>\nW\n<NUMERIC>')
    text = "a;1;5\nb;2;6\nTotal;3;11\n"
    assert read(tmp_path, text, two, value="w").table.value.tolist() == [5, 6, 11]
    with pytest.raises(DataError, match="2 columns that could be the value") as error:
        read(tmp_path, text, two)
    assert error.value.fix.fields["candidates"] == "V, W"


def test_omitted_variables_are_at_their_total(tmp_path):
    found = read(tmp_path, APPENDIX_E, APPENDIX_E_METADATA, by=["Class"], additivity="open")
    assert by_codes(found.table) == {("a",): 90, ("b",): 80, ("TOTAL",): 280}


def test_totals_are_recognised_in_any_case_or_blank(tmp_path):
    text = "a;1;S;0\nb;2;S;0\nTOTAL;3;S;0\n"
    assert by_codes(read(tmp_path, text, FLAT).table)[("Total",)] == 3
    assert by_codes(read(tmp_path, text.replace("TOTAL", ""), FLAT).table)[("Total",)] == 3


def test_recomputed_totals_keep_status_on_request(tmp_path):
    text = "a;1;S;0\nb;2;U;0\nTotal;9;U;0\n"
    kept = read(tmp_path, text, FLAT, additivity="recompute")
    dropped = read(tmp_path, text, FLAT, additivity="recompute", keep_status=False)
    assert kept.status.tolist() == ["S", "U", "U"]
    assert dropped.status.tolist() == ["S", "U", "S"]
    assert kept.table.value.tolist() == [1, 2, 3]


def test_groups_with_one_part_are_relations(tmp_path):
    (tmp_path / "age.hrc").write_text("A1\n@1\nA2\n@2\n@3\n")
    metadata = parse_metadata(
        """
<SEPARATOR> ";"
Age
  <RECODEABLE>
  <HIERARCHICAL>
  <HIERCODELIST> "age.hrc"
  <HIERLEADSTRING> "@"
N
  <NUMERIC>
""",
        folder=tmp_path,
    )
    text = "Total;6\nA1;1\n1;1\nA2;5\n2;2\n3;3\n"
    table = read(tmp_path, text, metadata).table
    assert (table.n_cells, table.relations.shape[0]) == (6, 3)
    with pytest.raises(TableError) as error:
        read(tmp_path, text.replace("\n1;1\n", "\n1;2\n"), metadata)
    assert "A1 does not equal the sum of Age 1" in error.value.where


@pytest.mark.parametrize(
    "method", [Optimal(cost="value"), Gauss(), Greedy()], ids=["optimal", "gauss", "greedy"]
)
def test_trivial_level_cells_share_unsafe_status(tmp_path, method):
    """τ-ARGUS leaves a hole where equal levels have different statuses (UserSupport #66)."""
    (tmp_path / "age.hrc").write_text("A1\n@1\nA2\n@2\n@3\nA3\n@4\n")
    metadata = parse_metadata(
        """
<SEPARATOR> ";"
Age
  <RECODEABLE>
  <HIERARCHICAL>
  <HIERCODELIST> "age.hrc"
  <HIERLEADSTRING> "@"
Sex
  <RECODEABLE>
N
  <NUMERIC>
ST
  <STATUS>
LO
  <NUMERIC> <LOWERPL>
UP
  <NUMERIC> <UPPERPL>
""",
        folder=tmp_path,
    )
    rows = {"1": (3, 20), "2": (40, 50), "3": (25, 10), "4": (14, 33)}
    lines = [f"{age};{sex};{n};S;0;0" for age, row in rows.items() for sex, n in zip("xy", row, strict=True)]
    lines[0] = "1;x;3;U;2;2"
    found = read(tmp_path, "\n".join(lines), metadata, additivity="recompute")
    protection = method.protect(found.table, found.need)
    withheld = by_codes(found.table, protection.withheld)
    assert withheld["1", "x"]
    assert withheld["A1", "x"], "the file calls it safe, but it tells the other"
    assert audit(found.table, found.need, Release.of(found.table, protection)).safe


def test_invalid_parameters_raise(tmp_path):
    with pytest.raises(ParameterError, match="no way 'chek'"):
        read(tmp_path, APPENDIX_E, APPENDIX_E_METADATA, additivity="chek")
    with pytest.raises(ParameterError, match="describe records"):
        read(tmp_path, APPENDIX_E, parse_metadata("A 1 2\n<RECODEABLE>"))


def test_many_failing_relations_are_counted(tmp_path):
    metadata = parse_metadata('<SEPARATOR> ";"\nR\n<RECODEABLE>\nS\n<RECODEABLE>\nV\n<NUMERIC>')
    lines = [f"{r};{s};1" for r, s in product([*"abcdefgh", "Total"], ["x", "y", "Total"])]
    with pytest.raises(TableError, match="12 of 12 relations fail") as error:
        read(tmp_path, "\n".join(lines), metadata)
    assert error.value.where.endswith("; and 7 more")
    assert (
        "Total \N{MULTIPLICATION SIGN} x does not equal the sum of R a, b, c, d, e, f and 2 more"
        in error.value.where
    )


@given(magnitude_tables(hierarchical=True))
def test_recomputed_contributions_are_largest_of_parts(tmp_path_factory, table):
    """Slow and obvious: pour the contributions of every leaf below a cell into one list, and sort it."""
    path = tmp_path_factory.mktemp("tab") / "t.tab"
    cost = np.arange(table.n_cells, dtype=float)
    units = table.units
    slim = Table(
        value=table.value, dimensions=table.dimensions, frequency=table.frequency, units=units, cost=cost
    )
    write_table(path, slim)
    found = read_table(path, read_metadata(path.with_suffix(".rda")), additivity="recompute").table
    below = [
        {d.codes[row]: d.closure[[row]].indices.tolist() for row in range(len(d))} for d in table.dimensions
    ]
    for cell in range(table.n_cells):
        codes = table.labels.codes_of(cell)
        leaves = list(product(*(parts[code] for parts, code in zip(below, codes, strict=True))))
        places = [int(np.ravel_multi_index(leaf, table.shape)) for leaf in leaves]
        poured = sorted(np.concatenate([units.largest[place] for place in places]), reverse=True)
        assert found.largest[cell].tolist() == poured[: units.largest.shape[1]]
        assert found.cost[cell] == sum(cost[place] for place in places)


@pytest.fixture(scope="module")
def folder(shared, tmp_path_factory):
    """Give the τ-ARGUS example with all its files side by side."""
    copy = tmp_path_factory.mktemp("tauargus")
    source = shared / "data/tables/tauargus"
    for name in ("tableinput/pp.tab", "tableinput/pp.rda", "region2.hrc", "region.cdl", "Tau_TestW.rda"):
        shutil.copy(source / name, copy)
    return copy


@pytest.fixture(scope="module")
def tabulated(shared, folder):
    """Give Size by Region of Var2 from the records; missing codes are categories, as in τ-ARGUS."""
    metadata = read_metadata(folder / "Tau_TestW.rda")
    names = ["Size", "Region"]
    records = read_microdata(
        shared / "data/tables/tauargus/tau_testW.asc.gz", metadata, variables=[*names, "Var2"]
    )
    trees = {}
    for name in names:
        variable = metadata.variable(name)
        trees[name] = tree_of(variable, metadata, [*records[name].unique(), *variable.missing])
    return tabulate(records, by=names, value="Var2", hierarchies=trees, top=2)


@pytest.mark.shared
def test_altered_cells_of_real_table_are_found(folder):
    """Four responses were changed on purpose: 2 x 4 and 4 x 6, 4 x Os less by one, 2 x 6 more by one."""
    metadata = read_metadata(folder / "pp.rda")
    with pytest.raises(TableError) as error:
        read_table(folder / "pp.tab", metadata)
    assert error.value.where.removeprefix("pp.tab: ").split("; ") == [
        "Total \N{MULTIPLICATION SIGN} 4 does not equal the sum of Size 2, 4, 5, 6, 7, 8 and 2 more",
        "Total \N{MULTIPLICATION SIGN} Os does not equal the sum of Size 2, 4, 5, 6, 7, 8 and 2 more",
        "4 \N{MULTIPLICATION SIGN} Total does not equal the sum of Region 99, Nr, Os, Ws, Zd",
    ]


@pytest.mark.shared
def test_real_table_equals_table_from_records(folder, tabulated):
    """Size by Region, response Var2, p% rule with p = 15, no weights."""
    found = read_table(folder / "pp.tab", read_metadata(folder / "pp.rda"), additivity="open")
    table, expected = found.table, by_codes(tabulated)
    assert set(by_codes(table)) == set(expected)
    place = [list(expected).index(codes) for codes in by_codes(table)]
    altered = {(" 2", " 4"): 4, (" 2", " 6"): 11, (" 4", " 6"): 4, (" 4", "Os"): 4}
    for codes, value in by_codes(table).items():
        assert value == pytest.approx(altered.get(codes, expected[codes]), abs=0.005), codes
    np.testing.assert_allclose(table.measures["shadow"], tabulated.value[place], atol=0.005)
    np.testing.assert_array_equal(table.frequency, tabulated.frequency[place])
    changed = np.array([codes in altered for codes in by_codes(table)])
    np.testing.assert_allclose(
        table.largest[~changed], tabulated.largest[place][~changed], atol=0.005, err_msg="largest"
    )
    need = assess(tabulated, [PPercent(15)])
    np.testing.assert_array_equal(found.need.unsafe, need.unsafe[place])
    np.testing.assert_allclose(found.need.upper, need.upper[place], atol=0.005)
    np.testing.assert_array_equal(found.status == "E", tabulated.frequency[place] == 0)
    assert (int(found.need.unsafe.sum()), int((found.status == "E").sum())) == (9, 43)


@pytest.mark.shared
def test_safe_file_and_jj_values_match_records(shared, tabulated):
    source = shared / "data/tables/tauargus"
    safe = pd.read_csv(source / "expected/Simple2D.txt", header=None, dtype=str).to_numpy().tolist()
    unsafe = dict(zip(by_codes(tabulated), assess(tabulated, [PPercent(15)]).unsafe.tolist(), strict=True))
    jj, need = read_jj(source / "jj/simple2d.jj.gz")
    assert len(safe) == tabulated.n_cells == jj.n_cells
    for cell, (size, region, value, status) in enumerate(safe):
        true = by_codes(tabulated)[size, region]
        assert true == pytest.approx(0 if value == "-" else float(value), abs=0.005)
        assert jj.value[cell] == pytest.approx(true, abs=0.005)
        assert unsafe[size, region] == (status == "3") == bool(need.unsafe[cell])


@pytest.mark.shared
def test_real_table_statuses_and_levels_are_read(shared):
    source = shared / "data/tables/tauargus/batch_ex1"
    found = read_table(source / "tabdata_ex1.tab", read_metadata(source / "metadata_ex1.rda"))
    assert by_codes(found.table)["A", "female"] == 137
    assert [codes for codes, letter in by_codes(found.table, found.status).items() if letter == "U"] == [
        ("A", "female")
    ]
    assert found.lower.tolist() == found.upper.tolist() == [1.0] * 15
    assert (found.table.n_cells, found.table.integer) == (15, True)
    expected = pd.read_csv(source / "expected_status.csv")
    primary = expected[expected["status"] == "u"]
    assert list(zip(primary["region"], primary["gender"], strict=True)) == [("A", "female")]


@pytest.mark.shared
def test_trivial_level_in_real_microdata_is_read(shared):
    source = shared / "data/tables/tauargus/cellkey"
    metadata = read_metadata(source / "microdata.rda")
    records = read_microdata(source / "microdata.csv", metadata)
    trees = {v.name: tree_of(v, metadata, records[v.name].unique()) for v in metadata.spanning}
    table = tabulate(records, by=["Sex", "Age"], value="Savings", hierarchies=trees)
    cells = by_codes(table)
    assert (
        cells["male", "Total"] == cells["2", "Total"] == records.loc[records["Sex"] == "2", "Savings"].sum()
    )
    assert cells["Total", "A1"] == cells["Total", "1"] == records.loc[records["Age"] == "1", "Savings"].sum()
