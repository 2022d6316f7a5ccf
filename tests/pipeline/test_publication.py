"""A publication of several tables: cells that are the same are the same, and no two files can be subtracted.

The register is made up; its structure is that of the tables on which an earlier version failed: activities by
division (within sections, within groups of sections) and by area (within regions, within parts of the
country), and activities by section, region and size.
"""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_array
from tests.oracles.forgeries import reseal
from tests.oracles.linked import extremes
from typer.testing import CliRunner

import hitoku as ht
from hitoku.cli import app
from hitoku.errors import CertificateError, HitokuError
from hitoku.evidence.verify import verify
from hitoku.model import Status, Table
from hitoku.pipeline import run_recipe

A10 = {"BE": ["C", "E"], "FZ": ["F"], "GI": ["G", "H"]}
A21 = {"C": ["10", "11", "12"], "E": ["36", "37"], "F": ["41", "42"], "G": ["45", "46"], "H": ["49"]}
NUTS = {"N": {"N1": ["N11", "N12"], "N2": ["N21", "N22"]}, "S": {"S1": ["S11", "S12", "S13"]}}
SECTION = {code: section for section, codes in A21.items() for code in codes}
GROUP = {section: group for group, sections in A10.items() for section in sections}
REGION = {area: region for regions in NUTS.values() for region, areas in regions.items() for area in areas}
PART = {region: part for part, regions in NUTS.items() for region in regions}


def register(n: int = 260, seed: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "A88": rng.choice(list(SECTION), n, p=np.r_[np.full(9, 0.105), 0.055]),
            "NUTS3": rng.choice(list(REGION), n),
            "SIZE": rng.choice(["small", "medium", "large"], n, p=[0.6, 0.3, 0.1]),
            "LEGAL": rng.choice(["SA", "SE", "EI"], n, p=[0.5, 0.1, 0.4]),
        }
    )
    every = pd.DataFrame({"A88": list(SECTION), "NUTS3": (list(REGION) * 2)[: len(SECTION)]})
    frame = pd.concat([frame, every.assign(SIZE="small", LEGAL="SA")], ignore_index=True)
    frame["A21"] = frame["A88"].map(SECTION)
    frame["NUTS2"] = frame["NUTS3"].map(REGION)
    return frame.assign(turnover=rng.lognormal(4, 1.5, len(frame)).round().astype(int) + 1)


def trees() -> dict[str, str]:
    activities = [*((s, g) for s, g in GROUP.items()), *((d, s) for d, s in SECTION.items())]
    areas = [*((r, p) for r, p in PART.items()), *((a, r) for a, r in REGION.items())]
    return {
        "a88.csv": "code,parent\n" + "".join(f"{g},\n" for g in A10) + _lines(activities),
        "nuts3.csv": "code,parent\n" + "".join(f"{p},\n" for p in NUTS) + _lines(areas),
    }


def _lines(pairs) -> str:
    return "".join(f"{code},{parent}\n" for code, parent in pairs)


ASKED = """
rules = ["p_percent:p=10", "few_contributors:n=3"]
out = "release"
"""
FINE = """
[[tables]]
name = "fine"
by = ["A88", "NUTS3"]
hierarchies = {A88 = "a88.csv", NUTS3 = "nuts3.csv"}
"""
COARSE = """
[[tables]]
name = "coarse"
by = ["A21", "NUTS2", "SIZE"]
"""
RECORDS = 'data = "firms.csv"\nvalue = "turnover"\n' + ASKED


def furnished(folder):
    """Return a function that writes a recipe beside the register."""
    register().to_csv(folder / "firms.csv", index=False)
    for name, text in trees().items():
        (folder / name).write_text(text)

    def write(text: str, name: str = "recipe.toml"):
        (folder / name).write_text(text)
        return folder / name

    return write


@pytest.fixture
def house(tmp_path):
    return furnished(tmp_path)


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """Both tables protected together, for tests that only read what came out."""
    return run_recipe(furnished(tmp_path_factory.mktemp("together"))(RECORDS + FINE + COARSE))


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    """Each of the two tables protected by itself."""
    write, runs = furnished(tmp_path_factory.mktemp("apart")), {}
    for name, text in (("fine", FINE), ("coarse", COARSE)):
        alone = text.replace(f'[[tables]]\nname = "{name}"\n', "")
        runs[name] = run_recipe(write(RECORDS.replace("release", name) + alone, f"{name}.toml"))
    return runs


