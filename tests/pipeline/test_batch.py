from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hitoku.errors import DataError, HitokuError, OutputError, ParameterError
from hitoku.evidence.verify import verify
from hitoku.io import read_jj
from hitoku.io.argus import batch_write, read_code_value
from hitoku.methods.optimal import Optimal
from hitoku.pipeline import run_batch

# Region, size, weight, group, request, turnover; 99 is missing.
RECORDS = [
    (" 1", "s", 1, "a", "0", 20),
    (" 1", "s", 2, "b", "0", 15),
    (" 1", "s", 1, "b", "0", 10),
    (" 1", "l", 1, "c", "0", 70),
    (" 1", "l", 1, "a", "1", 4),
    (" 2", "s", 1, "d", "0", 12),
    (" 2", "s", 1, "e", "2", 11),
    (" 2", "s", 1, "f", "0", 10),
    (" 2", "l", 2, "g", "0", 40),
    (" 2", "l", 1, "g", "0", 35),
    (" 2", "l", 1, "h", "0", 30),
    (" 3", "s", 1, "i", "0", 18),
    (" 3", "s", 1, "j", "0", 17),
    (" 3", "s", 3, "k", "0", 16),
    (" 3", "l", 1, "l", "0", 22),
    (" 3", "l", 1, "m", "0", 21),
    (" 3", "l", 1, "n", "0", 20),
]
RDA = """Region 1 2 99
  <RECODEABLE>
  <HIERARCHICAL>
  <HIERCODELIST> "region.hrc"
  <HIERLEADSTRING> "@"
Size 3 1 9
  <RECODEABLE>
Weight 5 1
  <NUMERIC>
  <WEIGHT>
Group 7 1
  <HOLDING>
Asks 9 1
  <REQUEST> "1" "2"
Turnover 11 4
  <NUMERIC>
Spare 16 1 9
  <NUMERIC>
"""
TREE = "N\n@ 1\n@ 2\nS\n@ 3\n"
START = """<OPENMICRODATA> "r.asc"
<OPENMETADATA> "r.rda"
<SPECIFYTABLE> "Region""Size"|"Turnover"||
<SAFETYRULE> {rules}
<READMICRODATA>
"""
WRITE = '<WRITETABLE> (1,3,AS+,"out.csv")\n'


@pytest.fixture
def folder(tmp_path):
    lines = [f"{r}{s} {w} {g} {q} {v:4d} 9\n" for r, s, w, g, q, v in RECORDS]
    (tmp_path / "r.asc").write_text("".join(lines), encoding="ascii")
    (tmp_path / "r.rda").write_text(RDA, encoding="ascii")
    (tmp_path / "region.hrc").write_text(TREE, encoding="ascii")
    return tmp_path


def arb(folder, text):
    path = folder / "b.arb"
    path.write_text(text, encoding="utf-8")
    return path


def run(folder, rules, rest, **options):
    return run_batch(arb(folder, START.format(rules=rules) + rest), **options)


def written(folder, name="out.csv"):
    return read_code_value(folder / name, 2)


def statuses(folder, name="out.csv"):
    cells = written(folder, name)
    return {
        (region.strip(), size): int(status)
        for (region, size), status in zip(cells.codes, cells.status, strict=True)
    }


def entries(folder):
    return sorted(path.name for path in folder.iterdir())


def test_batch_writes_safe_file_from_records(folder):
    done = run(folder, "P(10,1)", "<SUPPRESS> OPT(1,1)\n" + WRITE)
    assert done.safe
    cells = written(folder)
    values = dict(zip(((r.strip(), s) for r, s in cells.codes), cells.value, strict=True))
    frame = pd.DataFrame(RECORDS, columns=["r", "s", "w", "g", "q", "v"])
    assert values["Total", "Total"] == frame["v"].sum()
    assert values["N", "l"] == 70 + 4 + 40 + 35 + 30
    assert np.isnan(values["99", "s"])
    found = statuses(folder)
    # 70 and 4: nothing is left to blur the 70.
    assert [cell for cell, status in found.items() if status == 3] == [("1", "l")]
    assert found["99", "Total"] == 14
    assert all(status in {1, 3, 11, 14} for status in found.values())
    assert done.files == {folder / "out.csv": True}
    assert any("proof 1: checked by the verifier" in line for line in done.log)


