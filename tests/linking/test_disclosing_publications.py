"""Publications whose tables are harmless one by one and disclose a few records together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest

from hitoku.evidence.verify import verify
from hitoku.io.release import read_release
from hitoku.linking import atoms
from hitoku.model import Status
from hitoku.pipeline import audit_together, judge_together, run_recipe

ATTENTION = 3


def people(*groups: tuple[tuple[str, ...], int], names: str) -> pd.DataFrame:
    return pd.DataFrame([codes for codes, n in groups for _ in range(n)], columns=names.split())


FILTER_INSIDE_A_CELL = people(
    (("F", "yes", "N"), 9),
    (("F", "yes", "S"), 9),
    (("F", "no", "N"), 1),
    (("F", "no", "S"), 1),
    (("M", "yes", "N"), 20),
    (("M", "no", "S"), 20),
    names="sex works region",
)
CELL_INSIDE_A_FILTER = people(
    (("F", "yes", "N"), 14),
    (("F", "no", "N"), 14),
    (("F", "yes", "S"), 1),
    (("F", "no", "S"), 1),
    (("M", "yes", "N"), 20),
    (("M", "no", "S"), 20),
    names="sex works region",
)
# 19 people of up to 20 years, 18 of up to 18 years: one is 19 or 20.
SHIFTED_BANDS = people(
    (("0-18", "0-20"), 18),
    (("19-25", "0-20"), 1),
    (("19-25", "21-25"), 18),
    (("26-30", "26-30"), 20),
    names="band other",
)
# Counties A and B are the same towns as zones X and Y.
TWO_GEOGRAPHIES = people(
    (("t1", "A", "X"), 1),
    (("t2", "A", "Y"), 1),
    (("t3", "B", "X"), 40),
    (("t4", "B", "Y"), 50),
    (("t5", "C", "Z"), 5),
    (("t6", "C", "W"), 6),
    (("t7", "D", "Z"), 40),
    (("t8", "D", "W"), 30),
    names="town county zone",
)
FIRMS = pd.DataFrame(
    [("A1", "A", 50)] + [("A3", "A", 100)] * 9 + [("B1", "B", 10)] * 6 + [("B2", "B", 100)] * 7,
    columns=["town", "county", "turnover"],
).assign(firm=lambda frame: np.arange(len(frame)))

# Records, keys of the recipe, its tables, and sets of cells with signs whose sum must not be known:
# (table, codes, sign). Without protection the sum is that of one or two people.
COUNTS = 'rules = ["min_frequency:n=5"]\nwidth = 5'
CASES = {
    "a filter inside a cell": (
        FILTER_INSIDE_A_CELL,
        COUNTS,
        {"a": 'by = ["sex"]', "b": 'by = ["region"]\nwhere = {sex = ["F"], works = ["yes"]}'},
        [("a", "F", 1), ("b", "Total", -1)],
    ),
    "a cell inside a filter": (
        CELL_INSIDE_A_FILTER,
        COUNTS,
        {"a": 'by = ["sex"]\nwhere = {region = ["N"]}', "b": 'by = ["works"]\nwhere = {sex = ["F"]}'},
        [("b", "Total", 1), ("a", "F", -1)],
    ),
    "shifted bands": (
        SHIFTED_BANDS,
        COUNTS,
        {"a": 'by = ["band"]', "b": 'by = ["other"]'},
        [("b", "0-20", 1), ("a", "0-18", -1)],
    ),
    "two geographies": (
        TWO_GEOGRAPHIES,
        'rules = ["min_frequency:n=3"]\nwidth = 3',
        {"a": 'by = ["county"]', "b": 'by = ["zone"]'},
        [("b", "X", 1), ("b", "Y", 1), ("a", "B", -1)],
    ),
    "an option of one table": (
        FIRMS,
        'value = "turnover"\nunit = "firm"\nrules = ["few_contributors:n=3"]',
        {"a": 'by = ["town"]', "b": 'by = ["county"]\ntop = 4'},
        [("b", "A", 1), ("a", "A3", -1)],
    ),
}


def recipe_of(folder, records: pd.DataFrame, keys: str, tables: Mapping[str, str]):
    records.to_csv(folder / "people.csv", index=False)
    listed = "".join(f'[[tables]]\nname = "{name}"\n{said}\n' for name, said in tables.items())
    path = folder / "recipe.toml"
    path.write_text(f'data = "people.csv"\n{keys}\n{listed}')
    return path


@pytest.mark.parametrize("name", CASES)
def test_joint_disclosure_is_protected_and_reported(name, tmp_path):
    records, keys, tables, disclosing = CASES[name]
    run = run_recipe(recipe_of(tmp_path, records, keys, tables), tmp_path / "release")
    row = run.verdict["tables"]
    assert row.status in {Status.PROVED, Status.PASSED}, row
    assert row.in_scope
    assert verify(tmp_path / "release").ok
    (parts,) = run.parts.values()
    values = []
    for table, code, _ in disclosing:
        release = parts[table]
        cell = next(i for i in range(release.n_cells) if release.labels.codes_of(i) == (code,))
        values.append(release.published[cell])
    assert np.isnan(values).any()


@pytest.mark.parametrize("name", list(CASES)[2:4])
def test_separate_releases_disclosing_few_people_fail(name, tmp_path):
    records, keys, tables, disclosing = CASES[name]
    records.to_csv(tmp_path / "people.csv", index=False)
    folders = []
    for table, said in tables.items():
        path = tmp_path / f"{table}.toml"
        path.write_text(f'data = "people.csv"\n{keys.replace("n=5", "n=3")}\n{said}\n')
        folders.append(run_recipe(path, tmp_path / f"release-{table}").folder)
    found = audit_together(folders)
    row = judge_together(found.audit, found.groups, found.undecided)["tables"]
    assert row.status is Status.FAILED
    n = sum(
        sign * read_release(folders["ab".index(table)])[0].value[_cell(folders["ab".index(table)], code)]
        for table, code, sign in disclosing
    )
    assert 0 < n < ATTENTION
    assert any(f"= {n:.0f}" in found.audit.why(cell) for cell in found.audit.outcomes)
    # The row names the cells that are added and subtracted, without values.
    said = [finding.reason for finding in row.findings]
    assert any(reason.startswith("exactly [") and "] - [" in reason for reason in said)
    assert not any(" = " in reason for reason in said)


def _cell(folder, code: str) -> int:
    table = read_release(folder)[0]
    return next(cell for cell in range(table.n_cells) if table.labels.codes_of(cell) == (code,))


def test_separate_releases_without_records_are_not_decided(tmp_path):
    records, keys, tables, _ = CASES["two geographies"]
    file = tmp_path / "people.csv"
    records.to_csv(file, index=False)
    folders = []
    for table, said in tables.items():
        path = tmp_path / f"{table}.toml"
        path.write_text(f'data = "people.csv"\n{keys}\n{said}\n')
        folders.append(run_recipe(path, tmp_path / f"release-{table}").folder)
    elsewhere = file.rename(tmp_path / "moved.csv")
    found = audit_together(folders)
    assert judge_together(found.audit, found.groups, found.undecided)["tables"].status is Status.NOT_DECIDED
    again = audit_together(folders, data=elsewhere)
    assert judge_together(again.audit, again.groups, again.undecided)["tables"].status is Status.FAILED
    elsewhere.write_text(elsewhere.read_text().replace("t1", "t9"))
    changed = audit_together(folders, data=elsewhere)
    assert "not at hand" in changed.undecided


def test_rules_that_judge_cells_only_leave_the_row_open(tmp_path):
    keys = 'value = "turnover"\nunit = "firm"\nrules = ["p_percent:p=10", "few_contributors:n=3"]'
    run = run_recipe(recipe_of(tmp_path, FIRMS, keys, CASES["an option of one table"][2]))
    row = run.verdict["tables"]
    assert row.status is Status.NOT_DECIDED
    assert "p_percent" in row.reason


def test_too_many_atoms_leave_the_row_open(tmp_path, monkeypatch):
    monkeypatch.setattr(atoms, "MAX_ATOMS", 1)
    records, keys, tables, _ = CASES["a cell inside a filter"]
    row = run_recipe(recipe_of(tmp_path, records, keys, tables)).verdict["tables"]
    assert row.status is Status.NOT_DECIDED
    assert atoms.TOO_MANY in row.reason
