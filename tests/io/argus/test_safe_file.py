from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.io.argus.sbs_reader import read_sbs, withheld_in

from hitoku.attacks import Interval
from hitoku.errors import DataError, OutputError, ParameterError, TableError
from hitoku.io import read_jj, read_jj_pattern
from hitoku.io.argus import (
    SafeTable,
    confidential,
    parse_safety,
    read_code_value,
    read_metadata,
    read_table,
    write_safe_file,
)
from hitoku.model import Bounds, Contributors, Dimension, Hierarchy, Protection, Release, Table
from hitoku.pipeline import judge

REGION = Dimension.of("region", Hierarchy.from_tree({"North": [" 1", " 2"], "South": None}))
SIZE = Dimension.of("size", Hierarchy.flat(["s", "l"]))
# Rows " 1", " 2", South, North, Total; columns s, l, Total.
VALUE = np.array([[20, 5, 25], [30.5, 8, 38.5], [0, 40, 40], [50.5, 13, 63.5], [50.5, 53, 103.5]])
COUNT = np.array([[2, 1, 3], [4, 3, 7], [0, 5, 5], [6, 4, 10], [6, 9, 15]])
FIRST = np.where(COUNT == 1, VALUE, np.minimum(VALUE, VALUE * 0.6))
SECOND = np.where(COUNT < 2, 0, VALUE - FIRST) / np.maximum(COUNT - 1, 1)
TABLE = Table(
    value=VALUE.ravel(),
    dimensions=(REGION, SIZE),
    frequency=COUNT.ravel(),
    units=Contributors(
        count=COUNT.ravel(),
        largest=np.stack([FIRST.ravel(), SECOND.ravel()], axis=1),
        total=VALUE.ravel(),
    ),
    measure="turnover",
)
# Two contributors in " 1"/s, one in " 1"/l.
JUDGED = judge(TABLE, parse_safety("FREQ(3,20)", print), decimals=2)
WITHHELD = np.zeros((5, 3), dtype=bool)
WITHHELD[:2, :2] = True
PROTECTION = Protection.withhold(JUDGED.table, WITHHELD.ravel(), JUDGED.need)
SAFE = SafeTable(
    judged=JUDGED,
    protection=PROTECTION,
    bounds=Interval().bounds(Release.of(JUDGED.table, PROTECTION)),
)
# In the order of files: totals first.
STATUSES = [1, 1, 1, 1, 1, 1, 1, 5, 5, 1, 11, 11, 1, 14, 1]


def lines(tmp_path, kind, *options, table=SAFE):
    path = tmp_path / "safe.txt"
    write_safe_file(path, table, kind, frozenset(options))
    return path.read_text("ascii").splitlines()


def test_code_and_value_file_is_written(tmp_path):
    assert lines(tmp_path, 3, "QU") == [
        '"Total","Total",103.50',
        '"Total","s",50.50',
        '"Total","l",53.00',
        '"North","Total",63.50',
        '"North","s",50.50',
        '"North","l",13.00',
        '" 1","Total",25.00',
        '" 1","s",x',
        '" 1","l",x',
        '" 2","Total",38.50',
        '" 2","s",x',
        '" 2","l",x',
        '"South","Total",40.00',
        '"South","s",-',
        '"South","l",40.00',
    ]


def test_code_and_value_options_are_applied(tmp_path):
    header, *rows = lines(tmp_path, 2, "FL", "AS", "SE")
    assert header == "region,size,turnover,Status"
    assert len(rows) == 14
    assert rows[7:9] == [" 1,s,20.00,5", " 1,l,5.00,5"]
    assert rows[10] == " 2,s,30.50,11"
    assert lines(tmp_path, 3, "SO")[7:9] == [" 1,s,5", " 1,l,5"]


def test_safe_cross_table_is_written(tmp_path):
    assert lines(tmp_path, 1, "QU") == [
        '"region","Total","s","l"',
        '"Total",103.50,50.50,53.00',
        '"North",63.50,50.50,13.00',
        '" 1",25.00,x,x',
        '" 2",38.50,x,x',
        '"South",40.00,-,40.00',
    ]


