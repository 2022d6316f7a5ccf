"""Every kind of input gives the same table, and what cannot be read is refused without showing it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from hitoku.errors import DataError, HitokuError, ParameterError, TableError
from hitoku.model import Hierarchy
from hitoku.tabulation import tabulate

RECORDS = pd.DataFrame(
    {
        "region": ["01", "01", "02", "02", "03"],
        "Size": [10, 9, 9, 10, 10],
        "owner": ["a", "b", "a", None, "b"],
        "turnover": [50.1, 20.2, 40.0, 10.5, 7.0],
        "weight": [1.0, 2.5, 1.0, 1.0, 1.5],
    }
)
OPTIONS = {"by": ["region", "Size"], "value": "turnover", "weight": "weight", "holding": "owner"}


def relation(frame):
    connection = duckdb.connect()
    return connection.from_arrow(pa.Table.from_pandas(frame)).select("*")


def as_csv(frame, folder):
    path = folder / "records.csv"
    frame.to_csv(path, index=False)
    return path


def as_parquet(frame, folder):
    path = folder / "records.parquet"
    pq.write_table(pa.Table.from_pandas(frame), path)
    return str(path)


KINDS = {
    "pandas": (lambda frame, _: frame, "pandas"),
    "pandas, categories, own index": (
        lambda frame, _: frame.astype({"region": "category"}).set_index(pd.Index([3, 3, 1, 2, 0])),
        "pandas",
    ),
    "polars": (lambda frame, _: pl.from_pandas(frame), "polars"),
    "polars lazy": (lambda frame, _: pl.from_pandas(frame).lazy(), "polars"),
    "pyarrow": (lambda frame, _: pa.Table.from_pandas(frame), "pyarrow"),
    "duckdb": (lambda frame, _: relation(frame), "pandas"),
    "csv": (as_csv, "pandas"),
    "parquet": (as_parquet, "pandas"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_input_gives_the_same_table(kind, tmp_path):
    make, backend = KINDS[kind]
    expected = tabulate(RECORDS, **OPTIONS)
    table = tabulate(make(RECORDS.copy(), tmp_path), **OPTIONS)
    assert table.backend == backend
    assert table.labels.codes == (("01", "02", "03", "Total"), ("9", "10", "Total"))
    assert_array_equal(table.value, expected.value)
    assert_array_equal(table.frequency, expected.frequency)
    assert_array_equal(table.holdings.largest, expected.holdings.largest)
    assert_array_equal(table.holdings.count, expected.holdings.count)


def test_input_data_are_not_changed():
    before = RECORDS.copy(deep=True)
    tabulate(RECORDS, **OPTIONS)
    pd.testing.assert_frame_equal(RECORDS, before)


@pytest.mark.parametrize(
    "codes",
    [
        pytest.param([1, 2, 10], id="integers"),
        pytest.param([1.0, 2.0, 10.0], id="whole floats"),
        pytest.param(["1", "2", "10"], id="text"),
        pytest.param([1, "2", "10"], id="numbers and text"),
    ],
)
def test_codes_are_compared_as_text(codes):
    records = pd.DataFrame({"g": codes, "x": [1, 2, 3]})
    table = tabulate(records, ["g"], value="x", hierarchies={"g": Hierarchy.flat([1, 2, 10])})
    assert table.value.tolist() == [1, 2, 3, 6]
    assert tabulate(records, ["g"], value="x").dimensions[0].codes == ("1", "2", "10", "Total")


@pytest.mark.parametrize(
    "names",
    [
        pytest.param([7, 7, 9, None], id="integers"),
        pytest.param([2**62, 2**62, -(2**62), None], id="integers far apart"),
        pytest.param(["x y", "x y", "'\"", " "], id="text, blank"),
        pytest.param([0.5, 0.5, -1.5, float("nan")], id="floats"),
    ],
)
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_any_column_name_is_accepted(names, kind):
    columns = {"g": ["a", "b", "a", "b"], "who": names, "x": [5, 6, 7, 8]}
    if kind == "pandas":
        records = pd.DataFrame(columns | {"who": pd.Series(names, dtype="Int64" if names[0] == 7 else None)})
    else:
        records = pl.DataFrame(columns)
    table = tabulate(records, ["g"], value="x", unit="who")
    assert table.units.count.tolist() == [2, 2, 3]
    assert table.largest[2].tolist() == [11, 8, 7]


def test_zero_and_negative_zero_are_one_code():
    table = tabulate(pl.DataFrame({"g": [0.0, -0.0, 1.5], "x": [1, 2, 4]}), ["g"], value="x")
    assert table.value.tolist() == [3, 4, 7]


def test_column_names_may_contain_any_characters():
    records = pd.DataFrame({'a "b"': ["x", "y"], "select": ["p", "q"], "it's": [1, 2]})
    assert tabulate(records, ['a "b"', "select"], value="it's").value[-1] == 3


def test_missing_codes_get_a_separate_code():
    records = pd.DataFrame({"g": ["a", None, " "], "x": [1, 2, 4]})
    table = tabulate(records, ["g"], value="x", missing="code")
    assert table.dimensions[0].codes == ("a", "missing", "Total")
    assert table.value.tolist() == [1, 6, 7]


def test_unseen_codes_go_under_other():
    records = pd.DataFrame({"g": ["a", "zz", "b", None], "x": [1, 2, 4, 8]})
    codes = {"g": Hierarchy.flat(["a", "b", "other", "missing"])}
    table = tabulate(records, ["g"], value="x", hierarchies=codes, unseen="code", missing="code")
    assert table.value.tolist() == [1, 4, 2, 8, 15]


SECRET = 987654.25
GOOD = {"g": ["a", "b", "a"], "who": ["secret", "other", "secret"], "x": [SECRET, 1.0, 2.0], "w": [1.0, 1, 1]}


def records_with(**columns):
    return pd.DataFrame(GOOD | columns)


ERRORS = [
    pytest.param(
        records_with(x=[SECRET, None, 2]), {},
        DataError, "1 missing, NaN or infinite", id="null",
    ),
    pytest.param(
        pl.DataFrame(GOOD | {"x": [SECRET, float("nan"), 2.0]}), {},
        DataError, "'x' has 1", id="nan",
    ),
    pytest.param(records_with(x=[SECRET, np.inf, 2]), {}, DataError, "infinite", id="infinite"),
    pytest.param(records_with(w=[1, -0.5, 1]), {}, DataError, "1 negative weight", id="negative weight"),
    pytest.param(
        records_with(w=[1, np.nan, 1]), {},
        DataError, "1 missing, NaN or infinite weight", id="no weight",
    ),
    pytest.param(
        records_with(w=[1, 1e-3, 1]), {},
        ParameterError, "3000 contributors per cell", id="tiny weight",
    ),
    pytest.param(
        records_with(g=["a", None, "b"]), {},
        DataError, "'g' has 1 missing code", id="missing code",
    ),
    pytest.param(records_with(x=["1,5", "987654,25", "2"]), {}, DataError, "decimal comma", id="comma"),
    pytest.param(records_with(x=["1", "secret", "2"]), {}, DataError, "contains text instead", id="text"),
    pytest.param(
        records_with(w=["1", "secret", "2"]), {},
        DataError, "'w' contains text", id="text weight",
    ),
    pytest.param(records_with(x=[1, "secret", 2.5]), {}, DataError, "mixes several kinds", id="mixed"),
    pytest.param(records_with()[:0], {}, DataError, "the data are empty", id="empty"),
    pytest.param(records_with(), {"by": ["gg"]}, DataError, "did you mean 'g'?", id="no such column"),
    pytest.param(
        records_with(), {"holding": "whoo"},
        DataError, "did you mean 'who'?", id="no such holding",
    ),
    pytest.param([1, 2], {}, DataError, "cannot read a list", id="no frame"),
    pytest.param(
        records_with().set_axis(["g", "who", "x", "x"], axis=1), {}, DataError, "same name", id="same name"
    ),
    pytest.param(
        records_with(), {"hierarchies": {"g": {"a": "b"}}}, ParameterError, "not a Hierarchy", id="a mapping"
    ),
    pytest.param("nowhere.csv", {}, DataError, "no file 'nowhere.csv'", id="no file"),
    pytest.param(Path(__file__), {}, DataError, "what kind of file", id="kind of file"),
    pytest.param(records_with(), {"by": ["g", "g"]}, ParameterError, "'g' is named twice", id="twice"),
    pytest.param(records_with(), {"by": "g"}, ParameterError, "by=['g']", id="by is text"),
    pytest.param(records_with(), {"by": []}, ParameterError, "no variables", id="no variables"),
    pytest.param(
        records_with(), {"by": ["g", "x"]},
        ParameterError, "both value and a variable", id="value in by",
    ),
    pytest.param(
        records_with(), {"weight": "x"},
        ParameterError, "both value and weight", id="value is weight",
    ),
    pytest.param(records_with(), {"top": 0}, ParameterError, "top must be", id="top"),
    pytest.param(
        records_with(), {"magnitude": "size"},
        ParameterError, "magnitude must be", id="magnitude",
    ),
    pytest.param(records_with(), {"missing": "drop"}, ParameterError, "missing must be", id="missing"),
    pytest.param(records_with(), {"unseen": "drop"}, ParameterError, "unseen must be", id="unseen"),
    pytest.param(
        records_with(), {"engine": "sparkle"}, ParameterError, "engine must be 'duckdb'", id="engine",
    ),
    pytest.param(
        records_with(), {"engine": "spark"}, ParameterError, "not with Spark", id="no cluster",
    ),
    pytest.param(records_with(), {"memory_limit": "lots"}, ParameterError, "memory_limit", id="memory"),
    pytest.param(records_with(), {"threads": 0}, ParameterError, "threads", id="threads"),
    pytest.param(
        records_with(), {"hierarchies": {"gg": Hierarchy.flat("ab")}},
        ParameterError, "did you mean 'g'?", id="hierarchy",
    ),
    pytest.param(
        records_with(g=["retial", "b", "b"]), {"hierarchies": {"g": Hierarchy.flat(["retail", "b"])}},
        DataError, "did you mean 'retail'?", id="unseen code",
    ),
    pytest.param(
        records_with(), {"hierarchies": {"g": Hierarchy.from_tree({"a": ["a1", "a2"], "b": None})}},
        DataError, "groups, not leaves", id="code of a group",
    ),
    pytest.param(
        records_with(g=["a", "b", None]), {"hierarchies": {"g": Hierarchy.flat("ab")}, "missing": "code"},
        ParameterError, "needs the code 'missing'", id="no code for missing",
    ),
    pytest.param(
        records_with(g=["a", "b", "c"]), {"hierarchies": {"g": Hierarchy.flat("ab")}, "unseen": "code"},
        ParameterError, "needs the code 'other'", id="no code for unseen",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("data", "options", "error", "words"), ERRORS)
def test_errors_state_the_problem_without_records(data, options, error, words, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(error) as caught:
        tabulate(data, **({"by": ["g"], "value": "x", "weight": "w", "holding": "who"} | options))
    message = str(caught.value)
    assert words in message
    assert "fix:" in message
    assert not any(secret in message for secret in ("secret", "987654", "1,5", "-0.5"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "g;x\na;1,5\nb;2.5\n", "g,x\n", "g,x\na,1\nb\n,,,\n\0"])
def test_broken_file_raises(text, tmp_path):
    path = tmp_path / "records.csv"
    path.write_text(text)
    with pytest.raises(HitokuError) as caught:
        tabulate(path, ["g"], value="x")
    assert "records.csv" in str(caught.value)


def test_invalid_parquet_file_raises(tmp_path):
    path = tmp_path / "records.parquet"
    path.write_text("g,x\na,1\n")
    with pytest.raises(DataError, match="could not be read"):
        tabulate(path, ["g"], value="x")


def test_table_too_large_for_memory_raises_early():
    codes = [str(i // 2) for i in range(4000)]
    records = pd.DataFrame({"a": codes, "b": codes, "x": 1.0})
    with pytest.raises(TableError, match="4,004,001 cells needs about") as caught:
        tabulate(records, ["a", "b"], value="x", memory_limit="200MB")
    assert "fewer variables" in str(caught.value)


def test_zero_weights_with_open_ranks_raise():
    # Each unit's mean weight is a thousandth, so three ranks would need thousands of units.
    n = 40
    records = pd.DataFrame({
        "g": ["a", "a"] * n + ["b"], "u": [*np.repeat(np.arange(n), 2), n], "x": [999.0, 1.0] * n + [1.0],
        "w": [0.0, 1.0] * n + [1.0],
    })  # fmt: skip
    with pytest.raises(DataError, match="drop records whose weight is zero"):
        tabulate(records, ["g"], value="x", weight="w", unit="u")
