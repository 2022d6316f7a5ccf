"""A file as sessions read it: the same numbers as a table of the same file has."""

from __future__ import annotations

import pytest

from hitoku.checks.session import Session
from hitoku.errors import DataError
from hitoku.tabulation import read_whole, tabulate


def written(folder, text):
    path = folder / "people.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("entries", "total"),
    [
        (["1,5", "2,25"], 3.75),
        (["1.234,5", "2,25"], 1236.75),
        (["1 234,5", "0,5"], 1235.0),
        (["1,234.5", "2"], 1236.5),
        (["1.5", "2.25"], 3.75),
    ],
)
def test_sessions_and_tables_read_the_same_numbers(tmp_path, entries, total):
    rows = [f"{region};{entry}" for region in "NS" for entry in entries * 10]
    path = written(tmp_path, "\n".join(["region;income", *rows]) + "\n")
    assert tabulate(path, ["region"], value="income").value[0] == 10 * total
    mean = Session("means", path).mean("income", by="region")
    assert mean.status == "pass"
    assert mean.frame.iloc[:, -1].tolist() == pytest.approx([total / 2, total / 2], rel=1e-15)


def test_ambiguous_numbers_follow_program_style(tmp_path):
    path = written(tmp_path, "a;b\n1.234;2.5\n5.678;3.5\n")
    assert read_whole(path)["a"].to_pylist() == [1.234, 5.678]


def test_ambiguous_numbers_stay_text_with_decimal_commas(tmp_path):
    path = written(tmp_path, "a;b\n1.234;2,5\n5.678;3,5\n")
    assert read_whole(path).to_pylist() == [{"a": "1.234", "b": 2.5}, {"a": "5.678", "b": 3.5}]
    with pytest.raises(DataError, match="in two ways"):
        tabulate(path, ["b"], value="a")
    with pytest.raises(DataError, match="does not hold numbers"):
        Session("unclear", path).mean("a")
