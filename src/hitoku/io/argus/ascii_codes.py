"""Codes and names in ASCII, for τ-ARGUS, and the way back.

The program reads files in the code page of the machine it runs on, so that nothing beyond ASCII is safe.
Codes with other letters get a stand-in: accents fall away, ß becomes ss, what has no Latin letter becomes the
number of its character. Stand-ins are unique within a variable, also when upper and lower case are the same;
a file beside the table says what each stands for.
"""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from hitoku.errors import DataError
from hitoku.files import read_csv, write_csv, write_file
from hitoku.io.argus.text import read_text
from hitoku.model.dimension import Dimension, Labels
from hitoku.model.hierarchy import Hierarchy
from hitoku.model.table import Table

HEAD = ("variable", "stand_in", "stands_for")
# Letters that Unicode does not take apart.
TAKEN_APART = {
    "ß": "ss",
    "æ": "ae",
    "œ": "oe",
    "ø": "o",
    "ł": "l",
    "đ": "d",
    "ð": "d",
    "þ": "th",
    "ẞ": "SS",
    "Æ": "AE",
    "Œ": "OE",
    "Ø": "O",
    "Ł": "L",
    "Đ": "D",
    "Ð": "D",
    "Þ": "Th",
}


@dataclass(frozen=True, slots=True)
class StandIns:
    """What was renamed.

    Parameters
    ----------
    names
        Variables, and the measure, by their own name: what they are called in the files.
    codes
        By the variable's own name, and by code: the same. Codes that are ASCII are left out.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.names) or any(self.codes.values())

    def __len__(self) -> int:
        return len(self.names) + sum(map(len, self.codes.values()))

    def write(self, path: Path) -> None:
        """Write them as CSV in UTF-8: variable, stand-in, what it stands for; a name has no variable."""
        text = io.StringIO()
        names = [("", stand_in, name) for name, stand_in in self.names.items()]
        codes = [(name, stand_in, code) for name, own in self.codes.items() for code, stand_in in own.items()]
        write_csv(text, [HEAD, *names, *codes])
        write_file(path, text.getvalue().encode("utf-8"))

    @classmethod
    def read(cls, path: Path) -> StandIns:
        """Read what :meth:`write` wrote."""
        rows = list(read_csv(io.StringIO(read_text(path, "list of stand-ins"))))
        if not rows or tuple(rows[0]) != HEAD or any(len(row) != len(HEAD) for row in rows):
            raise DataError(
                "this is no list of stand-ins", where=path.name, fix=f"its columns are {', '.join(HEAD)}"
            )
        names: dict[str, str] = {}
        codes: dict[str, dict[str, str]] = {}
        for variable, stand_in, own in rows[1:]:
            (codes.setdefault(variable, {}) if variable else names)[own] = stand_in
        return cls(names, codes)

    def reversed(self) -> StandIns:
        """Return the way back: own names and codes for stand-ins."""
        return StandIns(
            {stand_in: name for name, stand_in in self.names.items()},
            {
                self.names.get(variable, variable): {stand_in: code for code, stand_in in codes.items()}
                for variable, codes in self.codes.items()
            },
        )

    def applied(self, table: Table) -> Table:
        """Rename a table's variables, codes and measure; numbers and order stay."""
        dimensions = tuple(self._dimension(dimension) for dimension in table.dimensions)
        return replace(
            table,
            dimensions=dimensions,
            labels=Labels.cross(dimensions),
            measure=self.names.get(table.measure, table.measure),
        )

    def _dimension(self, dimension: Dimension) -> Dimension:
        codes = self.codes.get(dimension.name, {})
        trees = (
            Hierarchy(tuple(codes.get(code, code) for code in tree.codes), tree.parents)
            for tree in dimension.hierarchies
        )
        return Dimension(self.names.get(dimension.name, dimension.name), tuple(trees))


def stand_ins(table: Table) -> StandIns:
    """Find what has to be renamed before τ-ARGUS can read a table; nothing where all is ASCII.

    Examples
    --------
    >>> table = Table.from_array([1, 2, 3], names=["région"], codes=[["é", "e", "日本"]])
    >>> found = stand_ins(table)
    >>> found.names, found.codes
    ({'région': 'region'}, {'région': {'é': 'e_2', '日本': 'u65e5u672c'}})
    """
    called = [dimension.name for dimension in table.dimensions]
    names = _renamed([*called, table.measure] if table.measure not in called else called)
    codes = {dimension.name: _renamed(dimension.codes) for dimension in table.dimensions}
    return StandIns(names, {variable: some for variable, some in codes.items() if some})


def _renamed(words: Iterable[str]) -> dict[str, str]:
    """Give a stand-in to every word that is not ASCII; no two words are the same but for case."""
    words = list(words)
    taken = {word.strip().casefold() for word in words if word.isascii()}
    found = {}
    for word in words:
        if not word.isascii():
            plain = stand_in = "".join(map(_plain, word))
            number = 1
            while stand_in.strip().casefold() in taken:
                number += 1
                stand_in = f"{plain}_{number}"
            taken.add(stand_in.strip().casefold())
            found[word] = stand_in
    return found


def _plain(sign: str) -> str:
    """Return letters and digits for one character; an ASCII one stays as it is."""
    if sign.isascii():
        return sign
    parts = TAKEN_APART.get(sign) or "".join(c for c in unicodedata.normalize("NFKD", sign) if c.isascii())
    # Not what means something in the files: a wide semicolon does not become one.
    return parts if parts.isalnum() else f"u{ord(sign):04x}"
