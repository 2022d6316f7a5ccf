"""Who is in which cell, on disk: one compressed vector of codes per partition, beside the ledger.

These files are microdata. They stay on the protected side, and go when the project goes.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.attacks.differencing.partition import Codes
from hitoku.errors import DataError, OutputError
from hitoku.model.arrays import Integers

# A ledger's first partitions say in which order the units of later ones are written: who is alike stands
# together, and that compresses to less than half.
N_LEADING = 6
KEY_BYTES = 32

# In which order units are written.
Order = Integers | slice


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
    names = [hashlib.blake2b(str(unit).encode(), key=key, digest_size=16).digest() for unit in units]
    if len(set(names)) < len(names):
        raise DataError(
            "a unit is listed twice", where="unit numbers", fix="give every unit once, not every record"
        )
    numbers = np.empty(len(names), dtype=np.int64)
    numbers[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return numbers


def written(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OutputError(
            f"cannot write {path.name}", where=str(path.parent), fix="check that there is room and permission"
        ) from error


def packed(codes: Codes, order: Order) -> tuple[bytes, str]:
    """Compress codes; return them and the type of number they were written as."""
    smallest = np.min_scalar_type(int(codes.max(initial=0))).newbyteorder("<")
    return zlib.compress(codes[order].astype(smallest).tobytes(), 6), smallest.str


def unpacked(content: bytes, kind: str, order: Order, n_units: int) -> Codes:
    """Undo :func:`packed`."""
    ordered = np.frombuffer(zlib.decompress(content), dtype=kind)
    codes = np.empty(n_units, dtype=np.int32)
    codes[order] = ordered
    return codes


class Folder:
    """The folder with the membership vectors of a ledger, in the order in which they were written.

    Parameters
    ----------
    path
        Where it is, or will be.
    n_units
        How many units there are.
    """

    def __init__(self, path: Path, n_units: int) -> None:
        self.path, self.n_units = path, n_units
        self._leading: list[Codes] = []
        self._order: Order = slice(None)

    def key(self, *, fresh: bool) -> bytes:
        """Return the secret that pseudonyms and hashes are made with; a new ledger draws one."""
        place = self.path / "key"
        if fresh and not place.exists():
            written(place, secrets.token_bytes(KEY_BYTES))
            place.chmod(0o600)
        key = self._read("key")
        if len(key) != KEY_BYTES:
            raise damaged(place, "the key does not have its length")
        return key

    def secret(self, *, fresh: bool) -> int:
        """Return a number for hashes of units that comes from the key, every byte of it."""
        return int.from_bytes(hashlib.sha256(self.key(fresh=fresh)).digest()[:8], "little")

    def write(self, name: str, codes: Codes) -> dict[str, Any]:
        """Write a vector of codes; return what is needed to read it."""
        content, kind = packed(codes, self._order)
        written(self.path / name, content)
        return {"file": name, "kind": kind, "sha256": hashlib.sha256(content).hexdigest()}

    def read(self, entry: dict[str, Any]) -> Codes:
        """Read a vector of codes, after those that were written before it."""
        content = self._read(entry["file"])
        if hashlib.sha256(content).hexdigest() != entry["sha256"]:
            raise damaged(self.path / entry["file"], "its hash is not the one in the ledger")
        return unpacked(content, entry["kind"], self._order, self.n_units)

    def follow(self, vectors: Sequence[Codes]) -> None:
        """Take note of an output's vectors, once it is in the ledger: later ones are ordered by them."""
        if vectors and len(self._leading) < N_LEADING:
            self._leading = [*self._leading, *vectors][:N_LEADING]
            self._order = np.lexsort(tuple(self._leading)[::-1])

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
