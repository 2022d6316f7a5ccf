"""Who the data are about, whatever they are called: every unit by the records it has.

Names can be renumbered, and data may have none. Two deliveries with the same columns have a unit in common
when its records are the same in both, up to their order.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.model import Integers

Words = NDArray[np.uint64]
# How Arrow's types of numbers are called.
NUMBERS = ("int", "uint", "halffloat", "float", "double", "bool")
# Odd constants of a well-mixing permutation of 64 bits, after Steele, Lea and Flood (2014).
STEP, FIRST, SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)


def record_hashes(table: Any, leave_out: str | None = None) -> Words:
    """Return a number for every record that says what is in it; the order of columns does not matter.

    Parameters
    ----------
    table
        The records, as an Arrow table.
    leave_out
        A column that does not count: the name of the unit.
    """
    found = np.zeros(table.num_rows, dtype=np.uint64)
    for name in sorted(set(table.column_names) - {leave_out}):
        seed = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
        found = _mix(found + _column(table.column(name)) * np.uint64(seed | 1))
    return found


def unit_hashes(records: Words, unit: Integers, n_units: int) -> Words:
    """Add up the records of each unit; their order does not matter."""
    found = np.zeros(n_units, dtype=np.uint64)
    np.add.at(found, unit, _mix(records + STEP))
    return _mix(found)


def told_apart(hashes: Words) -> Words:
    """Make records that are alike differ: of two that are the same, one is the first, one the second."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    start = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, dtype=bool)
    first = np.maximum.accumulate(np.where(start, np.arange(len(ordered)), 0))
    found = np.empty_like(hashes)
    found[order] = _mix(ordered + (np.arange(len(ordered)) - first).astype(np.uint64) * STEP)
    return found


def keyed(hashes: Words, key: bytes) -> Words:
    """Make pseudonyms of hashes: nobody without the key can tell which record one is of."""
    words = np.frombuffer(hashlib.sha512(key).digest(), dtype="<u8")
    found = hashes
    for word in words:
        found = _mix(found ^ word)
    return found


def _column(column: Any) -> Words:
    """Return a number for every entry; numbers of any width that are equal are alike."""
    whole = column.combine_chunks()
    whole = whole.dictionary_decode() if str(whole.type).startswith("dictionary") else whole
    if str(whole.type).startswith(NUMBERS):
        numbers = whole.cast("double", safe=False).to_numpy(zero_copy_only=False)
        # Zero has two signs, and what is missing many patterns.
        plain = np.where(np.isnan(numbers), np.nan, numbers + 0.0)
        return _mix(plain.astype("<f8").view(np.uint64))
    listed = whole.dictionary_encode()
    texts = [str(entry) for entry in listed.dictionary.to_pylist()]
    words = np.array(
        [
            int.from_bytes(hashlib.blake2b(t.encode("utf-8", "replace"), digest_size=8).digest(), "little")
            for t in texts
        ]
        + [0],
        dtype=np.uint64,
    )
    places = listed.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    found: Words = words[places]
    return found


def _mix(words: Words) -> Words:
    """Stir 64 bits so that every one of them depends on all."""
    with np.errstate(over="ignore"):
        found = words + STEP
        found = (found ^ (found >> np.uint64(30))) * FIRST
        found = (found ^ (found >> np.uint64(27))) * SECOND
        return found ^ (found >> np.uint64(31))
