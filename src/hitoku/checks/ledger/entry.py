"""One output as the ledger remembers it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hitoku.attacks.differencing import COUNT, COUNTS, Certificate, Definition
from hitoku.checks.ledger.magnitude import Carried
from hitoku.checks.principles import Said


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
    # Comparisons left out when it was released: not all that follows from it is known.
    left_out: int = 0
    # Statistics of variables that left, group by group; of an output of before nothing is known.
    said: tuple[Said, ...] = ()

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
            **({"left_out": self.left_out} if self.left_out else {}),
            **({"said": [each.to_dict() for each in self.said]} if self.said else {}),
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
            left_out=plain.get("left_out", 0),
            said=tuple(map(Said.from_dict, plain.get("said", ()))),
        )
