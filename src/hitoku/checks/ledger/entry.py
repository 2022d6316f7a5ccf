"""The ledger's file: one entry per output, and a hash over all of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hitoku.attacks.differencing.definition import Definition
from hitoku.attacks.differencing.partition import COUNT, COUNTS, Certificate
from hitoku.checks.ledger.magnitude import Carried
from hitoku.checks.ledger.membership import damaged
from hitoku.errors import DataError, ParameterError
from hitoku.files import write_file

FORMAT, VERSION = "hitoku ledger", 2


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One output as the ledger remembers it; its memberships are beside."""

    name: str
    project: str
    data_hash: str
    definition: Definition | None
    published: Any
    measures: Carried
    parts: tuple[dict[str, Any], ...] | None
    derived: tuple[tuple[Certificate, ...], ...]
    # What is said of every cell; of an output of before counts, and amounts of what it measures.
    tells: frozenset[str] = COUNTS

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "project": self.project,
            "data_hash": self.data_hash,
            "definition": None if self.definition is None else self.definition.as_dict(),
            "published": self.published,
            "measures": {name: dict(how) for name, how in self.measures.items()},
            "parts": None if self.parts is None else list(self.parts),
            "derived": [
                [[[*cell, times] for cell, times in group.items()] for group in batch]
                for batch in self.derived
            ],
            "tells": sorted(self.tells),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Entry:
        definition = plain["definition"]
        return cls(
            name=plain["name"],
            project=plain["project"],
            data_hash=plain["data_hash"],
            definition=None if definition is None else Definition.from_dict(definition),
            published=plain["published"],
            measures=plain["measures"],
            parts=None if plain["parts"] is None else tuple(plain["parts"]),
            derived=tuple(
                tuple({(name, part, cell): times for name, part, cell, times in group} for group in batch)
                for batch in plain["derived"]
            ),
            tells=frozenset(plain.get("tells", [COUNT, *plain["measures"]])),
        )


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, separators=(",", ":")).encode()).hexdigest()


def read(path: Path) -> tuple[dict[str, Any], str]:
    """Read a ledger's file; return what it says and its hash."""
    try:
        whole = json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(
            "the ledger cannot be read", where=str(path), fix="check that it is a file, and permissions"
        ) from error
    except ValueError as error:
        raise damaged(path, "it cannot be read as JSON") from error
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise damaged(path, "it is not a ledger")
    if whole.get("version") != VERSION:
        raise DataError(
            f"the ledger is of version {whole.get('version')}, this program reads {VERSION}",
            where=str(path),
            fix="use the version of hitoku that wrote it, or a newer one",
        )
    body = whole.get("body")
    if not isinstance(body, dict) or whole.get("sha256") != _digest(body):
        raise damaged(path, "its hash does not fit")
    return body, whole["sha256"]


def write(path: Path, body: Mapping[str, Any]) -> str:
    """Write a ledger's file whole; return its hash."""
    try:
        digest = _digest(body)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            "published values must be numbers, texts, lists and dictionaries",
            where="ledger",
            fix="give what JSON can hold",
        ) from error
    whole = {"format": FORMAT, "version": VERSION, "sha256": digest, "body": body}
    write_file(path, json.dumps(whole, separators=(",", ":")).encode())
    return digest
