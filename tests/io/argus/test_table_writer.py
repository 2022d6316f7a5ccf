from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import count_tables, magnitude_tables

from hitoku.errors import OutputError, TableError
from hitoku.io.argus import read_metadata, read_table, write_table
from hitoku.model import Hierarchy, Need, Table


@given(
    table=st.one_of(
        count_tables(hierarchical=True),
        magnitude_tables(hierarchical=True),
        magnitude_tables(hierarchical=True, integer=True),
    ),
    data=st.data(),
)
def test_table_round_trips(tmp_path_factory, table, data):
    unsafe = np.array(data.draw(st.lists(st.booleans(), min_size=table.n_cells, max_size=table.n_cells)))
    level = np.where(unsafe, data.draw(st.sampled_from([0.0, 0.5, 3.0])), 0.0)
    need = Need(unsafe=unsafe, lower=level, upper=2 * level)
    path = tmp_path_factory.mktemp("tab") / "t.tab"
    write_table(path, table, need)
    found = read_table(path, read_metadata(path.with_suffix(".rda")))
    assert found.table.labels.codes == table.labels.codes
    np.testing.assert_array_equal(found.table.value, table.value)
    np.testing.assert_array_equal(found.table.frequency, table.frequency)
    if table.contributors is not None:
        np.testing.assert_array_equal(found.table.largest, table.contributors.largest)
        np.testing.assert_array_equal(found.table.contributors.total, table.contributors.total)
    empty = (table.value == 0) & (found.table.frequency == 0)
    np.testing.assert_array_equal(found.status == "U", unsafe & ~empty)
    np.testing.assert_array_equal(found.need.upper, np.where(empty, 0, need.upper))
    again = read_table(path, read_metadata(path.with_suffix(".rda")), additivity="recompute")
    np.testing.assert_allclose(again.table.value, table.value)


def test_table_writer_output_matches_expected_lines(tmp_path):
    table = Table.from_array([[3, 1], [2, 4]], names=["r", "s"], codes=[["a", " b"], ["x", "y"]])
    files = write_table(tmp_path / "t.tab", table, Need(unsafe=np.arange(9) == 1, upper=2.0))
    assert [path.name for path in files] == ["t.tab", "t.rda", "t_r.hrc", "t_s.hrc"]
    lines = (tmp_path / "t.tab").read_bytes().split(b"\n")
    assert lines[0] == b'"a";"x";3;3;S;0;0'
    assert lines[1] == b'"a";"y";1;1;U;0;2'
    assert lines[-1] == b""
    assert (tmp_path / "t_r.hrc").read_text() == "a\n b\n"


def test_generated_columns_avoid_variable_names(tmp_path):
    table = Table.from_array([3, 1], names=["Freq"], measure="freq")
    write_table(tmp_path / "t.tab", table)
    names = [variable.name for variable in read_metadata(tmp_path / "t.rda").variables]
    assert names == ["Freq", "freq_", "Freq__"]


@pytest.mark.parametrize(
    ("table", "what"),
    [
        (Table(value=[1, 2, 3], relations=[[1, 1, -1]]), "a table without variables"),
        (Table.from_array([1, 2], codes=[["a;b", "c"]]), "code 'a;b' of 'd1' cannot be written"),
        (Table.from_array([1, 2], codes=[["total", "c"]]), "code 'total' of 'd1' cannot be written"),
        (Table.from_array([1, 2], codes=[['a"', "c"]]), "double quote"),
        (Table.from_array([1, 2], codes=[["é", "c"]]), "'é'"),
    ],
)
def test_unrepresentable_tables_raise(tmp_path, table, what):
    with pytest.raises(OutputError) as error:
        write_table(tmp_path / "t.tab", table)
    assert what.replace("d1", table.labels.names[0]) in error.value.what
    assert not (tmp_path / "t.tab").exists()


def test_alternative_hierarchies_raise(tmp_path):
    coast = Hierarchy.from_tree({"Coast": ["1", "3"], "Inland": ["2", "4"]})
    region = Hierarchy.from_tree({"North": ["1", "2"], "South": ["3", "4"]})
    frame = pd.DataFrame({"r": list("1234"), "n": [1, 2, 3, 4]})
    table = Table.from_frame(frame, by=["r"], value="n", hierarchies={"r": [region, coast]})
    with pytest.raises(OutputError, match="2 groupings"):
        write_table(tmp_path / "t.tab", table)


def test_invalid_statuses_raise(tmp_path):
    table = Table.from_array([1, 2])
    with pytest.raises(TableError, match="one letter per cell"):
        write_table(tmp_path / "t.tab", table, status=np.array(["S", "U", "?"]))
    with pytest.raises(TableError, match="need has 2 cells"):
        write_table(tmp_path / "t.tab", table, Need(unsafe=[True, False]))
