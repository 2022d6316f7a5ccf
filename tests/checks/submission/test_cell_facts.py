"""The share of a cell in its lines: one number for rule, check report and review application."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hitoku.checks.session import Session
from hitoku.checks.submission import cell_facts, recheck
from hitoku.model import Hierarchy
from hitoku.review import draw
from hitoku.rules import GroupDisclosure


def several_records_each() -> pd.DataFrame:
    """Return 40 people of N, half of them in a with nine records each, and 80 people of S with one."""
    n_records = np.r_[np.full(20, 9), np.ones(100, dtype=int)]
    people = pd.DataFrame(
        {
            "id": range(120),
            "region": ["N"] * 40 + ["S"] * 80,
            "job": ["a"] * 20 + ["b"] * 20 + ["a", "b"] * 40,
        }
    )
    return people.loc[people.index.repeat(n_records)]


def shares(work, folder) -> tuple[dict[tuple[str, ...], float | None], list[float | None]]:
    """Return the shares that the check report and the review application show for the only output."""
    (each,) = recheck(work.submit(folder)).outputs
    _, facts = cell_facts(each.output, work.policy)
    return {one.codes: one.line_share for one in facts}, draw(each, work.policy)["cells"]["shared"]


def test_shares_are_of_units_in_report_and_review_application_as_in_the_rule(tmp_path):
    work = Session("shares", several_records_each(), unit="id")
    output = work.frequency_table(["region", "job"])
    reported, reviewed = shares(work, tmp_path / "s")
    # 20 of 40 people of N; by records it would be 180 of 200.
    assert reported["N", "a"] == 0.5
    # Column b: 40 of 60 people are in S. All: 80 of 120 are in S.
    assert np.isclose(reported["S", "b"], 2 / 3)
    assert np.isclose(reported["S", "all"], 2 / 3)
    assert reported["all", "all"] is None
    assert reviewed == list(reported.values())
    first = list(reported).index(("N", "a"))
    for share, unsafe in ((0.5, False), (0.49, True)):
        assert GroupDisclosure(share).assess(output.evidence.counts).unsafe[first] == unsafe


def test_shares_of_a_code_are_those_of_its_group_as_in_the_rule(tmp_path):
    """19 of 20 people of the group North are in n1, which are 19 of 60 people in all."""
    people = pd.DataFrame({"region": ["n1"] * 19 + ["n2"] + ["s1"] * 20 + ["s2"] * 20})
    tree = Hierarchy.from_tree({"North": ["n1", "n2"], "South": ["s1", "s2"]})
    work = Session("groups", people)
    work.frequency_table("region", hierarchies={"region": tree})
    reported, reviewed = shares(work, tmp_path / "s")
    assert reported["n1",] == 0.95
    assert reviewed == list(reported.values())


def test_shares_of_a_panel_are_those_within_a_period(tmp_path):
    """In 2024 and 2025 the same 40 people are there, 30 of them in a."""
    people = pd.DataFrame({"id": range(40), "job": ["a"] * 30 + ["b"] * 10})
    panel = pd.concat([people.assign(year="2024"), people.assign(year="2025")])
    work = Session("panel", panel, unit="id", period="year")
    work.frequency_table(["year", "job"])
    reported, reviewed = shares(work, tmp_path / "s")
    # In the total of a over both years, 30 of 30 people are those of 2024: the rule does not judge that.
    assert reported["2024", "a"] == 0.75
    assert reviewed == list(reported.values())
