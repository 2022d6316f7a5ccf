from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.strategies import count_tables, magnitude_tables, protections

from hitoku.errors import DataError, HitokuError, NeedError, OutputError, ProtectionError
from hitoku.io import read_jj, read_jj_pattern, write_jj
from hitoku.model import Need, Protection, Table

SMALL = """0
3
0 4 9 u 0 20 2 3.5 6
1 6  1 m  0 20 0 0 0
2 10 7 z 10 10 0 0 0
1
0 3 : 0 (1) 1 ( 1 ) 2 (-1)
"""


@pytest.fixture
def written(tmp_path):
    def write(text, name="table.jj"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
        return path

    return write


@pytest.mark.parametrize("name", ["table.jj", "table.jj.gz"])
def test_jj_fields_are_read(written, name):
    table, need = read_jj(written(SMALL, name))
    assert table.value.tolist() == [4, 6, 10]
    assert table.cost.tolist() == [9, 1, 7]
    assert table.lower.tolist() == [0, 0, 10]
    assert table.upper.tolist() == [20, 20, 10]
    assert table.fixed.tolist() == [False, False, True]
    assert table.relations.toarray().tolist() == [[1, 1, -1]]
    assert table.additive
    assert not table.integer
    assert need.unsafe.tolist() == [True, False, False]
    assert (need.lower[0], need.upper[0], need.width[0]) == (2, 3.5, 6)
    assert need.why(0) == ("given",)


def test_compression_is_detected_by_content(tmp_path):
    path = tmp_path / "table.jj"
    path.write_bytes(gzip.compress(SMALL.encode()))
    assert read_jj(path)[0].n_cells == 3


def test_jj_pattern_is_primary_plus_secondary(written):
    assert read_jj_pattern(written(SMALL)).tolist() == [True, True, False]


def test_cell_order_is_arbitrary(written):
    lines = SMALL.splitlines()
    lines[2], lines[4] = lines[4], lines[2]
    assert read_jj(written("\n".join(lines)))[0].value.tolist() == [4, 6, 10]


def test_counts_are_declared_by_caller(written):
    assert read_jj(written(SMALL), integer=True)[0].integer


def test_too_few_digits_make_a_non_additive_table(written):
    assert not read_jj(written(SMALL.replace("2 10 7 z 10 10", "2 10.1 7 z 10 11")))[0].additive


def test_jj_right_hand_side_becomes_published_cell(written, tmp_path):
    text = SMALL.replace("2 10 7 z 10 10", "2 7 7 z 7 7").replace("0 3 :", "3 3 :")  # 4 + 6 - 7 = 3
    table, need = read_jj(written(text))
    assert table.value.tolist() == [4, 6, 7, 1]
    assert table.describe(3) == "cell=constant"
    assert table.additive
    assert table.fixed[3]
    assert len(need) == 4
    assert read_jj_pattern(written(text)).tolist() == [True, True, False, False]
    write_jj(tmp_path / "again.jj", table, need)
    again = (tmp_path / "again.jj").read_text("ascii").splitlines()
    assert again[1] == "3"
    assert again[-1] == "3 3 : 0 (1) 1 (1) 2 (-1)"


@pytest.mark.parametrize(
    ("old", "new", "place", "what"),
    [
        pytest.param("0\n3\n", "0 0\n3\n", "line 1", "constant", id="constant with company"),
        pytest.param("\n3\n", "\nthree\n", "line 2", "number of cells", id="number of cells"),
        pytest.param("\n3\n", "\n4\n", "line 6", "9 entries", id="one cell announced too many"),
        pytest.param("20 2 3.5 6", "20 2 3.5", "line 3", "9 entries", id="cell cut short"),
        pytest.param("0 4 9 u", "0 4x 9 u", "line 3", "value is not a number", id="value"),
        pytest.param("0 4 9 u", "0 nan 9 u", "line 3", "value is not a number", id="NaN"),
        pytest.param("0 4 9 u", "0 4 9 q", "line 3", "status", id="status"),
        pytest.param("0 4 9 u", "7 4 9 u", "line 3", "index", id="index too large"),
        pytest.param("1 6  1 m", "0 6  1 m", "line 4", "twice", id="index twice"),
        pytest.param("u 0 20 2", "u 5 20 2", "line 3", "outside its bounds", id="value below its bound"),
        pytest.param("20 2 3.5 6", "20 -2 3.5 6", "line 3", "negative", id="negative level"),
        pytest.param("0 3 : 0", "0 4 : 0", "line 7", "4 terms", id="count of terms"),
        pytest.param("0 3 : 0 (1)", "0 3 : 0 1", "line 7", "3 terms", id="no parentheses"),
        pytest.param("0 3 : 0 (1)", "0 3 ; 0 (1)", "line 7", "a relation reads", id="no colon"),
        pytest.param("2 (-1)", "3 (-1)", "line 7", "does not exist", id="foreign cell"),
        pytest.param("1 ( 1 )", "0 ( 1 )", "line 7", "twice", id="cell twice in a relation"),
        pytest.param("2 (-1)", "2 (x)", "line 7", "coefficient is not a number", id="coefficient"),
        pytest.param("2 (-1)\n", "2 (-1)\n0 1 : 0 (1)\n", "line 8", "more after", id="one relation too many"),
        pytest.param("\n1\n0 3", "\n2\n0 3", "line 6", "2 announced, but 1 lines", id="cut off"),
        pytest.param("\n3\n", f"\n{10**12}\n", "line 2", " announced", id="more than memory holds"),
        pytest.param("\n3\n", f"\n{10**30}\n", "line 2", "number of cells", id="more than any number"),
        pytest.param("0 4 9 u", f"{10**30} 4 9 u", "line 3", "index", id="index beyond any number"),
        pytest.param("2 (-1)", f"{10**30} (-1)", "line 7", "does not exist", id="cell beyond any number"),
        pytest.param("0 3 : 0", f"0 {'9' * 5000} : 0", "line 7", "relation reads", id="endless terms"),
    ],
)  # fmt: skip
def test_malformed_jj_raises_with_line_without_values(written, old, new, place, what):
    text = SMALL.replace(old, new, 1).replace("1 6 ", "1 6 ")
    assert text != SMALL
    with pytest.raises(DataError) as caught:
        read_jj(written(text))
    assert place in caught.value.where
    assert what in caught.value.what
    assert "3.5" not in str(caught.value)
    assert caught.value.fix


@pytest.mark.parametrize("raw", [b"\x1f\x8bnot really", b"\xff\xfe0", b""], ids=["gzip", "text", "empty"])
def test_file_of_other_type_raises(tmp_path, raw):
    path = tmp_path / "table.jj"
    path.write_bytes(raw)
    with pytest.raises(DataError):
        read_jj(path)


def test_missing_jj_file_raises(tmp_path):
    with pytest.raises(DataError, match="cannot read"):
        read_jj(tmp_path / "nothing.jj")


@st.composite
def problems(draw):
    table = draw(count_tables(max_side=3) | magnitude_tables(max_side=3))
    unsafe = draw(protections(table)).withheld
    level = st.sampled_from([0.0, 1.0, 2.5, 0.1 + 0.2, 1e-9, 123456.789])
    levels = [
        np.where(unsafe, draw(st.lists(level, min_size=len(unsafe), max_size=len(unsafe))), 0.0)
        for _ in range(3)
    ]
    secondary = draw(protections(table)).withheld
    return table, Need(unsafe=unsafe, lower=levels[0], upper=levels[1], width=levels[2]), secondary


@given(problem=problems(), name=st.sampled_from(["t.jj", "t.jj.gz"]))
def test_jj_file_round_trips(tmp_path_factory, problem, name):
    table, need, secondary = problem
    path = tmp_path_factory.mktemp("jj") / name
    protection = Protection.withhold(table, secondary | need.unsafe, need)
    write_jj(path, table, need, protection)
    again, asked = read_jj(path, integer=table.integer)
    for before, after in (
        (table.value, again.value),
        (table.lower, again.lower),
        (table.upper, again.upper),
        (need.unsafe, asked.unsafe),
        (need.lower, asked.lower),
        (need.upper, asked.upper),
        (need.width, asked.width),
        (table.relations.toarray(), again.relations.toarray()),
        (protection.withheld, read_jj_pattern(path)),
    ):
        assert np.array_equal(before, after)
    first = path.read_bytes()
    write_jj(path, table, need, protection)
    assert path.read_bytes() == first


def test_costs_bounds_and_fixed_cells_round_trip(tmp_path):
    table = Table(
        value=[1.5, 2.0, 3.5],
        relations=sparse.csr_array([[1.0, 1.0, -1.0]]),
        lower=[-np.inf, 0, 3.5],
        upper=[np.inf, 1e12, 3.5],
        cost=[0.25, 1e20, 3],
        fixed=[False, False, True],
    )
    write_jj(tmp_path / "t.jj", table, Need(unsafe=[True, False, False]))
    again, _ = read_jj(tmp_path / "t.jj")
    for name in ("value", "lower", "upper", "cost", "fixed"):
        assert np.array_equal(getattr(table, name), getattr(again, name)), name


def test_parts_of_different_tables_raise(tmp_path):
    table = Table.from_array([[1, 2], [3, 4]])
    with pytest.raises(NeedError):
        write_jj(tmp_path / "t.jj", table, Need(unsafe=[True]))
    other = Table.from_array([[1, 2, 3], [3, 4, 5]])
    with pytest.raises(ProtectionError):
        write_jj(tmp_path / "t.jj", table, Need(unsafe=[False] * 9), Protection.withhold(other, other.inner))


def test_missing_output_folder_is_named(tmp_path):
    table = Table.from_array([[1, 2], [3, 4]])
    with pytest.raises(OutputError) as caught:
        write_jj(tmp_path / "nowhere" / "t.jj", table, Need(unsafe=[False] * 9))
    assert isinstance(caught.value, HitokuError)


# Cells, unsafe cells, relations, coefficients, adds up: from the folder's README (Castro 2012, Table 1).
CSPLIB = {
    "targus": (162, 13, 63, 360, False),
    "hier13x7x7d": (637, 50, 525, 2401, True),
    "table8": (1271, 3, 72, 2542, True),
    "table1": (1584, 146, 510, 4752, False),
    "hier13": (2020, 112, 3313, 11929, True),
    "hier13x13x13a": (2197, 108, 3549, 11661, True),
    "jjtabeltest3": (3025, 1054, 1650, 7590, False),
    "hier16": (3564, 224, 5484, 19996, True),
    "table3": (4992, 517, 2464, 19968, False),
    "two5in6": (5681, 720, 9629, 34310, True),
    "osorio": (10201, 7, 202, 20402, True),
    "nine5d": (10733, 1661, 17295, 58135, True),
    "cbs": (11163, 2467, 244, 22326, True),
    "table3_additive": (4992, 517, 2464, 19968, True),
}


@pytest.mark.shared
@pytest.mark.parametrize("name", CSPLIB)
def test_published_instances_have_documented_sizes(shared, name):
    table, need = read_jj(shared / "data" / "csplib" / f"{name}.jj.gz")
    sizes = (table.n_cells, int(need.unsafe.sum()), table.relations.shape[0], table.relations.nnz)
    assert (*sizes, table.additive) == CSPLIB[name]


@pytest.mark.shared
def test_synthetic_instances_are_read(shared):
    paths = sorted((shared / "data" / "jj_synthetic").glob("*.jj.gz"))
    assert len(paths) == 10
    for path in paths:
        table, need = read_jj(path)
        assert table.additive
        assert need.unsafe.any()
        assert np.array_equal(read_jj_pattern(path), need.unsafe)
