"""Optimal suppression against answers that others proved or printed."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from hitoku.attacks import Interval
from hitoku.io import read_jj
from hitoku.methods.optimal import Optimal
from hitoku.model import Need, Release, Table
from hitoku.testing import covers

PROVED = ["t2d_10x10", "t2d_20x20", "t2d_50x50", "s2d_20x20", "h2d_4.5_6", "h2d_5.4.3_3.4"]
# The hierarchy h3d_4.5_3.4_3 takes longer: bench/optimal.py holds it to its optimum.
SLOWER = [pytest.param("t3d_5x5x5", marks=pytest.mark.long)]


def audited(table, need, protection) -> bool:
    return covers(Interval().bounds(Release.of(table, protection)), table, need)


@pytest.mark.shared
@pytest.mark.parametrize("name", [*PROVED, *SLOWER])
def test_cost_equals_tau_argus_optimum(shared, name):
    folder = shared / "data" / "jj_synthetic"
    with (folder / "results.csv").open(encoding="utf-8") as file:
        (proved,) = [
            float(row["objective_incl_primaries"])
            for row in csv.DictReader(file)
            if row["instance"] == name and row["outcome"] == "proved optimal"
        ]
    table, need = read_jj(folder / f"{name}.jj.gz")
    protection = Optimal(cost="own").protect(table, need)
    assert protection.proven
    assert protection.cost == pytest.approx(proved)
    assert audited(table, need, protection)


@pytest.mark.shared
def test_cost_is_at_most_tau_argus_demonstration(shared):
    folder = shared / "data" / "tables" / "tauargus" / "jj"
    table, need = read_jj(folder / "simple2d.jj.gz")
    with (folder / "simple2d_argus_result.csv").open(encoding="utf-8") as file:
        theirs = np.array([row["argus_status"] in {"11", "12"} for row in csv.DictReader(file)])
    assert theirs.sum() == 12
    protection = Optimal(cost="value").protect(table, need)
    assert protection.proven
    assert table.value[protection.secondary].sum() <= table.value[theirs].sum()
    assert audited(table, need, protection)


@pytest.mark.shared
def test_cost_is_at_most_tau_argus_batch_example(shared):
    folder = shared / "data" / "tables" / "tauargus" / "batch_ex1"
    with (folder / "tabdata_ex1.tab").open(encoding="utf-8") as file:
        given = {(r[0].strip(), r[1].strip()): r for r in csv.reader(file)}
    with (folder / "expected_status.csv").open(encoding="utf-8") as file:
        status = {(r["region"], r["gender"]): r["status"] for r in csv.DictReader(file)}
    regions = sorted({region for region, _ in given} - {"Total"})
    counts = [[int(given[r, g][2]) for g in ("male", "female")] for r in regions]
    table = Table.from_array(counts, names=("region", "gender"), codes=(regions, ("male", "female")))
    keys = [table.labels.codes_of(cell) for cell in range(table.n_cells)]
    unsafe = np.array([status[key] == "u" for key in keys])
    theirs = np.array([status[key] == "x" for key in keys])
    # Manual safety range: 20 percent of the value either way.
    level = np.where(unsafe, 0.2 * table.value, 0.0)
    need = Need(unsafe=unsafe, lower=level, upper=level)
    protection = Optimal(cost="value").protect(table, need)
    assert protection.proven
    assert theirs.any()
    assert table.value[protection.secondary].sum() <= table.value[theirs].sum()
    assert audited(table, need, protection)


@pytest.mark.shared
@pytest.mark.parametrize("size", [10, 20])
def test_cost_is_at_most_sdctable(shared, size):
    case = json.loads(
        (shared / "oracles" / "sdctable" / f"freq2d_{size}_OPT" / "case.json").read_text("utf-8")
    )
    cells = {(cell["v1_o"], cell["v2_o"]): cell for cell in case["cells"]}
    codes = [sorted({key[axis] for key in cells} - {"Total"}) for axis in (0, 1)]
    table = Table.from_array(
        [[cells[a, b]["freq"] for b in codes[1]] for a in codes[0]], names=("v1", "v2"), codes=codes
    )
    keys = [table.labels.codes_of(cell) for cell in range(table.n_cells)]
    status = np.array([cells[key]["sdcStatus"] for key in keys])
    table = replace(table, upper=np.full(table.n_cells, table.value.max()), fixed=status == "z")
    # Its own attack reports these ends; what its pattern gives is what ours is asked for.
    ends = {case["attack"][k]["id"] - 1: case["attack"][k] for k in range(len(case["attack"]))}
    low, high = np.zeros(table.n_cells), np.zeros(table.n_cells)
    for place, cell in enumerate(case["cells"]):
        if place in ends:
            at = keys.index((cell["v1_o"], cell["v2_o"]))
            low[at], high[at] = cell["freq"] - ends[place]["low"], ends[place]["up"] - cell["freq"]
    need = Need(unsafe=status == "u", lower=low, upper=high)
    protection = Optimal(cost="frequency").protect(table, need)
    assert protection.proven
    assert protection.cost <= table.value[(status == "u") | (status == "x")].sum()
    assert audited(table, need, protection)


def test_minami_abe_figure_2_suppresses_same_cell_count():
    # Minami and Abe 2019, Figure 2: cell (1, 1) is 7, threshold 10, width above 10, inner cells only.
    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    need = Need(unsafe=table.value == 7, width=11)
    protection = Optimal(cost="unit", keep="margins").protect(table, need)
    assert protection.cost == 4
    assert audited(table, need, protection)