def files(folder) -> dict[str, pd.DataFrame]:
    return {
        file.stem: pd.read_csv(file, dtype={"value": float}) for file in (folder / "public").rglob("*.csv")
    }


def atoms() -> pd.DataFrame:
    """Every combination of codes that a record may have, with all levels."""
    cross = pd.MultiIndex.from_product(
        [SECTION, REGION, ["small", "medium", "large"], ["SA", "SE", "EI"]],
        names=["A88", "NUTS3", "SIZE", "LEGAL"],
    ).to_frame(index=False)
    cross["A21"], cross["NUTS2"] = cross["A88"].map(SECTION), cross["NUTS3"].map(REGION)
    return cross


ABOVE = {
    "A88": {d: {d, s, GROUP[s]} for d, s in SECTION.items()},
    "NUTS3": {a: {a, r, PART[r]} for a, r in REGION.items()},
}


def memberships(frame: pd.DataFrame, names: list[str], cross: pd.DataFrame, where=None) -> np.ndarray:
    """Rows of a public file by atoms: written apart from the program, from the codes alone."""
    rows = np.ones((len(frame), len(cross)), dtype=bool)
    for name in names:
        for place, code in enumerate(frame[name].astype(str)):
            if code != "Total":
                in_it = [
                    leaf for leaf in cross[name].unique() if code in ABOVE.get(name, {}).get(leaf, {leaf})
                ]
                rows[place] &= cross[name].isin(in_it).to_numpy()
    for name, codes in (where or {}).items():
        rows &= cross[name].isin(codes).to_numpy()
    return rows.astype(float)


def unsafe_rows(frame: pd.DataFrame, rows: np.ndarray, records: pd.DataFrame) -> list[tuple[int, float]]:
    """Return the cells of fewer than three records, or open to the second largest, with their values."""
    key = ["A88", "NUTS3", "SIZE", "LEGAL"]
    where = {codes: place for place, codes in enumerate(map(tuple, atoms()[key].to_numpy()))}
    at = np.array([where[codes] for codes in map(tuple, records[key].to_numpy())])
    found = []
    for place in range(len(frame)):
        values = np.sort(records["turnover"].to_numpy()[rows[place][at] > 0])[::-1]
        if len(values) and (len(values) < 3 or values.sum() - values[:2].sum() < 0.1 * values[0]):
            found.append((place, float(values.sum())))
    return found


def recomputable(tables: dict[str, tuple[list[str], dict | None]], shown: dict[str, pd.DataFrame]) -> int:
    """Count the unsafe cells that one linear program over all public files pins down."""
    cross, records = atoms(), register()
    rows = {name: memberships(shown[name], by, cross, where) for name, (by, where) in tables.items()}
    # Combinations that are in the same rows of all files stand for one: only their sum matters.
    _, one = np.unique(np.concatenate(list(rows.values())), axis=1, return_index=True)
    known = csc_array(np.concatenate([rows[name][shown[name]["value"].notna()] for name in tables])[:, one])
    values = np.concatenate([shown[name]["value"].dropna() for name in tables])
    count = 0
    for name in tables:
        for place, value in unsafe_rows(shown[name], rows[name], records):
            low, high = extremes(rows[name][place][one], known, values)
            assert low - 1e-6 <= value <= high + 1e-6
            count += high - low < 1e-6 * (1 + value)
    return count


BY = {"fine": (["A88", "NUTS3"], None), "coarse": (["A21", "NUTS2", "SIZE"], None)}


def test_separately_protected_tables_disclose_each_other(apart):
    """What is tested below can fail: each release is safe by itself, and both together are not."""
    shown = {}
    for name, run in apart.items():
        assert run.safe
        shown[name] = files(run.folder)["table"]
    assert recomputable(BY, shown) > 0


