"""Units of the data in a ledger, and their membership in published cells.

A unit is identified by its pseudonym, or by its records if it was renumbered: names can change, and data may
have none. Two deliveries with the same columns share a unit if its records are the same in both, in any
order. The members of cells are stored as one compressed vector of codes per partition. These are microdata:
they stay on the protected side, and are deleted with the project.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.attacks.differencing import Codes, Partition
from hitoku.checks.arrow_columns import PackedTexts
from hitoku.checks.ledger.entry import Measure
from hitoku.checks.ledger.store import LedgerStore, damage_error
from hitoku.errors import DataError, ParameterError
from hitoku.model import Floats, Integers, Mask

# Number of first partitions that determine the order in which units are stored: similar units become
# neighbours, and the vectors compress to less than half.
N_LEADING = 6

# Order in which units are stored.
Order = Integers | slice
Pseudonyms = NDArray[np.uint64]


def unit_numbers(units: Iterable[object], key: bytes) -> Integers:
    """Assign numbers to units by a keyed pseudonym, so that later deliveries number the same units alike.

    Parameters
    ----------
    units
        Unique identifiers of the units.
    key
        Secret key of the ledger.

    Returns
    -------
    Position of each unit in the order of the pseudonyms.

    Examples
    --------
    >>> key = bytes(32)
    >>> first, again = unit_numbers(["ann", "bob", "eve"], key), unit_numbers(["eve", "ann", "bob"], key)
    >>> first[[2, 0, 1]].tolist() == again.tolist()
    True
    """
    return number_units(pseudonyms(units, key), np.zeros(0, dtype=np.uint64))[0]


def pseudonyms(units: Iterable[object], key: bytes) -> Pseudonyms:
    """Return a keyed BLAKE2b hash of each unit name, unlinkable without the key.

    Parameters
    ----------
    units
        Identifiers of the units; packed texts are faster.
    key
        Secret key of the ledger.
    """
    begun = hashlib.blake2b(key=key, digest_size=8)

    def digest(name: bytes) -> bytes:
        # Copying the keyed state takes a fifth of the time.
        own = begun.copy()
        own.update(name)
        return own.digest()

    plain = units if isinstance(units, PackedTexts) else (str(unit).encode() for unit in units)
    return np.frombuffer(b"".join(map(digest, plain)), dtype="<u8")


def number_units(
    names: Pseudonyms,
    known: Pseudonyms,
    contents: Pseudonyms | None = None,
    known_contents: Pseudonyms | None = None,
) -> tuple[Integers, Pseudonyms]:
    """Assign numbers to units: known ones keep theirs, new ones follow in pseudonym order.

    Parameters
    ----------
    names
        Unique pseudonyms of the units.
    known
        Pseudonyms of the known units.
    contents, known_contents
        Hashes of the records of both. A unit with a new name is a known one if it alone, on both sides, has
        these records: it was renumbered.

    Returns
    -------
    Number of every unit, and the pseudonyms of all units in the order of their numbers.
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
    """Return the index of each value among known ones, and whether it is there."""
    if not len(known):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=np.bool_)
    rank = np.argsort(known)
    at = rank[np.minimum(np.searchsorted(known, wanted, sorter=rank), len(known) - 1)]
    return at, known[at] == wanted


def _alone(contents: Pseudonyms) -> tuple[Pseudonyms, Integers]:
    """Return the values that occur once, and their indices."""
    found, place, count = np.unique(contents, return_index=True, return_counts=True)
    return found[count == 1], place[count == 1]


def pack_codes(codes: Codes, order: Order) -> tuple[bytes, str]:
    """Compress codes; return the bytes and the integer type."""
    smallest = np.min_scalar_type(int(codes.max(initial=0))).newbyteorder("<")
    # Higher levels take six times as long and save almost nothing.
    return zlib.compress(codes[order].astype(smallest).tobytes(), level=1), smallest.str


def unpack_codes(content: bytes, kind: str, order: Order, n_units: int) -> Codes:
    """Undo :func:`pack_codes`; later units are in no cell."""
    ordered = np.frombuffer(zlib.decompress(content), dtype=kind)
    codes = np.zeros(n_units, dtype=np.int32)
    codes[: len(ordered)][order] = ordered
    return codes


