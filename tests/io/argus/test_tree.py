from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.errors import DataError, HierarchyError, OutputError
from hitoku.io.argus import (
    Metadata,
    Variable,
    parse_tree,
    read_metadata,
    read_tree,
    tree_by_digits,
    tree_of,
    write_tree,
)
from hitoku.model import Dimension, Hierarchy


def pairs(tree: Hierarchy) -> list[tuple[str, str]]:
    return [(code, tree.codes[parent]) for code, parent in zip(tree.codes[1:], tree.parents[1:], strict=True)]


def test_depth_is_the_number_of_indents():
    tree = parse_tree(
        "North\r\n@N1\r\n@N2  \r\n@@N2a\r\n@@N2b\r\n// a note\r\n\r\nSouth\r\n@S1\r\n", total="ALL"
    )
    assert pairs(tree) == [
        ("North", "ALL"),
        ("N1", "North"),
        ("N2", "North"),
        ("N2a", "N2"),
        ("N2b", "N2"),
        ("South", "ALL"),
        ("S1", "South"),
    ]


@pytest.mark.parametrize(
    ("text", "lead", "codes"),
    [
        pytest.param("A\n@ 1\n@10", "@", ("A", " 1", "10"), id="blanks after the indent belong to the code"),
        pytest.param(" 1\n 2", "@", (" 1", " 2"), id="blanks before a code of the first level, too"),
        pytest.param("A\n  @B", "@", ("A", "B"), id="blanks before the indent say nothing"),
        pytest.param("A\n..B\n....C", "..", ("A", "B", "C"), id="an indent of two signs"),
        pytest.param("A\n\tB", " ", ("A", "B"), id="a tab is a blank"),
    ],
)
def test_blanks_in_codes_are_handled(text, lead, codes):
    assert parse_tree(text, lead).codes[1:] == codes


@pytest.mark.parametrize(
    ("text", "what", "where"),
    [
        ("A\n@@B", "code 'B' is 2 levels deep, the line before it 0", "t.hrc, line 2"),
        ("@A", "code 'A' is 1 levels deep, the line before it -1", "t.hrc, line 1"),
        ("A\n@B\nC\n@B", "code 'B' occurs twice", "t.hrc, lines 2 and 4"),
        ("A\n@", "an indent without a code", "t.hrc, line 2"),
        ("Total\n@A", "the total 'Total' is listed", "t.hrc, line 1"),
        ("// nothing", "the tree is empty", "t.hrc"),
    ],
)
def test_invalid_tree_raises_with_line(text, what, where):
    with pytest.raises(HierarchyError) as error:
        parse_tree(text, name="t.hrc")
    assert (error.value.what, error.value.where) == (what, where)


def test_empty_indent_raises():
    with pytest.raises(HierarchyError, match="no indent sign"):
        parse_tree("A\nB", "")


def test_group_with_one_part_is_a_relation():
    """Trivial levels stay: the two cells are equal, and an audit sees that."""
    dimension = Dimension.of("age", parse_tree("A1\n@1\nA2\n@2\n3"))
    assert dimension.groups[:2] == (("A1", ("1",)), ("A2", ("2",)))


CODES = st.text("ab1 ", min_size=1, max_size=3).filter(lambda code: code.strip() and code == code.rstrip())


@st.composite
def trees(draw):
    codes = draw(st.lists(CODES, min_size=1, max_size=8, unique=True))
    parents = [draw(st.integers(-1, place - 1)) for place in range(len(codes))]
    return Hierarchy.from_pairs(
        [(c, "T" if p < 0 else codes[p]) for c, p in zip(codes, parents, strict=True)], "T"
    )


@given(trees(), st.sampled_from(["@", ".", "--", "@@"]))
def test_tree_round_trips(tmp_path_factory, tree, lead):
    path = tmp_path_factory.mktemp("hrc") / "t.hrc"
    write_tree(path, tree, lead)
    again = read_tree(path, lead, "T")
    assert again.codes == tree.codes
    assert again.parents.tolist() == tree.parents.tolist()


@pytest.mark.parametrize("code", ["@1", ".1", "//1", "1 ", "1\n2"])
def test_codes_changed_by_a_round_trip_raise(tmp_path, code):
    with pytest.raises(OutputError, match="cannot be written"):
        write_tree(tmp_path / "t.hrc", Hierarchy.flat([code, "x"]))
    assert not (tmp_path / "t.hrc").exists()


def test_codes_must_be_ascii(tmp_path):
    with pytest.raises(OutputError, match="'ü'"):
        write_tree(tmp_path / "t.hrc", Hierarchy.flat(["Zürich", "Bern"]))


