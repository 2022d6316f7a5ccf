"""The rooms of ``checks`` stand in a row: each knows those before it, and none behind it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hitoku import checks

FOLDER = Path(checks.__file__).parent
ROOMS = (
    "arrow_columns",
    "records",
    "policies",
    "evidence",
    "principles",
    "ledger",
    "outputs",
    "decisions",
    "attackers",
    "submission",
    "session",
)


def imported(path):
    """Slacks that a file imports from."""
    return set(re.findall(r"(?:from|import) hitoku\.checks\.(\w+)", path.read_text("utf-8")))


def test_every_room_is_in_the_row():
    found = {
        path.stem for path in FOLDER.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()
    }
    assert found - {"__init__"} == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_knows_only_those_before_it(room):
    files = list((FOLDER / room).rglob("*.py")) or [FOLDER / f"{room}.py"]
    allowed = {room, *ROOMS[: ROOMS.index(room)]}
    assert {path.name: sorted(imported(path) - allowed) for path in files if imported(path) - allowed} == {}


def test_the_row_is_not_trivial():
    files = (FOLDER / "session").rglob("*.py")
    assert set().union(*map(imported, files)) >= {"outputs", "submission", "policies"}
