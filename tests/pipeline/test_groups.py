"""A publication whose tables share nothing with some others: groups apart, each as if it were alone."""

from __future__ import annotations

import gzip
import json
import pickle
import re

import joblib
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from hitoku.cli import app
from hitoku.errors import ParameterError
from hitoku.evidence.verify import verify
from hitoku.linking import LinkedTables, link
from hitoku.model import Finding, Hierarchy, Severity, merge_groups
from hitoku.pipeline import assess_filter_remainder, divide, run_recipe
from hitoku.rules import DirectDisclosure, assess

HEAD = """
data = "firms.csv"
rules = ["p_percent:p=10", "few_contributors:n=3"]
title = "Firms & <others>"
"""
TURNOVER = """
[[tables]]
name = "trades"
by = ["trade", "town"]
value = "turnover"
[[tables]]
name = "sizes"
by = ["trade", "size"]
value = "turnover"
"""
STAFF = """
[[tables]]
name = "staff"
by = ["trade", "town"]
value = "staff"
"""


@pytest.fixture(scope="module")
def records() -> pd.DataFrame:
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({name: rng.choice(list(codes), 70) for name, codes in CODES.items()})
    return frame.assign(turnover=rng.integers(1, 500, 70), staff=rng.integers(1, 60, 70))


CODES = {"trade": "ABC", "town": "PQR", "size": "12"}


