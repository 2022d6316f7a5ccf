"""``--method adjust``: a release without blanks, its proof, and a file that shows the truth instead."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from hitoku.cli import FOUND, app
from hitoku.evidence.verify import verify


def test_adjusted_counts_are_integers_and_proved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    trades = rng.choice(["mills", "inns", "farms"], 200, p=[0.6, 0.36, 0.04])
    frame = pd.DataFrame({"region": rng.choice(["N", "S", "W"], 200), "trade": trades})
    frame.to_csv("firms.csv", index=False)
    words = ["protect", "firms.csv", "--by", "region", "--by", "trade", "--rule", "min_frequency:n=5"]
    words += ["--width", "6", "--method", "adjust:integer=true", "--out", "release"]
    done = CliRunner().invoke(app, [*words, "--json"], catch_exceptions=False)
    answer = json.loads(done.stdout)
    assert done.exit_code == 0
    assert answer["unsafe"] > 0
    assert answer["withheld"] == 0
    assert answer["changed"] > 0
    assert verify("release").ok
    table = pd.read_csv("release/public/table.csv")
    assert table["value"].notna().all()
    assert np.array_equal(table["value"], table["value"].round())
    # Somebody who puts a true value back is found out, by the proof and by a new audit.
    cells = pd.read_csv("release/checker/cells.csv")
    unsafe = cells["rules"].notna().to_numpy()
    table.loc[unsafe, "value"] = cells.loc[unsafe, "value"].to_numpy()
    table.to_csv("release/public/table.csv", index=False)
    assert not verify("release").ok
    assert CliRunner().invoke(app, ["audit", "release"]).exit_code == FOUND
