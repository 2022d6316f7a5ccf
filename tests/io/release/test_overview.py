"""The overview of a publication: the headline and rows of its verdict, for all tables and for each group."""

from __future__ import annotations

import csv

import pytest
from tests.io.report.parsed import parsed, words
from tests.io.report.releases import counts, linked, unsafe

from hitoku.evidence import Outcome, combine
from hitoku.io import PublicationPlan
from hitoku.io.release import OverviewGroup, overview_page, write_publication, write_release
from hitoku.model import ATTACKERS

TOGETHER = "2 tables: sums that they share were audited, other combinations of their cells were not"


def outcome_of(cells, **given):
    return Outcome(cells.protection, cells.audit, **given)


def group(name, outcome):
    return OverviewGroup.of(name, f"../{name}", outcome, {}, {})


@pytest.fixture(scope="module")
def safe():
    return group("safe", outcome_of(counts()))


@pytest.fixture(scope="module")
def failing():
    return group("failing", outcome_of(unsafe()))


def rows_in(section):
    rows = next(iter(section.all("table"))).one("tbody").all("tr")
    return [[words(cell) for cell in row.inside if not isinstance(cell, str)] for row in rows]


def expected(verdict):
    outside = " outside the scope"
    return [
        [
            row.label + (outside if row.applies and not row.in_scope else ""),
            row.result,
            row.reason,
            row.fix if row.applies else "",
        ]
        for row in verdict.rows
    ]


def test_page_of_one_group_has_headline_and_rows(safe):
    tree = parsed(overview_page([safe], "Firms"))
    verdict = safe.outcome.verdict
    box, rows = list(tree.all("section"))[:2]
    assert words(box).startswith("? Amber")
    assert words(box).endswith(verdict.headline)
    assert rows_in(rows) == expected(verdict)


def test_page_of_groups_shows_worst_result_first(safe, failing):
    tree = parsed(overview_page([safe, failing], "Firms"))
    together = combine({"safe": safe.outcome.verdict, "failing": failing.outcome.verdict})
    box, rows = list(tree.all("section"))[:2]
    assert words(box).startswith("✗ Red")
    assert words(box).endswith(together.headline)
    assert rows_in(rows) == expected(together)
    for details, each in zip(tree.all("details"), (safe, failing), strict=True):
        assert each.outcome.verdict.headline in words(details)
        assert rows_in(details) == expected(each.outcome.verdict)


def test_jointly_unproved_tables_are_not_called_proved():
    verdict = outcome_of(linked(), tables=TOGETHER).verdict
    tree = parsed(overview_page([group("all", outcome_of(linked(), tables=TOGETHER))], "Firms"))
    page, (box, *_) = words(tree), tree.all("section")
    assert "with a proof" not in words(box)
    assert "? not decided" in page
    assert TOGETHER in page
    assert verdict["tables"].in_scope


def test_csv_has_a_column_for_every_attacker(safe, failing, tmp_path):
    write_publication(tmp_path / "checker", [safe, failing], "Firms")
    with (tmp_path / "checker" / "overview.csv").open(encoding="utf-8", newline="") as file:
        lines = {line["table"]: line for line in csv.DictReader(file)}
    for each in (safe, failing):
        verdict, line = each.outcome.verdict, lines[each.name]
        assert (line["verdict"], line["colour"]) == (verdict.headline, str(verdict.colour))
        for attacker in ATTACKERS:
            row = verdict[attacker]
            assert line[attacker] == (str(row.status) if row.applies else "")


def test_notices_have_the_headline_and_rows(safe, failing, tmp_path):
    write_publication(tmp_path / "checker", [safe, failing], "Firms")
    together = combine({"safe": safe.outcome.verdict, "failing": failing.outcome.verdict})
    notice = (tmp_path / "checker" / "README.txt").read_text("utf-8")
    assert f"Verdict: {together.headline}\n" in notice
    assert all(f"{line}\n" in notice for line in together.lines)
    folder = write_release(tmp_path / "release", safe.outcome, PublicationPlan(title="Firms"))
    notice = (folder / "checker" / "README.txt").read_text("utf-8")
    assert f"Verdict: {safe.outcome.verdict.headline}\n" in notice
    assert all(line in notice for line in safe.outcome.verdict.lines)
    assert not (folder / "NOT_SAFE.txt").exists()


def test_rejected_release_says_so_at_the_top(failing, tmp_path):
    folder = write_release(tmp_path / "release", failing.outcome, PublicationPlan(title="Firms"))
    notice = (folder / "NOT_SAFE.txt").read_text("utf-8")
    assert notice.startswith("NOT SAFE. ")
    assert failing.outcome.verdict.headline in notice
    assert all(line in notice for line in failing.outcome.verdict.lines)
