from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hitoku.errors import DataError, OutputError
from hitoku.evidence import Outcome, audit
from hitoku.io import read_jj, read_jj_pattern
from hitoku.io.argus import (
    export_release,
    export_table,
    read_apriori,
    read_code_value,
    read_export,
    read_metadata,
    read_table,
    stand_ins,
)
from hitoku.io.release import write_release
from hitoku.methods.adjust import Adjust
from hitoku.methods.greedy import Greedy
from hitoku.model import Dimension, Hierarchy, Need, Protection, Release, Table
from hitoku.pipeline import protect_table, run_batch
from hitoku.rules import FewContributors, MinFrequency, PPercent
from hitoku.samples import register
from hitoku.tabulation import tabulate

FILES = ["README.txt", "check.arb", "release.arb", "release.hst", "table.jj", "table.rda", "table.tab"]


def released(path, table, rules, **options):
    outcome = protect_table(table, rules, **{"method": Greedy(), **options})
    write_release(path, outcome)
    return outcome


@pytest.fixture(scope="module")
def demo():
    firms = register(1500, 3)
    trees = {name: firms.hierarchies[name] for name in ("activity",)}
    return tabulate(
        firms.records,
        by=["activity", "size"],
        value="turnover",
        unit="enterprise",
        holding="holding",
        hierarchies=trees,
    )


def shown(folder, table):
    cells = read_code_value(folder / "release.csv", len(table.dimensions))
    return dict(zip(cells.codes, zip(cells.value, cells.status, strict=True), strict=True))


def test_exported_release_round_trips(tmp_path, demo):
    outcome = released(tmp_path / "release", demo, [PPercent(10), FewContributors(3)])
    done = export_release(tmp_path / "release", tmp_path / "argus")
    trees = ["table_activity.hrc", "table_size.hrc"]
    assert sorted(done.files) == sorted([*FILES, *trees])
    assert sorted(entry.name for entry in done.folder.iterdir()) == sorted(done.files)
    again = run_batch(tmp_path / "argus" / "release.arb")
    assert again.safe
    assert np.array_equal(again.tables[0][0].outcome.protection.withheld, outcome.protection.withheld)
    table = again.tables[0][0].outcome.table
    assert table.dimensions[0].codes == demo.dimensions[0].codes
    assert np.array_equal(table.value, demo.value)
    assert np.array_equal(table.frequency, demo.frequency)
    assert (table.relations != demo.relations).nnz == 0
    need = again.tables[0][0].outcome.need
    assert np.array_equal(need.unsafe, outcome.need.unsafe)
    np.testing.assert_allclose(need.upper, outcome.need.upper, rtol=1e-12)
    np.testing.assert_allclose(need.lower, outcome.need.lower, rtol=1e-12)
    found = shown(tmp_path / "argus", demo)
    for cell in range(demo.n_cells):
        value, status = found[demo.labels.codes_of(cell)]
        assert (status in {9, 12}) == outcome.protection.withheld[cell]
        assert (status == 9) == outcome.need.unsafe[cell]
        assert status == 14 or value == demo.value[cell]
    pattern = read_jj_pattern(tmp_path / "argus" / "table.jj")
    assert np.array_equal(pattern, outcome.protection.withheld)


def test_decimals_and_statuses_are_exported(tmp_path):
    # A measure that is called like a variable, or like a column of ours, gets another name in the file.
    table = Table.from_array(
        [[20.25, 15], [72, 1.5]],
        measure="size",
        names=["region", "size"],
        codes=[[" 1", "10"], ["s", "l"]],
        frequency=[[5, 4], [9, 1]],
        integer=False,
    )
    need = Need(unsafe=table.value == 1.5, lower=0.3, upper=0.3)
    withheld = np.array(table.inner)
    release = Release.of(table, Protection.withhold(table, withheld, need))
    done = export_table(tmp_path / "argus", table, need, release)
    assert (
        '"Total";"Total";108.75;19;20000;S;0;0' in (tmp_path / "argus" / "table.tab").read_text().splitlines()
    )
    entries, _ = read_apriori(tmp_path / "argus" / "release.hst", 2)
    assert [(entry.codes, entry.action) for entry in entries] == [
        (("1", "s"), "m"),
        (("1", "l"), "m"),
        (("10", "s"), "m"),
    ]
    assert done.notes == ()
    again = run_batch(tmp_path / "argus" / "release.arb")
    assert np.array_equal(again.tables[0][0].outcome.protection.withheld, withheld)


