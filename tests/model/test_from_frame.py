from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hitoku.errors import DataError, ParameterError, TableError
from hitoku.model import Hierarchy, Table

CELLS = pd.DataFrame(
    {
        "region": ["N1", "N1", "N2", "S1", "S1"],
        "sex": ["f", "m", "f", "f", "m"],
        "income": [10.5, 20.0, 5.0, 8.25, 1.25],
        "n": [4, 5, 1, 2, 1],
    }
)
REGION = Hierarchy.from_tree({"North": ["N1", "N2"], "South": ["S1"]})


def build(frame=CELLS, **parts):
    return Table.from_frame(frame, **{"by": ["region", "sex"], "value": "income", "frequency": "n", **parts})


def value_of(table, *codes):
    where = [i for i in range(table.n_cells) if table.labels.codes_of(i) == codes]
    return table.value[where[0]]


def test_totals_are_added_and_missing_cells_are_zero():
    table = build(hierarchies={"region": REGION})
    assert value_of(table, "N2", "m") == 0
    assert value_of(table, "North", "Total") == 35.5
    assert value_of(table, "Total", "Total") == 45.0
    assert table.frequency[-1] == 13
    assert table.measure == "income"


def test_given_totals_are_checked_and_kept():
    totals = pd.DataFrame(
        {"region": ["North", "Total"], "sex": ["f", "Total"], "income": [15.5, 45.0], "n": [5, 13]}
    )
    table = build(pd.concat([CELLS, totals]), hierarchies={"region": REGION})
    assert table.value.tolist() == build(hierarchies={"region": REGION}).value.tolist()
    totals["income"] += [0, 1]
    with pytest.raises(TableError, match="does not add up: 2 of") as caught:
        build(pd.concat([CELLS, totals]), hierarchies={"region": REGION})
    assert "region=Total, sex=Total" in caught.value.where


@pytest.mark.parametrize(
    "convert",
    [
        pytest.param(lambda f: f, id="pandas"),
        pytest.param(pl.from_pandas, id="polars"),
        pytest.param(lambda f: pl.from_pandas(f).lazy(), id="polars lazy"),
        pytest.param(pa.Table.from_pandas, id="pyarrow"),
        pytest.param(lambda f: duckdb.from_arrow(pa.Table.from_pandas(f)), id="duckdb"),
    ],
)
def test_every_kind_of_frame_gives_the_same_table(convert):
    table = build(convert(CELLS))
    assert table.value.tolist() == build().value.tolist()
    assert table.labels.codes == build().labels.codes


def test_frames_have_the_caller_type():
    assert isinstance(build().cells, pd.DataFrame)
    assert isinstance(build(pl.from_pandas(CELLS)).cells, pl.DataFrame)
    assert isinstance(build(pa.Table.from_pandas(CELLS)).cells, pa.Table)


@pytest.mark.parametrize("code", ["\N{SUPERSCRIPT TWO}", "9" * 5000])
def test_digit_codes_sort_as_text(code):
    """Python calls a superscript a digit, and reads no number of thousands of digits."""
    table = Table.from_frame(pd.DataFrame({"size": ["10", "9", code], "x": [1, 2, 3]}), ["size"], "x")
    assert table.dimensions[0].codes[:-1] == tuple(sorted(["10", "9", code]))


def test_numbers_as_codes_sort_as_numbers_and_read_as_text():
    table = Table.from_frame(pd.DataFrame({"size": [10, 9, 1], "v": [1, 2, 3]}), ["size"], "v")
    assert table.labels.codes == (("1", "9", "10", "Total"),)
    as_float = Table.from_frame(pd.DataFrame({"size": [10.0, 9.0, 1.0], "v": [1, 2, 3]}), ["size"], "v")
    assert as_float.labels.codes == table.labels.codes


