from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.errors import DataError
from hitoku.io.argus import bare, parsed_numbers, split_lines


@pytest.mark.parametrize(
    ("line", "columns"),
    [
        pytest.param("A; x ;1", ["A", "x", "1"], id="blanks around a value"),
        pytest.param('" 1";"x";1', [" 1", "x", "1"], id="blanks in quotes belong to the code"),
        pytest.param("A;x;1;", ["A", "x", "1"], id="a separator at the end"),
        pytest.param("A;;1", ["A", "", "1"], id="nothing between two separators"),
    ],
)
def test_separated_columns_are_read(line, columns):
    split = split_lines(line, ";", ["a", "b", "c"], "t.tab")
    assert [bare(column) for column in split] == [[column] for column in columns]


def test_tab_separator_is_accepted():
    first, second = split_lines('A\t 1\nB\t" 2"', "\t", ["a", "b"], "t.tab")
    assert (bare(first), bare(second)) == (["A", "B"], ["1", " 2"])


@pytest.mark.parametrize(
    ("text", "what", "where"),
    [
        ("A;1\n\nB;1;2", "a line has 3 columns, the metadata name 2", "t.tab, line 3"),
        ("A;1;\nB", "a line has 1 columns, the metadata name 2", "t.tab, line 2"),
        ("A;1;\nB;2;3;", "a line has 4 columns, the metadata name 2", "t.tab, line 2"),
        ("\n", "the data are empty", "t.tab"),
        ("Region;N\nA;1", "the first line holds the names of the columns", "t.tab, line 1"),
    ],
)
def test_mismatched_line_raises_with_number(text, what, where):
    with pytest.raises(DataError) as error:
        split_lines(text, ";", ["region", "n"], "t.tab")
    assert (error.value.what, error.value.where) == (what, where)


@pytest.mark.parametrize(
    ("entries", "numbers"),
    [
        (["1.5", " 2 ", "-3"], [1.5, 2, -3]),
        (["12,50", "3", ""], [12.5, 3, np.nan]),
        (['"12,50"', '"3"', "4"], [12.5, 3, 4]),
        (["1e3", ".5"], [1000, 0.5]),
        (["99", "0099", "x"], [np.nan, np.nan, np.nan]),
    ],
)
def test_signed_numbers_are_read(entries, numbers):
    found = parsed_numbers(entries, "turnover", "t.tab", missing=["99", "x"])
    np.testing.assert_array_equal(found, numbers)


@pytest.mark.parametrize(
    ("entries", "what"),
    [
        (["1.5", "1,5"], "both points and commas"),
        (["1.234,50"], "both points and commas"),
        (["1", "many"], "text instead of numbers"),
        (["1", "inf"], "text instead of numbers"),
    ],
)
def test_unclear_numbers_raise_without_values(entries, what):
    with pytest.raises(DataError, match=what) as error:
        parsed_numbers(entries, "turnover", "t.tab")
    assert all(entry not in str(error.value) for entry in entries if len(entry) > 1)
    assert error.value.__context__ is None, "a traceback would show the entry"


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_decimal_comma_gives_equal_numbers(numbers):
    points = [np.format_float_positional(number) for number in numbers]
    commas = [entry.replace(".", ",") for entry in points]
    assert parsed_numbers(points, "x", "t").tolist() == numbers
    assert parsed_numbers(commas, "x", "t").tolist() == numbers
