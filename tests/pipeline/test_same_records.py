"""Releases made apart, joined by the records behind their cells."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from hitoku.errors import DataError
from hitoku.evidence import audit
from hitoku.io.release import read_release
from hitoku.pipeline import audit_together, run_recipe
from hitoku.tabulation import RecordPrints, tabulate

HEAD = 'data = "firms.csv"\nvalue = "turnover"\nrules = ["p_percent:p=10", "few_contributors:n=3"]\n'
# The same groups of firms under other names: nothing but the records tells that A is x.
OTHER = {"A": "x", "B": "y", "C": "z", "D": "w"}


@pytest.fixture
def firms() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 60
    frame = pd.DataFrame(
        {
            "trade": np.r_[rng.choice(list("ABC"), n - 2), ["D", "D"]],
            "town": rng.choice(list("PQRS"), n),
            "size": rng.choice(list("12"), n, p=[0.7, 0.3]),
        }
    )
    frame["branch"] = frame["trade"].map(OTHER)
    return frame.assign(turnover=rng.integers(10, 900, n))


@pytest.fixture
def apart(tmp_path):
    """Return a function that writes two releases, of trades by town and of branches by size."""

    def write(first: pd.DataFrame, second: pd.DataFrame) -> list:
        folders = []
        for name, frame, by, keep in (
            ("towns", first, '["trade", "town"]', 'trade = ["B", "C"]\ntown = "Total"'),
            ("sizes", second, '["branch", "size"]', 'branch = ["x", "y"]\nsize = "Total"'),
        ):
            frame.to_csv(tmp_path / "firms.csv", index=False)
            recipe = tmp_path / f"{name}.toml"
            recipe.write_text(f"{HEAD}by = {by}\n[[keep]]\n{keep}\n")
            folders.append(run_recipe(recipe, tmp_path / name).folder)
        return folders

    return write


def test_joint_disclosure_is_found_by_fingerprints(apart, firms, tmp_path):
    folders = apart(firms, firms)
    (tmp_path / "firms.csv").unlink()
    for folder in folders:
        assert audit(*read_release(folder)).safe
    # D is withheld beside A in one, beside C in the other: A is printed there, so D is the difference.
    found = audit_together(folders)
    assert not found.audit.safe
    assert any("same records behind them" in str(remark) for remark in found.remarks)
    whole = found.audit.table
    # Every trade total is its branch total: four trades, the grand total has the same name in both.
    tables = [read_release(folder)[0] for folder in folders]
    assert whole.n_cells == sum(table.n_cells for table in tables) - 5
    for folder in folders:
        (folder / "checker" / "fingerprints.json").unlink()
    blind = audit_together(folders).audit
    assert blind.safe
    assert blind.table.n_cells == whole.n_cells + 4


def test_fingerprint_depends_on_records_not_order(apart, firms):
    folders = apart(firms, firms.sample(frac=1.0, random_state=3))
    assert any("same records" in str(remark) for remark in audit_together(folders).remarks)
    told = [json.loads((folder / "checker" / "fingerprints.json").read_text()) for folder in folders]
    assert set(told[0]) & set(told[1]) - {""}


def test_one_changed_value_changes_the_fingerprint(apart, firms):
    changed = firms.assign(turnover=firms["turnover"].where(firms.index != 7, firms["turnover"] + 1))
    folders = apart(firms, changed)
    told = [json.loads((folder / "checker" / "fingerprints.json").read_text()) for folder in folders]
    assert not set(told[0]) & set(told[1]) - {""}


def test_fingerprints_are_equal_iff_records_are(firms, tmp_path):
    path = tmp_path / "firms.csv"
    firms.to_csv(path, index=False)
    prints = RecordPrints.of(path, ["trade", "branch", "town", "size"])
    cells: dict[str, set[frozenset[int]]] = {}
    for by, where in (
        (["trade", "size"], None),
        (["branch", "town"], None),
        (["size"], {"town": ["P", "Q"]}),
    ):
        table = tabulate(path, by=by, where=where)
        kept = firms if where is None else firms[firms["town"].isin(where["town"])]
        for cell, told in enumerate(prints.cells(table, where)):
            codes = dict(zip(table.labels.names, table.labels.codes_of(cell), strict=True))
            inside = kept
            for name, code in codes.items():
                inside = inside if code == "Total" else inside[inside[name] == code]
            assert bool(told) == bool(len(inside))
            cells.setdefault(told, set()).add(frozenset(inside.index))
    assert all(len(sets) == 1 for sets in cells.values())
    assert len({next(iter(sets)) for sets in cells.values()}) == len(cells)


def test_fingerprints_of_another_table_raise(apart, firms):
    folders = apart(firms, firms)
    file = folders[0] / "checker" / "fingerprints.json"
    file.write_text(json.dumps(json.loads(file.read_text())[1:]))
    with pytest.raises(DataError, match="not those of this table"):
        audit_together(folders)


def test_fingerprints_are_in_checker_folder_only(apart, firms):
    for folder in apart(firms, firms):
        told = {each for each in json.loads((folder / "checker" / "fingerprints.json").read_text()) if each}
        for file in (folder / "public").rglob("*"):
            text = file.read_bytes()
            assert not any(each.encode() in text for each in told)


def test_level_missing_in_hierarchies_is_found_in_columns(firms, tmp_path):
    """Flat tables by trade and by sector, of one file: a sector is a sum of trades."""
    firms.assign(sector=firms["trade"].map({"A": "s", "B": "s", "C": "t", "D": "t"})).to_csv(
        tmp_path / "firms.csv", index=False
    )
    folders = []
    for name, keep in (("trade", 'trade = "B"\ntown = "Total"'), ("sector", 'sector = "s"\ntown = "Total"')):
        recipe = tmp_path / f"{name}.toml"
        recipe.write_text(f'{HEAD}by = ["{name}", "town"]\n[[keep]]\n{keep}\n')
        folders.append(run_recipe(recipe, tmp_path / name).folder)
    # D is withheld beside another trade; with B and sector s printed that one is known, and so is D.
    assert not audit_together(folders).audit.safe
    (tmp_path / "firms.csv").unlink()
    found = audit_together(folders)
    assert any("sector was taken for a level" in str(remark) for remark in found.remarks)
    for folder in folders:
        assert audit(*read_release(folder)).safe
    assert not found.audit.safe
    (folders[0] / "checker" / "nested.json").unlink()
    assert audit_together(folders).audit.safe
