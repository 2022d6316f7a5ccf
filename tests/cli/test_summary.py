from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from hitoku.cli import counts, show
from hitoku.methods.greedy import Greedy
from hitoku.methods.optimal import Optimal
from hitoku.model import Table
from hitoku.pipeline import protect_table
from hitoku.rules import MinFrequency

TABLE = Table.from_array([[15, 15, 12, 10], [19, 14, 13, 9], [8, 8, 11, 14], [9, 9, 26, 0]])


def told(method, **changes):
    outcome = protect_table(TABLE, [MinFrequency(5, zeros=True)], method=method, width=9)
    outcome = replace(outcome, protection=replace(outcome.protection, **changes))
    shown = StringIO()
    show(Console(width=200, file=shown), outcome, naive=0)
    return shown.getvalue(), counts(outcome)


@pytest.mark.parametrize(
    ("method", "changes", "words", "proven", "gap"),
    [
        pytest.param(Greedy(), {}, "by greedy", False, None, id="nothing is said of cheaper ones"),
        pytest.param(Optimal(), {}, "by optimal: no cheaper pattern is safe", True, 0.0, id="proven"),
        pytest.param(
            Optimal(),
            {"proven": False, "gap": 0.04},
            "stopped early: a pattern up to 4.0% cheaper",
            False,
            0.04,
            id="stopped",
        ),
    ],
)
def test_summary_reports_whether_search_finished(method, changes, words, proven, gap):
    text, numbers = told(method, **changes)
    line = next(line for line in text.splitlines() if "protected" in line)
    assert words in line
    assert ("stopped" in line) is bool(gap)
    assert (numbers["proven"], numbers["gap"]) == (proven, gap)


def test_search_stopped_in_tie_break_is_reported():
    text, numbers = told(Optimal(), canonical=False)
    assert "no cheaper pattern is safe; stopped before choosing among patterns of the same cost" in text
    assert (numbers["proven"], numbers["canonical"]) == (True, False)


def test_summary_counts_contain_no_cell_value():
    _, numbers = told(Optimal())
    assert numbers["withheld"] == numbers["unsafe"] + numbers["secondary"] == 4
    assert numbers["rules"] == {"min_frequency": 1}


def test_published_share_ignores_empty_cells():
    """Rows of zeros, for codes that nobody has, made a release look fuller than it was."""
    filled = Table.from_array([[20, 15], [72, 1]])
    padded = Table.from_array([[20, 15], [72, 1], [0, 0], [0, 0]])
    shares = []
    for table in (filled, padded):
        everywhere = Greedy(start=table.inner & (table.value > 0))
        outcome = protect_table(table, [MinFrequency(3)], method=everywhere, width=1)
        shares.append(counts(outcome)["published_share_of_cells"])
    assert shares[0] == shares[1] == round(5 / 9, 4)


def test_low_published_share_warns():
    shown = StringIO()
    table = Table.from_array([[20, 15], [72, 1]])
    outcome = protect_table(table, [MinFrequency(3)], method=Greedy(start=table.inner), width=1)
    show(Console(width=200, file=shown), outcome, naive=0)
    assert "WARNING: 0% of the value is published" in shown.getvalue()
    assert "✓ Safe against outsiders" in shown.getvalue()
    assert "- not considered  earlier releases" in shown.getvalue()
