"""Whatever comes through a door is read or refused: seeds, what once broke one, some mutations."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from tools.doors.__main__ import mutated
from tools.doors.doors import DOORS
from tools.doors.seeds import FOLDER, kept, make

from hitoku.errors import HitokuError

# Judging a whole submission takes its time.
FEW = {"submission": 6, "release": 12, "csv": 12}
MANY = 40


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("doors")


@pytest.fixture(scope="module")
def seeds(scratch):
    made = make(scratch)
    return {name: [*kept(name), *made.get(name, [])] for name in DOORS}


def test_every_door_has_seeds_and_every_seed_a_door(seeds):
    assert all(seeds.values())
    assert {path.name for path in FOLDER.iterdir()} <= set(DOORS)


@pytest.mark.parametrize("name", DOORS)
def test_entry_point_reads_or_raises(name, scratch, seeds):
    draws = random.Random(name)  # noqa: S311 - no secrets
    thrown = [
        *seeds[name],
        b"",
        *(mutated(draws.choice(seeds[name]), draws) for _ in range(FEW.get(name, MANY))),
    ]
    for content in thrown:
        with suppress(HitokuError):
            DOORS[name](content, scratch)


@pytest.mark.parametrize("name", [name for name in DOORS if name not in {"submission", "release"}])
def test_written_files_are_read_back(name, scratch, seeds):
    """A door that refuses everything would hold as well."""
    read = []
    for content in seeds[name]:
        with suppress(HitokuError):
            DOORS[name](content, scratch)
            read.append(content)
    assert read
