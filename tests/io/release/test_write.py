"""A release on disk: two folders, complete or absent, the public one without anything confidential."""

from __future__ import annotations

import csv
import hashlib
import json

import numpy as np
import pandas as pd
import pytest
from tests.oracles.forgeries import reseal

from hitoku.attacks import Interval
from hitoku.errors import DataError, OutputError
from hitoku.evidence import Outcome, audit
from hitoku.evidence.verify import verify
from hitoku.io import PublicationPlan
from hitoku.io.release import read_cells, read_release, write_release
from hitoku.methods.greedy import Greedy
from hitoku.model import Hierarchy, Need, Protection, Release, Table
from hitoku.rules import FewContributors, MinFrequency, PPercent, assess
from hitoku.tabulation import tabulate

RULES = [PPercent(10), FewContributors(3)]


@pytest.fixture(scope="module")
def decided():
    """A magnitude table with decimals, holdings and a protected pattern."""
    rng = np.random.default_rng(7)
    n = 400
    records = pd.DataFrame(
        {
            "region": rng.choice(list("ABCDE"), n),
            "trade": rng.choice(list("pqrs"), n, p=[0.5, 0.3, 0.15, 0.05]),
            "owner": rng.integers(0, 250, n),
            "turnover": np.round(rng.lognormal(5, 1.5, n), 2) + 1000.0,
        }
    )
    table = tabulate(records, ["region", "trade"], value="turnover", holding="owner")
    need = assess(table, RULES)
    protection = Greedy().protect(table, need)
    assert need.unsafe.any()
    assert protection.secondary.any()
    return table, need, protection, audit(table, need, Release.of(table, protection))


def test_intervals_are_written_with_attained_ends(decided, tmp_path):
    """As suppressFT does (Kikuchi and Minami, section 4.3), for secondary cells, too."""
    table, _, protection, _ = decided
    folder = write_release(tmp_path / "out", Outcome(*decided[2:]))
    bounds = Interval().bounds(Release.of(table, protection))
    written = pd.read_csv(folder / "checker" / "intervals.csv")
    np.testing.assert_array_equal(written["low"], bounds.lower[protection.withheld])
    np.testing.assert_array_equal(written["high"], bounds.upper[protection.withheld])
    assert (written["decision"] == "secondary").sum() == protection.secondary.sum()
    cells = pd.read_csv(folder / "checker" / "cells.csv")
    np.testing.assert_array_equal(cells["second"], table.contributors.largest[:, 1])


def test_written_release_is_complete_and_verifies(decided, tmp_path):
    folder = write_release(
        tmp_path / "out",
        Outcome(*decided[2:]),
        PublicationPlan(title="Turnover", recipe={"rules": "p_percent"}),
    )
    names = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    assert names == [
        "checker/README.txt",
        "checker/audit.csv",
        "checker/cells.csv",
        "checker/certificate.json.gz",
        "checker/hierarchies.json",
        "checker/intervals.csv",
        "checker/report.html",
        "checker/steps.csv",
        "checker/summary.json",
        "checker/table.jj.gz",
        "public/table.csv",
        "public/table.html",
        "public/table.xlsx",
    ]
    assert verify(folder).ok
    summary = json.loads((folder / "checker" / "summary.json").read_text())
    assert summary["safe"] is True
    assert summary["recipe"] == {"rules": "p_percent"}
    assert len(pd.read_csv(folder / "checker" / "audit.csv")) == decided[1].unsafe.sum()