def test_records_alone_allow_no_subtraction(together):
    run = together
    assert run.safe
    assert run.outcome.verdict["outsider"].status is Status.PROVED
    assert run.outcome.verdict["tables"].status is Status.NOT_DECIDED
    shown = files(run.folder)
    assert recomputable(BY, shown) == 0
    fine = shown["fine"].set_index(["A88", "NUTS3"])["value"]
    coarse = shown["coarse"].set_index(["A21", "NUTS2", "SIZE"])["value"]
    for section in A21:
        for region in PART:
            assert np.array_equal(fine[section, region], coarse[section, region, "Total"], equal_nan=True)
    checked = verify(run.folder)
    assert checked.ok
    assert "2 linked tables show the same" in checked.reason


def aggregated(folder) -> tuple[str, str]:
    """Write both tables as cells with their totals, and a recipe that reads them."""
    records = register()
    fine = ht.tabulate(
        records,
        by=["A88", "NUTS3"],
        value="turnover",
        hierarchies={
            "A88": ht.Hierarchy.from_tree({g: {s: A21[s] for s in A10[g]} for g in A10}),
            "NUTS3": ht.Hierarchy.from_tree(NUTS),
        },
    )
    coarse = ht.tabulate(records, by=["A21", "NUTS2", "SIZE"], value="turnover")
    for name, table in (("fine", fine), ("coarse", coarse)):
        columns = {"turnover": table.value, "n": table.frequency}
        columns |= {f"top{k + 1}": table.largest[:, k] for k in range(2)}
        table.cells.assign(**columns).to_csv(folder / f"{name}_cells.csv", index=False)
    head = 'value = "turnover"\nfrequency = "n"\nlargest = ["top1", "top2"]\n' + ASKED
    tables = (FINE + COARSE).replace('name = "fine"', 'name = "fine"\ncells = "fine_cells.csv"')
    return head, tables.replace('name = "coarse"', 'name = "coarse"\ncells = "coarse_cells.csv"')


def test_aggregated_tables_are_joined_by_declaration(house, tmp_path):
    head, tables = aggregated(tmp_path)
    declared = '[classifications]\nA88 = ["A10", "A21"]\nNUTS3 = "NUTS2"\n'
    run = run_recipe(house(head + tables + declared))
    assert run.outcome.verdict["outsider"].status is Status.PROVED
    assert recomputable(BY, files(run.folder)) == 0
    assert verify(run.folder).ok


def test_undeclared_levels_are_not_proved(house, tmp_path):
    head, tables = aggregated(tmp_path)
    run = run_recipe(house(head + tables))
    assert run.verdict["tables"].status is Status.NOT_DECIDED
    told = [remark for remark in run.remarks if "A88 and A21" in remark.reason]
    assert "in [classifications]" in told[0].advice
    open_tables = "Not decided: differencing between the tables of this recipe"
    assert open_tables in run.outcome.verdict.headline
    assert "A88 and A21" in (run.folder / "checker" / "README.txt").read_text("utf-8")
    summary = json.loads((run.folder / "checker" / "summary.json").read_text("utf-8"))
    assert open_tables in summary["verdict"]["headline"]
    assert "Not covered: fine, coarse" in verify(run.folder).reason
    printed = CliRunner().invoke(
        app, ["protect", str(house(head + tables)), "--out", str(tmp_path / "again")]
    )
    assert printed.exit_code == 0
    assert "with a proof" not in printed.output
    assert open_tables in printed.output


@pytest.mark.parametrize(
    ("levels", "what"),
    [
        ({"A88": ["A21"]}, "codes 'C', 'E' are not in its hierarchy"),
        ({"X": ["A88", "A21"]}, "no table has the variable 'X'"),
        ({"A88": ["A21", "B"]}, "levels of one classification"),
    ],
)
def test_mismatched_levels_raise(levels, what):
    fine = Table.from_array([1, 2], names=["A88"], codes=[["01", "02"]], measure="n")
    coarse = Table.from_array([3, 4], names=["A21"], codes=[["C", "E"]], measure="n")
    both = Table.from_array(
        [[1, 2], [3, 4]], names=["A88", "B"], codes=[["01", "02"], ["C", "E"]], measure="n"
    )
    with pytest.raises(HitokuError, match=what):
        Table.link([both, coarse] if "B" in levels.get("A88", []) else [fine, coarse], levels)


WHERE = """
[[tables]]
name = "all"
by = ["A21", "NUTS2"]
[[tables]]
name = "companies"
by = ["A21", "NUTS2"]
where = {LEGAL = ["SA", "EI"]}
"""


