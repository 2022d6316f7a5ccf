"""Magnitude tables of a session against contributors who know their own amounts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from hitoku.attacks import Insider
from hitoku.checks import Records
from hitoku.checks.outputs import MagnitudeTable
from hitoku.checks.policies import policy
from hitoku.checks.principles import Clearance, Principle, insider_verdicts
from hitoku.checks.principles import table_principles as tables
from hitoku.coalitions import contributions_in
from hitoku.model import Protection, Release

JAPAN = policy("japan-2017")
KIND = MagnitudeTable(("region", "job"), "income")


@st.composite
def people(draw):
    """Draw a table in which some cells have one or two contributors."""
    counts = draw(st.lists(st.sampled_from([1, 2, 12, 15, 20]), min_size=12, max_size=12))
    rows = [(f"r{k // 4}", f"c{k % 4}") for k, n in enumerate(counts) for _ in range(n)]
    frame = pd.DataFrame(rows, columns=["region", "job"])
    return frame.assign(income=10.0 + draw(st.integers(0, 50)) + np.arange(len(frame)) % 13)


def judged(frame, *, against_insiders=True):
    """Return the table, its need and what is withheld, as a session decides."""
    evidence = KIND.collect(Records.open(frame))
    table = evidence.table
    counts = tables.choose_withheld(evidence.counts, tables.count_need(evidence, JAPAN))
    need = tables.magnitude_need(evidence, JAPAN, counts)
    if against_insiders:
        withheld = KIND.protect(evidence, JAPAN).withheld
    else:
        withheld = tables.choose_withheld(table, need)
    return table, need, withheld


def exposed(table, need, withheld):
    """Attack one contributor at a time with the plain attack: unsafe cells that they know too closely."""
    release = Release.of(table, Protection.withhold(table, withheld, need))
    wrong = set()
    for one in contributions_in(table):
        own = [other for other in contributions_in(table) if other.contributor == one.contributor]
        bounds = Insider(tuple(own)).bounds(release)
        mine = {other.cell for other in own if other.sole}
        lower = np.zeros(table.n_cells)
        for other in own:
            lower[other.cell] = other.amount
        # No release blurs what somebody knows without it.
        for cell in np.flatnonzero(need.unsafe & withheld):
            if cell not in mine and bounds.upper[cell] - bounds.lower[cell] < need.width[cell] * (1 - 1e-6):
                wrong.add(int(cell))
    return wrong


@settings(max_examples=4)
@given(frame=people())
def test_close_insiders_are_reported(frame):
    table, need, withheld = judged(frame)
    if withheld.all():
        return
    (found,) = insider_verdicts(table, need, withheld) or [None]
    if found is None or found.status is Clearance.REVIEW:
        return
    assert exposed(table, need, withheld) == set()


def test_unprotected_tables_are_sometimes_open_to_insiders():
    # Any will do, the smallest is not looked for.
    some = settings(phases=[Phase.generate])
    assert find(
        people(), lambda frame: bool(exposed(*judged(frame, against_insiders=False))), settings=some
    ).size


@pytest.fixture
def alone():
    """One firm is alone in a cell, in a table where two cells of a row and of a column hide each other."""
    counts = [[1, 20, 20, 20], [20, 1, 20, 20], [20, 20, 20, 20]]
    rows = [(f"r{i}", f"c{j}") for (i, j), n in np.ndenumerate(counts) for _ in range(n)]
    frame = pd.DataFrame(rows, columns=["region", "job"])
    return frame.assign(income=10.0 + np.arange(len(frame)) % 13)


def test_single_contributor_in_suppressed_cell_finds_no_other(alone):
    table, need, outside = judged(alone, against_insiders=False)
    assert exposed(table, need, outside)
    _, _, withheld = judged(alone)
    assert withheld.sum() > outside.sum()
    assert exposed(table, need, withheld) == set()


def test_judge_reports_close_insider(alone):
    table, need, outside = judged(alone, against_insiders=False)
    evidence = KIND.protect(KIND.collect(Records.open(alone)), JAPAN)
    found = [v for v in KIND.judge(evidence, JAPAN) if v.principle is Principle.INTERVAL]
    assert [v.reason for v in found] == ["proved", "insiders_kept_out"]
    lied = KIND.judge(replace(evidence, withheld=outside), JAPAN)
    (worse,) = [v for v in lied if v.reason == "open_to_insiders"]
    assert worse.status is Clearance.REVIEW
    assert worse.numbers["open"] == len(exposed(table, need, outside))
    assert worse.remedy


def test_too_many_contributors_need_review(alone, monkeypatch):
    evidence = KIND.protect(KIND.collect(Records.open(alone)), JAPAN)
    monkeypatch.setattr(tables, "MAX_INSIDERS", 2)
    assert [v.text for v in KIND.judge(evidence, JAPAN) if v.reason == "insiders_kept_out"] == [
        "sole contributors to withheld cells who know their own amounts, 2 of them: none comes too close"
    ]
    monkeypatch.setattr(tables, "MAX_INSIDERS", 1)
    (found,) = [v for v in KIND.judge(evidence, JAPAN) if v.reason == "insiders_not_tried"]
    assert found.status is Clearance.REVIEW


def test_table_without_suppression_has_no_insiders():
    counts = np.full((3, 3), 20)
    rows = [(f"r{i}", f"c{j}") for (i, j), n in np.ndenumerate(counts) for _ in range(n)]
    frame = pd.DataFrame(rows, columns=["region", "job"]).assign(income=5.0)
    evidence = KIND.protect(KIND.collect(Records.open(frame)), JAPAN)
    assert [v.reason for v in KIND.judge(evidence, JAPAN) if v.principle is Principle.INTERVAL] == ["proved"]
