"""Batches on tables that are read."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from hitoku.errors import DataError, HitokuError, NeedError
from hitoku.io.argus import read_code_value
from hitoku.pipeline import run_batch

WRITE = '<WRITETABLE> (1,3,AS+,"out.csv")\n'


def arb(folder, text):
    path = folder / "b.arb"
    path.write_text(text, encoding="utf-8")
    return path


def written(folder):
    return read_code_value(folder / "out.csv", 2)


def statuses(folder):
    cells = written(folder)
    return {codes: int(status) for codes, status in zip(cells.codes, cells.status, strict=True)}


TABLE_RDA = """<SEPARATOR> ";"
Region
  <RECODEABLE>
Size
  <RECODEABLE>
Turnover
  <NUMERIC>
  <DECIMALS> 1
N
  <FREQUENCY>
Status
  <STATUS>
"""
CELLS = {
    ("N", "s"): (10.5, 5, "S"),
    ("N", "l"): (20, 1, "U"),
    ("S", "s"): (30, 6, "S"),
    ("S", "l"): (25, 5, "S"),
    ("W", "s"): (12, 6, "S"),
    ("W", "l"): (14, 6, "S"),
}


@pytest.fixture
def table(tmp_path):
    frame = pd.DataFrame(
        [(*codes, *cell) for codes, cell in CELLS.items()], columns=["r", "s", "v", "n", "t"]
    )
    rows = [(*codes, v, n, t) for codes, (v, n, t) in CELLS.items()]
    for name, other in (("r", "s"), ("s", "r")):
        for code, part in frame.groupby(name):
            own = (code, "Total") if other == "s" else ("Total", code)
            rows.append((*own, part["v"].sum(), part["n"].sum(), "S"))
    rows.append(("Total", "Total", frame["v"].sum(), frame["n"].sum(), "S"))
    lines = [
        ";".join([f'"{r}"', f'"{s}"', f"{v:.1f}".replace(".", ","), str(n), t]) for r, s, v, n, t in rows
    ]
    (tmp_path / "t.tab").write_text("\n".join(lines) + "\n", encoding="ascii")
    (tmp_path / "t.rda").write_text(TABLE_RDA, encoding="ascii")
    return tmp_path


FROM_TABLE = """<OPENTABLEDATA> "t.tab"
<OPENMETADATA> "t.rda"
<SPECIFYTABLE> "region""SIZE"|"turnover"||
<SAFETYRULE> {rules}
<READTABLE> {how}
<SUPPRESS> OPT(1,1)
"""


def from_table(folder, rules="", how="0", rest=WRITE, **options):
    return run_batch(arb(folder, FROM_TABLE.format(rules=rules, how=how) + rest), **options)


def test_table_is_read_with_its_statuses(table):
    done = from_table(table)
    found = statuses(table)
    assert found["N", "l"] == 9
    # A cycle through N/l that costs least, to both sides of 20: rows N and W, both columns.
    assert {cell for cell, status in found.items() if status == 12} == {("N", "s"), ("W", "s"), ("W", "l")}
    # Statuses of safe cells come from the file, too.
    assert found["S", "s"] == 2
    assert done.safe


def test_rules_apply_to_table_files(table):
    from_table(table, rules="FREQ(6,10)", insiders="none")
    found = statuses(table)
    assert {cell for cell, status in found.items() if status == 5} == {("N", "s"), ("N", "l"), ("S", "l")}


def test_sole_contributors_are_protected_from_each_other(table):
    text = (table / "t.tab").read_text().replace('"N";"s";10,5;5;S', '"N";"s";10,5;5;U')
    (table / "t.tab").write_text(text)
    alone = from_table(table, insiders="none")
    assert int(alone.tables[0][0].outcome.protection.secondary.sum()) == 2
    done = from_table(table)
    # Who is alone in N/l knows it, and would know N/s from the row.
    assert done.tables[0][0].outcome.audit.insiders is not None
    assert int(done.tables[0][0].outcome.protection.secondary.sum()) > 2


@pytest.mark.parametrize(
    ("rules", "what"),
    [
        ("P(10,1)", "the rules look at the 2 largest contributions, the table has 0"),
        ("REQ(50,50,0,20)", "REQ requires microdata"),
        ("FREQ(3,20)|FREQ(3,20)", "a rule on holdings requires microdata"),
        ("WGT(1)", "WGT(1) requires microdata"),
    ],
)
def test_rules_without_required_columns_raise(table, rules, what):
    with pytest.raises(DataError, match=re.escape(what)):
        from_table(table, rules=rules)


def test_nonadditive_table_raises(table):
    text = (table / "t.tab").read_text().replace("55,0", "56,0", 1)
    (table / "t.tab").write_text(text)
    with pytest.raises(HitokuError, match="does not add up: 2 of 7 relations fail") as refused:
        from_table(table)
    assert "S \u00d7 Total does not equal" in refused.value.where
    assert "READTABLE> 1" in refused.value.fix
    assert "56" not in str(refused.value)
    assert not (table / "out.csv").exists()
    for how in ("1", "1T"):
        assert from_table(table, how=how, rules="FREQ(2,20)").safe
        total = dict(zip(written(table).codes, written(table).value, strict=True))["S", "Total"]
        assert total == 55


def test_nonadditive_table_is_protected_if_allowed(table):
    expected = from_table(table).tables[0][0].outcome.protection.withheld
    text = (table / "t.tab").read_text().replace("55,0", "56,0", 1)
    (table / "t.tab").write_text(text)
    done = from_table(table, how="2")
    assert done.safe
    assert np.array_equal(done.tables[0][0].outcome.protection.withheld, expected)
    assert any("protected as if" in line for line in done.log)
    # The file shows what was given.
    assert dict(zip(written(table).codes, written(table).value, strict=True))["S", "Total"] == 56


def test_intermediate_file_of_argus_is_read_back(table):
    from_table(table, rest='<WRITETABLE> (1,5,,"mid.tab")\n')
    text = FROM_TABLE.format(rules="", how="0").replace("t.tab", "mid.tab").replace("t.rda", "mid.rda")
    done = run_batch(arb(table, text + WRITE))
    withheld = [cell for cell, status in statuses(table).items() if status in {9, 12}]
    assert sorted(withheld) == sorted([("N", "l"), ("N", "s"), ("W", "s"), ("W", "l")])
    assert done.safe


def test_unprotectable_cells_are_named(table):
    text = FROM_TABLE.format(rules="", how="0").replace("<SUPPRESS>", '<APRIORI> "t.hst",1,";"\n<SUPPRESS>')
    path = arb(table, text + WRITE)
    (table / "t.hst").write_text(
        "".join(f"{r};{s};p\n" for r, s in [*CELLS, ("N", "Total"), ("Total", "l")] if (r, s) != ("N", "l")),
        encoding="ascii",
    )
    with pytest.raises(NeedError, match="cannot"):
        run_batch(path)
    assert not (table / "out.csv").exists()
