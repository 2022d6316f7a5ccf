from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.errors import DataError, HierarchyError
from hitoku.io.argus import (
    GroupRecode,
    Range,
    TreeRecode,
    parse_recode,
    read_metadata,
    read_microdata,
    read_recode,
    tree_by_digits,
)
from hitoku.model import Hierarchy

SIZES = [" 1", " 2", " 3", " 4", " 5", " 6", "10"]
TREE = Hierarchy.from_tree({"N": {"N1": ["N1a", "N1b"], "N2": None}, "S": ["S1", "S2"]})


def test_rules_missing_codes_and_labels_are_read():
    recode = parse_recode('// sizes\nS: 1-3\nM: 4 , 5\nL :6-\n<MISSING> 8 9\n<CODELIST> "size.cdl"\n')
    assert recode == GroupRecode(
        (
            ("S", (Range("1", "3"),)),
            ("M", (Range("4", "4"), Range("5", "5"))),
            ("L", (Range("6", None),)),
        ),
        ("8", "9"),
        "size.cdl",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "S:1-3", [" S", " S", " S", " 4", " 5", " 6", "10"], id="a range; the others keep themselves"
        ),
        pytest.param("S:-3", [" S", " S", " S", " 4", " 5", " 6", "10"], id="open below"),
        pytest.param("L:6-", [" 1", " 2", " 3", " 4", " 5", " L", " L"], id="open above; 10 comes after 6"),
        pytest.param("S:1,3\nT:2", [" S", " T", " S", " 4", " 5", " 6", "10"], id="single codes"),
        pytest.param(
            "big: 4 - 10", ["  1", "  2", "  3", "big", "big", "big", "big"], id="all as wide as the widest"
        ),
        pytest.param("S: 7-9", SIZES, id="a range that no code is in"),
    ],
)
def test_codes_are_compared_as_text_flush_right(text, expected):
    assert list(parse_recode(text).recoded(SIZES, length=2).values()) == expected


def test_recoded_range_excludes_missing_code():
    recode = parse_recode("L: 6-")
    assert recode.recoded([" 6", "99"], missing=["99"], length=2) == {" 6": " L", "99": "99"}


def test_missing_code_stays_missing():
    with pytest.raises(DataError, match="the missing code '99' would become the valid code 'L'"):
        parse_recode("L: 6, 99").recoded([" 6", "99"], missing=["99"])
    allowed = parse_recode("X: 99\n<MISSING> X").recoded(["10", "99"], missing=["99"])
    assert allowed == {"10": "10", "99": "X"}


def test_impossible_code_raises():
    with pytest.raises(DataError, match="wider than the 2 signs of the variable"):
        parse_recode("S: 1-100").recoded(SIZES, length=2)


def test_code_under_two_rules_raises():
    with pytest.raises(DataError, match="code ' 3' falls under 2 rules"):
        parse_recode("S: 1-3\nM: 3-5").recoded(SIZES, length=2)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1-3", "no new code"),
        (": 1", "no new code"),
        ("S:", "names no code"),
        ("S: 1,,2", "names no code"),
        ("S: 1-2-3", "more than two ends"),
        ("S: 5-3", "runs backwards"),
        ("S: 1 2", "two codes without a comma"),
        ("S: 1, 2 // a note", "two codes without a comma"),
        ("<MISING> 9", "<MISING> is unknown"),
        ("<CODELIST> a", "no rule"),
        ("", "no rule"),
    ],
)
def test_invalid_recoding_raises(text, what):
    with pytest.raises(DataError, match=what) as error:
        parse_recode(text, name="x.grc")
    assert error.value.where.startswith("x.grc")


def test_quoted_code_may_contain_hyphen():
    assert parse_recode('S: "1-2", 3').recoded(["1-2", "3", "4"]) == {"1-2": "S", "3": "S", "4": "4"}


@pytest.mark.parametrize(
    ("closed", "leaves"),
    [
        (("N1",), ("N1", "N2", "S1", "S2")),
        (("N",), ("N", "S1", "S2")),
        (("N", "N1", "S"), ("N", "S")),
        (("S1",), ("N1a", "N1b", "N2", "S1", "S2")),
        ((), ("N1a", "N1b", "N2", "S1", "S2")),
    ],
)
def test_codes_below_closed_branch_are_removed(closed, leaves):
    assert TreeRecode(closed).pruned(TREE).leaves == leaves


