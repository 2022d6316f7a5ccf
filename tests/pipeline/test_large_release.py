"""A release of a table so large that intervals are not worked out: written, proved, and honest about it."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import hitoku as ht
from hitoku.attacks import Interval
from hitoku.errors import ParameterError
from hitoku.pipeline import protect_table


@pytest.fixture(scope="module")
def table():
    counts = np.random.default_rng(3).poisson(4, (4, 4, 4)) + 1
    return ht.Table.from_array(counts)


def test_large_release_omits_intervals_but_not_proof(table, monkeypatch, tmp_path):
    monkeypatch.setattr("hitoku.evidence.outcome.LARGEST_GROUP", 3)
    outcome = protect_table(table, [ht.MinFrequency(3)], method=ht.Circulation(), width=3)
    withheld = outcome.protection.withheld
    assert outcome.audit.safe
    assert outcome.bounds.unknown[withheld].all()
    folder = outcome.write(tmp_path / "release")
    assert ht.verify(folder).ok
    with (folder / "checker" / "intervals.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == withheld.sum()
    assert {(row["low"], row["high"], row["width"]) for row in rows} == {("", "", "")}
    with (folder / "checker" / "audit.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            # What witnesses show, so it meets what was required.
            assert float(row["high"]) - float(row["low"]) >= 3
    report = (folder / "checker" / "report.html").read_text("utf-8")
    assert f"the intervals of {withheld.sum():,} cell(s) were not computed" in report


def test_groups_within_limit_are_solved(table):
    need = ht.assess(table, [ht.MinFrequency(3)], width=3)
    release = ht.Release.of(table, ht.Circulation().protect(table, need))
    n = int(release.withheld.sum())
    full, limited = Interval().bounds(release), Interval(most_cells=n).bounds(release)
    assert np.array_equal(full.lower, limited.lower)
    assert not limited.unknown.any()
    outer = Interval(most_cells=1).bounds(release)
    # What is left out holds nothing but what single relations imply, and that contains the interval.
    assert np.all(outer.lower <= full.lower + 1e-9)
    assert np.all(outer.upper >= full.upper - 1e-9)
    with pytest.raises(ParameterError, match="most_cells"):
        Interval(most_cells=0)
