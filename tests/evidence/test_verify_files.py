"""What is in public/ is what was certified: every byte, every file, nothing else."""

from __future__ import annotations

import csv
import gzip
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.forgeries import reseal

import hitoku as ht

RECIPE = """
data = "firms.csv"
unit = "firm"
rules = ["min_frequency:n=3"]
[[tables]]
name = "regions"
by = ["region", "trade"]
[[tables]]
name = "sizes"
by = ["region", "size"]
"""


def records(n=120):
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "a": rng.choice(list("pqrs"), n, p=[0.5, 0.3, 0.15, 0.05]),
            "b": rng.choice(list("xyz"), n, p=[0.6, 0.35, 0.05]),
        }
    )


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A single table in every format that needs no further package."""
    folder = tmp_path_factory.mktemp("files") / "release"
    outcome = ht.protect(records(), by=["a", "b"], rules=["min_frequency:n=4"], width=4)
    return outcome.write(folder, formats=["html", "xlsx", "json-stat"])


@pytest.fixture(scope="module")
def linked(tmp_path_factory):
    """Two linked tables, each with a folder of its own in public/."""
    place = tmp_path_factory.mktemp("linked")
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "firm": range(90),
            "region": rng.choice(list("NSW"), 90),
            "trade": rng.choice(["mills", "inns", "farms"], 90, p=[0.6, 0.3, 0.1]),
            "size": rng.choice(["small", "large"], 90, p=[0.85, 0.15]),
        }
    )
    frame.to_csv(place / "firms.csv", index=False)
    (place / "firms.toml").write_text(RECIPE, "utf-8")
    return ht.run_recipe(place / "firms.toml", place / "release").folder


@pytest.fixture
def folder(released, tmp_path):
    return Path(shutil.copytree(released, tmp_path / "release"))


def public_files(folder):
    return sorted(file for file in (folder / "public").rglob("*") if file.is_file())


def test_certificate_lists_every_public_file(released, linked):
    for folder in (released, linked):
        content = json.loads(gzip.decompress((folder / "checker" / "certificate.json.gz").read_bytes()))
        names = {file.relative_to(folder / "public").as_posix() for file in public_files(folder)}
        assert content["files"].keys() == names
        assert ht.verify(folder).ok, ht.verify(folder).reason
    assert "regions/regions.csv" in names


def test_same_release_writes_same_bytes(released, tmp_path):
    outcome = ht.protect(records(), by=["a", "b"], rules=["min_frequency:n=4"], width=4)
    again = outcome.write(tmp_path / "again", formats=["html", "xlsx", "json-stat"])
    name = "checker/certificate.json.gz"
    assert (again / name).read_bytes() == (released / name).read_bytes()


def test_suppressed_value_in_status_column_is_found(folder):
    """Trial S8: the value of every withheld cell stood in the column beside it, and the proof held."""
    content = json.loads(gzip.decompress((folder / "checker" / "certificate.json.gz").read_bytes()))
    true = {tuple(codes): value for codes, value in zip(content["codes"], content["values"], strict=True)}
    path = folder / "public" / "table.csv"
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    assert any(row[-2] == "" for row in rows)
    for row in rows[1:]:
        if row[-2] == "":
            row[-1] = f"withheld ({true[tuple(row[:-2])]})"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    assert "public/table.csv: not the file that was certified" in ht.verify(folder).reason
    reseal(folder)
    answer = ht.verify(folder)
    assert (answer.ok, answer.code) == (False, 1)
    assert "another status than certified" in answer.reason


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_changed_public_byte_is_found(released, linked, data):
    folder = data.draw(st.sampled_from([released, linked]))
    file = data.draw(st.sampled_from(public_files(folder)))
    whole = file.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(st.integers(1, 255))
    try:
        file.write_bytes(whole[:place] + bytes([whole[place] ^ other]) + whole[place + 1 :])
        answer = ht.verify(folder)
    finally:
        file.write_bytes(whole)
    assert (answer.ok, answer.code) == (False, 1)
    assert f"{file.name}: not the file that was certified" in answer.reason


def test_added_or_removed_byte_is_found(folder):
    for file in public_files(folder):
        whole = file.read_bytes()
        for other in (whole + b"\n", whole[:-1], b""):
            file.write_bytes(other)
            assert "not the file that was certified" in ht.verify(folder).reason
        file.write_bytes(whole)
    assert ht.verify(folder).ok


@pytest.mark.parametrize("name", ["cells.csv", ".hidden", "deeper/table.csv", "table.csv.bak"])
def test_additional_file_is_found(folder, name):
    file = folder / "public" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("p,z,2\n", "utf-8")
    answer = ht.verify(folder)
    assert (answer.ok, answer.code) == (False, 1)
    assert "was not certified" in answer.reason


def test_additional_empty_folder_is_found(folder):
    (folder / "public" / "p-z-is-2").mkdir()
    assert "public/p-z-is-2/: a folder that was not certified" in ht.verify(folder).reason


def test_missing_file_is_found(folder):
    for file in public_files(folder):
        whole = file.read_bytes()
        file.unlink()
        answer = ht.verify(folder)
        assert (answer.ok, answer.code) == (False, 1)
        assert f"public/{file.name}: a certified file is missing" in answer.reason
        file.write_bytes(whole)
    shutil.rmtree(folder / "public")
    assert "public/ is missing" in ht.verify(folder).reason


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links here")
def test_symbolic_link_is_rejected(folder, tmp_path):
    file = folder / "public" / "table.csv"
    file.rename(tmp_path / "elsewhere.csv")
    file.symlink_to(tmp_path / "elsewhere.csv")
    assert "public/table.csv: a link, not a file" in ht.verify(folder).reason
    file.unlink()
    (tmp_path / "elsewhere.csv").rename(file)
    (folder / "public" / "more").symlink_to(tmp_path, target_is_directory=True)
    assert "public/more: a link, not a file" in ht.verify(folder).reason
    (folder / "public" / "more").unlink()
    (folder / "public").rename(tmp_path / "moved")
    (folder / "public").symlink_to(tmp_path / "moved", target_is_directory=True)
    assert "public/ is missing, or is a link" in ht.verify(folder).reason


def test_certificate_without_file_list_does_not_prove_folder(folder):
    reseal(folder, lambda content: content.pop("files"))
    answer = ht.verify(folder)
    assert (answer.ok, answer.code) == (False, 2)
    assert "lists no files" in answer.reason


def test_control_characters_in_file_names_are_escaped(folder):
    (folder / "public" / "\x1b[2Jtable.csv").write_text("", "utf-8")
    assert "\x1b" not in str(ht.verify(folder))