class Vectors:
    """Membership vectors of a ledger, in the order in which they were written.

    Parameters
    ----------
    n_units
        Number of units.
    """

    def __init__(self, n_units: int) -> None:
        self.n_units = n_units
        self._leading: list[Codes] = []
        self._orders: dict[int, Order] = {}

    def pack(self, codes: Codes) -> tuple[bytes, dict[str, Any]]:
        """Compress a vector of codes; return the bytes and the data needed to read them."""
        content, kind = pack_codes(codes, self._order(len(codes)))
        return content, {"kind": kind, "sha256": hashlib.sha256(content).hexdigest(), "n_units": len(codes)}

    def unpack(self, content: bytes, entry: Mapping[str, Any]) -> Codes:
        """Undo :meth:`pack`; earlier vectors must have been read."""
        return unpack_codes(content, entry["kind"], self._order(entry["n_units"]), self.n_units)

    def follow(self, vectors: Sequence[Codes]) -> None:
        """Register the vectors of a stored output, which determine the order of later ones."""
        if vectors and len(self._leading) < N_LEADING:
            self._leading = [*self._leading, *vectors][:N_LEADING]
            self._orders = {}

    def _order(self, n_units: int) -> Order:
        """Return the storage order of the first ``n_units`` units."""
        if not self._leading:
            return slice(None)
        if n_units not in self._orders:
            self._orders[n_units] = np.lexsort([codes[:n_units] for codes in reversed(self._leading)])
        return self._orders[n_units]


def hash_secret(key: bytes) -> int:
    """Return a seed for hashes of units, derived from the whole key."""
    return int.from_bytes(hashlib.sha256(key).digest()[:8], "little")


@dataclass(frozen=True, eq=False, repr=False)
class Numbering:
    """Numbers that a ledger gives to the units of a data set."""

    path: Path  # The ledger's file.
    n_units: int  # Number of units in the ledger, including those of these data.
    # Number of each unit of these data; None if the data's own numbers are used.
    numbers: Integers | None = None
    # Pseudonyms of all units in the ledger; None if units are identified by number.
    names: Pseudonyms | None = None
    contents: Pseudonyms | None = None  # Hashes of their records, if known.

    @classmethod
    def by_name(
        cls, store: LedgerStore, units: Iterable[object] | None, contents: Pseudonyms | None
    ) -> Numbering:
        """Assign numbers to the units of these data: known units as before, new ones after them."""
        if units is None:
            raise ParameterError(
                "ledger_needs_unit_names",
                "the ledger knows its units by their names",
                where=str(store.path),
                fix="say which column names the unit",
            )
        names = (
            keyed_pseudonyms(units, store.key)
            if isinstance(units, np.ndarray)
            else pseudonyms(units, store.key)
        )
        listed = [plain["units"] for plain in store.of("output") if "units" in plain]
        known = np.frombuffer(b"".join(read_vector(store, each) for each in listed), dtype="<u8")
        own = None if contents is None else keyed_pseudonyms(contents, store.key)
        before = None
        if own is not None and all(each.get("contents") for each in listed):
            stored = (read_vector(store, each["contents"][0]) for each in listed)
            before = np.frombuffer(b"".join(stored), dtype="<u8")
        numbers, every = number_units(names, known, own, before)
        if len(known) and not (numbers < len(known)).any():
            raise other_data(store.path)
        if own is None or before is None:
            return cls(store.path, len(every), numbers, every)
        new = numbers >= len(known)
        stirred = np.zeros(len(every), dtype=np.uint64)
        stirred[: len(known)] = before
        stirred[numbers[new]] = own[new]
        return cls(store.path, len(every), numbers, every, stirred)

    def n_new(self, n_known: int) -> int:
        """Return the number of units of these data beyond the first ``n_known``."""
        return 0 if self.numbers is None else int((self.numbers >= n_known).sum())

    def pack_new(self, n_known: int, number: int) -> tuple[dict[str, Any], dict[str, bytes]] | None:
        """Return the entry and the files for the units that are new with an output."""
        if self.names is None or len(self.names) <= n_known:
            return None
        new = {f"units-{number}": self.names[n_known:].astype("<u8").tobytes()}
        if self.contents is not None:
            new[f"contents-{number}"] = self.contents[n_known:].astype("<u8").tobytes()
        listed = [{"file": name, "sha256": hashlib.sha256(each).hexdigest()} for name, each in new.items()]
        return {**listed[0], "n_units": len(self.names) - n_known, "contents": listed[1:]}, new

    def spread(self, part: Partition) -> Codes:
        """Return the codes of an output's units in the ledger's numbering."""
        if part.n_units != self.n_own or part.units is not None:
            raise DataError(
                "output_units_differ",
                "an output covers {n_output} units, the ledger {n_ledger}",
                where=str(self.path),
                fix="number the units of one data set in one order",
                n_output=part.n_units,
                n_ledger=self.n_own,
            )
        if self.numbers is None:
            return part.codes
        codes = np.zeros(self.n_units, dtype=np.int32)
        codes[self.numbers] = part.codes
        return codes

    def amounts(self, name: str, measure: Measure) -> Floats:
        """Return the values of a measure in the ledger's numbering."""
        if len(measure.values) != self.n_own:
            raise DataError(
                "measure_length_differs",
                "measure {measure!r} has {n_values} values for {n_units} units",
                where=str(self.path),
                fix="give one value per unit, in the ledger's order of units",
                measure=name,
                n_values=len(measure.values),
                n_units=self.n_own,
            )
        if self.numbers is None:
            return measure.values
        amounts = np.zeros(self.n_units)
        amounts[self.numbers] = measure.values
        return amounts

    @property
    def n_own(self) -> int:
        """Number of units in these data."""
        return self.n_units if self.numbers is None else len(self.numbers)


