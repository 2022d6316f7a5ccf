"""Which number a unit has in a ledger: by its pseudonym, or by its records where it was renumbered."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.checks.ledger.membership import Pseudonyms, damaged, joined, pseudonyms
from hitoku.checks.ledger.population import keyed
from hitoku.checks.ledger.store import LedgerStore
from hitoku.errors import DataError, ParameterError
from hitoku.model.arrays import Integers


def number_units(
    store: LedgerStore, units: Iterable[object] | None, contents: Pseudonyms | None
) -> tuple[Integers, Pseudonyms, Pseudonyms | None]:
    """Give numbers to the units of these data: to those known as before, to new ones after them.

    Returns the number of every unit, the pseudonyms of all units, and what their records say, if known.
    """
    if units is None:
        raise ParameterError(
            "the ledger knows its units by their names",
            where=str(store.path),
            fix="say which column names the unit",
        )
    names = keyed(units, store.key) if isinstance(units, np.ndarray) else pseudonyms(units, store.key)
    listed = [plain["units"] for plain in store.of("output") if "units" in plain]
    known = np.frombuffer(b"".join(read_vector(store, each) for each in listed), dtype="<u8")
    own = None if contents is None else keyed(contents, store.key)
    before = None
    if own is not None and all(each.get("contents") for each in listed):
        stored = (read_vector(store, each["contents"][0]) for each in listed)
        before = np.frombuffer(b"".join(stored), dtype="<u8")
    numbers, every = joined(names, known, own, before)
    if len(known) and not (numbers < len(known)).any():
        raise other_data(store.path)
    if own is None or before is None:
        return numbers, every, None
    new = numbers >= len(known)
    stirred = np.zeros(len(every), dtype=np.uint64)
    stirred[: len(known)] = before
    stirred[numbers[new]] = own[new]
    return numbers, every, stirred


def read_vector(store: LedgerStore, entry: Mapping[str, Any]) -> bytes:
    """Return a vector as it was written."""
    content = store.vectors.get(entry["file"])
    if content is None or hashlib.sha256(content).hexdigest() != entry["sha256"]:
        raise damaged(store.path, f"vector {entry['file']} is not the one in its log")
    return content


def other_data(place: Path) -> DataError:
    return DataError(
        "the ledger is about other data",
        where=str(place),
        fix="open the ledger of this data set, or begin one under another name",
    )
