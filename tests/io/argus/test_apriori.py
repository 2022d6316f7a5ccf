from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.errors import DataError, OutputError
from hitoku.io.argus import AprioriEntry, Safety, apply_apriori, parse_safety, read_apriori, write_apriori
from hitoku.model import Dimension, Hierarchy, Table
from hitoku.pipeline import judge

RULES = parse_safety("FREQ(3,20)|MAN(10)", print)
# N1 is unsafe by its two respondents, S is empty.
TREE = Hierarchy.from_tree({"N": ["N1", "N2"], "S": None, "W": ["W1"]})
TABLE = Table(
    value=[20.0, 50.0, 0.0, 30.0, 70.0, 30.0, 100.0],
    dimensions=(Dimension.of("region", TREE),),
    frequency=[2, 9, 0, 7, 11, 7, 18],
)
CODES = TABLE.dimensions[0].codes


def applied(*entries, ignore=False, expand=False):
    listed = [AprioriEntry(*entry) for entry in entries]
    return apply_apriori(judge(TABLE, RULES), listed, ignore=ignore, expand=expand, where="t.hst")


def status(judged, code):
    return int(judged.status[CODES.index(code)])


def test_sample_codes_have_expected_positions():
    assert CODES == ("N1", "N2", "S", "W1", "N", "W", "Total")
    assert judge(TABLE, RULES).status.tolist() == [5, 1, 14, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("entry", "code", "expected"),
    [
        ((("N1",), "s"), "N1", 2),
        ((("N2",), "s"), "N2", 2),
        ((("N2",), "u"), "N2", 9),
        ((("N1",), "u"), "N1", 5),
        ((("Total",), "p"), "Total", 10),
        pytest.param((("",), "p"), "Total", 10, id="as the program writes totals"),
        ((("W",), "m"), "W", 12),
        ((("W",), "ml"), "W", 11),
        ((("S",), "p"), "S", 14),
        ((("S",), "m"), "S", 12),
    ],
)
def test_status_marks_are_read(entry, code, expected):
    judged = applied(entry).judged
    assert status(judged, code) == expected
    cell = CODES.index(code)
    assert judged.need.unsafe[cell] == (expected in {5, 9})
    assert (judged.table.fixed is not None and bool(judged.table.fixed[cell])) == (expected in {10, 14})
    assert judged.withheld[cell] == (expected in {11, 12})


def test_cell_marked_unsafe_gets_manual_safety_range():
    need = applied((("N2",), "u")).judged.need
    assert (need.lower[1], need.upper[1]) == (5.0, 5.0)
    assert need.why(1) == ("given",)


def test_cell_marked_safe_has_no_requirement():
    need = applied((("N1",), "s")).judged.need
    assert not need.unsafe.any()
    assert not need.upper.any()


def test_numbers_are_read():
    lines = [(("N1",), "pl", (3.0, 8.0)), (("W",), "c", (4.5,)), (("N2",), "ab", (40.0, 60.0))]
    judged = applied(*lines).judged
    assert (judged.need.lower[0], judged.need.upper[0]) == (3.0, 8.0)
    assert judged.table.cost[CODES.index("W")] == 4.5
    assert judged.table.cost[CODES.index("N2")] == 50.0
    assert (judged.table.lower[1], judged.table.upper[1]) == (40.0, 60.0)


def test_levels_are_capped_at_known_bounds():
    lines = [(("N1",), "pl", (9.0, 9.0)), (("N1",), "ab", (15.0, 40.0))]
    need = applied(*lines).judged.need
    assert (need.lower[0], need.upper[0]) == (5.0, 9.0)