@pytest.mark.parametrize(
    ("codes", "levels", "expected"),
    [
        pytest.param(
            ["34100", "34200", "29240"],
            (3, 1, 1, 0, 0),
            [
                ("341", "T"),
                ("3410", "341"),
                ("34100", "3410"),
                ("342", "T"),
                ("3420", "342"),
                ("34200", "3420"),
                ("292", "T"),
                ("2924", "292"),
                ("29240", "2924"),
            ],
            id="three levels, zeros are filler",
        ),
        pytest.param(
            ["A1", "A2", "B "],
            (1, 1),
            [("A", "T"), ("A1", "A"), ("A2", "A"), ("B", "T")],
            id="blank from some level on",
        ),
        pytest.param(["1", "2"], (1,), [("1", "T"), ("2", "T")], id="one level is flat"),
    ],
)
def test_hierarchy_is_read_from_digits(codes, levels, expected):
    assert pairs(tree_by_digits(codes, levels, "T")) == expected


def test_mismatched_digits_raise():
    with pytest.raises(HierarchyError, match="code '123' has more than the 2 digits"):
        tree_by_digits(["123"], [1, 1])
    with pytest.raises(HierarchyError, match=r"1 code\(s\) are a category of the data and the sum of others"):
        tree_by_digits(["1", "12"], [1, 1])
    with pytest.raises(HierarchyError, match="no digits"):
        tree_by_digits(["1"], [0, 0])


def test_hierarchy_of_variable_is_read(tmp_path):
    (tmp_path / "region.hrc").write_text("North\n@1\n@2\nSouth\n@10\n")
    variable = Variable("region", 1, 2, ("99",), recodable=True, hierarchy_file="REGION.HRC", lead="@")
    metadata = Metadata("fixed", (variable,), folder=tmp_path)
    tree = tree_of(variable, metadata, [" 1", "10", "99"])
    expected = [("North", "Total"), (" 1", "North"), ("2", "North"), ("South", "Total"), ("10", "South")]
    assert pairs(tree) == [*expected, ("99", "Total")], (
        "spelt as in the data; missing is a category of its own"
    )
    with pytest.raises(DataError, match=r"1 code\(s\) that are not in its hierarchy"):
        tree_of(variable, metadata, [" 1", "11"])


def test_codes_differing_in_blanks_stay_distinct(tmp_path):
    (tmp_path / "t.hrc").write_text("1\n 1\n")
    variable = Variable("v", 1, 2, recodable=True, hierarchy_file="t.hrc", lead="@")
    tree = tree_of(variable, Metadata("fixed", (variable,), folder=tmp_path), [" 1", "1"])
    assert tree.leaves == ("1", " 1")


def test_flat_variables_and_digits_need_no_file():
    flat = Variable("size", 1, 2, ("99",), recodable=True, total="ALL")
    assert tree_of(flat, Metadata("fixed", (flat,)), [" 2", "10", "ALL", "99"]).codes == (
        "ALL",
        " 2",
        "10",
        "99",
    )
    digits = Variable("nace", 1, 2, ("99",), recodable=True, levels=(1, 1))
    table = tree_of(digits, Metadata("table", (digits,)), ["Total", "1", "11", "12", "99"])
    assert pairs(table) == [("1", "Total"), ("11", "1"), ("12", "1"), ("99", "Total")]


@pytest.mark.shared
def test_real_trees_are_read(shared):
    folder = shared / "data/tables/tauargus"
    tree = read_tree(folder / "region2.hrc")
    assert tree.codes[:5] == ("Total", "Nr", " 1", " 2", " 3")
    assert tree.codes[5] == "Os"
    assert len(tree.leaves) == 12
    metadata = read_metadata(folder / "cellkey/microdata.rda")
    ages = tree_of(metadata.variable("Age"), metadata, list("123456"))
    assert pairs(ages)[:4] == [("A1", "Total"), ("1", "A1"), ("A2", "Total"), ("2", "A2")]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        pytest.param(
            "LU\n@LU\nBE\n@B1\n@B2", ("Total", "Total/LU", "LU", "BE", "B1", "B2"), id="a group and its part"
        ),
        pytest.param("A\n@B\n@@C\nB\n@D", ("Total", "A", "B", "C", "Total/B", "D"), id="two groups"),
        pytest.param("A\n@A\n@@A", ("Total", "Total/A", "Total/A/A", "A"), id="three on one path"),
    ],
)
def test_nodes_of_one_code_are_distinguished_by_path(text, codes):
    """τ-ARGUS runs such trees, for it counts positions; here they were refused."""
    tree = parse_tree(text)
    assert tree.codes == codes
    leaves = [
        line.lstrip("@") for line, after in pairwise([*text.splitlines(), ""]) if not deeper(line, after)
    ]
    assert sorted(tree.leaves) == sorted(leaves)


def deeper(line: str, after: str) -> bool:
    return after.count("@") > line.count("@")


def test_path_equal_to_a_code_raises():
    with pytest.raises(HierarchyError, match="occurs twice"):
        parse_tree("A\n@A\nTotal/A")