@pytest.mark.parametrize(
    ("rules", "unsafe"),
    [
        pytest.param("FREQ(3,20)", {("1", "l"): 5}, id="two records"),
        pytest.param("NK(1,90)", {("1", "l"): 3}, id="70 of 74"),
        pytest.param("NK(0,0)|NK(0,0)|NK(1,70)", {("1", "l"): 3, ("2", "l"): 3}, id="g holds 75 of 105"),
        pytest.param("FREQ(0,0)|FREQ(3,20)", {("1", "s"): 5, ("1", "l"): 5, ("2", "l"): 5}, id="two groups"),
        pytest.param("REQ(5,30,0,20)", {("1", "l"): 4, ("2", "s"): 4, ("2", "Total"): 1}, id="who asked"),
        pytest.param("P(10,1)|WGT(1)", {("1", "l"): 3}, id="weights"),
    ],
)
def test_batch_supports_every_rule(folder, rules, unsafe):
    run(folder, rules, "<SUPPRESS> OPT(1,1)\n" + WRITE, insiders="none")
    found = statuses(folder)
    flagged = {cell: status for cell, status in found.items() if status in {3, 4, 5, 6, 9}}
    expected = {cell: status for cell, status in unsafe.items() if status != 1}
    inner = {cell: s for cell, s in flagged.items() if cell[0] in {"1", "2", "3"} and cell[1] != "Total"}
    assert inner == expected


def test_batch_weights_are_applied(folder):
    run(folder, "P(10,1)|WGT(1)", "<SUPPRESS> OPT(1,1)\n" + WRITE, insiders="none")
    frame = pd.DataFrame(RECORDS, columns=["r", "s", "w", "g", "q", "v"])
    assert written(folder).value[0] == (frame["v"] * frame["w"]).sum()


def test_batch_protects_counts(folder):
    text = START.format(rules="FREQ(3,50)").replace('"Turnover"', "<freq>")
    done = run_batch(arb(folder, text + "<SUPPRESS> OPT(1,1)\n" + WRITE))
    assert written(folder).value[0] == len(RECORDS)
    assert statuses(folder)["1", "l"] == 5
    assert done.safe


def test_apriori_files_set_costs(folder):
    (folder / "t.hst").write_text("1;s;p\n2;s;c;0.5\n3;s;c;100000\n7;s;u\n", encoding="ascii")
    done = run(folder, "P(10,1)", '<APRIORI> "t.hst",1,";"\n<SUPPRESS> OPT(1,1)\n' + WRITE, insiders="none")
    found = statuses(folder)
    assert found["1", "s"] == 10
    assert any("t.hst, line 4: variable Region has no code '7'" in line for line in done.log)
    with pytest.raises(DataError, match="no code '7'"):
        run(folder, "P(10,1)", '<APRIORI> "t.hst",1,";",0\n<SUPPRESS> OPT(1,1)\n' + WRITE)


def test_cells_marked_suppressed_stay_suppressed(folder):
    (folder / "t.hst").write_text("3;s;m\n3;l;ml\n", encoding="ascii")
    run(folder, "P(10,1)", '<APRIORI> "t.hst",1,";"\n<SUPPRESS> OPT(1,1)\n' + WRITE, insiders="none")
    found = statuses(folder)
    assert (found["3", "s"], found["3", "l"]) == (12, 11)


@pytest.mark.parametrize(
    ("recode", "regions"),
    [
        ('<RECODE> 1,"Region",1\n', {"Total", "N", "S", "99"}),
        ('<RECODE> 1,"Region","t.grc"\n', {"Total", "N", "S", "3", "99"}),
    ],
)
def test_batch_recodings_are_applied(folder, recode, regions):
    (folder / "t.grc").write_text("<TREERECODE>\nN\n", encoding="ascii")
    run(folder, "P(10,1)", recode + "<SUPPRESS> OPT(1,1)\n" + WRITE, insiders="none")
    assert {region for region, _ in statuses(folder)} == regions


def test_flat_variable_is_recoded_by_rules(folder):
    (folder / "t.grc").write_text("x: s\ny: l\n", encoding="ascii")
    run(folder, "P(10,1)", '<RECODE> 1,"Size","t.grc"\n<SUPPRESS> OPT(1,1)\n' + WRITE, insiders="none")
    assert {size for _, size in statuses(folder)} == {"Total", "x", "y", "9"}


