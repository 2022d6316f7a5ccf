from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.toml import key_lines, line_of, toml_key, toml_text, toml_value


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        pytest.param('a = 1\nb = "x"\n', ("b",), 2, id="plain"),
        pytest.param("# a = 1\n\n  a = 2\n", ("a",), 3, id="a comment is no key"),
        pytest.param('a = "# no comment"\nb = 1', ("b",), 2, id="a sign in a text"),
        pytest.param('a = "[\\"{"\nb = 1', ("b",), 2, id="brackets and quotes in a text"),
        pytest.param("a = '\\'\nb = 1", ("b",), 2, id="a literal text ends at its quote"),
        pytest.param('a = """\nb = 1\n"""\nb = 2', ("b",), 4, id="a key inside a long text"),
        pytest.param("a = '''x'''''\nb = 2", ("b",), 2, id="quotes at the end of a long text"),
        pytest.param('a = [\n  "x",  # one, two]\n  "y",\n]\nb = 1', ("b",), 5, id="a list over lines"),
        pytest.param('a = [\n  "x",  # one, two]\n  "y",\n]\nb = 1', ("a", 1), 3, id="its entries"),
        pytest.param("a = [[1, 2],\n [3]]\n", ("a", 1), 2, id="lists in a list"),
        pytest.param("a = [{x = 1, y = 2},\n {x = 3}]\n", ("a", 1, "x"), 2, id="a table in a list"),
        pytest.param("[t]\n[t.u]\nx = 1", ("t", "u", "x"), 3, id="header below header"),
        pytest.param("[[t]]\nx = 1\n[[t]]\nx = 2", ("t", 1, "x"), 4, id="repeated header"),
        pytest.param("a = 1\n[[t]]\n[[t]]\n", ("t",), 2, id="its first time"),
        pytest.param("[[t]]\n[t.u]\nx = 1\n[[t]]\n[t.u]\nx = 2", ("t", 1, "u", "x"), 6, id="below it"),
        pytest.param('"a b".c = 1\n', ("a b", "c"), 1, id="quoted and dotted"),
        pytest.param("[ 'a.b' . c ]\nx = 1", ("a.b", "c", "x"), 2, id="a spacious header"),
        pytest.param("a = 1\r\nb = 2\r\n", ("b",), 2, id="line ends of Windows"),
        pytest.param("a = 2026-11-15 10:00:00\nb = 1", ("b",), 2, id="a date"),
        pytest.param("[t]\nx = 1", ("t", "y"), 1, id="a missing key stands where it would belong"),
    ],
)
def test_key_is_found_on_its_line(text, path, line):
    tomllib.loads(text)
    assert line_of(path, key_lines(text)) == line


def test_missing_key_is_not_found():
    assert line_of(("a",), key_lines("")) is None
    assert line_of((), key_lines("a = 1")) is None


NAMES = st.text(st.sampled_from("ab_- .é\"'\\#[]"), min_size=1, max_size=5)
VALUES = st.recursive(
    st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(NAMES, VALUES, max_size=5))
def test_written_toml_round_trips(given):
    assert tomllib.loads(toml_text(given)) == given


@given(
    st.lists(
        st.tuples(st.lists(VALUES, max_size=3), st.lists(st.sampled_from(["", "# x = [", "  "]), max_size=2)),
        max_size=4,
    ),
    st.integers(0, 3),
)
def test_keys_are_found_in_any_layout(parts, headers):
    lines: list[str] = []
    expected = {}
    for number, (values, blank) in enumerate(parts):
        above: tuple[str | int, ...] = ()
        if number >= headers:
            above = ("t", number - headers)
            lines.append("[[t]]")
            expected.setdefault(("t",), len(lines))
            expected[above] = len(lines)
        lines += blank
        key = f"k{number}"
        lines.append(f"{toml_key(key)} = [")
        expected[*above, key] = len(lines)
        for place, value in enumerate(values):
            lines.append(f"  {toml_value(value)},  # , [")
            expected[*above, key, place] = len(lines)
        lines.append("]")
    text = "\n".join(lines)
    tomllib.loads(text)
    assert key_lines(text) == expected