def test_filter_remainder_cannot_be_derived(house):
    run = run_recipe(house(RECORDS + WHERE))
    assert run.outcome.verdict["outsider"].status is Status.PROVED
    table, protection = run.outcome.table, run.outcome.protection
    assert not table.shown.all()
    assert run.outcome.need.rules["filter_remainder"].sum() > 0
    shown = files(run.folder)
    by = ["A21", "NUTS2"]
    filters = {"all": (by, None), "companies": (by, {"LEGAL": ["SA", "EI"]})}
    # The third table is nobody's: it is what a reader gets by subtracting.
    rest = shown["all"].assign(value=np.nan)
    assert recomputable(filters | {"rest": (by, {"LEGAL": ["SE"]})}, shown | {"rest": rest}) == 0
    assert len(shown["table"]) == int(table.shown.sum())
    assert len(run.outcome.frame) == len(shown["table"])
    told = pd.read_csv(run.folder / "checker" / "cells.csv")
    assert (told["decision"] == "hidden").sum() == int((~table.shown).sum())
    assert verify(run.folder).ok
    audited = CliRunner().invoke(app, ["audit", str(run.folder), "--json"])
    again = json.loads(audited.stdout)
    assert again["safe"]
    assert again["cells"] == int(table.shown.sum())
    assert again["withheld"] == int((protection.withheld & table.shown).sum())


def test_separate_filters_disclose_the_remainder(house):
    """The test above can fail."""
    shown = {}
    for name, where in (("all", ""), ("companies", 'where = {LEGAL = ["SA", "EI"]}\n')):
        head = RECORDS.replace('out = "release"', f'out = "{name}"\nby = ["A21", "NUTS2"]\n{where}')
        shown[name] = files(run_recipe(house(head, f"{name}.toml")).folder)["table"]
    by = ["A21", "NUTS2"]
    filters = {"all": (by, None), "companies": (by, {"LEGAL": ["SA", "EI"]}), "rest": (by, {"LEGAL": ["SE"]})}
    assert recomputable(filters, shown | {"rest": shown["all"].assign(value=np.nan)}) > 0


def test_oversized_crossing_filters_are_not_proved(house, monkeypatch):
    monkeypatch.setattr("hitoku.linking.atoms.MAX_ATOMS", 1)
    crossing = WHERE.replace(
        'by = ["A21", "NUTS2"]\n[[tables]]', 'by = ["A21"]\nwhere = {SIZE = ["small"]}\n[[tables]]'
    )
    run = run_recipe(house(RECORDS + crossing))
    assert run.verdict["tables"].status is Status.NOT_DECIDED
    assert "too many combinations" in run.verdict["tables"].reason


def test_quantities_of_same_records_are_separate(house, tmp_path):
    frame = register()
    frame.assign(persons=frame["turnover"] % 50 + 1).to_csv(tmp_path / "firms.csv", index=False)
    more = '[[tables]]\nname = "persons"\nby = ["A21", "SIZE"]\nvalue = "persons"\n'
    run = run_recipe(house(RECORDS + FINE + COARSE + more))
    assert list(run.outcomes) == ["fine+1", "persons"]
    for name, outcome in run.outcomes.items():
        assert outcome.verdict["outsider"].status is Status.PROVED
        assert outcome.verdict["tables"].status is Status.NOT_DECIDED
        assert verify(run.folder / name).ok
    whole, places = run.outcomes["fine+1"].table, run.places["fine+1"]
    for name, release in run.parts["fine+1"].items():
        shown = ~release.withheld
        assert np.array_equal(release.published[shown], whole.value[places[name]][shown])


def test_cells_are_named_by_the_codes_of_any_table(house):
    keep = '\n[[keep]]\nA21 = "G"\nNUTS2 = "Total"\nSIZE = "Total"\n'
    run = run_recipe(house(RECORDS + FINE + COARSE + keep))
    fine = files(run.folder)["fine"].set_index(["A88", "NUTS3"])["value"]
    assert not np.isnan(fine["G", "Total"])


