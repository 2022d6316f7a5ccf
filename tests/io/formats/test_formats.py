"""Every registered format, one by one and together: names that go in come out, warnings are in all."""

from __future__ import annotations

import csv
import json
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import numpy as np
import openpyxl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.leaks import words_in

from hitoku.errors import ParameterError
from hitoku.files import rearm
from hitoku.io import Format, Publication, formats
from hitoku.io.formats import FORMATS, USUAL, known_format, write_formats
from hitoku.model import Protection, Release, Table


def shown(table, hidden, **words) -> Publication:
    return Publication(release=Release.of(table, Protection.withhold(table, hidden)), **words)


def unregistered(package: ModuleType) -> set[str]:
    """Names of the formats that modules of a package define and the registry lacks."""
    modules = (import_module(f"{package.__name__}.{each.name}") for each in iter_modules(package.__path__))
    found = [each for module in modules for each in vars(module).values() if isinstance(each, Format)]
    return {each.name for each in found if each not in FORMATS.values()}


def test_every_format_module_is_registered(monkeypatch):
    assert unregistered(formats) == set()
    monkeypatch.setattr(formats.html, "DBASE", Format("dbase", ".dbf", "a toy", print), raising=False)
    assert unregistered(formats) == {"dbase"}


@pytest.fixture
def persons():
    return Table.from_array([[20, 15], [72, 1]], measure="persons")


def _csv(file):
    with file.open(newline="", encoding="utf-8") as opened:
        return [(*row[:2], float(row[2]) if row[2] else None) for row in list(csv.reader(opened))[1:]]


def _harmless_csv(file):
    return [(*map(rearm, codes), value) for *codes, value in _csv(file)]


def _xlsx(file):
    sheet = openpyxl.load_workbook(file).worksheets[0]
    head, *rows = sheet.iter_rows(min_row=6, max_row=9, max_col=4, values_only=True)
    return [
        (row[0], code, None if value == "c" else float(value))
        for row in rows
        for code, value in zip(head[1:], row[1:], strict=True)
    ]


def _parquet(file):
    rows = pq.read_table(file).to_pylist()
    return [tuple(list(row.values())[:3]) for row in rows]


def _json_stat(file):
    told = json.loads(file.read_text("utf-8"))
    rows, columns = (told["dimension"][name]["category"]["index"] for name in told["id"])
    values = iter(told["value"])
    return [(row, column, next(values)) for row in rows for column in columns]


READERS = {
    "csv": _harmless_csv,
    "xlsx": _xlsx,
    "sdmx-csv": _csv,
    "csv-plain": _csv,
    "parquet": _parquet,
    "json-stat": _json_stat,
}

CODES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1).filter(
        lambda code: code.strip() and code not in {"Total", "c"}
    ),
    min_size=2,
    max_size=2,
    unique=True,
)


@pytest.mark.parametrize("name", READERS)
@given(rows=CODES, columns=CODES)
@settings(max_examples=13)
def test_codes_and_values_round_trip(tmp_path_factory, name, rows, columns):
    table = Table.from_array(np.array([[0.5, 1.25], [0.0, 1e9]]), codes=[rows, columns], integer=False)
    file = tmp_path_factory.mktemp("formats") / "table"
    FORMATS[name].write(file := file.with_suffix(FORMATS[name].suffix), shown(table, table.value == 1.25))
    expected = [
        (*table.labels.codes_of(cell), None if value == 1.25 else value)
        for cell, value in enumerate(table.value)
    ]
    assert READERS[name](file) == expected


def test_every_format_has_read_back_test_or_excuse():
    assert set(FORMATS) == {*READERS, "html"}
    assert all(one.name == name for name, one in FORMATS.items())
    suffixes = [one.suffix for one in FORMATS.values()]
    assert len(set(suffixes)) == len(suffixes)


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        (None, ["table.csv", "table.html", "table.xlsx"]),
        ([], ["table.csv"]),
        (["parquet"], ["table.csv", "table.parquet"]),
        (["csv", "json-stat", "sdmx-csv"], ["table.csv", "table.json", "table.sdmx.csv"]),
    ],
)
def test_csv_is_always_available(persons, tmp_path, asked, written):
    assert write_formats(tmp_path, "table", shown(persons, persons.inner), asked) == {}
    assert sorted(file.name for file in tmp_path.iterdir()) == written
    assert set(USUAL) <= set(FORMATS)


def test_unknown_format_raises_before_writing(persons, tmp_path):
    with pytest.raises(ParameterError, match="did you mean 'parquet'"):
        write_formats(tmp_path, "table", shown(persons, persons.inner), ["html", "parket"])
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ParameterError, match="use one of: csv"):
        known_format("pdf")


@pytest.mark.parametrize("name", [name for name in FORMATS if not name.startswith("csv")])
def test_text_formats_contain_warning_and_footnotes(persons, tmp_path, name):
    file: Path = tmp_path / f"table{FORMATS[name].suffix}"
    words = {"warning": "NOT SAFE, not for publication", "title": "Persons"}
    FORMATS[name].write(
        file, shown(persons, persons.inner, footnotes=("Nights only.",), source="Census", **words)
    )
    text = words_in(file)
    assert b"not safe, not for publication" in text
    if name != "sdmx-csv":
        assert b"nights only." in text
        assert b"census" in text
