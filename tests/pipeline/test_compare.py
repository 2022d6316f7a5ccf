from __future__ import annotations

import numpy as np
import pytest

import hitoku as ht
from hitoku.errors import ParameterError

TABLE = ht.Table.from_array([[20, 50, 10, 22], [8, 19, 22, 50], [17, 32, 3, 12]])
NEED = ht.Need(unsafe=TABLE.value == 3, width=9.0)


class Blank:
    """Withholds what is unsafe and nothing else: anybody subtracts."""

    def protect(self, table, need, progress=None):  # noqa: ARG002 - the contract of a method
        return ht.Protection.withhold(table, need.unsafe, need)


def test_cost_is_suppressed_value_and_ratio_is_from_interval():
    naive, greedy = ht.compare(TABLE, NEED, {"blank": Blank(), "greedy": ht.Greedy(tidy=True)})
    assert (naive.method, naive.withheld, naive.secondary, naive.cost) == ("blank", 1, 0, 3)
    assert (naive.safe, naive.recomputable, naive.reached, naive.least) == (False, 1, 0, 0)
    protection = ht.Greedy(tidy=True).protect(TABLE, NEED)
    bounds = ht.Interval().bounds(ht.Release.of(TABLE, protection))
    (cell,) = np.flatnonzero(NEED.unsafe)
    assert greedy.safe
    assert greedy.cost == TABLE.value[protection.withheld].sum()
    assert greedy.lost == greedy.cost / TABLE.value.sum()
    assert greedy.reached == (bounds.upper[cell] - bounds.lower[cell]) / 9


def test_adjusted_release_cost_counts_changes():
    (row,) = ht.compare(TABLE, NEED, [ht.Adjust(norm="l1", senses="hash", key="secret")])
    adjusted = ht.Adjust(norm="l1", senses="hash", key="secret").protect(TABLE, NEED)
    assert (row.withheld, row.safe) == (0, True)
    assert row.cost == pytest.approx(np.abs(adjusted.value - TABLE.value).sum())


def test_methods_may_be_specs():
    words = ht.compare(TABLE, NEED, ["greedy:tidy=true", "optimal"])
    made = ht.compare(TABLE, NEED, [ht.Greedy(tidy=True), ht.Optimal()])
    assert words.rows == made.rows
    with pytest.raises(ParameterError, match="did you mean 'greedy'"):
        ht.compare(TABLE, NEED, ["gredy"])
    with pytest.raises(ParameterError, match="no methods to compare"):
        ht.compare(TABLE, NEED, "greedy")


def test_methods_of_one_name_are_distinguished():
    compared = ht.compare(TABLE, NEED, [ht.Greedy(), ht.Greedy(tidy=True), ht.Gauss()])
    assert compared.frame["method"].tolist() == ["Greedy()", "Greedy(tidy=True)", "gauss"]
    assert "3" not in repr(compared).replace("3 withheld", "")  # no costs: they are values


def test_compare_frame_has_the_caller_type():
    pl = pytest.importorskip("polars")
    cells = pl.DataFrame({"a": ["x", "x", "y", "y"], "b": ["u", "v", "u", "v"], "n": [9, 8, 7, 30]})
    table = ht.Table.from_frame(cells, by=["a", "b"], value="n")
    need = ht.Need(unsafe=table.value == 7, width=2.0)
    assert isinstance(ht.compare(table, need, [ht.Greedy()]).frame, pl.DataFrame)


def test_missing_methods_raise():
    with pytest.raises(ParameterError, match="no methods"):
        ht.compare(TABLE, NEED, [])


def test_table_without_unsafe_cells_loses_nothing():
    (row,) = ht.compare(TABLE, ht.Need(unsafe=np.zeros(TABLE.n_cells, dtype=bool)), [ht.Greedy()])
    assert (row.withheld, row.cost, row.safe, row.reached) == (0, 0, True, np.inf)