def formulas_in(folder):
    """Return the entries of all CSV files of a folder that a spreadsheet would run."""
    found = {}
    for path in sorted(folder.rglob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            entries = [entry for row in csv.reader(file) for entry in row]
        hit = [entry for entry in entries if entry[:1] in {"=", "@"} or entry[:2] in {"+c", "-c"}]
        found |= {path.name: hit} if hit else {}
    return found


def test_release_files_contain_no_spreadsheet_formula(tmp_path):
    counts = [[20, 3, 50], [30, 40, 9], [2, 60, 70]]
    regions, jobs = ["=1+1", "+cmd|' /C calc'!A0", "'=quoted"], ["@SUM(1)", "-cmd", "plain"]
    table = Table.from_array(counts, names=["=region", "@job"], codes=[regions, jobs])
    need = assess(table, [MinFrequency(4)])
    protection = Greedy(record="full").protect(table, need)
    checked = audit(table, need, Release.of(table, protection))
    assert protection.secondary.any()
    folder = write_release(tmp_path / "out", Outcome(protection, checked))
    names = {path.name for path in (folder / "checker").glob("*.csv")}
    assert {"cells.csv", "intervals.csv", "audit.csv", "steps.csv"} <= names
    assert formulas_in(folder) == {}
    # Programs read the codes as they are.
    read, _, release = read_release(folder)
    assert release.labels.names == ("=region", "@job")
    assert release.labels.codes[0][:3] == tuple(regions)
    assert read.dimensions
    assert read_cells(folder, release.labels)["decision"].count("published") == (~protection.withheld).sum()
    assert verify(folder).ok


def test_spreadsheet_formula_is_detected(tmp_path):
    (tmp_path / "a.csv").write_text("code,n\n=1+1,3\n", encoding="utf-8")
    assert formulas_in(tmp_path) == {"a.csv": ["=1+1"]}


def test_public_files_contain_no_suppressed_value(decided, tmp_path):
    table, _, protection, _ = decided
    folder = write_release(tmp_path / "out", Outcome(*decided[2:]))
    text = "".join((folder / "public" / name).read_text() for name in ("table.csv", "table.html"))
    for value in table.value[protection.withheld]:
        for written in (f"{value:.2f}", f"{value:,.2f}", repr(float(value))):
            assert written not in text
    for word in ("primary", "secondary", "p_percent", "few_contributors"):
        assert word not in text


def test_same_release_gives_same_files(decided, tmp_path):
    one, two = (write_release(tmp_path / name, Outcome(*decided[2:])) for name in ("one", "two"))
    for path in sorted(one.rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (two / path.relative_to(one)).read_bytes(), path.name


def test_folder_read_back_is_audited(decided, tmp_path):
    table, need, protection, _ = decided
    folder = write_release(tmp_path / "out", Outcome(*decided[2:]))
    again, levels, release = read_release(folder)
    assert np.allclose(again.value, table.value, rtol=1e-12)
    assert np.array_equal(levels.unsafe, need.unsafe)
    assert np.array_equal(release.withheld, protection.withheld)
    assert audit(again, levels, release).safe


def test_flat_variables_round_trip(decided, tmp_path):
    table = decided[0]
    again, _, release = read_release(write_release(tmp_path / "out", Outcome(*decided[2:])))
    assert [d.codes for d in again.dimensions] == [d.codes for d in table.dimensions]
    assert again.dimensions == release.dimensions
    assert again.describe(3) == table.describe(3)


def test_public_file_hashes_are_stored(decided, tmp_path):
    folder = write_release(
        tmp_path / "out", Outcome(*decided[2:]), PublicationPlan(formats=["parquet", "json-stat"])
    )
    kept = json.loads((folder / "checker" / "summary.json").read_text())["sha256"]
    files = {f"public/{file.name}": file for file in (folder / "public").iterdir()}
    assert sorted(files) == ["public/table.csv", "public/table.json", "public/table.parquet"]
    assert kept == {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items()}


def test_large_table_gets_workbook_only_on_request(decided, tmp_path, monkeypatch):
    monkeypatch.setattr("hitoku.io.formats.xlsx.COMFORTABLE_CELLS", 29)
    folder = write_release(tmp_path / "out", Outcome(*decided[2:]))
    assert sorted(file.name for file in (folder / "public").iterdir()) == ["table.csv", "table.html"]
    summary = json.loads((folder / "checker" / "summary.json").read_text())
    assert list(summary["not_written"]) == ["table.xlsx"]
    assert "table.xlsx was not written" in (folder / "checker" / "README.txt").read_text()
    asked = write_release(tmp_path / "asked", Outcome(*decided[2:]), PublicationPlan(formats=["xlsx"]))
    assert (asked / "public" / "table.xlsx").is_file()


def test_missing_hierarchy_file_raises_on_reading(tmp_path):
    tree = Hierarchy.from_tree({"North": ["N1", "N2"], "South": ["S1", "S2"]})
    cells = pd.DataFrame({"region": ["N1", "N2", "S1", "S2"], "n": [12, 30, 8, 1]})
    table = Table.from_frame(cells, ["region"], "n", hierarchies={"region": tree})
    need = Need(unsafe=table.value == 1, width=1.0)
    protection = Greedy().protect(table, need)
    found = audit(table, need, Release.of(table, protection))
    folder = write_release(tmp_path / "out", Outcome(protection, found))
    again, _, release = read_release(folder)
    assert again.dimensions == release.dimensions
    assert again.dimensions[0].codes == table.dimensions[0].codes
    assert again.dimensions[0].groups == table.dimensions[0].groups
    (folder / "checker" / "hierarchies.json").unlink()
    again, _, release = read_release(folder)
    assert again.dimensions == release.dimensions == ()
    assert again.describe(3) == "region=S2"


def test_cell_published_by_hand_is_found(decided, tmp_path):
    table, need, _, _ = decided
    folder = write_release(tmp_path / "out", Outcome(*decided[2:]))
    public = folder / "public" / "table.csv"
    with public.open(newline="") as file:
        rows = list(csv.reader(file))
    place = int(np.flatnonzero(need.unsafe)[0])
    rows[place + 1][2:] = [f"{table.value[place]:.2f}", "published"]
    with public.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    verdict = verify(folder)
    assert not verdict.ok
    assert "public/table.csv: not the file that was certified" in verdict.reason
    reseal(folder)
    assert "shown although it is withheld" in verify(folder).reason
    found = audit(*read_release(folder))
    assert not found.safe
    assert found.summary["published"] == 1


def test_unsafe_release_has_no_certificate(decided, tmp_path):
    table, need, _, _ = decided
    blank = Protection.withhold(table, need.unsafe, need)
    found = audit(table, need, Release.of(table, blank))
    folder = write_release(tmp_path / "out", Outcome(blank, found))
    assert not (folder / "checker" / "certificate.json.gz").exists()
    assert json.loads((folder / "checker" / "summary.json").read_text())["safe"] is False


def test_existing_output_folder_raises(decided, tmp_path):
    (tmp_path / "old.txt").write_text("old")
    with pytest.raises(OutputError, match="is not empty"):
        write_release(tmp_path, Outcome(*decided[2:]))


@pytest.mark.parametrize("lost", ["checker/table.jj.gz", "checker/summary.json", "public/table.csv"])
def test_incomplete_release_folder_raises(decided, tmp_path, lost):
    folder = write_release(tmp_path / "out", Outcome(*decided[2:]))
    (folder / lost).unlink()
    with pytest.raises(DataError, match="not a whole release folder"):
        read_release(folder)


def test_evidence_with_clashing_variable_name_round_trips(tmp_path):
    table = Table.from_array([[20, 15], [72, 1]], names=["decision", "value"], codes=[["N", "S"], ["f", "m"]])
    need = assess(table, [MinFrequency(3)], width=3)
    protection = Greedy().protect(table, need)
    release = Release.of(table, protection)
    write_release(tmp_path / "release", Outcome(protection, audit(table, need, release)))
    cells = read_cells(tmp_path / "release", table.labels)
    assert [text in {"primary", "secondary"} for text in cells["decision"]] == protection.withheld.tolist()
    assert [float(text) for text in cells["value"]] == table.value.tolist()
