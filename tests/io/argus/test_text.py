from __future__ import annotations

import gzip

import pytest

from hitoku.errors import DataError, OutputError
from hitoku.io.argus import found_file, lines_of, quote, read_text, words_of, write_text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        pytest.param("Zürich".encode(), "Zürich", id="UTF-8"),
        pytest.param("Zürich".encode("cp1252"), "Zürich", id="Windows-1252"),
        pytest.param(b"\xef\xbb\xbfabc", "abc", id="byte-order mark"),
        pytest.param(b"abc\r\n\x1a", "abc\r\n", id="the end mark of DOS"),
        pytest.param(gzip.compress(b"abc"), "abc", id="gzip, whatever its name"),
        pytest.param(b"a\x81b", "a�b", id="a byte without meaning is no reason to stop"),
    ],
)
def test_any_encoding_is_read(tmp_path, raw, text):
    (tmp_path / "file.txt").write_bytes(raw)
    assert read_text(tmp_path / "file.txt", "file") == text


def test_missing_file_suggests_nearest_name(tmp_path):
    (tmp_path / "region.hrc").write_text("N")
    with pytest.raises(DataError, match=r"cannot read the tree 'regoin\.hrc'") as error:
        read_text(tmp_path / "regoin.hrc", "tree")
    assert error.value.fix == "did you mean 'region.hrc'?"


def test_damaged_file_is_not_reported_missing(tmp_path):
    path = tmp_path / "region.hrc.gz"
    path.write_bytes(b"\x1f\x8bnot gzip")
    with pytest.raises(DataError, match="it exists, but is damaged"):
        read_text(path, "tree")


@pytest.mark.parametrize("name", ["a\0b", "x" * 300, "far/" + "x" * 300])
def test_impossible_file_name_raises(tmp_path, name):
    with pytest.raises(DataError, match="a file cannot have such a name"):
        found_file(name, [tmp_path], "tree")


def test_lines_lose_only_tabs_and_comments():
    text = "// head\r\n\tA  1\t2\r\n\r\n   // note\r\nhttp://x\n"
    assert list(lines_of(text)) == [(2, "A  1 2"), (5, "http://x")]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('<TOTCODE> "a b"', [("<TOTCODE>", False), ("a b", True)]),
        ('""', [("", True)]),
        ('"a""b"', [("a", True), ("b", True)]),
        ('"never closed', [("never closed", True)]),
        ("F(0.03,1) // why", [("F(0.03,1)", False)]),
        ('"// no comment"', [("// no comment", True)]),
    ],
)
def test_words_are_split(line, words):
    assert [(word.text, word.quoted) for word in words_of(line)] == words


def test_quoted_word_is_not_a_keyword():
    assert [word.is_keyword for word in words_of('<A> "<A>"')] == [True, False]


def test_quote_character_cannot_be_written():
    with pytest.raises(OutputError, match="double quote"):
        quote('a"b', "code")


def test_text_file_is_ascii_and_written_atomically(tmp_path):
    write_text(tmp_path / "a.txt", ["x", "y"], "file")
    assert (tmp_path / "a.txt").read_bytes() == b"x\ny\n"
    with pytest.raises(OutputError, match="'ü'") as error:
        write_text(tmp_path / "a.txt", ["x", "Zürich"], "file")
    assert error.value.where == "a.txt, line 2"
    assert (tmp_path / "a.txt").read_bytes() == b"x\ny\n"
    with pytest.raises(OutputError, match="cannot write to nowhere"):
        write_text(tmp_path / "nowhere" / "a.txt", ["x"], "file")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_gz_file_is_compressed_reproducibly(tmp_path):
    for name in ("a.gz", "b.gz"):
        write_text(tmp_path / name, ["x"], "file")
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"x\n"
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_files_are_found_ignoring_case_in_listed_folders(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    for path in (first / "region.cdl", second / "region.cdl", second / "size.hrc"):
        path.write_text("x")
    assert found_file("REGION.CDL", [first, second], "list") == first / "region.cdl"
    assert found_file("size.hrc", [first, second], "tree") == second / "size.hrc"
    assert found_file(str(second / "region.cdl"), [first], "list") == second / "region.cdl"
    assert found_file(r"C:\data\size.hrc", [second], "tree") == second / "size.hrc"
    with pytest.raises(DataError, match=r"the tree 'sise\.hrc' is not there") as error:
        found_file("sise.hrc", [second], "tree")
    assert error.value.fix == "did you mean 'size.hrc'?"


def test_null_character_raises_with_line(tmp_path):
    """numpy drops it at the end of a text: two codes would be one."""
    (tmp_path / "x.tab").write_bytes(b"N;1\nN\0;2\n")
    with pytest.raises(DataError, match=r"the table 'x\.tab' holds a character") as error:
        read_text(tmp_path / "x.tab", "table")
    assert error.value.where == "x.tab, line 2"
