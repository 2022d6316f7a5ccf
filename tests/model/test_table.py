from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from hitoku.errors import TableError
from hitoku.model import Contributors, Dimension, Hierarchy, Labels, Table
from hitoku.testing import one_cell

# Minami & Abe 2019, Figure 1: counts by region and occupation, with the printed sums.
FIGURE_1 = np.array([[20, 15, 30, 20, 10], [72, 20, 1, 30, 10], [38, 38, 15, 40, 2]])
PRINTED = np.array(
    [[20, 15, 30, 20, 10, 95], [72, 20, 1, 30, 10, 133], [38, 38, 15, 40, 2, 133], [130, 73, 46, 90, 22, 361]]
)


def test_from_array_matches_figure_of_paper():
    table = Table.from_array(FIGURE_1)
    assert np.array_equal(table.value.reshape(4, 6), PRINTED)
    assert np.array_equal(table.frequency, table.value)
    assert table.integer
    assert table.relations.shape == (4 + 6, 24)
    assert table.lower.tolist() == [0] * 24
    assert np.isinf(table.upper).all()
    assert table.inner.sum() == 15


def test_three_dimensions_have_every_margin():
    cube = np.arange(24).reshape(2, 3, 4)
    value = Table.from_array(cube).value.reshape(3, 4, 5)
    assert np.array_equal(value[:2, :3, :4], cube)
    assert np.array_equal(value[2, :3, :4], cube.sum(axis=0))
    assert value[2, 3, 4] == cube.sum()


@pytest.mark.parametrize(
    ("array", "integer", "has_frequency", "lower"),
    [
        pytest.param([[1, 2], [3, 4]], True, True, 0, id="counts"),
        pytest.param([[1.5, 2], [3, 4]], False, False, 0, id="magnitudes"),
        pytest.param([[-1, 2], [3, 4]], True, False, -np.inf, id="a negative number is no count"),
    ],
)
def test_array_values_determine_table_properties(array, integer, has_frequency, lower):
    table = Table.from_array(array)
    assert table.integer is integer
    assert (table.frequency is not None) is has_frequency
    assert set(table.lower) == {lower}


def test_names_codes_and_frequencies_may_be_given():
    table = Table.from_array(
        [[1.5, 2.5], [3.0, 4.0]],
        names=("region", "job"),
        codes=["NS", "xy"],
        total="All",
        frequency=[[1, 2], [3, 4]],
    )
    assert table.describe(5) == "region=S, job=All"
    assert table.frequency.reshape(3, 3)[2, 2] == 10


@pytest.mark.parametrize(
    ("array", "what"),
    [
        (np.array([["a", "b"]]), "not numbers"),
        (np.zeros((0, 3)), "array is empty"),
        (np.float64(3), "array is empty"),
        (np.array([[1, np.nan], [2, 3]]), "NaN or infinite"),
    ],
)
def test_invalid_array_raises(array, what):
    with pytest.raises(Exception, match=what) as caught:
        Table.from_array(array)
    assert type(caught.value).__name__ == "DataError"


def test_mismatched_names_raise():
    with pytest.raises(TableError, match="do not fit an array of shape"):
        Table.from_array(FIGURE_1, names=("region",))


