"""Nothing confidential leaves: every public file is opened and searched, in every format."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow.parquet as pq
import pytest
from openpyxl.comments import Comment
from openpyxl.workbook.defined_name import DefinedName
from tests.oracles.leaks import leaked, words_in

from hitoku.evidence import Outcome, audit
from hitoku.io import PublicationPlan
from hitoku.io.formats import FORMATS
from hitoku.io.release import write_release
from hitoku.model import Contributors, Need, Protection, Release, Table

# No two cells, levels or contributions share a number, and none is a round one.
INNER = np.array(
    [
        [4815.25, 1623.5, 4207.75, 8128.5],
        [3141.5, 2718.25, 1414.5, 1732.75],
        [5772.25, 6931.5, 2236.75, 6180.25],
    ]
)
HIDDEN = [(0, 0), (0, 2), (1, 0), (1, 2)]
CHECKERS = [
    "primary",
    "secondary",
    "unsafe",
    "p_percent",
    "few_contributors",
    "required",
    "respondent",
    "dominance",
]


def decided(inner=INNER, unsafe=HIDDEN[:1], **parts):
    """A table of turnover in which a rectangle is withheld, with what the checker gets to see of it."""
    table = Table.from_array(inner, names=["region", "trade"], integer=False, measure="turnover", **parts)
    shape = tuple(size + 1 for size in inner.shape)
    hidden, bad = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    for place in HIDDEN:
        hidden[place] = True
    for place in unsafe:
        bad[place] = True
    hit = bad.ravel()
    need = Need(
        unsafe=hit,
        lower=np.where(hit, 311.125, 0.0),
        upper=np.where(hit, 277.375, 0.0),
        rules={"p_percent": hit},
    )
    protection = Protection.withhold(table, hidden.ravel(), need)
    return table, need, protection, audit(table, need, Release.of(table, protection))


def written(path: Path, parts) -> Path:
    _, _, protection, found = parts
    plan = PublicationPlan(
        title="Turnover of mills",
        recipe={"rules": ["p_percent:p=10"]},
        recipe_text='rules = ["p_percent:p=10"]\n',
        formats=list(FORMATS),
        source="Register of mills",
        footnotes=["Thousand thalers."],
    )
    return write_release(path, Outcome(protection, found), plan)


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    total = decided()[0].value
    who = Contributors(
        count=np.full(len(total), 3), largest=(0.8137 * total)[:, None], total=total, negative=False
    )
    return written(tmp_path_factory.mktemp("leaks") / "release", decided(units=who))


@pytest.mark.parametrize("name", FORMATS)
def test_public_files_contain_no_confidential_number(release, name):
    table, _, protection, found = decided()
    assert found.safe
    file = release / "public" / f"table{FORMATS[name].suffix}"
    secret = [*table.value[protection.withheld], *(0.8137 * table.value), 311.125, 277.375]
    assert leaked(file, secret) == set()
    # The search is no empty one: what is published is found.
    assert leaked(file, table.value[~protection.withheld]) == set(table.value[~protection.withheld])


@pytest.mark.parametrize("name", FORMATS)
def test_public_files_contain_no_checker_terms(release, name):
    text = words_in(release / "public" / f"table{FORMATS[name].suffix}")
    assert [word for word in CHECKERS if word.encode() in text] == []
    assert b"region" in text


def test_forced_release_reveals_nothing_outside_checker_folder(tmp_path):
    """One unsafe cell is withheld alone: the sum that gives it away is in the report and nowhere else."""
    table, need, *_ = decided()
    protection = Protection.withhold(table, need.unsafe, need)
    found = audit(table, need, Release.of(table, protection))
    folder = written(tmp_path / "release", (table, need, protection, found))
    hidden = table.value[need.unsafe]
    files = [folder / "NOT_SAFE.txt", *sorted((folder / "public").rglob("*.*"))]
    assert len(files) == 1 + len(FORMATS)
    assert [file.name for file in files if leaked(file, [*hidden, 311.125, 277.375])] == []
    notice = files[0].read_text("utf-8")
    verdict = Outcome(protection, found).verdict
    assert verdict.headline in notice
    assert all(line in notice for line in verdict.lines)
    assert "outsider, single cells: failed" in notice
    assert leaked(folder / "checker" / "report.html", hidden) == set(hidden)


def test_checker_folder_contains_confidential_evidence(release):
    text = words_in(release / "checker" / "cells.csv")
    assert b"secondary" in text
    assert leaked(release / "checker" / "cells.csv", [311.125, 4815.25]) == {311.125, 4815.25}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"unsafe": HIDDEN}, id="all withheld cells unsafe instead of one"),
        pytest.param({"unsafe": HIDDEN[3:]}, id="another cell unsafe"),
        pytest.param(
            {"inner": INNER + 97.375 * np.array([[1, 0, -1, 0], [-1, 0, 1, 0], [0, 0, 0, 0]])},
            id="other values behind the withheld cells",
        ),
    ],
)
def test_public_files_do_not_depend_on_suppressed_values(tmp_path, other):
    """Same published numbers, same bytes: there is nowhere left for a secret to be."""
    one, two = written(tmp_path / "one", decided()), written(tmp_path / "two", decided(**other))
    assert (one / "checker" / "cells.csv").read_bytes() != (two / "checker" / "cells.csv").read_bytes()
    for file in sorted((one / "public").iterdir()):
        assert file.read_bytes() == (two / "public" / file.name).read_bytes(), file.name


def test_published_totals_hide_floating_point_residue(tmp_path):
    """0.1 + 0.2 and 0.3 are the same number to a reader; their bits would tell how a total came about."""
    sums = decided(np.round(INNER / 7, 1))[0].value
    assert np.any(sums != np.round(sums, 1))
    folder = written(tmp_path / "release", decided(np.round(INNER / 7, 1), unsafe=HIDDEN[3:]))
    shown = pq.read_table(folder / "public" / "table.parquet")["OBS_VALUE"].to_pylist()
    assert [v for v in shown if v is not None and v != round(v, 1)] == []
    told = json.loads((folder / "public" / "table.json").read_text("utf-8"))["value"]
    assert [v for v in told if v is not None and v != round(v, 1)] == []


def test_workbook_has_no_hidden_parts(release):
    book = openpyxl.load_workbook(release / "public" / "table.xlsx")
    for sheet in book:
        assert sheet.sheet_state == "visible"
        assert not any(d.hidden for d in (*sheet.row_dimensions.values(), *sheet.column_dimensions.values()))
        assert not any(cell.comment or cell.data_type == "f" for row in sheet.iter_rows() for cell in row)
    assert not book.defined_names
    assert not book.custom_doc_props.props
    with zipfile.ZipFile(release / "public" / "table.xlsx") as archive:
        strange = [
            n for n in archive.namelist() if "comment" in n or "vml" in n or "external" in n or "media" in n
        ]
    assert strange == []


SECRET = 4815.25


def _hidden_sheet(book):
    sheet = book.create_sheet("truth")
    sheet["A1"], sheet.sheet_state = SECRET, "veryHidden"


def _remark(book):
    book.worksheets[0]["B7"].comment = Comment(f"was {SECRET:,.2f}", "me")


def _property(book):
    book.properties.description = f"cell one: {SECRET}"


def _name(book):
    book.defined_names["truth"] = DefinedName("truth", attr_text=f"{SECRET}")


def _formula(book):
    book.worksheets[0]["Z99"] = f"={SECRET / 1000:.5f}E3"


def _format(book):
    book.worksheets[0]["B7"].number_format = f'"{SECRET}"'


@pytest.mark.parametrize("plant", [_hidden_sheet, _remark, _property, _name, _formula, _format])
def test_value_planted_in_workbook_is_found(release, tmp_path, plant):
    file = tmp_path / "planted.xlsx"
    book = openpyxl.load_workbook(release / "public" / "table.xlsx")
    book.save(file)
    assert leaked(file, [SECRET]) == set()
    plant(book)
    book.save(file)
    assert leaked(file, [SECRET]) == {SECRET}


def test_value_planted_in_formula_result_is_found(release, tmp_path):
    """A formula keeps the number that it last gave: so a workbook may show c and hold the truth."""
    file = tmp_path / "planted.xlsx"
    with zipfile.ZipFile(release / "public" / "table.xlsx") as old, zipfile.ZipFile(file, "w") as new:
        for item in old.infolist():
            part = old.read(item)
            if item.filename == "xl/worksheets/sheet1.xml":
                part = part.replace(
                    b"</sheetData>", b'<row r="99"><c><f>A1</f><v>4815.25</v></c></row></sheetData>'
                )
            new.writestr(item, part)
    assert leaked(file, [SECRET]) == {SECRET}


@pytest.mark.parametrize("where", ["metadata", "value", "statistics"])
def test_value_planted_in_parquet_is_found(release, tmp_path, where):
    file = tmp_path / "planted.parquet"
    table = pq.read_table(release / "public" / "table.parquet")
    pq.write_table(table, file)
    assert leaked(file, [SECRET]) == set()
    if where == "metadata":
        pq.write_table(table.replace_schema_metadata({"note": f"{SECRET}"}), file)
    else:
        values = table["OBS_VALUE"].to_pylist()
        values[0] = SECRET
        column = table.schema.get_field_index("OBS_VALUE")
        planted = table.set_column(column, "OBS_VALUE", [values])
        pq.write_table(planted, file, use_dictionary=where == "value", write_statistics=where == "statistics")
    assert leaked(file, [SECRET]) == {SECRET}


@pytest.mark.parametrize("suffix", [".json", ".csv", ".html", ".sdmx.csv"])
def test_value_planted_in_text_is_found(release, tmp_path, suffix):
    file = tmp_path / f"planted{suffix}"
    shutil.copy(release / "public" / f"table{suffix}", file)
    file.write_text(file.read_text("utf-8") + f"\n<!-- {SECRET:,.3f} -->", encoding="utf-8")
    assert leaked(file, [SECRET]) == {SECRET}


def test_adjusted_files_do_not_reveal_changed_cells(tmp_path):
    """Two tables that are published as the same adjusted one leave the same files; each says "adjusted"."""
    shown = Table.from_array(np.array([[11, 20], [30, 39]]), measure="persons")
    folders = []
    for number, move in enumerate([np.array([[1, -1], [-1, 1]]), np.array([[-2, 2], [2, -2]])]):
        table = Table.from_array(shown.value.reshape(3, 3)[:2, :2] + move, measure="persons")
        need = Need(unsafe=np.arange(9) == 0, lower=1.0, upper=1.0)
        nothing = np.zeros(table.n_cells, dtype=bool)
        protection = Protection(withheld=nothing, value=shown.value, secondary=nothing, method="adjust")
        found = audit(table, need, Release.of(table, protection))
        assert found.safe
        plan = PublicationPlan(formats=list(FORMATS), title="Persons")
        folders.append(write_release(tmp_path / str(number), Outcome(protection, found), plan))
    for name, one in FORMATS.items():
        file = folders[0] / "public" / f"table{one.suffix}"
        assert b"adjusted" in words_in(file), name
        assert file.read_bytes() == (folders[1] / "public" / file.name).read_bytes(), name
