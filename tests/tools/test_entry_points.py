"""Entry points read or reject any bytes: seeds, inputs that once failed, and some mutations."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from tools.entry_points.__main__ import mutated
from tools.entry_points.entry_points import ENTRY_POINTS
from tools.entry_points.seeds import FOLDER, kept, make

from hitoku.errors import HitokuError

# Fewer mutations where one input is slow.
FEW = {"submission": 6, "release": 12, "csv": 12}
MANY = 40


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("entry-points")


@pytest.fixture(scope="module")
def seeds(scratch):
    made = make(scratch)
    return {name: [*kept(name), *made.get(name, [])] for name in ENTRY_POINTS}


def test_entry_points_and_seed_folders_match(seeds):
    assert all(seeds.values())
    assert {path.name for path in FOLDER.iterdir()} <= set(ENTRY_POINTS)


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_entry_point_reads_or_raises(name, scratch, seeds):
    draws = random.Random(name)  # noqa: S311 - no secrets
    inputs = [
        *seeds[name],
        b"",
        *(mutated(draws.choice(seeds[name]), draws) for _ in range(FEW.get(name, MANY))),
    ]
    for content in inputs:
        with suppress(HitokuError):
            ENTRY_POINTS[name](content, scratch)


@pytest.mark.parametrize("name", [name for name in ENTRY_POINTS if name not in {"submission", "release"}])
def test_written_files_are_read_back(name, scratch, seeds):
    """An entry point that rejects everything would pass the test above."""
    read = []
    for content in seeds[name]:
        with suppress(HitokuError):
            ENTRY_POINTS[name](content, scratch)
            read.append(content)
    assert read