def test_arrays_are_read_only():
    table = Table.from_array(FIGURE_1)
    for array in (
        table.value,
        table.frequency,
        table.lower,
        table.upper,
        table.relations.data,
        table.relations.indices,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        table.value = table.value


def test_caller_array_stays_writable():
    value = np.array([1.0, 2.0, 3.0])
    Table(value=value, relations=sparse.csr_array([[1, 1, -1]]))
    value[0] = 9


def cells_only(**parts):
    return Table(**{"value": [1.0, 2.0, 3.0], "relations": [[1, 1, -1]], **parts})


def test_table_may_have_no_dimensions():
    table = cells_only()
    assert table.shape == (3,)
    assert table.describe(2) == "cell=2"
    assert list(table.cells["cell"]) == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        pytest.param({"value": [1.0, 2.0, 4.0]}, "does not add up: 1 of 1 relations", id="not additive"),
        pytest.param({"value": [1.0, np.nan, 4.0]}, "not a finite number", id="NaN"),
        pytest.param({"value": [1.0, np.inf, 4.0]}, "not a finite number", id="infinite"),
        pytest.param({"value": [0.5, 2.5, 3.0], "integer": True}, "not a whole number", id="half a person"),
        pytest.param({"value": []}, "without cells", id="empty"),
        pytest.param({"lower": [2, 0, 0]}, "outside its own bounds", id="below its bound"),
        pytest.param({"upper": [1, 2, 2]}, "outside its own bounds", id="above its bound"),
        pytest.param({"upper": [1, 2, np.nan]}, "outside its own bounds", id="NaN bound"),
        pytest.param({"frequency": [1, -1, 0]}, "negative frequency", id="negative frequency"),
        pytest.param({"frequency": [1, 1]}, "shape", id="too few frequencies"),
        pytest.param({"cost": [1, 2, -1]}, "cost that is negative", id="negative cost"),
        pytest.param({"relations": [[1, -1]]}, "2 columns, the table has 3", id="too few columns"),
        pytest.param({"relations": [[1, np.nan, -1]]}, "coefficient", id="NaN coefficient"),
        pytest.param({"value": ["a", "b", "c"]}, "cannot be read as float64", id="text"),
        pytest.param({"labels": Labels.numbered(2)}, "2 labels for 3 cells", id="labels"),
        pytest.param({"units": one_cell(1).units}, "contributors of 1 cells", id="contributors"),
    ],
)
def test_invalid_table_raises_without_values(parts, what):
    with pytest.raises(TableError, match=what):
        cells_only(**parts)


def test_error_names_totals_but_no_value():
    value = Table.from_array(FIGURE_1 * 7919).value.copy()
    value[5] += 1
    dimensions = Table.from_array(FIGURE_1).dimensions
    with pytest.raises(TableError) as caught:
        Table(value=value, dimensions=dimensions)
    assert "2 of 10 relations fail" in caught.value.what
    assert "[row=1, column=Total] and its 5 parts" in caught.value.where
    assert not any(str(int(v)) in str(caught.value) for v in value if v > 1000)


def test_nonadditive_table_is_allowed_if_declared():
    assert cells_only(value=[1.0, 2.0, 3.1], additive=False).n_cells == 3


def test_rounding_of_doubles_is_not_an_error():
    parts = np.full(1000, 0.1)
    Table(value=[*parts, 100.0], relations=[[1.0] * 1000 + [-1.0]])


def test_reprs_show_counts_only():
    table = Table.from_array(FIGURE_1 + 1_000_000)
    for text in (repr(table), table._repr_html_()):
        assert "24" in text
        assert "1000" not in text.replace("_", "").replace(",", "")


def test_holdings_come_before_units():
    one = one_cell(5, 3)
    pair = Contributors(count=[1], largest=[[8.0]], total=[8.0])
    table = Table(value=[8.0], relations=np.zeros((0, 1)), units=one.units, holdings=pair)
    assert table.contributors is pair
    assert table.largest.tolist() == [[8.0]]


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        ({"largest": [[1.0, 2.0]]}, "falling"),
        ({"largest": [[2.0, -1.0]]}, "below zero"),
        ({"count": [-1]}, "negative number of contributors"),
        ({"total": [np.nan]}, "finite"),
        ({"magnitude": "both"}, "'signed' or 'abs'"),
    ],
)
def test_invalid_contributors_raise(parts, what):
    with pytest.raises(TableError, match=what):
        Contributors(**{"count": [2], "largest": [[2.0, 1.0]], "total": [3.0], **parts})


def test_million_cell_relations_match_definition():
    sides = ((5, 20), (10, 10), (10, 10))
    dimensions = [
        Dimension.of(n, Hierarchy.from_tree({f"{n}{i}": [f"{n}{i}.{j}" for j in range(b)] for i in range(a)}))
        for n, (a, b) in zip("xyz", sides, strict=True)
    ]
    n_codes = [1 + a + a * b for a, b in sides]
    table = Table(value=np.zeros(np.prod(n_codes)), dimensions=dimensions)
    n_groups = [1 + a for a, _ in sides]
    assert table.n_cells > 1_000_000
    assert table.relations.shape[0] == sum(
        g * table.n_cells // n for g, n in zip(n_groups, n_codes, strict=True)
    )