def test_unprotected_table_is_not_written(folder):
    before = entries(folder)
    done = run(folder, "P(10,1)", '<LOGBOOK> "log.txt"\n' + WRITE)
    assert not done.safe
    assert entries(folder) == sorted([*before, "b.arb", "log.txt"])
    log = (folder / "log.txt").read_text("utf-8")
    assert "table 1: audit: NOT safe" in log
    assert "nothing but this logbook is written" in log
    forced = run(folder, "P(10,1)", WRITE, force=True)
    assert not forced.safe
    assert (folder / "out.csv").is_file()


def test_working_files_need_no_protection(folder):
    done = run(folder, "P(10,1)", '<WRITETABLE> (1,6,,"t.jj")\n<SUPPRESS> OPT(1,1)\n')
    assert done.safe
    table, need = read_jj(folder / "t.jj")
    assert (table.n_cells, int(need.unsafe.sum())) == (7 * 4, 1)


def test_method_can_be_replaced(folder):
    rest = "<SUPPRESS> MOD(1,5,1,1,1)\n" + WRITE
    done = run(folder, "P(10,1)", rest, method="greedy:tidy=true")
    assert done.safe
    assert any("method greedy:tidy=true, instead of MOD" in line for line in done.log)


@pytest.mark.parametrize("method", ["MOD(1,5,1,1,1)", "GH(1,100,0,1)", "NET(1)"])
def test_unavailable_method_is_replaced_by_the_nearest(folder, method):
    done = run(folder, "P(10,1)", f"<SUPPRESS> {method}\n{WRITE}")
    assert done.safe
    assert (folder / "out.csv").is_file()
    assert any(
        "method auto" in line and f"instead of {method[: method.index('(')]}" in line for line in done.log
    )


def test_batch_writes_adjusted_tables(folder):
    done = run(folder, "P(10,1)", "<SUPPRESS> CTA(1)\n" + '<WRITETABLE> (1,3,,"out.csv")\n')
    assert done.safe
    cells = written(folder)
    assert not cells.withheld.any()
    values = dict(zip(((r.strip(), s) for r, s in cells.codes), cells.value, strict=True))
    # The 70 lacks 7 percent points: 74 must move by 7 at least, and sums still hold.
    assert abs(values["1", "l"] - 74) >= 7
    assert values["1", "l"] + values["1", "s"] == pytest.approx(values["1", "Total"])


@pytest.mark.parametrize("method", [None, "adjust"])
def test_adjusted_tables_have_no_intervals(folder, method):
    rest = f"<SUPPRESS> {'OPT' if method else 'CTA'}(1)\n" + '<WRITETABLE> (1,5,AR+,"out.tab")\n'
    before = {*entries(folder), "b.arb"}
    with pytest.raises(OutputError, match="adjusted values have no intervals"):
        run(folder, "P(10,1)", rest, method=method)
    assert set(entries(folder)) == before


def test_linked_tables_agree_on_shared_cells(folder):
    text = START.format(rules="P(10,1)").replace(
        "<READMICRODATA>", '<SPECIFYTABLE> "Region"|"Turnover"||\n<SAFETYRULE> P(10,1)\n<READMICRODATA>'
    )
    rest = '<SUPPRESS> OPT(0,1)\n<WRITETABLE> (1,3,AS+,"a.csv")\n<WRITETABLE> (2,3,AS+,"b.csv")\n'
    done = run_batch(arb(folder, text + rest), folder / "release")
    assert done.safe
    both, single = statuses(folder, "a.csv"), read_code_value(folder / "b.csv", 1)
    for (region,), status in zip(single.codes, single.status, strict=True):
        assert both[region.strip(), "Total"] == status
    assert verify(folder / "release").ok
    assert (folder / "release" / "public" / "table-2" / "table-2.csv").is_file()


def test_cell_suppressed_in_one_table_stays_suppressed(folder):
    """Region 1 is withheld by hand in the first table; its total stands in the second, too."""
    (folder / "h.hst").write_text(" 1;Total;u\n", encoding="ascii")
    text = START.format(rules="MAN(20)").replace(
        "<READMICRODATA>", '<SPECIFYTABLE> "Region"|"Turnover"||\n<SAFETYRULE> MAN(20)\n<READMICRODATA>'
    )
    text += '<APRIORI> "h.hst",1,";",0,0\n'
    rest = '<WRITETABLE> (1,3,,"a.csv")\n<WRITETABLE> (2,3,,"b.csv")\n'
    apart = run_batch(arb(folder, f"{text}<SUPPRESS> OPT(1,1)\n{rest}"))
    assert not apart.safe
    assert all(done.outcome.audit.safe for tables in apart.tables for done in tables)
    assert any("withheld in one are published in the other" in line for line in apart.log)
    assert not (folder / "b.csv").exists()
    together = run_batch(arb(folder, f"{text}<SUPPRESS> OPT(0,1)\n{rest}"))
    assert together.safe
    assert (folder / "b.csv").exists()


