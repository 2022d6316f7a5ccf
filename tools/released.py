"""Released numbers with their definition, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

# The codes that a person is known to have: pairs of a column and a code.
Group = frozenset[tuple[str, str]]
EVERYBODY: Group = frozenset()
# Relative differences: of numbers that were computed in several steps, and of the same number.
CLOSE = 1e-6
EXACT = 1e-9


class Claim(NamedTuple):
    """Something that follows from the released numbers.

    Parameters
    ----------
    kind
        Short name of the way it follows.
    text
        What follows, about whom.
    true
        Whether it agrees with the data.
    """

    kind: str
    text: str
    true: bool


@dataclass(frozen=True)
class Released:
    """A released output: its request and columns, with None for suppressed values."""

    method: str
    options: Mapping[str, Any]
    columns: Mapping[str, Sequence[Any]]

    @property
    def by(self) -> list[str]:
        """The columns that make its groups."""
        given = self.options.get("by", ())
        return [given] if isinstance(given, str) else list(given)

    @property
    def filter(self) -> Group | None:
        """The group that a filter keeps; None where it keeps several codes of a column."""
        pairs = self.options.get("where") or {}
        if any(len(codes) != 1 for codes in pairs.values()):
            return None
        return frozenset((name, str(codes[0])) for name, codes in pairs.items())

    def rows(self) -> Iterator[tuple[Group, dict[str, Any]]]:
        """Yield the group of each row, and its entries; totals are groups without that column."""
        kept = self.filter
        if kept is None:
            return
        names = list(self.columns)
        for entries in zip(*self.columns.values(), strict=True):
            row = dict(zip(names, entries, strict=True))
            codes = {(name, str(row[name])) for name in self.by if row[name] != "Total"}
            yield kept | codes, row


def in_group(people: pd.DataFrame, group: Group) -> np.ndarray[Any, Any]:
    """Return which people have all codes of a group."""
    kept = np.ones(len(people), dtype=bool)
    for name, code in group:
        kept &= (people[name].astype(str) == code).to_numpy()
    return kept


def words(group: Group) -> str:
    """Name a group."""
    return " and ".join(f"{name}={code}" for name, code in sorted(group)) or "all"