@pytest.mark.parametrize("enough", [True, False])
def test_cost_variable_limits_search_to_suppressed_cells(tmp_path, enough):
    table = Table.from_array([[20.0, 50, 10], [8, 19, 22], [17, 32, 3]], integer=False)
    need = Need(unsafe=table.value == 3, lower=1.0, upper=1.0)
    withheld = np.zeros((4, 4), dtype=bool)
    # Not the cheapest pattern by value, but a cycle; or a row, which the column gives away.
    withheld[1:3, 1:3] = True
    withheld[1] &= enough
    release = Release.of(table, Protection.withhold(table, withheld.ravel(), need))
    export_table(tmp_path / "argus", table, need, release)
    assert run_batch(tmp_path / "argus" / "release.arb").safe == enough
    found = run_batch(tmp_path / "argus" / "check.arb").tables[0][0].outcome.protection.withheld
    assert bool(np.any(found & ~withheld.ravel())) != enough


@pytest.mark.parametrize(("width", "safe"), [(9, True), (28, True), (29, False)])
def test_required_widths_are_exported_as_levels(tmp_path, width, safe):
    """The four inner cells move by one number: 20 down at most and 8 up, so every interval is 28 wide."""
    table = Table.from_array([[20, 15], [8, 30]], names=["region", "size"])
    need = Need(unsafe=table.inner & (table.value < 16), width=float(width))
    release = Release.of(table, Protection.withhold(table, table.inner, need))
    assert audit(table, need, release).safe == safe
    export_table(tmp_path / "argus", table, need, release)
    given = read_table(tmp_path / "argus" / "table.tab", read_metadata(tmp_path / "argus" / "table.rda"))
    assert np.all((given.lower + given.upper)[need.unsafe] == width)
    assert run_batch(tmp_path / "argus" / "release.arb").safe == safe


def test_exported_totals_keep_table_decimals(tmp_path):
    table = Table.from_array([[0.1, 0.2], [1.1, 2.2]], names=["region", "size"])
    need = Need(unsafe=table.value == 0.1, lower=0.1, upper=0.1)
    export_table(tmp_path / "argus", table, need, Release.of(table, Protection.withhold(table, table.inner)))
    rows = (tmp_path / "argus" / "table.tab").read_text().splitlines()
    assert [row.split(";")[2] for row in rows] == [
        "0.1",
        "0.2",
        "0.3",
        "1.1",
        "2.2",
        "3.3",
        "1.2",
        "2.4",
        "3.6",
    ]


def test_unsupported_release_features_are_noted(tmp_path):
    table = Table.from_array([[20, 15, 7], [72, 0, 30]], names=["region", "size"])
    released(tmp_path / "release", table, [MinFrequency(5, zeros=True)], width=9)
    done = export_release(tmp_path / "release", tmp_path / "argus")
    assert any("does not support widths" in note for note in done.notes)
    assert any("empty cells are withheld" in note for note in done.notes)
    _, need = read_jj(tmp_path / "argus" / "table.jj")
    assert need.width.max() == 9
    again = run_batch(tmp_path / "argus" / "release.arb", force=True)
    # The zero is unsafe; the a priori file says so, for the table would call the cell empty.
    assert again.tables[0][0].outcome.need.unsafe.sum() == 1


def test_published_unsafe_cells_are_reported(tmp_path):
    table = Table.from_array([[20.0, 50, 10], [8, 19, 22]], integer=False)
    need = Need(unsafe=table.value == 8, lower=1.0, upper=1.0)
    nothing = np.zeros(table.n_cells, dtype=bool)
    done = export_table(
        tmp_path / "argus", table, need, Release.of(table, Protection.withhold(table, nothing))
    )
    assert done.notes == ("the release publishes 1 unsafe cell(s), which τ-ARGUS will take as withheld",)


def test_adjusted_releases_have_no_pattern(tmp_path):
    table = Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 3]])
    need = Need(unsafe=table.value == 3, lower=2.0, upper=2.0)
    protection = Adjust().protect(table, need)
    verdict = audit(table, need, Release.of(table, protection))
    write_release(tmp_path / "release", Outcome(protection, verdict))
    with pytest.raises(OutputError, match="adjusted"):
        export_release(tmp_path / "release", tmp_path / "argus")
    assert not (tmp_path / "argus").exists()