@pytest.mark.parametrize("cost", ['"-2"', '"-1",0.5'])
def test_linked_tables_have_one_cost(folder, cost):
    """A cell that two tables share cannot have two costs."""
    both = START.replace('"Turnover"||', '"Turnover"||"-1"').format(rules="P(10,1)")
    second = f'<SPECIFYTABLE> "Region"|"Turnover"||{cost}\n<SAFETYRULE> P(10,1)\n<READMICRODATA>\n'
    text = both.replace("<READMICRODATA>\n", second) + "<SUPPRESS> OPT(0,1)\n"
    with pytest.raises(DataError, match="linked tables have different costs"):
        run_batch(arb(folder, text))


def test_batch_sessions_write_release_folders(folder):
    text = START.format(rules="P(10,1)") + "<SUPPRESS> OPT(1,1)\n"
    two = text + WRITE + "<CLEAR>\n" + text + WRITE.replace("out", "again")
    run_batch(arb(folder, two), folder / "release")
    assert (folder / "out.csv").read_bytes() == (folder / "again.csv").read_bytes()
    assert entries(folder / "release") == ["session-1-table-1", "session-2-table-1"]


def test_same_batch_gives_same_bytes(folder):
    rest = '<SUPPRESS> OPT(1,1)\n<LOGBOOK> "log.txt"\n<VERSIONINFO> "v.txt"\n' + "".join(
        f'<WRITETABLE> (1,{kind},,"f{kind}.txt")\n' for kind in range(1, 7)
    )
    run(folder, "P(10,1)", rest)
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    run(folder, "P(10,1)", rest)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == first
    assert first["v.txt"].startswith(b"hitoku ")


def test_logbook_omits_values(folder):
    run(folder, "P(10,1)|FREQ(3,20)", '<LOGBOOK> "log.txt"\n<SUPPRESS> OPT(1,1)\n' + WRITE)
    log = (folder / "log.txt").read_text("utf-8")
    for value in written(folder).value[~np.isnan(written(folder).value)]:
        if value > 30:
            assert not re.search(rf"\b{value:g}\b", log)


@pytest.mark.parametrize(
    ("change", "what", "line"),
    [
        (("r.asc", "x.asc"), "the data file 'x.asc' is not there", 3),
        (("r.rda", "x.rda"), "the metadata file 'x.rda' is not there", 3),
        (('"Size"', '"Sise"'), "no variable 'Sise'", 3),
        (('"Size"', '"Weight"'), "'Weight' does not span tables", 3),
        (('|"Turnover"', '|"Size"'), "'Size' is not a value of this table", 3),
        (("||", '||"Group"'), "'Group' is not a cost of this table", 3),
        (("<SUPPRESS> OPT(1,1)", '<APRIORI> "x.hst",1,";"'), "the a priori file 'x.hst' is not there", 6),
        (("<SUPPRESS> OPT(1,1)", '<RECODE> 1,"Size",1'), "Size has no tree to be cut at a level", 6),
        (("<SUPPRESS> OPT(1,1)", "<SUPPRESS> OPT(0,1)"), "only one", 6),
        (('"out.csv"', '"r.asc"'), "'r.asc' is read by the batch and would be overwritten", 7),
        (('"out.csv"', '"region.hrc"'), "'region.hrc' is read by the batch", 7),
        (('"out.csv"', '"no/out.csv"'), "no folder for 'out.csv'", 7),
        (('"out.csv"', r'"C:\out.csv"'), "is a path on Windows", 7),
        (('"out.csv"', '"../out.csv"'), "stands outside the folder of the batch", 7),
        (('"out.csv"', '"/tmp/out.csv"'), "stands outside the folder of the batch", 7),
        (("<WRITETABLE>", '<WRITETABLE> (1,3,,"out.csv")\n<WRITETABLE>'), "'out.csv' is written twice", 8),
        (("<SUPPRESS>", '<WRITETABLE> (1,3,,"a.csv")\n<SUPPRESS>'), "written before it is suppressed", 6),
        (('"Turnover"', "<freq>"), "rules on contributions for a table of counts", 3),
    ],
)
def test_files_are_checked_before_anything_runs(folder, change, what, line):
    text = (START.format(rules="P(10,1)") + "<SUPPRESS> OPT(1,1)\n" + WRITE).replace(*change, 1)
    path = arb(folder, text)
    before = {entry.name: entry.read_bytes() for entry in folder.iterdir()}
    with pytest.raises(DataError, match=re.escape(what)) as refused:
        run_batch(path)
    assert f"b.arb, line {line}" in refused.value.where
    assert {entry.name: entry.read_bytes() for entry in folder.iterdir()} == before