def test_record_codes_map_to_closed_branch():
    target = TreeRecode(("N", "N1")).recoded(TREE)
    assert [target[leaf] for leaf in TREE.leaves] == ["N", "N", "N", "S1", "S2"]


@pytest.mark.parametrize(
    ("level", "leaves"), [(1, ("N", "S")), (2, ("N1", "N2", "S1", "S2")), (3, TREE.leaves)]
)
def test_hierarchy_is_cut_below_a_level(level, leaves):
    assert TreeRecode.below(TREE, level).pruned(TREE).leaves == leaves


def test_unknown_branch_raises():
    with pytest.raises(HierarchyError, match="a branch 'N3' is to be closed"):
        TreeRecode(("N3",)).pruned(TREE)
    with pytest.raises(DataError, match="level 0"):
        TreeRecode.below(TREE, 0)


NAME = st.text("abc123", min_size=1, max_size=3)
RANGES = st.one_of(
    NAME.map(lambda code: Range(code, code)),
    NAME.map(lambda code: Range(code, None)),
    NAME.map(lambda code: Range(None, code)),
    st.tuples(NAME, NAME)
    .map(lambda ends: Range(*sorted(ends, key=lambda code: code.rjust(3))))
    .filter(lambda part: part.low != part.high),
)
GROUPS = st.builds(
    GroupRecode,
    st.lists(
        st.tuples(NAME, st.lists(RANGES, min_size=1, max_size=3).map(tuple)), min_size=1, max_size=4
    ).map(tuple),
    st.lists(NAME, max_size=2).map(tuple),
    st.none() | NAME,
)


def written(recode):
    """Return the lines of a ``.grc`` file."""
    if isinstance(recode, TreeRecode):
        return ["<TREERECODE>", *recode.closed]
    lines = []
    for new, ranges in recode.rules:
        parts = (r.low if r.low == r.high else f"{r.low or ''}-{r.high or ''}" for r in ranges)
        lines.append(f"{new}: {', '.join(parts)}")
    if recode.missing:
        lines.append(" ".join(["<MISSING>", *recode.missing]))
    return [*lines, f'<CODELIST> "{recode.code_list}"'] if recode.code_list is not None else lines


@given(GROUPS | st.builds(TreeRecode, st.lists(NAME, max_size=4).map(tuple)))
def test_recoding_round_trips(tmp_path_factory, recode):
    path = tmp_path_factory.mktemp("grc") / "x.grc"
    path.write_text("".join(f"{line}\n" for line in written(recode)), encoding="utf-8")
    assert read_recode(path) == recode


@given(st.lists(st.integers(0, 99), min_size=1, unique=True), st.integers(0, 99), st.integers(0, 99))
def test_numeric_ranges_compare_numerically(numbers, low, high):
    low, high = sorted((low, high))
    recode = GroupRecode((("in", (Range(str(low), str(high)),)),))
    found = recode.recoded([f"{n:2}" for n in numbers], length=2)
    assert [code == "in" for code in found.values()] == [low <= n <= high for n in numbers]


@pytest.mark.shared
def test_real_recodings_are_read(shared):
    folder = shared / "data/tables/tauargus"
    metadata = read_metadata(folder / "Tau_TestW.rda")
    records = read_microdata(folder / "tau_testW.asc.gz", metadata, variables=["Size", "IndustryCode"])
    sizes = read_recode(folder / "GK.GRC").recoded(records["Size"].unique(), missing=["99"], length=2)
    # GK.CDL names the codes that are left; 99 is the missing code.
    labels = [line.partition(",")[0].strip() for line in (folder / "GK.CDL").read_text().splitlines() if line]
    assert {code.strip() for code in sizes.values()} == {*labels, "99"}
    industries = tree_by_digits(records["IndustryCode"].unique(), metadata.variable("IndustryCode").levels)
    closing = read_recode(folder / "IndCode2.grc")
    assert closing == TreeRecode(("142", "1500", "1512"))
    pruned = closing.pruned(industries)
    assert "142" in pruned.leaves
    assert not [code for code in pruned.codes if code.startswith("142") and code != "142"]
