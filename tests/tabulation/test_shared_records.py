"""Records that are opened once: the same tables as from the records themselves, and one reading of a file."""

from __future__ import annotations

import logging

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hitoku.errors import DataError
from hitoku.linking import link
from hitoku.pipeline import run_recipe
from hitoku.tabulation import share_records, shared_records, tabulate

FIRMS = pd.DataFrame(
    {
        "region": ["01", "01", "02", "02", "02"],
        "size": ["1", "2", "1", "1", "2"],
        "firm": ["a", "b", "a", "c", "d"],
        "owner": ["z", None, "z", " ", "y"],
        "sales": [1.5, 2.25, 3.0, 4.5, 1000.5],
    }
)
RECIPE = """
data = "firms.csv"
value = "sales"
rules = ["dominance:n=1,k=100"]
out = "out"

[[tables]]
name = "regions"
by = ["region"]

[[tables]]
name = "small"
by = ["region"]
where = {size = ["1"]}

[[tables]]
name = "sizes"
by = ["region", "size"]
"""


@pytest.fixture(params=["frame", "csv"])
def data(request, tmp_path):
    if request.param in {"frame", "polars"}:
        return FIRMS if request.param == "frame" else pl.from_pandas(FIRMS)
    path = tmp_path / f"firms.{request.param if request.param in {'parquet', 'xlsx'} else 'csv'}"
    if request.param == "decimal comma":
        FIRMS.to_csv(path, index=False, sep=";", decimal=",", encoding="utf-16")
    else:
        {"csv": FIRMS.to_csv, "parquet": FIRMS.to_parquet, "xlsx": FIRMS.to_excel}[request.param](
            path, index=False
        )
    return path


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({"by": ["region"], "value": "sales", "unit": "firm"}, id="values"),
        pytest.param({"by": ["size"], "value": "sales", "unit": "firm", "holding": "owner"}, id="holdings"),
        pytest.param(
            {"by": ["size"], "value": "sales", "holding": "owner", "where": {"region": ["02"]}},
            id="some holdings",
        ),
        pytest.param({"by": ["region", "size"], "where": {"firm": ["a", "c"]}}, id="a filter"),
        pytest.param({"by": ["size"], "value": "sales", "outside": [{"region": ["01"]}]}, id="a rest"),
    ],
)
@pytest.mark.parametrize("data", ["frame", "decimal comma"], indirect=True)
def test_shared_records_give_same_tables(data, asked):
    assert_the_same(data, asked)


@pytest.mark.parametrize("data", ["polars", "csv", "parquet", "xlsx"], indirect=True)
def test_any_kind_of_records_can_be_shared(data):
    assert_the_same(data, {"by": ["size"], "value": "sales", "unit": "firm", "holding": "owner"})


def assert_the_same(data, asked):
    wanted = tabulate(data, **asked)
    with share_records(data) as shared:
        for _ in range(2):  # whoever comes second finds nothing of the first
            found = tabulate(shared, **asked)
            assert found.labels.codes == wanted.labels.codes
            assert np.array_equal(found.value, wanted.value)
            assert found.backend == wanted.backend
            assert np.array_equal(found.frequency, wanted.frequency)
            for level in ("units", "holdings"):
                one, other = getattr(found, level), getattr(wanted, level)
                assert (one is None) == (other is None)
                assert one is None or np.array_equal(one.largest, other.largest)
                assert one is None or np.array_equal(one.count, other.count)


def test_recipe_reads_and_describes_file_once(tmp_path, monkeypatch, caplog):
    FIRMS.to_csv(tmp_path / "firms.csv", index=False)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    read = []
    reading = shared_records.reading_text
    monkeypatch.setattr(shared_records, "reading_text", lambda *given: read.append(1) or reading(*given))
    with caplog.at_level(logging.INFO, "hitoku.reading"):
        run = run_recipe(tmp_path / "recipe.toml")
    assert run.safe
    assert len(read) == 1
    assert len([told for told in caplog.messages if "read as utf-8" in told]) == 1


def test_missing_column_fails_only_its_own_table(data):
    with share_records(data) as shared:
        with pytest.raises(DataError, match="no column 'regoin'"):
            tabulate(shared, ["regoin"])
        assert tabulate(shared, ["region"]).value.tolist() == [2, 3, 5]


def test_linked_tables_convert_a_frame_once(monkeypatch):
    converted = []
    arrow = shared_records.arrow_of
    monkeypatch.setattr(
        shared_records, "arrow_of", lambda frame, columns: converted.extend(columns) or arrow(frame, columns)
    )
    link(FIRMS, {"one": {"by": ["region", "size"]}, "two": {"by": ["size"]}}, value="sales", unit="firm")
    # The owner, too: a column may be finer than several that tables use.
    assert sorted(converted) == ["firm", "owner", "region", "sales", "size"]
