"""Receipts of releases: released files, checkers, and the state of the ledger afterwards."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hitoku.checks.ledger.store import LedgerStore, as_written, read_store


@dataclass(frozen=True, kw_only=True)
class Left:
    """Released output."""

    # name, kind: name and type of the output.
    name: str
    kind: str
    files: Mapping[str, str]  # Released files with their SHA-256.
    decisions: tuple[str, ...] = ()  # Decisions about it as text; empty if every principle passed.


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """Record of a release."""

    number: int  # Number of the release, from 1.
    # submission, submission_sha256: name of the submission, and the hash of its manifest.
    submission: str
    submission_sha256: str
    # researcher, checkers: names of the researcher, and of the checkers who signed.
    researcher: str
    checkers: tuple[str, ...]
    released: str  # Time of the release.
    policy: Mapping[str, str]  # Name, version and hash of the policy.
    # data, unit: hash of the data, and the unit.
    data: str
    unit: str | None
    outputs: tuple[Left, ...]  # Released outputs.
    stayed: Mapping[str, str]  # Outputs that were not released, with reasons.
    # previous, head: hash of the ledger before the receipt, and including it.
    previous: str
    head: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-compatible values."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], head: str) -> Receipt:
        """Create a receipt from a line of the ledger and its head."""
        outputs = tuple(Left(**{**each, "decisions": tuple(each["decisions"])}) for each in plain["outputs"])
        return cls(**{**plain, "outputs": outputs, "checkers": tuple(plain["checkers"]), "head": head})

    @property
    def text(self) -> str:
        """Text of the receipt."""
        lines = [
            f"Receipt {self.number}: {len(self.outputs)} output(s) of {self.submission} left",
            "",
            f"on            {self.released}",
            "",
            f"submitted by  {self.researcher or 'somebody who is not named'}",
            f"released by   {', '.join(self.checkers)}",
            f"policy        {self.policy['name']} {self.policy['version']}, {self.policy['hash']}",
            f"submission    {self.submission_sha256}",
            f"data          {self.data}",
            f"unit          {self.unit or 'every record'}",
            f"ledger        {self.head}",
            "",
        ]
        for each in self.outputs:
            lines += [f"{each.name} ({each.kind})", *(f"  {decision}" for decision in each.decisions)]
            lines += [f"  {digest}  {name}" for name, digest in each.files.items()]
        lines += ["", "stayed behind:"] if self.stayed else []
        lines += [f"{name}: {why}" for name, why in self.stayed.items()]
        return "\n".join(lines).rstrip() + "\n"


def receipts_of(store: LedgerStore) -> tuple[Receipt, ...]:
    """Return the receipts of a ledger, in order."""
    return tuple(Receipt.from_dict(line.body, line.head) for line in store.lines if line.kind == "release")


def receipts(path: str | Path) -> tuple[Receipt, ...]:
    """Return the receipts of a ledger file, in order."""
    with as_written(Path(path)):
        return receipts_of(read_store(Path(path)))
