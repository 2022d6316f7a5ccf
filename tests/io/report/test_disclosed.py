"""What a release discloses is drawn as a sum that a person can redo."""

from __future__ import annotations

import numpy as np
import pytest
from tests.io.report.parsed import parsed, rows_of, words
from tests.io.report.releases import evidence, unsafe

from hitoku.evidence import audit, derivable_groups
from hitoku.io import Cells
from hitoku.io.report import page
from hitoku.model import Need, Protection, Release, Table
from hitoku.rules import MinFrequency, assess

# The third column of the counts, without its unsafe cell.
COLUMN = {1: 10, 2: 22, 4: 30, 5: 15, 6: 24}


def sums_of(tree):
    """Sums that are drawn: sign, label and number of every row, by the title of the picture."""
    found = {}
    for figure in tree.one("section", id="disclosed").all("figure"):
        lines = [
            [words(part) for part in row.inside if not isinstance(part, str)] for row in figure.all("tr")
        ]
        found[words(figure.one("figcaption"))] = [(sign, label, shown) for sign, label, _, shown in lines]
    return found


def test_failed_cell_comes_with_its_arithmetic():
    """A column of 104 of which all but a 3 is published, by hand."""
    tree = parsed(page(unsafe(), title="A title"))
    ((title, lines),) = sums_of(tree).items()
    assert title == "region=3, trade=3 first; required: \N{MINUS SIGN}1 / +2"
    assert lines == [
        ("", "Total · 3", "104"),
        *(("\N{MINUS SIGN}", f"{row} · 3", str(n)) for row, n in COLUMN.items()),
        ("=", "3 · 3", "3"),
    ]
    listed = words(tree.one("section", id="disclosed").one("ul"))
    assert listed == "unsafe, and published (withhold it): region=2, trade=1"


def test_bars_of_a_sum_are_adjacent():
    """Every bar ends where the next one begins, and the last one is what is left."""
    tree = parsed(page(unsafe(), title="A title"))
    bars = [
        (float(rect.attributes["x"]), float(rect.attributes["width"]))
        for rect in tree.one("section", id="disclosed").all("rect")
    ]
    (start, total), *parts, (last, left) = bars
    assert (start, total, last) == (0.0, 520.0, 0.0)
    for place, (x, width) in enumerate(parts):
        end = sum(width for _, width in parts[: place + 1])
        assert x == pytest.approx(total - end, abs=0.5)
        assert width == pytest.approx(520 * list(COLUMN.values())[place] / 104, abs=0.1)
    assert left == pytest.approx(520 * 3 / 104, abs=0.1)


def test_suppressed_cells_at_known_bounds_are_summed():
    """Two cells of a row of 11 are withheld beside a 4: neither is above 7."""
    table = Table.from_array([[1, 6, 4], [30, 40, 50]])
    need = Need(unsafe=table.value == 1, upper=10.0)
    hidden = np.isin(table.value, [1, 6, 30, 40])
    tree = parsed(page(evidence(table, need, Protection.withhold(table, hidden, need)), title="A title"))
    (lines,) = sums_of(tree).values()
    assert lines == [
        ("", "1 · Total", "11"),
        ("\N{MINUS SIGN}", "1 · 2 withheld, lower bound", "0"),
        ("\N{MINUS SIGN}", "1 · 3", "4"),
        ("=", "1 · 1 at most", "7"),
    ]


def test_group_of_too_few_units_is_one_sum():
    """Trial S9: 2 and 1 are withheld beside 40 and 9, so everybody can tell that they are three."""
    table = Table.from_array([2, 1, 40, 9], names=["trade"])
    rules = [MinFrequency(5)]
    need = assess(table, rules, groups=False)
    protection = Protection.withhold(table, table.value < 5, need)
    found = audit(table, need, Release.of(table, protection))
    groups = derivable_groups(table, rules, found.release, own=found)
    cells = Cells(table, need, protection, found, groups=groups)
    tree = parsed(page(cells, title="A title"))
    assert rows_of(tree)["derivable groups of units"][0] == "✗ failed"
    drawn = sums_of(tree)["1 + 2 number of units"]
    minus = "\N{MINUS SIGN}"
    assert drawn == [("", "Total", "52"), (minus, "3", "40"), (minus, "4", "9"), ("=", "1 + 2", "3")]


def test_failing_cells_are_drawn_up_to_a_limit():
    table = Table.from_array(np.tile([3, 503], (60, 1)))
    hit = table.value == 3
    need = Need(unsafe=hit, lower=1.0, upper=1.0)
    tree = parsed(page(evidence(table, need, Protection.withhold(table, hit, need)), title="A title"))
    section = tree.one("section", id="disclosed")
    assert len(list(section.all("figure"))) == 3
    named = words(section.one("ul"))
    assert named.count("row=") == 50
    assert "7 more, in the list of cells and in checker/audit.csv" in named


def test_long_sums_are_shortened_and_still_add_up():
    values = np.arange(1, 31) * 10
    table = Table.from_array(values)
    need = Need(unsafe=table.value == 10, lower=1.0, upper=1.0)
    protection = Protection.withhold(table, table.value == 10, need)
    tree = parsed(page(evidence(table, need, protection), title="A title"))
    (lines,) = sums_of(tree).values()
    assert len(lines) == 11
    total, *parts, left = [int(shown.replace(",", "")) for _, _, shown in lines]
    assert (total, left) == (values.sum(), 10)
    assert total - sum(parts) == left
    assert lines[-2][1] == "21 smaller cell(s)"
