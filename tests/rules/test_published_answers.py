"""Primary cells and protection levels as other programs report them."""

from __future__ import annotations

import csv
import json

import numpy as np
import pandas as pd
import pytest
from tests.strategies import Record, table_from_records

from hitoku.model import Contributors, Dimension, Hierarchy, Table
from hitoku.rules import (
    DirectDisclosure,
    Dominance,
    FewContributors,
    MinFrequency,
    PPercent,
    PriorPosterior,
    assess,
)

pytestmark = pytest.mark.shared


def tabulated(frame, trees, value, unit=None):
    """Build a table from microdata, the slow way."""
    dimensions = [Dimension.of(name, tree) for name, tree in trees.items()]
    owners = {name: place for place, name in enumerate(frame[unit].unique())} if unit else {}
    records = [
        Record(
            tuple(str(row[name]) for name in trees),
            owners[row[unit]] if unit else line,
            0,
            float(row[value]),
        )
        for line, row in enumerate(frame.to_dict("records"))
    ]
    return table_from_records(dimensions, records)


def named(table, mask):
    return {table.labels.codes_of(int(cell)) for cell in np.flatnonzero(mask)}


@pytest.mark.parametrize(
    ("rule", "unsafe"),
    [
        # sdcTable says "at most maxN = 2"; below 3 is the same.
        pytest.param(MinFrequency(3), {("A", "female")}, id="frequency"),
        pytest.param(Dominance(2, 75), {("A", "female"), ("D", "male")}, id="(2, 75)"),
        pytest.param(PPercent(70), {("A", "female"), ("D", "male")}, id="p = 70"),
        pytest.param(PriorPosterior(60, 80), {("A", "female"), ("D", "male")}, id="pq = (60, 80)"),
    ],
)
def test_unsafe_cells_match_sdctable_microdata1(shared, rule, unsafe):
    frame = pd.read_csv(shared / "data/tables/sdctable/microdata1.csv")
    trees = {name: Hierarchy.flat(sorted(frame[name].unique())) for name in ("region", "gender")}
    table = tabulated(frame, trees, "val")
    assert named(table, rule.assess(table).unsafe) == unsafe


def number(text):
    return float(text.replace(",", "."))


def test_levels_match_tau_argus(shared):
    """p% with p = 15: status and levels as printed, for cells whose response was not altered."""
    with (shared / "data/tables/tauargus/tableinput/pp.tab").open(encoding="utf-8") as lines:
        rows = [row for row in csv.reader(lines, delimiter=";") if row[8] in {"S", "U"}]
    value, count, shadow, first, second, lower, upper = (
        np.array([number(row[place]) for row in rows]) for place in (2, 3, 4, 6, 7, 9, 10)
    )
    kept = value == shadow
    table = Table(
        value=value[kept],
        relations=np.zeros((0, int(kept.sum()))),
        units=Contributors(
            count=count[kept].astype(int),
            largest=np.stack([first, second], axis=1)[kept],
            total=shadow[kept],
        ),
    )
    unsafe = np.array([row[8] == "U" for row in rows])[kept]
    need = PPercent(15).assess(table)
    assert unsafe.sum() == 5
    assert need.unsafe.tolist() == unsafe.tolist()
    np.testing.assert_allclose(need.upper[unsafe], upper[kept][unsafe], rtol=1e-12)
    # Printed levels are symmetric; ours stop at zero, which everybody knows.
    np.testing.assert_allclose(need.lower[unsafe], np.minimum(lower[kept], table.value)[unsafe], rtol=1e-12)


def test_tau_argus_levels_follow_the_response(shared):
    """Where response and shadow differ, the printed level is the fraction of the shadow, on its own scale."""
    with (shared / "data/tables/tauargus/tableinput/pp.tab").open(encoding="utf-8") as lines:
        rows = [row for row in csv.reader(lines, delimiter=";") if row[:2] == [" 2", " 6"]]
    ((_, _, value, count, shadow, _, first, second, status, _, upper),) = rows
    behind = Contributors(
        count=[int(count)], largest=[[number(first), number(second)]], total=[number(shadow)]
    )
    table = Table(value=[number(value)], relations=np.zeros((0, 1)), units=behind)
    need = PPercent(15).assess(table)
    assert (status, bool(need.unsafe[0])) == ("U", True)
    assert need.upper[0] * number(shadow) / number(value) == pytest.approx(number(upper))


@pytest.mark.parametrize(
    ("case", "k", "unknown"),
    [
        ("paper_t1_direct_k0", 0, {}),
        ("paper_t1_direct_k1", 1, {}),
        ("paper_t1_direct_k2", 2, {}),
        ("paper_t1_direct_k3", 3, {}),
        ("paper_t1_direct_k3_unknown", 3, {"injury": "Unknown"}),
        ("paper_fig1_direct_k1", 1, {}),
    ],
)
def test_direct_disclosure_matches_gausssuppression(shared, case, k, unknown):
    answer = json.loads((shared / "oracles/gausssuppression" / case / "case.json").read_text("utf-8"))
    table = Table.from_frame(
        pd.DataFrame(answer["cells"]), by=["group", "injury"], value="freq", frequency="freq"
    )
    need = DirectDisclosure(k=k, sensitive="injury", unknown=unknown).assess(table)
    assert named(table, need.unsafe) == {(c["group"], c["injury"]) for c in answer["cells"] if c["primary"]}


SECTORS = {"private": ["Agriculture", "Entertainment", "Industry"], "public": ["Governmental"]}
PLACES = {"EU": ["Portugal", "Spain"], "nonEU": ["Iceland"]}


@pytest.mark.parametrize(
    ("case", "rules"),
    [
        ("dom_m1_none", [Dominance(1, 80), Dominance(2, 99)]),
        ("dom_m1_dimvar_p10", [PPercent(10)]),
        ("few_m1_max1", [FewContributors(2)]),
    ],
)
def test_magnitude_rules_match_gausssuppression(shared, case, rules):
    folder = shared / "oracles/gausssuppression" / case
    frame = pd.read_csv(folder / "input.csv")
    trees = {"sector4": Hierarchy.from_tree(SECTORS), "geo": Hierarchy.from_tree(PLACES)}
    table = tabulated(frame, trees, "value", unit="company")
    found = named(table, assess(table, rules).unsafe)
    cells = json.loads((folder / "case.json").read_text("utf-8"))["cells"]
    asked = {(cell["sector4"], cell["geo"]) for cell in cells}
    assert found & asked == {(cell["sector4"], cell["geo"]) for cell in cells if cell["primary"]}
