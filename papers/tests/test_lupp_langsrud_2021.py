"""Lupp and Langsrud (2021) computed again: what is printed, what the attack says, R's own answers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hitoku.attacks import Group, derivable_cells
from hitoku.model import Protection, Release
from hitoku.rules import DirectDisclosure
from hitoku_papers.lupp_langsrud_2021 import page, results
from hitoku_papers.lupp_langsrud_2021.published import (
    DISCLOSIVE,
    FIGURE_1,
    GROUPS,
    INJURIES,
    TABLE_1,
    TABLE_2,
    TOTALS,
)
from hitoku_papers.lupp_langsrud_2021.results import cells, coalitions, future_work, table_of
from hitoku_papers.page import markdown
from hitoku_papers.reproduction import failing


@pytest.fixture(scope="module")
def found():
    return results()


def test_everything_printed_comes_out_as_printed(found):
    assert failing(found) == ()
    assert {line.place.split(",")[0] for line in found} == {
        *("Table 1", "Table 2", "Figure 1"),
        *(f"section {number}" for number in ("2.1", "2.2", "2.3", "2.4", "4")),
    }


def test_typed_numbers_are_consistent():
    assert tuple(map(sum, TABLE_1)) == TOTALS
    for rows in (TABLE_2, *(drawn for drawn, _ in FIGURE_1.values())):
        assert all(len(row) == len(INJURIES) + 1 for row in rows)
    for group, injury, n in DISCLOSIVE[3]:
        assert TABLE_1[GROUPS.index(group)][INJURIES.index(injury)] == n


@pytest.mark.parametrize("k", [0, 1, 2, 3, 4])
def test_disclosive_cells_are_those_of_the_definition(k):
    """freq(p) - k <= freq(c) by hand, for cells with somebody in them."""
    expected = [
        (group, injury, n)
        for group, row in zip(GROUPS, TABLE_1, strict=True)
        for injury, n in zip(INJURIES, row, strict=True)
        if n > 0 and sum(row) - k <= n
    ]
    assert list(cells(table_of(), DirectDisclosure(k=k, sensitive="injury"))) == expected


def test_no_published_group_is_determined():
    for grid in (coalitions(), future_work()):
        for row in grid.rows:
            assert row[-2:] == (0, "safe"), row
            assert row[-3] > 0  # the table as it is gives somebody away


def test_table_2_with_group_totals_discloses_a_cell():
    """What the page says about the way it was read."""
    table = table_of()
    drawn = [mark != "." for row in TABLE_2 for mark in row]
    release = Release.of(table, Protection.withhold(table, np.append(drawn, [False] * 5)))
    known = np.flatnonzero(derivable_cells(release) & release.withheld)
    assert ("Oslo Car Passenger", "Light") in [table.labels.codes_of(int(cell)) for cell in known]


def test_page_shows_both_columns(found):
    text = markdown(page(found))
    assert text.count("s.p.. .sp.. s.p.. ..... .....") == 2
    assert "k = 3" in text


@pytest.mark.shared
@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_r_package_publishes_the_same_table_1(shared, k):
    """It marks the same cells. With totals over groups, some group stays pinned in what it publishes."""
    case = json.loads(
        (shared / "oracles" / "gausssuppression" / f"paper_t1_direct_k{k}" / "case.json").read_text("utf-8")
    )
    table = table_of()
    place = {table.labels.codes_of(cell): cell for cell in range(table.n_cells)}
    primary, withheld = np.zeros(table.n_cells, dtype=bool), np.zeros(table.n_cells, dtype=bool)
    for cell in case["cells"]:
        where = place[cell["group"].replace("_", " "), cell["injury"]]
        assert table.value[where] == cell["freq"]
        primary[where], withheld[where] = cell["primary"], cell["suppressed"]
    assert np.array_equal(DirectDisclosure(k=k, sensitive="injury").assess(table).unsafe, primary)
    release = Release.of(table, Protection.withhold(table, withheld))
    assert Group(k=k, sensitive="injury").find(release)
