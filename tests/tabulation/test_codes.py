"""Codes that people take for one are not made three rows in silence, and a total is no code of records."""

from __future__ import annotations

import pandas as pd
import pytest

from hitoku.checks.session import Session
from hitoku.errors import DataError, HierarchyError, ParameterError, TableError
from hitoku.model import Hierarchy, Table
from hitoku.pipeline import run_recipe
from hitoku.tabulation import tabulate


@pytest.mark.parametrize(
    ("codes", "told"),
    [
        (["tr1", "tr1 ", "TR1", "tr1"], "'TR1' (1 rows), 'tr1' (2 rows), 'tr1 ' (1 rows)"),
        (["A", "\uff21", "B", "B"], "'A' (1 rows), '\uff21' (1 rows)"),
        (["total", "A", "B", "B"], "'Total', 'total' (1 rows)"),
    ],
)
def test_lookalike_codes_raise_with_counts(codes, told):
    records = pd.DataFrame({"g": codes, "x": [1, 2, 3, 4]})
    with pytest.raises(DataError, match="differ only in spaces, letter case or character width") as caught:
        tabulate(records, ["g"], value="x")
    assert told in caught.value.where


def test_listed_lookalike_codes_are_accepted():
    records = pd.DataFrame({"g": ["a", "A"], "x": [1, 2]})
    table = tabulate(records, ["g"], value="x", hierarchies={"g": Hierarchy.flat(["a", "A"])})
    assert table.value.tolist() == [1, 2, 3]


def test_lookalike_cells_raise():
    with pytest.raises(DataError, match="differ only in spaces"):
        Table.from_frame(pd.DataFrame({"g": ["a", "a ", "b"], "x": [1, 2, 3]}), ["g"], "x")


NUL = "with the invalid character"
ENDS_IN_NUL = pd.DataFrame({"g": ["a", "a\0", "b"], "h": ["p", "q", "p"], "x": [1, 2, 3]})


@pytest.mark.parametrize("trees", [{}, {"g": Hierarchy.flat(["a", "b"])}], ids=["flat", "listed"])
def test_code_ending_in_nul_stays_distinct(trees):
    """Arrays of texts drop it: with h as well no cell occurs twice, and nothing else would tell."""
    with pytest.raises(DataError, match=r"column 'g' has 1 code\(s\) " + NUL):
        Table.from_frame(ENDS_IN_NUL, ["g", "h"], "x", hierarchies=trees)
    with pytest.raises(DataError, match=r"column 'g' has 1 code\(s\) " + NUL):
        tabulate(ENDS_IN_NUL, ["g", "h"], value="x", hierarchies=trees)


def test_session_code_ending_in_nul_raises():
    work = Session("study", ENDS_IN_NUL.assign(id=range(3)), unit="id")
    with pytest.raises(DataError, match=NUL):
        work.crosstab("g", "h", name="both")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_file_code_ending_in_nul_raises(encoding, tmp_path):
    """Far down in the file: a NUL at its beginning is taken for another encoding."""
    rows = "trade,size\n" + "inns,1\nmills,2\n" * 400 + "inns\0,1\n"
    (tmp_path / "firms.csv").write_bytes(rows.encode(encoding))
    recipe = 'data = "firms.csv"\nby = ["trade", "size"]\nrules = ["min_frequency:n=4"]\nout = "release"\n'
    (tmp_path / "recipe.toml").write_text(recipe, "utf-8")
    with pytest.raises(DataError, match=r"column 'trade' has 1 code\(s\) " + NUL):
        run_recipe(tmp_path / "recipe.toml")
    assert not (tmp_path / "release").exists()


def test_hierarchy_code_with_nul_raises():
    with pytest.raises(HierarchyError, match="the invalid character"):
        Hierarchy.from_tree({"A": ["a", "a\0"]})
    with pytest.raises(HierarchyError, match="the invalid character"):
        Table.from_array([1, 2], codes=[["a", "a\0"]])


