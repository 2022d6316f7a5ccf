"""Who is in which cell, on disk: one compressed vector of codes per partition, beside the ledger.

These files are microdata. They stay on the protected side, and go when the project goes.
"""

from __future__ import annotations

import hashlib
import secrets
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.attacks.differencing.partition import Codes
from hitoku.errors import DataError
from hitoku.files import write_file
from hitoku.model.arrays import Integers

# A ledger's first partitions say in which order the units of later ones are written: who is alike stands
# together, and that compresses to less than half.
N_LEADING = 6
KEY_BYTES = 32
# Every output waits for this; trying harder takes six times as long and saves next to nothing.
QUICK = 1

# In which order units are written.
Order = Integers | slice
Pseudonyms = NDArray[np.uint64]
UNITS = "units"


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
    """Return a number for every unit that nobody without the key can link to it."""
    digests = (hashlib.blake2b(str(unit).encode(), key=key, digest_size=8).digest() for unit in units)
    return np.frombuffer(b"".join(digests), dtype="<u8")


def joined(names: Pseudonyms, known: Pseudonyms) -> tuple[Integers, Pseudonyms]:
    """Give numbers to units: those known have theirs, all others follow in the order of their pseudonyms.

    Returns
    -------
    The number of every unit, and the pseudonyms of all units in the order of their numbers.
    """
    ordered, place = np.unique(names, return_inverse=True)
    if len(ordered) < len(names):
        raise DataError(
            "a unit is listed twice", where="unit numbers", fix="give every unit once, not every record"
        )
    rank = np.argsort(known)
    at = np.searchsorted(known, ordered, sorter=rank)
    found = np.zeros(len(ordered), dtype=np.int64)
    old = np.zeros(len(ordered), dtype=np.bool_)
    if len(known):
        found = rank[np.minimum(at, len(known) - 1)]
        old = known[found] == ordered
    found[~old] = len(known) + np.arange(int((~old).sum()))
    return found[place], np.concatenate([known, ordered[~old]])


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


class Folder:
    """The folder with the membership vectors of a ledger, in the order in which they were written.

    Parameters
    ----------
    path
        Where it is, or will be.
    n_units
        How many units there are.
    draft
        Nothing is written.
    """

    def __init__(self, path: Path, n_units: int, *, draft: bool = False) -> None:
        self.path, self.n_units, self.draft = path, n_units, draft
        self._drawn: bytes | None = None
        self._leading: list[Codes] = []
        self._orders: dict[int, Order] = {}

    def key(self, *, fresh: bool) -> bytes:
        """Return the secret that pseudonyms and hashes are made with; a new ledger draws one."""
        if fresh and self.draft:
            self._drawn = secrets.token_bytes(KEY_BYTES)
        if self._drawn is not None:
            return self._drawn
        place = self.path / "key"
        if fresh and not place.exists():
            write_file(place, secrets.token_bytes(KEY_BYTES), private=True)
        key = self._read("key")
        if len(key) != KEY_BYTES:
            raise damaged(place, "the key does not have its length")
        return key

    def secret(self, *, fresh: bool) -> int:
        """Return a number for hashes of units that comes from the key, every byte of it."""
        return int.from_bytes(hashlib.sha256(self.key(fresh=fresh)).digest()[:8], "little")

    def write(self, name: str, codes: Codes) -> dict[str, Any]:
        """Write a vector of codes; return what is needed to read it."""
        content, kind = packed(codes, self._order(len(codes)))
        write_file(self.path / name, content)
        digest = hashlib.sha256(content).hexdigest()
        return {"file": name, "kind": kind, "sha256": digest, "n_units": len(codes)}

    def read(self, entry: dict[str, Any]) -> Codes:
        """Read a vector of codes, after those that were written before it."""
        content = self._read(entry["file"])
        if hashlib.sha256(content).hexdigest() != entry["sha256"]:
            raise damaged(self.path / entry["file"], "its hash is not the one in the ledger")
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

    def units(self, n_units: int, sha256: str) -> Pseudonyms:
        """Read the pseudonyms of the first units."""
        content = self._read(UNITS)[: 8 * n_units]
        if hashlib.sha256(content).hexdigest() != sha256:
            raise damaged(self.path / UNITS, "its hash is not the one in the ledger")
        return np.frombuffer(content, dtype="<u8")

    def write_units(self, names: Pseudonyms) -> str:
        """Write the pseudonyms of all units; return their hash."""
        content = names.astype("<u8").tobytes()
        write_file(self.path / UNITS, content)
        return hashlib.sha256(content).hexdigest()

    def _read(self, name: str) -> bytes:
        try:
            return (self.path / name).read_bytes()
        except OSError as error:
            raise DataError(
                f"the ledger's file {name} cannot be read",
                where=str(self.path),
                fix="restore the folder of memberships that belongs to the ledger",
            ) from error


def damaged(path: Path, what: str) -> DataError:
    """Say that a file is not what was written."""
    return DataError(
        f"{path.name} was changed or damaged: {what}",
        where=str(path.parent),
        fix="restore the ledger and its folder from a copy of the same moment; nothing was read from it",
    )