def test_altered_public_file_of_linked_table_is_found(together, tmp_path):
    folder = Path(shutil.copytree(together.folder, tmp_path / "release"))
    assert verify(folder).ok
    file = folder / "public" / "coarse" / "coarse.csv"
    with file.open(newline="") as opened:
        rows = list(csv.reader(opened))
    line = next(place for place, row in enumerate(rows) if row[-1] == "withheld")
    rows[line][-2:] = ["1", "published"]
    with file.open("w", newline="") as opened:
        csv.writer(opened, lineterminator="\n").writerows(rows)
    assert "public/coarse/coarse.csv: not the file that was certified" in verify(folder).reason
    reseal(folder)
    answer = verify(folder)
    assert not answer.ok
    assert "coarse.csv" in answer.reason
    assert "shown although it is withheld" in answer.reason


def test_notice_names_no_missing_proof(tmp_path):
    """Values that are no decimals: the audit is done, but there is no certificate."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.choice(list("xyz"), 60), "b": rng.choice(list("uvw"), 60)})
    frame.assign(v=rng.random(60) / 3 * 1e6).to_csv(tmp_path / "records.csv", index=False)
    (tmp_path / "recipe.toml").write_text(
        'data = "records.csv"\nby = ["a", "b"]\nvalue = "v"\nrules = ["p_percent:p=60"]\nout = "out"\n'
    )
    printed = CliRunner().invoke(app, ["protect", str(tmp_path / "recipe.toml")])
    assert printed.exit_code == 0, printed.output
    assert "✓ passed          outsider, single cells" in printed.output
    assert "--decimals" in printed.output
    assert "certificate proves it" not in printed.output
    checker = tmp_path / "out" / "checker"
    assert not (checker / "certificate.json.gz").exists()
    notice = (checker / "README.txt").read_text("utf-8")
    listed = [line.split()[0] for line in notice.splitlines() if line.split()[0:1] and "  " in line]
    assert "certificate.json.gz" not in notice
    assert {"report.html", "cells.csv", "summary.json"} <= set(listed)
    asked = CliRunner().invoke(app, ["verify", str(tmp_path / "out")])
    assert isinstance(asked.exception, CertificateError)
    assert "no certificate in checker/, so nothing is proved" in asked.exception.what
    assert "the release has no proof" in asked.exception.fix


def test_notice_names_existing_files(together):
    run = together
    checker = run.folder / "checker"
    notice = (checker / "README.txt").read_text("utf-8").split("Verdict")[0]
    named = {line.split()[0] for line in notice.splitlines()[2:] if line}
    assert named | {"README.txt"} == {file.name for file in checker.iterdir()}
    content = json.loads(gzip.decompress((checker / "certificate.json.gz").read_bytes()))
    assert set(content["tables"]) == {"fine", "coarse"}
    overview = pd.read_csv(checker / "overview.csv", index_col="table")
    shown = files(run.folder)
    for name in ("fine", "coarse"):
        assert overview.loc[name, "withheld"] == shown[name]["value"].isna().sum()
    # Five sections and the total, in three regions and the country, are in both whatever the data are.
    assert int(overview.loc["fine", "shares_cells_with"].removeprefix("coarse ")) >= 24


def test_joint_audit_finds_disclosure_across_releases(apart):
    folders = []
    for run in apart.values():
        assert CliRunner().invoke(app, ["audit", str(run.folder)]).exit_code == 0
        folders.append(str(run.folder))
    found = CliRunner().invoke(app, ["audit", *folders, "--json"])
    assert found.exit_code == 1, found.output
    told = json.loads(found.stdout)
    assert not told["safe"]
    assert told["published"] + told["recomputable"] > 0
    assert any("A21 was taken for a level of it" in finding for finding in told["findings"])
    assert "Not safe: outsider, single cells" in CliRunner().invoke(app, ["audit", *folders]).stdout


def test_jointly_protected_folders_are_safe_together(together, house):
    both = together.folder
    sizes = RECORDS.replace("release", "sizes") + 'by = ["SIZE"]\n'
    alone = run_recipe(house(sizes, "sizes.toml")).folder
    found = CliRunner().invoke(app, ["audit", str(both), str(alone)])
    assert found.exit_code == 0, found.output
    assert "Safe against outsiders" in found.stdout
    summary = json.loads((both / "checker" / "summary.json").read_text("utf-8"))
    assert summary["protected_together"] == ["coarse", "fine"]
