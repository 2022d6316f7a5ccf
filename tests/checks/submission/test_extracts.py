"""The same units in other files: CSV and Parquet, other extracts, later deliveries."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.checks.submission.test_let_through import TABLE_1
from tests.raising import raises

from hitoku.checks import Records, packed_texts
from hitoku.checks.ledger import Ledger, init, number_units, pseudonyms, read_store
from hitoku.checks.principles import Clearance, Principle
from hitoku.checks.session import Session
from hitoku.checks.submission import definition_of, partitions, recheck, release
from hitoku.errors import DataError

PEOPLE = TABLE_1.assign(id=[f"p{k:02}" for k in range(len(TABLE_1))])


def differencing(out):
    return [v for v in out.verdicts if v.principle is Principle.DIFFERENCING]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet"])
def test_file_equals_its_frame(tmp_path, ending):
    frame = pd.DataFrame(
        {
            "region": ["01", "02", "12"] * 20,
            "age": np.arange(60) % 4 + 20,
            "income": np.arange(60) * 1.5 + 10,
            "rooms": [None, *range(59)],
            "remark": [None, *"abc"] * 15,
            "person": np.arange(60) // 2,
        }
    )
    path = tmp_path / f"people.{ending}"
    if ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    one, other = Session("s", frame, unit="person"), Session("s", str(path), unit="person")
    for ask in (
        lambda s: s.frequency_table(by=["region", "age"]),
        lambda s: s.mean("income", by="region"),
        lambda s: s.mean("income", where={"age": [20, 21]}),
        lambda s: s.mean("income", where={"region": "01"}),
    ):
        assert ask(one).evidence.to_dict() == ask(other).evidence.to_dict()
    # The data are the same, so a checker may hold the frame against the file.
    assert other.records.hash == one.records.hash
    assert Records.open(frame.iloc[::-1]).hash != one.records.hash


@pytest.mark.parametrize(
    ("name", "text"), [("absent.csv", None), ("people.xlsx", "x"), ("empty.csv", "region,age\n")]
)
def test_unreadable_file_raises(tmp_path, name, text):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(DataError) as caught:
        Session("s", path)
    assert caught.value.fix


def test_name_types_share_pseudonyms():
    """As the standard library makes them, one at a time."""
    names = pa.array(["ann", "", "é", "x" * 300, "bob"])
    key = bytes(range(32))
    expected = [
        int.from_bytes(hashlib.blake2b(name.encode(), key=key, digest_size=8).digest(), "little")
        for name in names.to_pylist()
    ]
    assert pseudonyms(packed_texts(names), key).tolist() == expected
    assert pseudonyms(packed_texts(names.slice(1, 3)), key).tolist() == expected[1:4]
    assert pseudonyms(names.to_pylist(), key).tolist() == expected
    assert pseudonyms([7, 12], key).tolist() == pseudonyms(packed_texts(pa.array([7, 12])), key).tolist()


def test_unit_number_depends_on_unit_only():
    key = bytes(32)
    first, all_of_them = number_units(pseudonyms("abcd", key), np.zeros(0, dtype=np.uint64))
    assert sorted(first.tolist()) == [0, 1, 2, 3]
    second, grown = number_units(pseudonyms("xbdy", key), all_of_them)
    assert second.tolist()[1:3] == [first[1], first[3]]
    assert sorted(second.tolist()[::3]) == [4, 5]
    assert np.array_equal(grown[:4], all_of_them)
    assert number_units(pseudonyms("abcdxy", key), grown)[0][:4].tolist() == first.tolist()


def released(path, frame, name="first", by="narrow", project="before"):
    """Release a table from one extract."""
    work = Session(project, frame, unit="id")
    out = work.frequency_table(by=by, name=name)
    book = Ledger.open(
        path,
        data_hash=work.records.hash,
        n_units=work.records.n_units,
        project=project,
        units=work.records.names.to_pylist(),
    )
    book.remember(name, partitions(out), definition_of(out))


NEW = pd.DataFrame({"narrow": "26-30", "wide": "26-30", "id": [f"q{k}" for k in range(12)]})


@pytest.mark.parametrize(
    "extract",
    [
        pytest.param(PEOPLE, id="the same data"),
        pytest.param(PEOPLE.sample(frac=1, random_state=3), id="in another order"),
        pytest.param(PEOPLE.assign(income=1.0), id="another column"),
        pytest.param(pd.concat([PEOPLE, NEW]), id="more units"),
        pytest.param(PEOPLE[PEOPLE["wide"] != "26-30"], id="fewer units"),
        pytest.param(
            pd.concat([NEW, PEOPLE[PEOPLE["wide"] != "26-30"]]).iloc[::-1], id="fewer and more, turned round"
        ),
    ],
)
def test_extract_is_compared_with_other_release(tmp_path, extract):
    path = tmp_path / "x.ledger"
    released(path, PEOPLE)
    out = Session("after", extract, unit="id", ledger=path).frequency_table(by="wide")
    assert any("= 1 unit" in verdict.text for verdict in differencing(out))


def test_ledger_compares_all_earlier_extracts(tmp_path):
    path = tmp_path / "x.ledger"
    later = pd.concat([PEOPLE, NEW])
    released(path, PEOPLE)
    released(path, later.iloc[::-1], name="second", project="other")
    released(path, PEOPLE.iloc[::2], name="third", by="wide", project="third")
    last = Records.open(later, "id")
    book = Ledger.open(path, data_hash="x", n_units=69, units=last.names.to_pylist())
    sizes = [part.sizes.tolist() for part in book.search.released]
    # 57 people, then 69 with twelve more aged 26 to 30, then every other of the first.
    assert sizes[0] == [12, 18, 19, 20]
    assert sizes[2] == [0, 18, 19, 32]
    assert sum(sizes[4][1:]) <= 29
    chunks = [body["units"]["n_units"] for body in read_store(path).of("output") if "units" in body]
    assert chunks == [57, 12]


def test_other_units_and_damaged_lists_raise(tmp_path):
    path = tmp_path / "x.ledger"
    released(path, PEOPLE)
    with raises("ledger_of_other_data"):
        Session("after", NEW, unit="id", ledger=path)
    with raises("ledger_needs_unit_names"):
        Session("after", PEOPLE, ledger=path)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("update vector set content = zeroblob(456) where name = 'units-0'")
    with raises("ledger_file_changed"):
        Session("after", PEOPLE, unit="id", ledger=path)


def test_ledger_contains_no_names(tmp_path):
    path = tmp_path / "x.ledger"
    released(path, PEOPLE.assign(id=[f"NAME-{k}" for k in range(len(PEOPLE))]))
    assert not any(b"NAME-" in each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())


def test_submission_is_checked_against_other_extract(tmp_path):
    path = tmp_path / "x.ledger"
    first = Session("before", PEOPLE, unit="id")
    first.frequency_table(by="narrow", name="first")
    init(path, policy="japan-2017", unit="id", checkers=1)
    assert release(first.submit(tmp_path / "one"), data=PEOPLE, ledger=path, checkers=["M. Sato"]).receipt
    extract = PEOPLE.assign(more=1).iloc[::-1]
    second = Session("after", extract, unit="id")
    assert second.frequency_table(by="wide", name="second").status is Clearance.PASS
    folder = second.submit(tmp_path / "two")
    assert not recheck(folder, data=extract, unit="id", ledger=path).ok
    assert recheck(folder, ledger=path).matrix["second"]["differencing"] == "review"


RICH = pd.DataFrame(
    {
        "id": [f"p{k}" for k in range(60)],
        "region": ["N", "S", "E"] * 20,
        "income": [round(20 + 7.3 * k % 11 + k / 100, 2) for k in range(60)],
    }
)


@pytest.mark.parametrize(
    "extract",
    [
        pytest.param(RICH.assign(id=["p0", *(f"q{k}" for k in range(59))]), id="renumbered except one"),
        pytest.param(RICH.assign(id=[f"q{k}" for k in range(60)]), id="all renumbered"),
        pytest.param(RICH.assign(id=[f"q{k}" for k in range(60)]).iloc[::-1], id="renumbered, turned round"),
        pytest.param(RICH, id="as it was"),
    ],
)
def test_renumbered_units_are_matched_by_records(tmp_path, extract):
    path = tmp_path / "x.ledger"
    init(path, policy="japan-2017", unit="id", checkers=1)
    first = Session("before", RICH, unit="id")
    first.frequency_table(by="region", name="first")
    release(first.submit(tmp_path / "one"), data=RICH, ledger=path, checkers=["M. Sato"])
    # Without three people of one region, by their incomes.
    kept = sorted(set(RICH.income) - set(RICH.income[:9:3]))
    later = Session("after", extract, unit="id", ledger=path)
    out = later.frequency_table(by="region", where={"income": kept}, name="second")
    assert any("= 3 units" in verdict.text for verdict in differencing(out))


def test_dropped_row_is_found_without_unit_column(tmp_path):
    path, nameless = tmp_path / "x.ledger", RICH.drop(columns="id")
    init(path, policy="japan-2017", checkers=1)
    first = Session("before", nameless)
    first.frequency_table(by="region", name="first")
    release(first.submit(tmp_path / "one"), data=nameless, ledger=path, checkers=["M. Sato"])
    out = Session("after", nameless.iloc[1:], ledger=path).frequency_table(by="region")
    assert any("20 - 19 = 1 unit" in verdict.text for verdict in differencing(out))
    # One person's region is another: they are in neither group twice.
    moved = nameless.assign(region=["S", *nameless.region[1:]])
    out = Session("moved", moved, ledger=path).frequency_table(by="region")
    assert out.status is Clearance.FAIL


def test_scope_of_comparison_is_reported(tmp_path):
    path = tmp_path / "x.ledger"
    init(path, policy="japan-2017", unit="id", checkers=1)
    first = Session("before", RICH.iloc[:50], unit="id")
    first.frequency_table(by="region", name="first")
    release(first.submit(tmp_path / "one"), data=RICH.iloc[:50], ledger=path, checkers=["M. Sato"])
    others = pd.concat([RICH, RICH.iloc[:20].assign(id=[f"n{k}" for k in range(20)], income=1.0)])
    out = Session("after", others, unit="id", ledger=path).mean("income")
    assert "30 of 80 units are new to the ledger" in differencing(out)[0].text
    with raises("ledger_counts_other_unit", ledger_unit="id"):
        Session("after", RICH, ledger=path)


def test_chain_of_four_is_found(tmp_path):
    # 40 - 14 - 12 - 11 = 3: no three of the outputs say anything about the last.
    path, frame = tmp_path / "x.ledger", RICH.assign(a="n", b="n", c="n", d="n")
    for name, start, end in (("a", 0, 40), ("b", 0, 14), ("c", 14, 26), ("d", 26, 37)):
        frame.loc[start : end - 1, name] = "y"
    init(path, policy="japan-2017", unit="id", checkers=1)
    for name in "abc":
        work = Session(name, frame, unit="id")
        work.sum("income", where={name: ["y"]}, name=name)
        release(work.submit(tmp_path / name), data=frame, ledger=path, checkers=["M. Sato"])
    out = Session("last", frame, unit="id", ledger=path).sum("income", where={"d": ["y"]})
    assert any("40 - 14 - 12 - 11 = 3 units" in verdict.text for verdict in differencing(out))