def test_marks_precede_levels_in_any_order():
    need = applied((("N2",), "pl", (1.0, 2.0)), (("N2",), "u")).judged.need
    assert (need.lower[1], need.upper[1]) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("entries", "what"),
    [
        ([(("N1",), "p")], "action p on an unsafe cell"),
        ([(("N1",), "m")], "action m on an unsafe cell"),
        ([(("N2",), "p"), (("N2",), "u")], "action u on a protected cell"),
        ([(("N2",), "p"), (("N2",), "m")], "action m on a protected cell"),
        ([(("N2",), "pl", (1.0, 1.0))], "levels for a cell that is not unsafe"),
        ([(("N1",), "pl", (-1.0, 1.0))], "a level below zero"),
        ([(("N2",), "c", (0.0,))], "a cost that is not above zero"),
        ([(("N2",), "ab", (51.0, 60.0))], "bounds that do not hold the cell's value"),
        ([(("N3",), "u")], "variable region has no code 'N3'"),
    ],
)
def test_inapplicable_apriori_line_raises_or_is_skipped(entries, what):
    with pytest.raises(DataError, match=re.escape(what)) as refused:
        applied(*entries)
    assert "50" not in str(refused.value)
    done = applied(*entries, ignore=True)
    assert done.passed_over == (f"t.hst: {what}",)


def test_equal_cells_are_marked_together_on_request():
    assert status(applied((("W1",), "u")).judged, "W") == 1
    judged = applied((("W1",), "u"), expand=True).judged
    assert (status(judged, "W1"), status(judged, "W"), status(judged, "Total")) == (9, 9, 1)


def test_blanks_around_codes_are_ignored():
    table = Table.from_array([20.0, 50.0], names=["size"], codes=[[" 1", "10"]], integer=False)
    judged = apply_apriori(judge(table, Safety()), [AprioriEntry(("1",), "u")]).judged
    assert judged.status.tolist() == [9, 1, 1]


entries_of_two = st.lists(
    st.builds(
        lambda codes, action, numbers: AprioriEntry(
            codes, action, numbers[: {"c": 1, "w": 1, "pl": 2, "ab": 2}.get(action, 0)]
        ),
        st.tuples(*[st.text("AB12 .", min_size=1).map(str.strip).filter(bool)] * 2),
        st.sampled_from(["s", "u", "p", "m", "ml", "c", "w", "pl", "ab"]),
        st.tuples(*[st.integers(0, 10**9).map(lambda n: n / 100)] * 2),
    )
)


@given(entries=entries_of_two)
def test_apriori_file_round_trips(entries, tmp_path_factory):
    path = tmp_path_factory.mktemp("hst") / "t.hst"
    write_apriori(path, entries, ";")
    again, unread = read_apriori(path, 2, ";")
    assert [entry._replace(line=0) for entry in again] == entries
    assert unread == ()


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("N1;1", "2 part(s) in a line; expected 2 codes and an action"),
        ("N1;1;x", "'x' is not an action"),
        ("N1;1;c", "action c takes 1 number(s)"),
        ("N1;1;u;3", "action u takes 0 number(s)"),
        ("N1;1;pl;3", "action pl takes 2 number(s)"),
        ("N1;1;c;abc", "action c takes 1 number(s)"),
    ],
)
def test_unreadable_line_raises(tmp_path, line, what):
    path = tmp_path / "t.hst"
    path.write_text(f"// marks\nN2;1;U;\n{line}\n", encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(what)) as refused:
        read_apriori(path, 2)
    assert refused.value.where == "t.hst, line 3"
    entries, unread = read_apriori(path, 2, ignore=True)
    assert [entry.action for entry in entries] == ["u"]
    assert unread == (f"t.hst, line 3: {what}",)


def test_decimal_commas_and_quotes_are_read(tmp_path):
    path = tmp_path / "t.hst"
    path.write_bytes(b'"N1";" 1";pl;1,5;2,5\r\n')
    assert read_apriori(path, 2)[0][0] == AprioriEntry(("N1", "1"), "pl", (1.5, 2.5), 1)


def test_code_containing_the_separator_raises(tmp_path):
    with pytest.raises(OutputError, match="'a;b'"):
        write_apriori(tmp_path / "t.hst", [AprioriEntry(("a;b",), "u")])
    assert not list(tmp_path.iterdir())


def test_apriori_does_not_modify_its_input():
    before = judge(TABLE, RULES)
    kept = before.status.copy()
    apply_apriori(before, [AprioriEntry(("N2",), "u")])
    assert np.array_equal(before.status, kept)