@pytest.mark.parametrize("shape", [(2,), (2, 2, 2), (2, 3, 2, 2)])
def test_cross_table_shows_every_cell_once(tmp_path, shape):
    values = np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(float) * 7
    table = Table.from_array(values, integer=False)
    safe = SafeTable(judged=judge(table, parse_safety("", print)))
    shown = [word for line in lines(tmp_path, 1, table=safe) for word in line.split(",")[1:]]
    numbers = sorted(float(word) for word in shown if word.replace(".", "").isdigit() and float(word) >= 7)
    assert numbers == sorted(table.value)


def test_sbs_file_is_written(tmp_path):
    found = lines(tmp_path, 4, "HL", "QU")
    assert found[0] == '"Total",0,"Total",0,103.50,15,V'
    assert found[7:9] == ['" 1",2,"s",0,20.00,2,A', '" 1",2,"l",0,5.00,1,A']
    assert found[10] == '" 2",2,"s",0,30.50,4,D'
    assert len(found) == 14


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ("NK(1,75)", ["B", "100.0"]),
        ("NK(2,80)", ["C", "100.0"]),
        ("P(15,1)", ["F", "100.0", "0.0"]),
        ("NK(3,99)|FREQ(3,20)", ["C", "100.0"]),
    ],
)
def test_sbs_flags_name_rule_and_shares(tmp_path, rules, words):
    units = TABLE.units
    three = np.column_stack([units.largest, np.zeros(TABLE.n_cells)])
    whole = Contributors(count=units.count, largest=three, total=units.total)
    table = Table(value=TABLE.value, dimensions=TABLE.dimensions, frequency=TABLE.frequency, units=whole)
    safe = SafeTable(judged=judge(table, parse_safety(rules, print), decimals=2))
    line = next(line for line in lines(tmp_path, 4, table=safe) if line.startswith(" 1,l,"))
    assert line.split(",")[4:] == words


def test_files_with_suppressed_values_are_marked():
    assert confidential(3, frozenset({"AS"}))
    assert not confidential(3, frozenset({"QU"}))
    assert confidential(3, frozenset({"SO"}))
    assert [confidential(kind, frozenset()) for kind in (1, 2, 4, 5, 6)] == [False, False, True, True, True]


@pytest.mark.parametrize("options", [(), ("QU",), ("FL", "QU"), ("AS", "QU"), ("SE", "AS", "FL")])
def test_code_and_value_is_read_back(tmp_path, options):
    lines(tmp_path, 3, *options)
    cells = read_code_value(tmp_path / "safe.txt", 2)
    assert np.array_equal(withheld_in(cells, TABLE), PROTECTION.withheld)
    assert cells.names == (("region", "size") if "FL" in options else ())
    assert len(cells) == 14 + ("SE" not in options)
    if "AS" in options:
        assert cells.status.tolist() == [s for s in STATUSES if s != 14 or "SE" not in options]
    else:
        assert np.isnan(cells.value[cells.withheld]).all()


@pytest.mark.parametrize("options", [("SO",), ("SO", "FL", "QU")])
def test_statuses_without_values_are_read_back(tmp_path, options):
    lines(tmp_path, 3, *options)
    cells = read_code_value(tmp_path / "safe.txt", 2, statuses=True)
    assert cells.status.tolist() == STATUSES
    assert np.array_equal(withheld_in(cells, TABLE), PROTECTION.withheld)
    assert np.isnan(cells.value).all()


@pytest.mark.parametrize("options", [(), ("HL", "QU")])
def test_sbs_is_read_back(tmp_path, options):
    lines(tmp_path, 4, *options)
    cells = read_sbs(tmp_path / "safe.txt", 2, levels="HL" in options)
    assert np.array_equal(withheld_in(cells, TABLE), PROTECTION.withheld)
    assert cells.frequency.sum() == COUNT.sum()
    assert cells.value.sum() == VALUE.sum()


def test_intermediate_file_round_trips_with_pattern(tmp_path):
    path = tmp_path / "safe.tab"
    files = write_safe_file(path, SAFE, 5, frozenset({"QU"}))
    assert sorted(file.name for file in files) == sorted(entry.name for entry in tmp_path.iterdir())
    given = read_table(path, read_metadata(tmp_path / "safe.rda"))
    assert np.array_equal(given.table.value, TABLE.value)
    assert given.table.dimensions[0].codes == REGION.codes
    assert np.array_equal(given.table.frequency, TABLE.frequency)
    assert given.table.largest == pytest.approx(TABLE.largest)
    assert np.array_equal(given.status == "U", JUDGED.need.unsafe)
    assert np.array_equal(given.status == "M", PROTECTION.secondary)
    assert np.array_equal(given.status == "E", COUNT.ravel() == 0)
    assert np.array_equal(given.upper, JUDGED.need.upper)


