"""Batches on the files that come with τ-ARGUS, held against what it made of them."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.io.argus.sbs_reader import withheld_in

from hitoku.errors import HitokuError
from hitoku.evidence import audit
from hitoku.io import read_jj
from hitoku.io.argus import read_code_value
from hitoku.model import Protection, Release
from hitoku.pipeline import run_batch


def arb(folder, text):
    path = folder / "b.arb"
    path.write_text(text, encoding="utf-8")
    return path


def written(folder):
    return read_code_value(folder / "out.csv", 2)


@pytest.fixture
def argus(shared, tmp_path):
    source = shared / "data" / "tables" / "tauargus"
    for name in ("Tau_TestW.rda", "region2.hrc", "region.cdl", "tableinput/pp.rda", "tableinput/pp.tab"):
        (tmp_path / Path(name).name).write_bytes((source / name).read_bytes())
    for name in ("metadata_ex1.rda", "tabdata_ex1.tab", "hier_region_ex1.hrc", "hier_gender_ex1.hrc"):
        (tmp_path / name).write_bytes((source / "batch_ex1" / name).read_bytes())
    (tmp_path / "tau_testW.asc").write_bytes(gzip.decompress((source / "tau_testW.asc.gz").read_bytes()))
    return tmp_path


@pytest.mark.shared
@pytest.mark.parametrize("insiders", ["none", "singletons"])
def test_simple_2d_follows_from_the_microdata(argus, shared, insiders):
    text = """<OPENMICRODATA> "tau_testW.asc"
<OPENMETADATA> "Tau_TestW.rda"
<SPECIFYTABLE> "Size""Region"|"Var2"||"Var2"
<SAFETYRULE> P(15,1)
<READMICRODATA>
<SUPPRESS> OPT(1,5)
<WRITETABLE> (1,3,AS+,"out.csv")
"""
    done = run_batch(arb(argus, text), insiders=insiders)
    own = written(argus)
    theirs = read_code_value(shared / "data/tables/tauargus/expected/Simple2D.txt", 2)
    assert own.codes == theirs.codes
    np.testing.assert_array_equal(own.value, theirs.value)
    # Statuses are the program's but for the choice of secondary cells, and ours cost no more.
    secondary = 11
    plain = [np.where(cells.status == secondary, 1, cells.status) for cells in (own, theirs)]
    np.testing.assert_array_equal(*plain)
    cost = [cells.value[cells.status == secondary].sum() for cells in (own, theirs)]
    assert cost[0] <= cost[1] == 2524351
    assert done.safe
    protection = done.tables[0][0].outcome.protection
    assert protection.proven == (insiders == "none")


@pytest.mark.shared
def test_simple_2d_levels_match_its_jj_file(argus, shared):
    text = """<OPENMICRODATA> "tau_testW.asc"
<OPENMETADATA> "Tau_TestW.rda"
<SPECIFYTABLE> "Size""Region"|"Var2"||
<SAFETYRULE> P(15,1)
<READMICRODATA>
"""
    run_batch(arb(argus, text))
    judged = run_batch(arb(argus, text)).tables[0][0].safe
    _, need = read_jj(shared / "data/tables/tauargus/jj/simple2d.jj.gz")
    order = judged.order
    np.testing.assert_array_equal(judged.judged.need.unsafe[order], need.unsafe)
    np.testing.assert_allclose(judged.judged.need.upper[order], need.upper, atol=5e-3)
    np.testing.assert_allclose(judged.judged.need.lower[order], need.lower, atol=5e-3)


@pytest.mark.shared
def test_batch_example_1_matches_published_result(argus, shared):
    text = """<OPENTABLEDATA> "tabdata_ex1.tab"
<OPENMETADATA> "metadata_ex1.rda"
<SPECIFYTABLE> "region""gender"|"freq"||
<SAFETYRULE> MAN(20)
<READTABLE> 0
<SUPPRESS> OPT(1,5)
<WRITETABLE> (1,3,AS+,"out.csv")
"""
    assert run_batch(arb(argus, text)).safe
    expected = pd.read_csv(shared / "data/tables/tauargus/batch_ex1/expected_status.csv")
    letters = {2: "s", 9: "u", 12: "x"}
    own = {codes: letters[s] for codes, s in zip(written(argus).codes, written(argus).status, strict=True)}
    assert own == {(row.region, row.gender): row.status for row in expected.itertuples()}


PP = """<OPENTABLEDATA> "pp.tab"
<OPENMETADATA> "pp.rda"
<SPECIFYTABLE> "Size""Region"|"Var2"|"Var2_Shadow"|"Var2_Cost"
<SAFETYRULE> {rules}
<READTABLE> {how}
<SUPPRESS> OPT(1,5)
<WRITETABLE> (1,3,AS+,"out.csv")
"""


@pytest.mark.shared
def test_altered_table_raises_with_failing_relations(argus):
    with pytest.raises(HitokuError, match="does not add up: 3 of 63 relations fail") as refused:
        run_batch(arb(argus, PP.format(rules="", how=0)))
    assert "4 \u00d7 Total does not equal" in refused.value.where
    assert not (argus / "out.csv").exists()


@pytest.mark.shared
@pytest.mark.parametrize(("rules", "how"), [("", "1T"), ("P(15,1)", "2")])
def test_table_and_microdata_have_same_unsafe_cells(argus, shared, rules, how):
    assert run_batch(arb(argus, PP.format(rules=rules, how=how))).safe
    theirs = read_code_value(shared / "data/tables/tauargus/expected/Simple2D.txt", 2)
    unsafe = {codes for codes, status in zip(theirs.codes, theirs.status, strict=True) if status == 3}
    own = written(argus)
    assert {codes for codes, s in zip(own.codes, own.status, strict=True) if s in {3, 9}} == unsafe


@pytest.mark.shared
def test_argus_pattern_passes_the_audit(argus, shared):
    """It was found to protect all nine cells."""
    theirs = read_code_value(shared / "data/tables/tauargus/expected/Simple2D.txt", 2)
    text = PP.format(rules="", how="1T").replace("<SUPPRESS> OPT(1,5)\n", "").replace("3,AS+", "6,")
    judged = run_batch(arb(argus, text)).tables[0][0].safe.judged
    pattern = Protection.withhold(judged.table, withheld_in(theirs, judged.table), judged.need)
    assert int(pattern.withheld.sum()) == 9 + 12
    assert audit(judged.table, judged.need, Release.of(judged.table, pattern)).safe
