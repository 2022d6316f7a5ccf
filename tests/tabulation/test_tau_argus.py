"""The table that tau-ARGUS printed from the same microdata: every value and every primary status."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from hitoku.model import Hierarchy
from hitoku.tabulation import tabulate

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "tables" / "tauargus"
EMPTY, UNSAFE = "14", "3"


@pytest.mark.shared
@pytest.mark.skipif(not FOLDER.is_dir(), reason="the shared ground truth is not here")
def test_values_and_statuses_match_tau_argus():
    with (FOLDER / "expected" / "Simple2D.txt").open(newline="") as file:
        rows = list(csv.reader(file))
    regions = Hierarchy.from_tree({
        "Nr": [" 1", " 2", " 3"], "Os": [" 4", " 5", " 6", " 7"], "Ws": [" 8", " 9", "10"],
        "Zd": ["11", "12"], "99": None,
    })  # fmt: skip
    table = tabulate(
        FOLDER / "tau_testW.csv.gz", ["Size", "Region"], value="Var2", hierarchies={"Region": regions}
    )
    cell = {table.labels.codes_of(c): c for c in range(table.n_cells)}
    assert len(rows) == table.n_cells == 162
    for size, region, value, status in rows:
        here = cell[size, region]
        assert bool(table.frequency[here] == 0) is (status == EMPTY)
        if status == EMPTY:
            continue
        # Printed with two decimals, hence exactly the double of that decimal.
        assert table.value[here] == float(value)
        first, second, _ = table.largest[here]
        assert bool(table.value[here] - first - second < 0.15 * first) is (status == UNSAFE)