def test_total_among_records_is_named_with_count():
    records = pd.DataFrame({"g": ["a", "Total", "b", "Total"], "x": [1, 3, 2, 3]})
    with pytest.raises(
        DataError, match="column 'g' has 'Total', the code of the total, in 2 record"
    ) as caught:
        tabulate(records, ["g"], value="x")
    assert "cells" in caught.value.fix


@pytest.mark.parametrize(
    ("code", "words"),
    [("7", "'7' and '07' of the hierarchy differ only in zeros at the front"),
     ("a1 ", "'a1 ' and 'A1' of the hierarchy differ only in spaces or letter case")],
)  # fmt: skip
def test_code_spelt_differently_is_suggested(code, words):
    records = pd.DataFrame({"g": [code, "87"], "x": [1, 2]})
    with pytest.raises(DataError) as caught:
        tabulate(records, ["g"], value="x", hierarchies={"g": Hierarchy.flat(["07", "87", "A1"])})
    assert words in caught.value.fix


LARGEST = {
    "region": ["N", "S", "Total", "N", "S", "Total"],
    "sector": ["a", "a", "a", "Total", "Total", "Total"],
    "x": [10.0, 5.0, 15.0, 10.0, 5.0, 15.0],
    "top": [6.0, 5.0, 6.0, 6.0, 5.0, 6.0],
}


def test_totals_of_empty_cells_may_be_missing():
    sectors = {"sector": Hierarchy.from_tree({"A": ["a"], "B": ["b1", "b2"]})}
    frame = pd.DataFrame(LARGEST)
    groups = frame[frame["sector"] == "a"].assign(sector="A")
    table = Table.from_frame(
        pd.concat([frame, groups]), ["region", "sector"], "x", largest=["top"], hierarchies=sectors
    )
    empty = table.cells["sector"].isin(["b1", "b2", "B"]).to_numpy()
    assert empty.sum() == 9
    assert not table.value[empty].any()
    assert not table.largest[empty].any()
    assert table.units.count[empty].tolist() == [0] * 9
    with pytest.raises(DataError, match="largest contributions of 3 total"):
        Table.from_frame(frame, ["region", "sector"], "x", largest=["top"], hierarchies=sectors)


def test_totals_are_checked_or_recomputed():
    frame = pd.DataFrame({"g": ["a", "b", "Total"], "x": [1, 2, 7], "n": [1, 1, 9]})
    with pytest.raises(TableError, match="does not add up"):
        Table.from_frame(frame, ["g"], "x", frequency="n")
    table = Table.from_frame(frame, ["g"], "x", frequency="n", totals="recompute")
    assert table.value.tolist() == [1, 2, 3]
    assert table.frequency.tolist() == [1, 1, 2]
    with pytest.raises(ParameterError, match="totals must be"):
        Table.from_frame(frame, ["g"], "x", totals="again")


def doubled(word: str) -> pd.DataFrame:
    return pd.DataFrame({"region": ["N", "S", word], "v": [3.5, 4.25, 7.75]})


@pytest.mark.parametrize("word", ["Ensemble", "tot", "\u5408\u8a08"])
def test_total_rows_are_not_records(word):
    with pytest.raises(DataError, match=f"'region' has '{word}' in 1 record.*totals") as refused:
        tabulate(doubled(word), by=["region"], value="v")
    assert "7.75" not in str(refused.value)
    listed = tabulate(
        doubled(word), by=["region"], value="v", hierarchies={"region": Hierarchy.flat(["N", "S", word])}
    )
    assert listed.value[-1] == 15.5


def test_invalid_totals_argument_is_named(caplog):
    table = tabulate(doubled("All").assign(v=[1, 2, 9]), by=["region"], value="v")
    assert table.value[-1] == 12
    assert "column 'region' has 'All' in 1 record(s), a word for totals" in caplog.text


def test_several_columns_in_one_argument_raise():
    with pytest.raises(DataError, match="no column 'region, v'") as refused:
        tabulate(doubled("T"), by=["region, v"])
    assert refused.value.fix == "name each column by itself: 'region', 'v'"
