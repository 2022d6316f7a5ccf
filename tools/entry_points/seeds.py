"""Seeds of the mutations: small files in this folder, and files written by hitoku."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path

import numpy as np
from tests.checks.submissions import PEOPLE

from hitoku.checks.ledger import init, verify_store
from hitoku.checks.policies import FOLDER as POLICIES
from hitoku.checks.policies import policy_names
from hitoku.checks.session import Session
from hitoku.checks.submission import release
from hitoku.io.recipe import Recipe
from hitoku.methods.adjust import Adjust
from hitoku.methods.blocks import Blocks
from hitoku.methods.flagged_groups import FlaggedGroups
from hitoku.model import Table
from hitoku.pipeline import protect_table, run_recipe
from hitoku.rules import MinFrequency

FOLDER = Path(__file__).with_name("seeds")
# Values inserted into certificates.
VALUES = (b"-1", b"0", b"[]", b"{}", b'""', b"[[0, 1], [1, 0]]", b"null", b"1.5")


def kept(name: str) -> list[bytes]:
    """Return the stored seeds of an entry point: small files, and inputs that once failed."""
    return [path.read_bytes() for path in sorted((FOLDER / name).glob("*"))]


def make(folder: Path) -> dict[str, list[bytes]]:
    """Write a submission, a release and a ledger into ``folder/whole``. Return seeds by entry point."""
    whole = folder / "whole"
    work = Session("wages", PEOPLE, unit="id", researcher="R. Kimura")
    work.frequency_table(by=["region", "job"], name="people")
    work.mean("income", by="region", name="means")
    submission = work.submit(whole / "submission")
    PEOPLE.to_csv(whole / "people.csv", index=False)
    settings = {"data": "people.csv", "by": ["region", "job"], "rules": ["min_frequency:n=10"], "width": 5}
    recipe = Recipe.of(settings, whole)
    released = whole / "release"
    run_recipe(recipe, out=released)
    ledger = whole / "x.ledger"
    init(ledger, policy="japan-2017", unit="id", checkers=1)
    release(submission, ledger=ledger, data=whole / "people.csv", checkers=["M. Sato"], out=whole / "left")
    lines = [[line.kind, line.body] for line in verify_store(ledger)]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(submission.rglob("*")):
            if path.is_file():
                packed.write(path, path.relative_to(submission))
    [certificate] = (released / "checker").glob("certificate.json*")
    plain = certificate.read_bytes()
    certificates = [gzip.decompress(plain) if plain[:2] == b"\x1f\x8b" else plain, *_certificates()]
    (whole / "certificates").mkdir()
    for place, each in enumerate(certificates):
        (whole / "certificates" / f"{place}.json").write_bytes(each)
    return {
        "policy": [(POLICIES / f"{name}.toml").read_bytes() for name in policy_names()],
        "jj": [gzip.decompress((released / "checker" / "table.jj.gz").read_bytes())],
        "certificate": certificates,
        "certificate-value": [
            bytes([place]) + at.to_bytes(2) + value
            for place in range(len(certificates))
            for at, value in enumerate(VALUES)
        ],
        "ledger": [json.dumps(lines).encode(), json.dumps(lines[:2]).encode(), ledger.read_bytes()],
        "upload": [archive.getvalue()],
        "submission": _numbered(submission),
        "release": _numbered(released),
    }


def _certificates() -> list[bytes]:
    """Make certificates of the other kinds: adjusted values, attackers who know the method."""
    rng = np.random.default_rng(3)
    rows, columns = rng.lognormal(0, 1, 6), rng.lognormal(0, 1, 5)
    table = Table.from_array(rng.poisson(np.outer(rows, columns) * 25) + 1)
    methods = (Adjust(), Blocks(), FlaggedGroups())
    found = [protect_table(table, [MinFrequency(5)], method=each, width=9).audit for each in methods]
    return [json.dumps(dict(each.certificate.content)).encode() for each in found]


def _numbered(folder: Path) -> list[bytes]:
    """Return the files of a folder, each preceded by the byte that chooses it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [bytes([place]) + path.read_bytes() for place, path in enumerate(files)]
