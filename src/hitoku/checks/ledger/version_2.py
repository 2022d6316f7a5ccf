"""Ledgers as hitoku 0.1 wrote them: a JSON file, and a folder with memberships beside it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hitoku.checks.ledger.membership import damaged
from hitoku.errors import DataError
from hitoku.files import read_file

FORMAT, VERSION = "hitoku ledger", 2
MOST_BYTES = 2_000_000_000


@dataclass(frozen=True)
class Version2:
    """What such a ledger holds, as the log of this version has it."""

    begin: dict[str, Any]
    outputs: list[dict[str, Any]]
    key: bytes
    vectors: dict[str, bytes]


def read_version_2(path: Path) -> Version2:
    """Read a ledger of version 2; every hash is compared."""
    try:
        whole = json.loads(read_file(path, MOST_BYTES))
        known = isinstance(whole, dict) and whole.get("format") == FORMAT
    except ValueError as error:
        raise damaged(path, "it cannot be read as JSON") from error
    if not known:
        raise damaged(path, "it is not a ledger")
    if whole.get("version") != VERSION:
        raise DataError(
            "ledger_version_not_supported",
            "the ledger is of version {version}, this program reads {known} and 3",
            where=str(path),
            fix="use the version of hitoku that wrote it, or a newer one",
            version=whole.get("version"),
            known=VERSION,
        )
    body = whole.get("body")
    digest = hashlib.sha256(json.dumps(body, separators=(",", ":")).encode()).hexdigest()
    if not isinstance(body, dict) or whole.get("sha256") != digest:
        raise damaged(path, "its hash does not fit")
    folder = path.with_name(path.name + ".members")
    vectors: dict[str, bytes] = {}
    outputs = []
    for plain in body["outputs"]:
        for part in plain["parts"] or ():
            vectors[part["file"]] = _hashed(folder, part["file"], part["sha256"])
        outputs.append(plain)
    begin: dict[str, Any] = {
        "data_hash": body["data_hash"],
        "n_units": body["n_units"],
        "depth": body["depth"],
    }
    begin["by_name"] = "units" in body
    if begin["by_name"] and outputs:
        n_units = body["n_units"]
        content = read_file(folder / "units", MOST_BYTES)[: 8 * n_units]
        if hashlib.sha256(content).hexdigest() != body["units"]:
            raise damaged(folder / "units", "its hash is not the one in the ledger")
        vectors["units-0"] = content
        outputs[0] = {**outputs[0], "units": {"file": "units-0", "sha256": body["units"], "n_units": n_units}}
        begin["n_units"] = 0
    return Version2(begin, outputs, read_file(folder / "key", 1000), vectors)


def _hashed(folder: Path, name: str, sha256: str) -> bytes:
    content = read_file(folder / name, MOST_BYTES)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise damaged(folder / name, "its hash is not the one in the ledger")
    return content
