from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitoku.errors import TableError
from hitoku.model import Dimension, Hierarchy, Table, add_up


def margins(cube, keep, names=("a", "b", "c")):
    """The table over some axes of a cube of leaf cells."""
    dropped = tuple(axis for axis in range(cube.ndim) if axis not in keep)
    codes = [[f"{names[axis]}{i}" for i in range(cube.shape[axis])] for axis in keep]
    return Table.from_array(cube.sum(axis=dropped), names=[names[axis] for axis in keep], codes=codes)


def named(table):
    """Value by the codes of each cell that are not the total."""
    cells = {}
    for i in range(table.n_cells):
        pairs = zip(table.labels.names, table.labels.codes_of(i), strict=True)
        key = frozenset((n, c) for n, c in pairs if c != "Total")
        assert key not in cells
        cells[key] = table.value[i]
    return cells


@given(seed=st.integers(0, 2**32 - 1), sides=st.tuples(*[st.integers(2, 4)] * 3))
@settings(deadline=None, max_examples=16)
def test_linked_margins_are_the_union_of_their_cells(seed, sides):
    cube = np.random.default_rng(seed).integers(0, 9, sides)
    parts = [margins(cube, keep) for keep in ((0, 1), (1, 2), (0, 2))]
    linked = Table.link(parts)
    union = {}
    for part in parts:
        union |= named(part)
    assert named(linked) == union
    assert np.array_equal(linked.frequency, linked.value)
    # The three relations that give the grand total by one variable are shared by two tables each.
    assert linked.relations.shape[0] == sum(part.relations.shape[0] for part in parts) - 3


def test_linking_a_table_with_itself_changes_nothing():
    table = margins(np.arange(12).reshape(3, 4, 1).repeat(2, axis=2), (0, 1))
    twice = Table.link([table, table])
    assert twice.value.tolist() == table.value.tolist()
    assert (twice.relations != table.relations).nnz == 0


def test_nested_total_is_an_ordinary_code():
    country = Table.from_array([5, 7, 3], names=["region"], codes=[["North", "East", "South"]])
    north = Table.from_array(
        [[1, 2], [2, 0]], names=["region", "sex"], codes=[["N1", "N2"], "fm"], total="Total"
    )
    north = Table(
        value=north.value,
        dimensions=[
            Dimension.of("region", Hierarchy.flat(["N1", "N2"], "North")),
            Dimension.of("sex", Hierarchy.flat("fm")),
        ],
    )
    linked = Table.link([Table(value=country.value, dimensions=country.dimensions), north])
    assert linked.n_cells == 4 + 9 - 1
    assert linked.labels.names == ("region", "sex")


def test_incomparable_totals_raise():
    one = Table.from_array([1, 2], names=["region"], total="All")
    two = Table.from_array([1, 2], names=["region"], total="Everything")
    with pytest.raises(TableError, match="totals of 'region' cannot be compared"):
        Table.link([one, two])


def test_cells_of_different_measures_are_not_shared():
    counts = Table.from_array([3, 4], names=["region"])
    money = Table.from_array([30.5, 44.0], names=["region"], measure="income")
    linked = Table.link([counts, money])
    assert linked.n_cells == 6
    assert linked.describe(5) == "region=Total, measure=income"


def test_disagreeing_tables_raise_with_codes():
    one = Table.from_array([[1, 2], [3, 4]], names=["a", "b"])
    two = Table.from_array([[1, 2], [3, 5]], names=["a", "c"])
    with pytest.raises(TableError, match=r"have different values in 2 common cell\(s\)") as caught:
        Table.link([one, two])
    assert "a=2" in caught.value.where


def test_bounds_are_the_tightest_and_marks_are_kept():
    leaf = np.array([1, 2])
    one = Table.from_array(leaf, names=["a"], upper=5.0, fixed=[True, False, False])
    two = Table.from_array(leaf, names=["a"], lower=1.0)
    linked = Table.link([one, two])
    assert linked.upper.tolist() == [5, 5, 5]
    assert linked.lower.tolist() == [1, 1, 1]
    assert linked.fixed.tolist() == [True, False, False]


@pytest.mark.parametrize("tables", [[], [Table(value=[1.0], relations=np.zeros((0, 1)))]])
def test_tables_that_cannot_be_linked_raise(tables):
    with pytest.raises(TableError):
        Table.link(tables)


def test_two_hierarchies_of_one_variable_meet_in_their_common_codes():
    leaves = {"p": 1, "q": 2, "s": 3, "t": 4}
    by_shore = Dimension.of("r", Hierarchy.from_tree({"coast": ["p", "q"], "inland": ["s", "t"]}))
    by_size = Dimension.of("r", Hierarchy.from_tree({"big": ["p", "s"], "small": ["q", "t"]}))
    tables = [
        Table(value=add_up(np.array([leaves[code] for code in d.leaves]), [d]), dimensions=[d])
        for d in (by_shore, by_size)
    ]
    linked = Table.link(tables)
    assert linked.n_cells == 4 + 2 + 2 + 1
    assert linked.relations.shape[0] == 6
