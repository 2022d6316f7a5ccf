"""What every registered format promises, including the one added tomorrow."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path

import pytest
from tests.oracles.leaks import leaked, numbers_in, words_in

from hitoku.io import Format, Publication
from hitoku.io.formats import FORMATS
from hitoku.model import Protection, Release, Table

# Numbers that stand in no file by chance; the first two are withheld.
TABLE = Table.from_array([[4711, 1933], [2917, 6007]], codes=[["north", "south"], ["mills", "inns"]])
HIDDEN, SHOWN = {4711.0, 1933.0}, {2917.0, 6007.0, 6644.0, 8924.0, 7628.0, 7940.0, 15568.0}
COUNT = itertools.count()


def complaints(one: Format) -> list[str]:
    """Say how a format breaks its promises; empty when it keeps them."""
    withheld = Protection.withhold(TABLE, (TABLE.value == 4711) | (TABLE.value == 1933))
    publication = Publication(
        release=Release.of(TABLE, withheld),
        title="Turnover",
        warning="NOT FOR PUBLICATION",
        source="a survey",
    )
    found = []
    folders = [Path(tempfile.mkdtemp()) for _ in range(2)]
    try:
        for folder in folders:
            one.write(folder / f"table{one.suffix}", publication)
            if [file.name for file in folder.iterdir()] != [f"table{one.suffix}"]:
                found.append("something else than one file was written")
        first, second = (folder / f"table{one.suffix}" for folder in folders)
        if first.read_bytes() != second.read_bytes():
            found.append("the same table gives other bytes")
        if leaked(first, HIDDEN):
            found.append("a withheld value is in the file")
        if not numbers_in(first) >= SHOWN:
            found.append("a published value is not in the file")
        words = words_in(first)
        if not all(code in words for code in (b"north", b"south", b"mills", b"inns")):
            found.append("a code is not in the file")
        # The certificate is about the cells of the CSV, which has no room for words: its folder has them.
        if not one.name.startswith("csv") and b"not for publication" not in words:
            found.append("a warning is not in the file")
    finally:
        for folder in folders:
            shutil.rmtree(folder)
    return found


@pytest.mark.parametrize("name", FORMATS)
def test_format_meets_contract(name):
    one = FORMATS[name]
    assert one.name == name
    assert one.suffix.startswith(".")
    assert one.about
    assert complaints(one) == []


def _plain(path, publication):
    release = publication.release
    lines = [publication.warning, "north south mills inns", *map(str, release.published[~release.withheld])]
    path.write_text("\n".join(lines), encoding="utf-8")


def _beside(path, publication):
    _plain(path, publication)
    path.with_suffix(".log").write_text("done", encoding="utf-8")


def _counted(path, publication):
    _plain(path, publication)
    path.write_text(f"{path.read_text('utf-8')}\nnumber {next(COUNT)}", encoding="utf-8")


def _blabbing(path, publication):
    _plain(path, publication)
    path.write_text(f"{path.read_text('utf-8')}\n4711", encoding="utf-8")


def _silent(path, publication):
    path.write_text(publication.warning, encoding="utf-8")


def _hopeful(path, publication):
    _plain(path, publication)
    path.write_text(path.read_text("utf-8").removeprefix(publication.warning), encoding="utf-8")


@pytest.mark.parametrize(
    ("write", "what"),
    [
        pytest.param(_plain, [], id="an honest one"),
        pytest.param(_beside, ["something else than one file was written"] * 2, id="a file beside it"),
        pytest.param(_counted, ["the same table gives other bytes"], id="not the same twice"),
        pytest.param(_blabbing, ["a withheld value is in the file"], id="a withheld value"),
        pytest.param(
            _silent, ["a published value is not in the file", "a code is not in the file"], id="nothing"
        ),
        pytest.param(_hopeful, ["a warning is not in the file"], id="no warning"),
    ],
)
def test_broken_format_is_reported(write, what):
    assert complaints(Format("toy", ".toy", "a toy", write)) == what