def test_failed_write_leaves_nothing(folder, monkeypatch):
    def failing(*_args):
        raise OSError(28, "no space left")

    before = entries(folder)
    monkeypatch.setattr(batch_write, "_write_releases", failing)
    with pytest.raises(OutputError, match="no space left"):
        run(folder, "P(10,1)", "<SUPPRESS> OPT(1,1)\n" + WRITE, out=folder / "release")
    assert entries(folder) == sorted([*before, "b.arb"])


def test_files_may_belong_on_another_disk(folder, monkeypatch):
    """A file cannot be renamed from one disk to another: each is made beside its place."""
    replace = Path.replace

    def on_one_disk(file, target):
        if Path(target).parent not in file.parents:
            raise OSError(18, "Invalid cross-device link")
        return replace(file, target)

    monkeypatch.setattr(Path, "replace", on_one_disk)
    (folder / "far").mkdir()
    run(folder, "P(10,1)", "<SUPPRESS> OPT(1,1)\n" + WRITE.replace("out.csv", "far/out.csv"))
    assert entries(folder / "far") == ["out.csv"]


def test_log_reports_missing_rules(folder):
    done = run_batch(arb(folder, START.replace("<SAFETYRULE> {rules}\n", "") + WRITE))
    assert "table 1: no rule is given: only cells that are marked are unsafe" in done.log
    assert "no rule" not in " ".join(run(folder, "P(10,1)", "<SUPPRESS> OPT(1,1)\n" + WRITE).log)


def test_unrepresentable_codes_raise_before_search(folder, monkeypatch):
    monkeypatch.setattr(Optimal, "protect", lambda *_args: pytest.fail("too late"))
    for name in ("r.asc", "region.hrc"):
        path = folder / name
        path.write_bytes(re.sub(rb"(?m)^(@?) 3", b"\\g<1>\xfc3", path.read_bytes()))
    with pytest.raises(OutputError, match="'ü3'") as refused:
        run(folder, "P(10,1)", "<SUPPRESS> OPT(1,1)\n" + WRITE)
    assert "line 7 of the batch, variable Region" in refused.value.where


def test_logbook_in_missing_folder_raises(folder):
    with pytest.raises(DataError, match="no folder for") as refused:
        run(folder, "P(10,1)", '<LOGBOOK> "no/log.txt"\n<SUPPRESS> OPT(1,1)\n')
    assert refused.value.where == "b.arb"


def test_weights_add_decimals(folder):
    rda = (folder / "r.rda").read_text().replace("<WEIGHT>", "<DECIMALS> 1\n  <WEIGHT>")
    (folder / "r.rda").write_text(rda)
    run(folder, "P(10,1)|WGT(1)", "<SUPPRESS> OPT(1,1)\n" + WRITE, insiders="none")
    assert (folder / "out.csv").read_text().splitlines()[0] == '"Total","Total",458.0,1'


def test_invalid_parameters_raise(folder):
    with pytest.raises(ParameterError, match="insiders"):
        run(folder, "P(10,1)", "<SUPPRESS> OPT(1,1)\n", insiders="some")
    with pytest.raises(HitokuError, match="gredy"):
        run(folder, "P(10,1)", "<SUPPRESS> OPT(1,1)\n", method="gredy")
    (folder / "release").mkdir()
    (folder / "release" / "old").touch()
    with pytest.raises(OutputError, match="is not empty"):
        run(folder, "P(10,1)", "<SUPPRESS> OPT(1,1)\n", out=folder / "release")


def test_unused_missing_quantity_is_ignored(folder):
    # Spare is missing in every record.
    assert run(folder, "P(10,1)", "<SUPPRESS> OPT(1,1)\n").safe


def test_batch_overwrites_files_only_if_allowed(folder):
    path = arb(folder, START.format(rules="P(10,1)") + "<SUPPRESS> OPT(1,1)\n" + WRITE)
    (folder / "out.csv").write_text("mine")
    with pytest.raises(DataError, match="exists already"):
        run_batch(path, overwrite=False)
    assert (folder / "out.csv").read_text() == "mine"