def test_intermediate_file_contains_attack_intervals(tmp_path):
    path = tmp_path / "safe.tab"
    write_safe_file(path, SAFE, 5, frozenset({"AR", "SE"}))
    row = next(line for line in path.read_text().splitlines() if line.startswith(" 1;l;"))
    # 25 in the row, 13 in the column, 50.5 in the other one: between 0 and 13.
    assert row.split(";")[-6:] == ["0.00", "13.00", "13.00", "100.00", "160.00", "260.00"]
    given = read_table(path, read_metadata(tmp_path / "safe.rda"), value="turnover")
    assert np.array_equal(given.table.value, TABLE.value)


def test_unbounded_interval_is_left_empty(tmp_path):
    path = tmp_path / "safe.tab"
    bounds = Bounds(lower=np.zeros(TABLE.n_cells), upper=np.full(TABLE.n_cells, np.inf))
    write_safe_file(path, replace(SAFE, bounds=bounds), 5, frozenset({"AR"}))
    rows = [line.split(";")[-6:] for line in path.read_text().splitlines()]
    assert rows[0] == ["0.00", "", "", "100.00", "", ""]
    assert "inf" not in path.read_text()
    given = read_table(path, read_metadata(tmp_path / "safe.rda"), value="turnover")
    assert np.array_equal(given.table.value, TABLE.value)


def test_jj_file_has_integer_costs_and_finite_bounds(tmp_path):
    path = tmp_path / "safe.jj"
    write_safe_file(path, SAFE, 6)
    table, need = read_jj(path)
    assert np.array_equal(table.value, TABLE.value)
    assert np.array_equal(read_jj_pattern(path), PROTECTION.withheld)
    assert np.array_equal(need.upper, JUDGED.need.upper)
    assert np.all(table.cost == np.rint(table.cost))
    assert table.cost.min() >= 1
    assert np.isfinite(table.upper).all()
    assert np.array_equal(np.flatnonzero(table.fixed), np.flatnonzero(COUNT.ravel() == 0))


@pytest.mark.parametrize(
    ("text", "read", "what"),
    [
        ("", lambda path: read_code_value(path, 2), "the safe file is empty"),
        ('"a","b"\n', lambda path: read_code_value(path, 2), "fewer than 3 entries"),
        ("a,b,1,2,3\n", lambda path: read_code_value(path, 2), "do not hold 2 codes"),
        ("a,b,1\na,c,1;5\n", lambda path: read_code_value(path, 2), "a value is not a number"),
        ("a,b,1,s\n", lambda path: read_code_value(path, 2), "a status is not a whole number"),
        ("a,b,inf\na,c,inf\n", lambda path: read_code_value(path, 2), "a value is not a number"),
        (f"a,b,1,{10**30}\n", lambda path: read_code_value(path, 2), "a status is not a whole number"),
        (f"a,{'b' * 140_000},1\n", lambda path: read_code_value(path, 2), "a line is not a list of entries"),
    ],
)
def test_invalid_safe_file_raises(tmp_path, text, read, what):
    path = tmp_path / "safe.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=what) as refused:
        read(path)
    assert "1;5" not in str(refused.value)


def test_pattern_of_other_table_raises(tmp_path):
    path = tmp_path / "safe.txt"
    path.write_text("a,b,x\n", encoding="utf-8")
    with pytest.raises(TableError, match="does not have"):
        withheld_in(read_code_value(path, 2), TABLE)


def test_unsupported_safe_file_raises(tmp_path):
    with pytest.raises(ParameterError, match="type 9"):
        write_safe_file(tmp_path / "a", SAFE, 9)
    comma = Table.from_array([1.0, 2.0], codes=[["a,b", "c"]])
    safe = SafeTable(judged=judge(comma, parse_safety("", print)))
    with pytest.raises(OutputError, match="without quotes"):
        write_safe_file(tmp_path / "a", safe, 3, frozenset())
    with pytest.raises(OutputError, match="no attack"):
        write_safe_file(tmp_path / "a", safe, 5, frozenset({"AR"}))
    assert not list(tmp_path.iterdir())
