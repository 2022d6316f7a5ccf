"""One description of the cells of an output, for the check report and the review application."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hitoku.checks.session import Session
from hitoku.checks.submission import recheck
from hitoku.io import OutputCells, page
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
    found = OutputCells.of(each.output, work.policy)
    reported = dict(zip(found.codes, found.line_share, strict=True))
    return reported, draw(each, work.policy)["cells"]["shared"]


def test_shares_of_units_match_the_rule(tmp_path):
    work = Session("shares", several_records_each(), unit="id")
    output = work.frequency_table(["region", "job"])
    reported, reviewed = shares(work, tmp_path / "s")
    # 20 of 40 people of N; by records it would be 180 of 200.
    assert reported["N", "a"] == 0.5
    # Column b: 40 of 60 people are in S. All: 80 of 120 are in S.
    assert np.isclose(reported["S", "b"], 2 / 3)
    assert np.isclose(reported["S", "Total"], 2 / 3)
    assert reported["Total", "Total"] is None
    assert reviewed == list(reported.values())
    first = list(reported).index(("N", "a"))
    for share, unsafe in ((0.5, False), (0.49, True)):
        assert GroupDisclosure(share).assess(output.evidence.counts).unsafe[first] == unsafe


def test_code_shares_are_relative_to_its_group(tmp_path):
    """19 of 20 people of the group North are in n1, which are 19 of 60 people in all."""
    people = pd.DataFrame({"region": ["n1"] * 19 + ["n2"] + ["s1"] * 20 + ["s2"] * 20})
    tree = Hierarchy.from_tree({"North": ["n1", "n2"], "South": ["s1", "s2"]})
    work = Session("groups", people)
    work.frequency_table("region", hierarchies={"region": tree})
    reported, reviewed = shares(work, tmp_path / "s")
    assert reported["n1",] == 0.95
    assert reviewed == list(reported.values())


def test_panel_shares_are_within_a_period(tmp_path):
    """In 2024 and 2025 the same 40 people are there, 30 of them in a."""
    people = pd.DataFrame({"id": range(40), "job": ["a"] * 30 + ["b"] * 10})
    panel = pd.concat([people.assign(year="2024"), people.assign(year="2025")])
    work = Session("panel", panel, unit="id", period="year")
    work.frequency_table(["year", "job"])
    reported, reviewed = shares(work, tmp_path / "s")
    # In the total of a over both years, 30 of 30 people are those of 2024: the rule does not judge that.
    assert reported["2024", "a"] == 0.75
    assert reviewed == list(reported.values())


def test_cells_without_totals_have_their_position(tmp_path):
    people = pd.DataFrame(
        {"region": ["N"] * 60 + ["S"] * 80, "job": ["a", "b"] * 30 + ["a", "a", "b", "c"] * 20}
    )
    work = Session("crosstab", people)
    work.crosstab(people.region, people.job)
    (each,) = recheck(work.submit(tmp_path / "s")).outputs
    view = draw(each, work.policy)
    [section], cells = view["grid"], view["cells"]
    # The codes of row and column are those of the cell, and its number is the one that leaves.
    published = each.output.published
    codes_of_rows = zip(published["region"], published["job"], strict=True)
    leaves = dict(zip(codes_of_rows, published["count"], strict=True))
    assert [column["code"] for column in section["columns"]] == ["a", "b", "c"]
    for row in section["rows"]:
        for column, cell in zip(section["columns"], row["cells"], strict=True):
            codes = row["heads"][0]["code"], column["code"]
            assert cells["label"][cell] == "region={}, job={}".format(*codes)
            shown = cells["shown"][cell]
            assert (None if shown is None else int(shown)) == leaves[codes]
            # A decision that names a withheld cell names it by its own codes.
            expected = {"region": codes[0], "job": codes[1]} if leaves[codes] is None else None
            assert view["withheld"].get(str(cell)) == expected
    assert any(count is None for count in leaves.values())
    assert "Output to release" in page(recheck(tmp_path / "s"))


def test_variable_named_value_keeps_its_codes(tmp_path):
    people = pd.DataFrame({"value": ["N"] * 60 + ["S"] * 80})
    work = Session("names", people)
    work.frequency_table("value")
    (each,) = recheck(work.submit(tmp_path / "s")).outputs
    columns = OutputCells.of(each.output, work.policy).columns()
    assert columns["value"] == ["N", "S", "Total"]
    assert columns["value_"] == [60, 80, 140]


def test_merged_curve_steps_are_listed_as_released(tmp_path):
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"t": rng.integers(1, 60, 400), "e": rng.integers(0, 2, 400)})
    work = Session("curve", people)
    work.survival("t", "e")
    (each,) = recheck(work.submit(tmp_path / "s")).outputs
    published = each.output.published
    assert len(published["t"]) < each.output.evidence.n_parts
    view = draw(each, work.policy)
    assert OutputCells.of(each.output, work.policy) is None
    assert [row["cells"] for row in view["grid"][0]["rows"]][1] == [2, 3]
    assert view["cells"]["shown"][::2] == [f"{t:,.0f}" for t in published["t"]]