def read_vector(store: LedgerStore, entry: Mapping[str, Any]) -> bytes:
    """Return a stored vector after checking its hash."""
    content = store.vectors.get(entry["file"])
    if content is None or hashlib.sha256(content).hexdigest() != entry["sha256"]:
        raise damage_error(store.path, f"vector {entry['file']} is not the one in its log")
    return content


def other_data(place: Path) -> DataError:
    return DataError(
        "ledger_of_other_data",
        "the ledger is about other data",
        where=str(place),
        fix="open the ledger of this data set, or begin one under another name",
    )


Words = NDArray[np.uint64]
# Prefixes of Arrow's numeric types.
NUMBERS = ("int", "uint", "halffloat", "float", "double", "bool")
# Odd constants of a well-mixing permutation of 64 bits, after Steele, Lea and Flood (2014).
STEP, FIRST, SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)


def record_hashes(table: Any, leave_out: str | None = None) -> Words:
    """Return a hash of the content of every record, independent of the order of columns.

    Parameters
    ----------
    table
        Records as an Arrow table.
    leave_out
        Column to ignore: the name of the unit.
    """
    found = np.zeros(table.num_rows, dtype=np.uint64)
    for name in sorted(set(table.column_names) - {leave_out}):
        seed = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
        found = _mix(found + _column(table.column(name)) * np.uint64(seed | 1))
    return found


def unit_hashes(records: Words, unit: Integers, n_units: int) -> Words:
    """Return a hash of the records of each unit, independent of their order."""
    found = np.zeros(n_units, dtype=np.uint64)
    np.add.at(found, unit, _mix(records + STEP))
    return _mix(found)


def numbered_duplicates(hashes: Words) -> Words:
    """Make hashes of identical records distinct, by their occurrence number."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    start = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, dtype=bool)
    first = np.maximum.accumulate(np.where(start, np.arange(len(ordered)), 0))
    found = np.empty_like(hashes)
    found[order] = _mix(ordered + (np.arange(len(ordered)) - first).astype(np.uint64) * STEP)
    return found


def keyed_pseudonyms(hashes: Words, key: bytes) -> Words:
    """Return keyed pseudonyms of hashes, unlinkable without the key."""
    words = np.frombuffer(hashlib.sha512(key).digest(), dtype="<u8")
    found = hashes
    for word in words:
        found = _mix(found ^ word)
    return found


def _column(column: Any) -> Words:
    """Return a hash of every entry; equal numbers of any width have the same hash."""
    whole = column.combine_chunks()
    whole = whole.dictionary_decode() if str(whole.type).startswith("dictionary") else whole
    if str(whole.type).startswith(NUMBERS):
        numbers = whole.cast("double", safe=False).to_numpy(zero_copy_only=False)
        # Normalise -0.0 and NaN payloads before hashing.
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
    """Mix 64 bits so that each output bit depends on every input bit."""
    with np.errstate(over="ignore"):
        found = words + STEP
        found = (found ^ (found >> np.uint64(30))) * FIRST
        found = (found ^ (found >> np.uint64(27))) * SECOND
        return found ^ (found >> np.uint64(31))
