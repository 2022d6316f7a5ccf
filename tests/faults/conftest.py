"""The folder that commands are struck in, the same at the beginning of every test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.faults.kitchen import KITCHEN, LEDGER, PROTECT, RELEASE, loaded, remove, run

from hitoku.checks.session import Session


@pytest.fixture(scope="session")
def kitchen(tmp_path_factory) -> Iterator[Path]:
    """A folder with records, a release, a submission, a ledger and a centre of the review application."""
    folder = tmp_path_factory.mktemp("kitchen")
    (folder / "tmp").mkdir()
    rng = np.random.default_rng(5)
    frame = {"trade": rng.choice(["mills", "inns", "farms"], 300, p=[0.6, 0.36, 0.04])}
    frame["size"] = rng.choice(["1", "2", "3"], 300, p=[0.7, 0.27, 0.03])
    pd.DataFrame(frame).to_csv(folder / "firms.csv", index=False)
    assert run(folder, [*PROTECT, "--out", "release"]).code == 0
    people = pd.DataFrame({**frame, "id": np.arange(300)})
    people.to_csv(folder / "people.csv", index=False)
    work = Session("study", str(folder / "people.csv"), unit="id")
    work.crosstab("trade", name="trades")
    work.histogram("id", [100, 200], name="ids")
    work.submit(folder / "submission")
    for words in (
        ["argus", "export", "release", "--out", "argus"],
        ["ledger", "init", "kept.ledger", *LEDGER[3:]],
        [*RELEASE[:3], "kept.ledger", *RELEASE[4:]],
        ["serve", "init", "centre", "--http"],
        ["serve", "backup", "centre", "copy"],
    ):
        done = run(folder, words)
        assert done.code == 0, done.err
    yield folder
    loaded().stdin.close()
    loaded().stdout.close()
    loaded().wait()


@pytest.fixture
def swept(kitchen):
    """Begin every test with the same folder, whatever the one before left."""
    for path in [
        *kitchen.iterdir(),
        *(kitchen / "tmp").iterdir(),
        *(kitchen / "argus").glob("*release.csv*"),
    ]:
        if path.name not in KITCHEN:
            remove(path)
