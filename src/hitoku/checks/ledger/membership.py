"""Who is in which cell: one compressed vector of codes per partition.

These are microdata. They stay on the protected side, and go when the project goes.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.attacks.differencing.partition import Codes
from hitoku.checks.arrow_columns import PackedTexts
from hitoku.errors import DataError
from hitoku.model import Integers, Mask

# A ledger's first partitions say in which order the units of later ones are written: who is alike stands
# together, and that compresses to less than half.
N_LEADING = 6
# Every output waits for this; trying harder takes six times as long and saves next to nothing.
QUICK = 1

# In which order units are written.
Order = Integers | slice
Pseudonyms = NDArray[np.uint64]


def unit_numbers(units: Iterable[object], key: bytes) -> Integers:
    """Give units numbers by a keyed pseudonym, so that a later delivery numbers the same units alike.

    Parameters
    ----------
    units
        Their identifiers, each once.
    key
        The ledger's secret.

    Returns
    -------
    For every unit its place when all are sorted by pseudonym.

    Examples
    --------
    >>> key = bytes(32)
    >>> first, again = unit_numbers(["ann", "bob", "eve"], key), unit_numbers(["eve", "ann", "bob"], key)
    >>> first[[2, 0, 1]].tolist() == again.tolist()
    True
    """
    return joined(pseudonyms(units, key), np.zeros(0, dtype=np.uint64))[0]


def pseudonyms(units: Iterable[object], key: bytes) -> Pseudonyms:
    """Return a number for every unit that nobody without the key can link to it: a keyed BLAKE2b of its name.

    Parameters
    ----------
    units
        Their identifiers; many are packed, which saves writing each of them.
    key
        The ledger's secret.
    """
    begun = hashlib.blake2b(key=key, digest_size=8)

    def digest(name: bytes) -> bytes:
        # Once the key is stirred in, the state is copied: a fifth of the time.
        own = begun.copy()
        own.update(name)
        return own.digest()

    plain = units if isinstance(units, PackedTexts) else (str(unit).encode() for unit in units)
    return np.frombuffer(b"".join(map(digest, plain)), dtype="<u8")


def joined(
    names: Pseudonyms,
    known: Pseudonyms,
    contents: Pseudonyms | None = None,
    known_contents: Pseudonyms | None = None,
) -> tuple[Integers, Pseudonyms]:
    """Give numbers to units: those known have theirs, all others follow in the order of their pseudonyms.

    Parameters
    ----------
    names
        Pseudonyms of the units, each once.
    known
        Pseudonyms of the units that have numbers.
    contents, known_contents
        What the records of both say. A unit under a new name is a known one when its records are those of
        that one alone, and of no other here: it was renumbered.

    Returns
    -------
    The number of every unit, and the pseudonyms of all units in the order of their numbers.
    """
    ordered, first, place = np.unique(names, return_index=True, return_inverse=True)
    if len(ordered) < len(names):
        raise DataError(
            "unit_listed_twice",
            "a unit is listed twice",
            where="unit numbers",
            fix="give every unit once, not every record",
        )
    found, old = _looked_up(ordered, known)
    if contents is not None and known_contents is not None and len(known):
        missing = np.ones(len(known), dtype=np.bool_)
        missing[found[old]] = False
        there, new = np.flatnonzero(missing), np.flatnonzero(~old)
        own, mine = _alone(contents[first][new])
        other, its = _alone(known_contents[there])
        at, same = _looked_up(own, other)
        found[new[mine[same]]] = there[its[at[same]]]
        old[new[mine[same]]] = True
    found[~old] = len(known) + np.arange(int((~old).sum()))
    return found[place], np.concatenate([known, ordered[~old]])


def _looked_up(wanted: Pseudonyms, known: Pseudonyms) -> tuple[Integers, Mask]:
    """Find numbers among others: the place of each, and whether it is there."""
    if not len(known):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=np.bool_)
    rank = np.argsort(known)
    at = rank[np.minimum(np.searchsorted(known, wanted, sorter=rank), len(known) - 1)]
    return at, known[at] == wanted


def _alone(contents: Pseudonyms) -> tuple[Pseudonyms, Integers]:
    """Return what occurs once, and where."""
    found, place, count = np.unique(contents, return_index=True, return_counts=True)
    return found[count == 1], place[count == 1]


def packed(codes: Codes, order: Order) -> tuple[bytes, str]:
    """Compress codes; return them and the type of number they were written as."""
    smallest = np.min_scalar_type(int(codes.max(initial=0))).newbyteorder("<")
    return zlib.compress(codes[order].astype(smallest).tobytes(), QUICK), smallest.str


def unpacked(content: bytes, kind: str, order: Order, n_units: int) -> Codes:
    """Undo :func:`packed`; units that came later are in no cell."""
    ordered = np.frombuffer(zlib.decompress(content), dtype=kind)
    codes = np.zeros(n_units, dtype=np.int32)
    codes[: len(ordered)][order] = ordered
    return codes


class Vectors:
    """The membership vectors of a ledger, in the order in which they were written.

    Parameters
    ----------
    n_units
        How many units there are.
    """

    def __init__(self, n_units: int) -> None:
        self.n_units = n_units
        self._leading: list[Codes] = []
        self._orders: dict[int, Order] = {}

    def pack(self, codes: Codes) -> tuple[bytes, dict[str, Any]]:
        """Compress a vector of codes; return it and what is needed to read it."""
        content, kind = packed(codes, self._order(len(codes)))
        return content, {"kind": kind, "sha256": hashlib.sha256(content).hexdigest(), "n_units": len(codes)}

    def unpack(self, content: bytes, entry: Mapping[str, Any]) -> Codes:
        """Undo :meth:`pack`, after the vectors that were written before it."""
        return unpacked(content, entry["kind"], self._order(entry["n_units"]), self.n_units)

    def follow(self, vectors: Sequence[Codes]) -> None:
        """Take note of an output's vectors, once it is in the ledger: later ones are ordered by them."""
        if vectors and len(self._leading) < N_LEADING:
            self._leading = [*self._leading, *vectors][:N_LEADING]
            self._orders = {}

    def _order(self, n_units: int) -> Order:
        """Return the order in which the first units are written; a vector knows how many there were."""
        if not self._leading:
            return slice(None)
        if n_units not in self._orders:
            self._orders[n_units] = np.lexsort([codes[:n_units] for codes in reversed(self._leading)])
        return self._orders[n_units]


def hash_secret(key: bytes) -> int:
    """Return a number for hashes of units that comes from the key, every byte of it."""
    return int.from_bytes(hashlib.sha256(key).digest()[:8], "little")


def damaged(path: Path, what: str) -> DataError:
    """Say that a file is not what was written."""
    return DataError(
        "ledger_file_changed",
        "{file} was changed or damaged: {problem}",
        where=str(path.parent),
        fix="restore the ledger from a copy; nothing was read from it",
        file=path.name,
        problem=what,
    )
