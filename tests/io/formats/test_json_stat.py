"""JSON-stat 2.0, read back with nothing but the rules of the format: row-major values, sizes, categories."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from hitoku.io import Publication
from hitoku.io.formats import write_json_stat
from hitoku.model import Dimension, Hierarchy, Protection, Release, Table


def told(tmp_path, table, hidden, **words):
    release = Release.of(table, Protection.withhold(table, hidden))
    write_json_stat(tmp_path / "table.json", Publication(release=release, **words))
    return json.loads((tmp_path / "table.json").read_text("utf-8"))


def cells(data):
    """Value and status by codes, as a reader of the format finds them."""
    categories = [data["dimension"][name]["category"]["index"] for name in data["id"]]
    assert data["size"] == [len(codes) for codes in categories]
    found = {}
    for place, codes in enumerate(itertools.product(*categories)):
        values, statuses = data["value"], data["status"]
        inside = place < len(values) if isinstance(values, list) else str(place) in values
        if inside:
            value = values[place] if isinstance(values, list) else values[str(place)]
            found[codes] = (value, statuses.get(str(place)))
    return found


def test_json_stat_finds_cell_by_codes(tmp_path):
    table = Table.from_array(np.arange(1, 13).reshape(2, 3, 2), names=["a", "b", "c"], measure="persons")
    data = told(tmp_path, table, table.value == 7, title="Persons", source="Census", footnotes=("At night.",))
    assert (data["version"], data["class"], data["label"]) == ("2.0", "dataset", "Persons")
    assert data["source"] == "Census"
    assert data["note"][-1] == "At night."
    expected = {
        table.labels.codes_of(cell): (None, "c") if value == 7 else (value, None)
        for cell, value in enumerate(table.value)
    }
    assert cells(data) == expected
    assert set(data["extension"]["status"]["label"]) >= {"c"}


def test_hierarchies_are_written_as_children(tmp_path):
    region = Hierarchy.from_tree({"North": ["N1", "N2"], "South": ["S1", "S2"]})
    coast = Hierarchy.from_tree({"Coast": ["N1", "S1"], "Inland": ["N2", "S2"]})
    both = Dimension("region", (region, coast))
    table = Table(value=both.closure @ np.array([1.5, 2, 3, 4]), dimensions=(both,))
    category = told(tmp_path, table, table.value < 0)["dimension"]["region"]["category"]
    assert category["index"] == list(both.codes)
    assert category["child"] == {
        "North": ["N1", "N2"],
        "South": ["S1", "S2"],
        "Coast": ["N1", "S1"],
        "Inland": ["N2", "S2"],
        "Total": ["North", "South", "Coast", "Inland"],
    }


def test_linked_tables_list_only_existing_cells(tmp_path):
    codes = [["N", "S"], ["1", "2"], ["p", "q"]]
    one = Table.from_array([[1, 2], [3, 4]], names=["region", "size"], codes=codes[:2], measure="n")
    two = Table.from_array([[2, 2], [1, 5]], names=["size", "trade"], codes=codes[1:], measure="n")
    two = Table.from_array([[1, 3], [2, 4]], names=["size", "trade"], codes=codes[1:], measure="n")
    whole = Table.link([one, two])
    data = told(tmp_path, whole, whole.value == 2)
    expected = {
        whole.labels.codes_of(cell): (None, "c") if value == 2 else (value, None)
        for cell, value in enumerate(whole.value)
    }
    assert cells(data) == expected
    assert len(expected) < np.prod(data["size"])


def test_adjusted_values_are_announced(tmp_path):
    table = Table.from_array([[20, 15], [72, 1]])
    data = told(tmp_path, table, table.value < 0, adjusted=True)
    assert {status for _, status in cells(data).values()} == {"e"}
    assert any("adjusted for confidentiality" in note for note in data["note"])


@pytest.mark.parametrize(
    ("hidden", "adjusted", "used"), [(True, False, {"c"}), (False, True, {"e"}), (False, False, set())]
)
def test_json_stat_explains_only_used_statuses(tmp_path, hidden, adjusted, used):
    table = Table.from_array([[20, 15], [72, 1]])
    data = told(tmp_path, table, table.inner & hidden, adjusted=adjusted)
    assert data["extension"]["status"]["label"].keys() == used


@pytest.mark.parametrize(("value", "text"), [(3.0, "3"), (0.1 + 0.2, "0.3"), (2.0**60, str(float(2**60)))])
def test_numbers_round_trip(tmp_path, value, text):
    table = Table.from_array(np.array([value, value]), integer=False)
    data = told(tmp_path, table, table.value < 0)
    assert data["value"][0] == float(text)
    assert json.dumps(data["value"][0]) == text
