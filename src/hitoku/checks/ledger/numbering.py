"""Which number a unit has in a ledger: by its pseudonym, or by its records where it was renumbered."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.attacks.differencing.partition import Codes, Partition
from hitoku.checks.ledger.magnitude import Measure
from hitoku.checks.ledger.membership import Pseudonyms, damaged, joined, pseudonyms
from hitoku.checks.ledger.population import keyed
from hitoku.checks.ledger.store import LedgerStore
from hitoku.errors import DataError, ParameterError
from hitoku.model import Floats, Integers


@dataclass(frozen=True, eq=False, repr=False)
class Numbering:
    """The numbers that a ledger gives to the units of some data.

    Parameters
    ----------
    path
        The ledger's file.
    n_units
        How many units the ledger knows, with those of these data.
    numbers
        The ledger's number of every unit of these data; None where it is the data's own.
    names
        Pseudonyms of all units that the ledger knows; None where it goes by numbers.
    contents
        What their records say, hashed, where that is known.
    """

    path: Path
    n_units: int
    numbers: Integers | None = None
    names: Pseudonyms | None = None
    contents: Pseudonyms | None = None

    @classmethod
    def by_name(
        cls, store: LedgerStore, units: Iterable[object] | None, contents: Pseudonyms | None
    ) -> Numbering:
        """Give numbers to the units of these data: to those known as before, to new ones after them."""
        if units is None:
            raise ParameterError(
                "ledger_needs_unit_names",
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
            return cls(store.path, len(every), numbers, every)
        new = numbers >= len(known)
        stirred = np.zeros(len(every), dtype=np.uint64)
        stirred[: len(known)] = before
        stirred[numbers[new]] = own[new]
        return cls(store.path, len(every), numbers, every, stirred)

    def n_new(self, n_known: int) -> int:
        """Count the units of these data that are not among so many known ones."""
        return 0 if self.numbers is None else int((self.numbers >= n_known).sum())

    def pack_new(self, n_known: int, number: int) -> tuple[dict[str, Any], dict[str, bytes]] | None:
        """Return what is written about the units that are new with an output, and its files."""
        if self.names is None or len(self.names) <= n_known:
            return None
        new = {f"units-{number}": self.names[n_known:].astype("<u8").tobytes()}
        if self.contents is not None:
            new[f"contents-{number}"] = self.contents[n_known:].astype("<u8").tobytes()
        listed = [{"file": name, "sha256": hashlib.sha256(each).hexdigest()} for name, each in new.items()]
        return {**listed[0], "n_units": len(self.names) - n_known, "contents": listed[1:]}, new

    def spread(self, part: Partition) -> Codes:
        """Return the codes of an output's units by the numbers that the ledger gives them."""
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
        """Return the amounts of a measure by the numbers that the ledger gives to units."""
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
        """How many units these data have."""
        return self.n_units if self.numbers is None else len(self.numbers)


def read_vector(store: LedgerStore, entry: Mapping[str, Any]) -> bytes:
    """Return a vector as it was written."""
    content = store.vectors.get(entry["file"])
    if content is None or hashlib.sha256(content).hexdigest() != entry["sha256"]:
        raise damaged(store.path, f"vector {entry['file']} is not the one in its log")
    return content


def other_data(place: Path) -> DataError:
    return DataError(
        "ledger_of_other_data",
        "the ledger is about other data",
        where=str(place),
        fix="open the ledger of this data set, or begin one under another name",
    )