def test_several_groupings_raise(tmp_path):
    regions = Hierarchy.from_tree({"North": ["N1", "N2"], "South": ["S1", "S2"]})
    coast = Hierarchy.from_tree({"Coast": ["N1", "S1"], "Inland": ["N2", "S2"]})
    both = Dimension.of("region", (regions, coast))
    value = both.closure @ np.array([20.0, 15.0, 72.0, 1.0])
    table = Table(value=value, dimensions=(both,), frequency=value.astype(int))
    released(tmp_path / "release", table, [MinFrequency(5)])
    with pytest.raises(OutputError, match="2 groupings"):
        export_release(tmp_path / "release", tmp_path / "argus")
    assert not (tmp_path / "argus").exists()


def test_linked_tables_raise(tmp_path):
    codes = [["N", "S"], ["1", "2"]]
    parts = [
        Table.from_array([[20, 15], [72, 1]], names=["region", "size"], codes=codes),
        Table.from_array([[30, 5], [70, 3]], names=["region", "kind"], codes=codes),
    ]
    released(tmp_path / "release", Table.link(parts), [MinFrequency(5)])
    with pytest.raises(OutputError, match="linked tables"):
        export_release(tmp_path / "release", tmp_path / "argus")


def test_invalid_release_folder_raises(tmp_path):
    with pytest.raises(DataError, match="not a whole release folder"):
        export_release(tmp_path, tmp_path / "argus")
    assert not list(tmp_path.iterdir())


STRANGE = Table.from_array(
    [[20.0, 50, 10], [8, 19, 22], [17, 32, 3]],
    names=["région", "Größe"],
    codes=[["Île-de-France", "Ile-de-France", "東京"], ["groß", "GROSS", "\N{FULLWIDTH SEMICOLON}"]],
    measure="売上高",
    integer=False,
)


def test_non_ascii_codes_are_replaced_and_restored(tmp_path):
    need = Need(unsafe=STRANGE.value == 3, lower=1.0, upper=1.0)
    withheld = np.zeros((4, 4), dtype=bool)
    withheld[1:3, 1:3] = True
    release = Release.of(STRANGE, Protection.withhold(STRANGE, withheld.ravel(), need))
    done = export_table(tmp_path / "argus", STRANGE, need, release)
    assert set(done.files) == {*FILES, "codes.csv", "table_region.hrc", "table_Grosse.hrc"}
    assert any("codes.csv" in note for note in done.notes)
    for entry in done.folder.iterdir():
        if entry.name not in ("codes.csv", "README.txt"):
            assert entry.read_bytes().isascii(), entry.name
    # As τ-ARGUS would: the batch runs on stand-ins, and withholds the same cells.
    again = run_batch(tmp_path / "argus" / "release.arb")
    assert np.array_equal(again.tables[0][0].outcome.protection.withheld, withheld.ravel())
    # And back: the same codes, names and numbers in the same order.
    back = read_export(tmp_path / "argus")
    assert [(d.name, d.codes) for d in back.table.dimensions] == [
        (d.name, d.codes) for d in STRANGE.dimensions
    ]
    assert back.table.measure == STRANGE.measure
    assert np.array_equal(back.table.value, STRANGE.value)
    assert np.array_equal(back.need.unsafe, need.unsafe)
    assert [back.table.describe(cell) for cell in range(16)] == [STRANGE.describe(cell) for cell in range(16)]


def test_ascii_export_has_no_replacement_list(tmp_path, demo):
    released(tmp_path / "release", demo, [PPercent(10)])
    done = export_release(tmp_path / "release", tmp_path / "argus")
    assert "codes.csv" not in done.files
    assert read_export(tmp_path / "argus").table.dimensions[0].codes == demo.dimensions[0].codes


CODES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=4)


@settings(max_examples=15)
@given(codes=st.lists(CODES, min_size=2, max_size=6, unique=True))
def test_stand_ins_are_ascii_unique_and_reversible(codes):
    assume("Total" not in codes)
    table = Table.from_array(np.arange(float(len(codes))), names=["v"], codes=[codes], integer=False)
    found = stand_ins(table)
    plain = found.applied(table)
    changed = set(found.codes.get("v", {}).values())
    assert all(code.isascii() for code in plain.dimensions[0].codes)
    folded = [code.strip().casefold() for code in plain.dimensions[0].codes]
    assert all(folded.count(code.strip().casefold()) == 1 for code in changed)
    assert found.reversed().applied(plain).dimensions[0].codes == table.dimensions[0].codes
