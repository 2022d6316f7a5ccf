"""A small submission, and ways to change one behind the manifest's back."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pandas as pd

from hitoku.checks.session import Session

PEOPLE = pd.DataFrame(
    {
        "id": np.arange(240),
        "region": np.repeat(["N", "S", "E"], [100, 80, 60]),
        # In N 3 of 100 have job c: withheld, with others.
        "job": ["a"] * 50
        + ["b"] * 47
        + ["c"] * 3
        + ["a"] * 30
        + ["b"] * 30
        + ["c"] * 20
        + ["a", "b", "c"] * 20,
        "income": 20.0 + np.arange(240) % 37,
    }
)


def session(**options):
    work = Session("wages", PEOPLE, unit="id", **options)
    work.frequency_table(by=["region", "job"], name="people")
    work.magnitude_table(by=["region"], value="income", name="incomes")
    work.mean("income", by="region", name="means")
    return work


def resealed(folder, name, change):
    """Change the content of a JSON file and make the manifest fit, as a clever forger would."""
    path = folder / name
    content = json.loads(path.read_text("utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    reseal(folder)


def reseal(folder):
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    del manifest["sha256"]
    for path in folder.rglob("*"):
        relative = path.relative_to(folder).as_posix()
        if path.is_file() and relative != "manifest.json":
            manifest["files"][relative] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest["files"] = {name: h for name, h in manifest["files"].items() if (folder / name).is_file()}
    manifest["sha256"] = hashlib.sha256(written(manifest)).hexdigest()
    (folder / "manifest.json").write_bytes(written(manifest))


def written(content):
    return json.dumps(content, indent=1).encode() + b"\n"