@pytest.fixture
def house(tmp_path, records):
    records.to_csv(tmp_path / "firms.csv", index=False)

    def write(text: str, name: str = "recipe.toml"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def tree(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def proof(folder):
    content = json.loads(gzip.decompress((folder / "checker" / "certificate.json.gz").read_bytes()))
    return {name: part for name, part in content.items() if name not in {"verdict", "sha256"}}


def test_independent_groups_equal_separate_runs(house, tmp_path):
    run = run_recipe(house(HEAD + TURNOVER + STAFF), tmp_path / "all")
    assert list(run.outcomes) == ["trades+1", "staff"]
    assert run.safe
    for name, own in (("trades+1", TURNOVER), ("staff", STAFF.replace('[[tables]]\nname = "staff"\n', ""))):
        alone = run_recipe(house(HEAD + own, "alone.toml"), tmp_path / "alone" / name)
        assert tree(run.folder / name / "public") == tree(alone.folder / "public")
        # Its verdict names the tables beside it.
        assert proof(run.folder / name) == proof(alone.folder)
        assert verify(run.folder / name).ok


def test_process_count_changes_no_byte(house, tmp_path):
    path = house(HEAD + TURNOVER + STAFF)
    told = []
    one = run_recipe(path, tmp_path / "one", progress=lambda *done: told.append(done))
    assert told == [(1, 2), (2, 2)]
    with joblib.parallel_config(backend="loky", n_jobs=2):
        two = run_recipe(path, tmp_path / "two")
    assert tree(one.folder) == tree(two.folder)


def filtered(name: str, by: str, where: str) -> str:
    return f'[[tables]]\nname = "{name}"\nby = {by}\nwhere = {where}\nvalue = "turnover"\n'


TOWNS = "".join(filtered(town, '["trade", "size"]', f'{{town = "{town}"}}') for town in CODES["town"])


def test_disjoint_filters_make_independent_groups(house, records):
    run = run_recipe(house(HEAD + TOWNS))
    assert list(run.outcomes) == list(CODES["town"])
    for name, outcome in run.outcomes.items():
        assert not outcome.remarks
        assert outcome.table.value[-1] == records.loc[records["town"] == name, "turnover"].sum()


@pytest.mark.parametrize(
    "further",
    [
        pytest.param(
            '[[tables]]\nname = "all"\nby = ["trade"]\nvalue = "turnover"\n', id="a table of all towns"
        ),
        pytest.param(
            filtered("two", '["size"]', '{town = ["P", "Q", "R"]}'), id="a filter that keeps all of them"
        ),
    ],
)
def test_common_table_joins_filtered_tables(house, further):
    assert list(run_recipe(house(HEAD + TOWNS + further)).outcomes) == ["table"]


def two_groups(records, remarks=()):
    """Link tables of turnover and, apart from them, of staff; put all four into one group."""
    one, two = (
        link(records, {"a": {"by": ["trade"]}, "b": {"by": ["size"]}}, value="turnover"),
        link(records, {"c": {"by": ["town"]}, "d": {"by": ["town", "size"]}}, value="staff"),
    )
    table, places = merge_groups(
        [one.table, two.table], [(np.zeros(0, int), np.zeros(0, int))] * 2, ["1", "2"]
    )
    parts = {
        name: (part, into[cells])
        for linked, into in ((one, places[0]), (two, places[1]))
        for name, (part, cells) in linked.parts.items()
    }
    return LinkedTables(table=table, parts=parts, remarks=remarks)


def test_linked_tables_without_common_sum_are_separated(records):
    linked = two_groups(records)
    groups = divide(linked, list(linked.parts))
    assert [list(group.parts) for group in groups] == [["a", "b"], ["c", "d"]]
    for group in groups:
        assert abs(group.table.relations @ group.table.value).max() == 0
        for part, cells in group.parts.values():
            assert np.array_equal(group.table.value[cells], part.value)


def test_divided_groups_keep_remarks_about_their_tables(records):
    """A remark names its tables; a place that reads like a list of tables is only shown."""
    about = [("a",), ("c", "d"), ("b", "c"), ()]
    remarks = tuple(
        Finding(severity=Severity.NOTE, place="a, c", reason="told", tables=names) for names in about
    )
    linked = two_groups(records, remarks)
    kept = [[remark.tables for remark in group.remarks] for group in divide(linked, list(linked.parts))]
    assert kept == [[("a",), ("b", "c"), ()], [("c", "d"), ("b", "c"), ()]]


def test_cells_are_named_once_for_all_groups(house, tmp_path):
    keep = '[[withhold]]\ntown = "P"\ntrade = "A"\n[[withhold]]\nsize = "1"\ntrade = "B"\n'
    run = run_recipe(house(HEAD + TURNOVER + STAFF + keep), tmp_path / "out")
    for folder, table in (("trades+1/public/trades", "trades"), ("staff/public", "table")):
        shown = pd.read_csv(run.folder / folder / f"{table}.csv").set_index(["trade", "town"])
        assert np.isnan(shown.loc[("A", "P"), "value"])
    sizes = pd.read_csv(run.folder / "trades+1/public/sizes/sizes.csv", dtype={"size": str})
    assert np.isnan(sizes.set_index(["trade", "size"]).loc[("B", "1"), "value"])
    with pytest.raises(ParameterError, match="no variable 'sice'"):
        run_recipe(house(HEAD + TURNOVER + STAFF + keep.replace("size", "sice")), tmp_path / "no")


def test_overview_and_summary_list_every_table(house, tmp_path):
    path = house(HEAD + TURNOVER + STAFF)
    said = CliRunner().invoke(app, ["protect", str(path), "--out", str(tmp_path / "out"), "--jobs", "1"])
    assert said.exit_code == 0, said.output
    assert "checker/overview.html" in said.output.replace("\n", "")
    lines = pd.read_csv(tmp_path / "out" / "checker" / "overview.csv", index_col="table")
    page = (tmp_path / "out" / "checker" / "overview.html").read_text("utf-8")
    assert "Firms &amp; &lt;others&gt;" in page
    for name, file in (("trades", "trades+1/public/trades/trades"), ("staff", "staff/public/table")):
        shown = pd.read_csv(tmp_path / "out" / f"{file}.csv")
        filled = shown[(shown["value"] != 0) | shown["value"].isna()]
        assert lines.loc[name, "withheld"] == shown["value"].isna().sum()
        assert lines.loc[name, "published_share_of_cells"] == pytest.approx(
            filled["value"].notna().mean(), abs=1e-4
        )
        (row,) = re.findall(rf"<tr[^>]*><th scope=.row.><a href=.([^#>]*).>{name}</a>", page)
        assert (tmp_path / "out" / "checker" / row).is_file()
    assert page.count('<details class="group"') == 2  # open, for there are few tables
    assert page.count(" open>") == 2
    assert re.search(r"trades and sizes share \d+ cells", page)
    assert lines.loc["trades", "shares_cells_with"].startswith("sizes ")


def test_group_line_counts_unsafe_cells_of_tables(house, tmp_path):
    some = filtered("some", '["trade", "town"]', '{size = ["1"]}')
    path = house(HEAD.replace("n=3", "n=8") + TURNOVER + some + STAFF)
    said = CliRunner().invoke(app, ["protect", str(path), "--out", str(tmp_path / "out"), "--jobs", "1"])
    assert said.exit_code == 0, said.output
    line = next(line for line in said.output.splitlines() if line.startswith("\u2502 trades+2"))
    tables, _, unsafe, withheld = (int(entry) for entry in line.split("\u2502")[2:6])
    assert tables == 3
    assert 0 < unsafe <= withheld


def test_codes_without_records_can_be_omitted(house, tmp_path):
    tree = "code,parent\nG,\nA,G\nB,G\nX,G\nH,\nC,H\nK,\nY,K\nZ,K\n"
    (tmp_path / "trades.csv").write_text(tree)
    one = HEAD + 'value = "turnover"\nby = ["trade", "size"]\nhierarchies = {trade = "trades.csv"}\n'
    kept = run_recipe(house(one)).outcome.table
    dropped = run_recipe(house(one + 'empty = "drop"\n')).outcome.table
    assert set(kept.labels.codes[0]) - set(dropped.labels.codes[0]) == {"X", "K", "Y", "Z"}
    for cell in range(dropped.n_cells):
        (same,) = [c for c in range(kept.n_cells) if kept.labels.codes_of(c) == dropped.labels.codes_of(cell)]
        assert dropped.value[cell] == kept.value[same]
    with pytest.raises(ParameterError, match="empty goes with data"):
        run_recipe(
            house('cells = "firms.csv"\nby = ["trade"]\nvalue = "turnover"\nempty = "drop"\n' + HEAD[20:])
        )


def _linked_beside_a_filter(records):
    """Link trades of all towns with those of some; return the table and what the filter leaves out."""
    frame = records.assign(
        ill=np.where(records["town"] == "P", "no", np.where(records.index % 3, "no", "yes"))
    )
    tree = {"ill": Hierarchy.flat(["no", "yes"])}
    by = {"by": ["trade", "ill"], "hierarchies": tree}
    linked = link(frame, {"all": by, "others": {**by, "where": {"town": ["Q", "R"]}}})
    return linked.table, linked.rest


def test_filter_remainder_is_protected_for_groups_too(records):
    """A row of the rest with everybody in one cell tells their attribute to whoever subtracts."""
    table, ((rest, cells),) = _linked_beside_a_filter(records)
    rules = [DirectDisclosure(k=0, sensitive="ill")]
    asked = assess(table, assess_filter_remainder(table, ((rest, cells),), rules, lambda _: None))
    own = assess(rest, rules)
    assert len(own.attributions) == len(asked.attributions) > 0
    # The same sums, of the same cells, wherever these stand.
    assert np.allclose(asked.attributions.sums @ table.value, own.attributions.sums @ rest.value)
    assert np.array_equal(asked.attributions.group, cells[own.attributions.group])


def test_variable_order_does_not_matter_with_filter_and_group_rule(tmp_path):
    """Trial S12: the sums of the two tables' groups are put together, which must not change them in place."""
    rows = [("a1", "b1", "c1")] * 7 + [("a1", "b1", "c2")] * 5 + [("a2", "b1", "c1")] * 4
    rows += [("a2", "b1", "c2")] * 2 + [("a2", "b2", "c2"), ("a1", "b2", "c1")]
    pd.DataFrame(rows, columns=["a", "b", "c"]).to_csv(tmp_path / "people.csv", index=False)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        'data = "people.csv"\nrules = ["direct_disclosure:k=1"]\n[[tables]]\nname = "x"\nby = ["a", "b"]\n'
        '[[tables]]\nname = "y"\nby = ["b", "a"]\nwhere = {c = ["c1"]}\n'
    )
    run = run_recipe(recipe)
    assert run.safe
    # Everybody of b2 is in one cell of each table.
    assert run.outcome.protection.withheld.any()


def test_remainder_rules_reach_worker_processes(records):
    rest = assess_filter_remainder(
        *_linked_beside_a_filter(records), [DirectDisclosure(k=0, sensitive="ill")], lambda _: None
    )
    (rule,) = pickle.loads(pickle.dumps(rest))  # noqa: S301 - our own
    assert len(rule.learnt) == len(rest[0].learnt) > 0


def test_publication_folder_covers_its_groups(house, tmp_path):
    folder = run_recipe(house(HEAD.replace("n=3", "n=8") + TURNOVER + STAFF), tmp_path / "all").folder
    for command, told in (
        ("audit", "Not decided: differencing between the tables of this recipe"),
        ("attack", "nothing found"),
        ("verify", "trades+1:\nyes: "),
    ):
        done = CliRunner().invoke(app, [command, str(folder)])
        assert done.exit_code == 0, done.output
        assert told in done.output
    public = folder / "trades+1" / "public" / "table.csv"
    rows = pd.read_csv(public, dtype=str, keep_default_na=False)
    place = rows.index[rows["status"] == "withheld"]
    assert len(place)
    true = pd.read_csv(folder / "trades+1" / "checker" / "cells.csv", dtype=str)
    rows.loc[place, ["value", "status"]] = [[value, "published"] for value in true["value"][place]]
    rows.to_csv(public, index=False)
    for command in ("audit", "attack", "verify"):
        done = CliRunner().invoke(app, [command, str(folder)])
        assert done.exit_code == 1, done.output