def test_largest_contributions_need_the_totals():
    frame = pd.DataFrame(
        {"r": ["a", "b", "Total"], "v": [5.0, 9.0, 14.0], "n": [2, 3, 5], "max1": [4.0, 6.0, 6.0]}
    )
    table = Table.from_frame(frame, ["r"], "v", frequency="n", largest=["max1"])
    assert table.largest[:, 0].tolist() == [4, 6, 6]
    assert table.units.count.tolist() == [2, 3, 5]
    with pytest.raises(DataError, match=r"largest contributions of 1 total\(s\)"):
        Table.from_frame(frame[:2], ["r"], "v", largest=["max1"])


def test_contributions_below_zero_may_be_declared():
    frame = pd.DataFrame({"r": ["a", "b", "Total"], "v": [-5.0, 9.0, 4.0], "max1": [0.0, 6.0, 6.0]})
    units = Table.from_frame(frame, ["r"], "v", largest=["max1"], magnitude="signed").units
    assert units.negative
    assert units.magnitude == "signed"
    assert Table.from_frame(frame, ["r"], "v", largest=["max1"]).units.magnitude is None


def test_costs_bounds_and_marks_come_from_columns():
    frame = CELLS.assign(price=2.0, low=0.5, high=30.0, keep=[True, False, False, False, False])
    table = build(frame, cost="price", lower="low", upper="high", fixed="keep")
    assert table.cost[0] == 2.0
    assert table.cost[-1] == table.value[-1]
    assert (table.lower[0], table.upper[0], table.upper[-1]) == (0.5, 30.0, np.inf)
    assert table.fixed.tolist() == [True] + [False] * (table.n_cells - 1)


@pytest.mark.parametrize(
    ("frame", "parts", "error", "what"),
    [
        pytest.param(CELLS, {"value": "incme"}, DataError, "no column 'incme'", id="missing column"),
        pytest.param(CELLS, {"by": ["regoin", "sex"]}, DataError, "did you mean 'region'", id="nearest name"),
        pytest.param(CELLS, {"frequency": "m"}, DataError, "no column 'm'", id="missing frequency"),
        pytest.param(CELLS[:0], {}, DataError, "the data are empty", id="empty"),
        pytest.param(CELLS, {"by": []}, ParameterError, "no variables", id="no variables"),
        pytest.param(pd.concat([CELLS, CELLS]), {}, DataError, "more than one row", id="cell twice"),
        pytest.param(CELLS.assign(income="12,5"), {}, DataError, "decimal comma", id="decimal comma"),
        pytest.param(
            CELLS.assign(income="many"), {}, DataError, "contains text instead of numbers", id="text"
        ),
        pytest.param(CELLS.assign(income=np.nan), {}, DataError, "5 missing, NaN or infinite", id="NaN"),
        pytest.param(
            CELLS.assign(n=[1, 2, 3, 4, 1.5]), {}, DataError, "are not counts", id="half a respondent"
        ),
        pytest.param(
            CELLS.assign(sex=["f", None, "f", "f", "m"]), {}, DataError, "1 missing code", id="missing code"
        ),
        pytest.param(
            CELLS,
            {"hierarchies": {"region": Hierarchy.flat(["N1", "N2"])}},
            DataError,
            "codes 'S1'",
            id="unseen code",
        ),
        pytest.param(
            CELLS, {"hierarchies": {"regio": REGION}}, ParameterError, "'regio'", id="stray hierarchy"
        ),
        pytest.param("a text", {}, DataError, "cannot read a str", id="no frame"),
    ],
)
def test_invalid_input_raises_without_values(frame, parts, error, what):
    with pytest.raises(error) as caught:
        build(frame, **parts)
    assert what in str(caught.value)
    assert caught.value.fix
    assert not any(text in str(caught.value) for text in ("12,5", "10.5", "8.25", "many "))


def test_table_larger_than_memory_raises_early():
    frame = pd.DataFrame({f"v{i}": [str(k) for k in range(200)] for i in range(6)}).assign(x=1)
    with pytest.raises(TableError, match="GiB of memory") as caught:
        Table.from_frame(frame, [f"v{i}" for i in range(6)], "x")
    assert "v0 201 x v1 201" in caught.value.where
    assert "fewer variables" in caught.value.fix
