"""Text encoding of τ-ARGUS files, and ASCII replacements for codes and names.

τ-ARGUS does not declare an encoding: files are read as UTF-8, otherwise as Windows-1252, and written as
ASCII, which every installation reads. Numbers are read with a point or a comma and written with a point. In
other codes, accents are dropped, ß becomes ss, and characters without a Latin letter become their code point.
Replacements are unique within a variable, ignoring case; an additional file lists them.
"""

from __future__ import annotations

import gzip
import io
import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from hitoku.errors import DataError, OutputError, did_you_mean
from hitoku.files import new_file, read_csv, unpack, write_csv, write_file
from hitoku.model import Dimension, Hierarchy, Labels, Table

WORD = re.compile(r'"(?P<quoted>[^"]*)"?|(?P<plain>[^\s"]+)')


class ArgusLimit(IntEnum):
    """Limits of file systems and of τ-ARGUS."""

    FILE_NAME = 255
    """Bytes of a file name."""
    MISSING = 2
    """Missing codes of a variable."""
    REQUESTS = 2
    """Codes of a request."""
    LEVELS = 10
    """Levels of a hierarchy in the digits of its codes."""
    DISTANCES = 5
    """Distances of a variable; the last one stands for those that are left out."""
    VARIABLES = 4
    """Variables of a table in which optimal patterns are searched for."""
    COST = 20_000
    """Largest cost: costs in JJ files are scaled to whole numbers up to this."""


class SourceLine(NamedTuple):
    """Non-empty line with its number."""

    number: int
    text: str


class Word(NamedTuple):
    """Value in a line; a quoted one is never a keyword."""

    text: str
    quoted: bool

    @property
    def is_keyword(self) -> bool:
        """Whether the word is in angle brackets."""
        return not self.quoted and self.text.startswith("<")


def read_text(path: str | Path, what: str) -> str:
    """Read a file, plain or gzip, as UTF-8 or Windows-1252; ``what`` names it in errors."""
    path = Path(path)
    try:
        raw = path.read_bytes()
        plain = unpack(raw)
    except (OSError, EOFError, zlib.error) as error:
        beside = sorted(entry.name for entry in path.parent.iterdir()) if path.parent.is_dir() else []
        known = did_you_mean(path.name, beside, otherwise="check the path")
        raise DataError(
            "cannot_read_named_file",
            "cannot read the {kind} {file!r}",
            where=str(path.parent),
            fix="it exists, but is damaged or not readable" if path.name in beside else known,
            kind=what,
            file=path.name,
        ) from error
    if b"\0" in plain:
        # NumPy drops NUL at the end of a text, so that two codes would become equal.
        raise DataError(
            "named_file_has_nul",
            "the {kind} {file!r} holds a character that no text has (NUL)",
            where="{file}, line {line}",
            fix="save it as text, in UTF-8 or in the code page of the machine",
            kind=what,
            file=path.name,
            line=plain[: plain.index(0)].count(10) + 1,
        )
    try:
        text = plain.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Five bytes are undefined in Windows-1252; their replacement matches no code list.
        text = plain.decode("cp1252", errors="replace")
    return text.rstrip("\x1a")  # DOS end-of-file character


def lines_of(text: str) -> Iterator[SourceLine]:
    r"""Yield lines without tabs and surrounding blanks; skip empty ones and comments (``//``).

    Examples
    --------
    >>> [line.number for line in lines_of("// regions\n\nNorth")]
    [3]
    """
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.replace("\t", " ").strip()
        if stripped and not stripped.startswith("//"):
            yield SourceLine(number, stripped)


def words_of(line: str) -> list[Word]:
    """Split a line at blanks; quotes group a value, ``//`` between blanks starts a comment.

    Examples
    --------
    >>> [word.text for word in words_of('<REQUEST> "a b" 2 // two codes')]
    ['<REQUEST>', 'a b', '2']
    """
    words = []
    for match in WORD.finditer(line):
        if match["quoted"] is not None:
            words.append(Word(match["quoted"], quoted=True))
        elif match["plain"].startswith("//"):
            break
        else:
            words.append(Word(match["plain"], quoted=False))
    return words


def quote(value: str, what: str) -> str:
    """Return a value in double quotes; raise OutputError if it contains one.

    Examples
    --------
    >>> quote("a b", "code")
    '"a b"'
    """
    if '"' in value or "\n" in value or "\r" in value:
        raise OutputError(
            "quote_or_line_break",
            "a {kind} holds a double quote or a line break, which τ-ARGUS files cannot hold",
            where="{kind} {value!r}",
            fix="rename it, for example with an apostrophe instead of the quote",
            kind=what,
            value=value,
        )
    return f'"{value}"'


def write_text(path: str | Path, lines: Sequence[str], what: str) -> None:
    """Write lines as ASCII with LF line ends, atomically.

    Compressed if the name ends in ``.gz``.
    """
    path = Path(path)
    text = "".join(f"{line}\n" for line in lines)
    if not text.isascii():
        number, line = next((n, line) for n, line in enumerate(lines, 1) if not line.isascii())
        strange = next(sign for sign in line if not sign.isascii())
        raise OutputError(
            "unreliable_character",
            "the {kind} would hold the character {character!r}, which τ-ARGUS does not read reliably",
            where="{file}, line {line}",
            fix="write codes, names and labels in ASCII: it reads files in the code page of the machine",
            kind=what,
            character=strange,
            file=path.name,
            line=number,
        )
    raw = text.encode("ascii")
    if path.suffix == ".gz":
        raw = gzip.compress(raw, mtime=0)
    with new_file(path) as draft:
        draft.write_bytes(raw)


def refuse_impossible(name: str) -> None:
    """Raise DataError for an impossible file name, before searching for it raises another error."""
    if "\0" in name or any(len(part.encode()) > ArgusLimit.FILE_NAME for part in re.split(r"[\\/]", name)):
        raise DataError(
            "file_name_impossible",
            "a file cannot have such a name",
            fix="write a shorter one, letters and digits",
        )


def found_file(name: str, folders: Sequence[Path], what: str) -> Path:
    """Return the path of a file named in another file.

    A name with a folder is tried as a path first; otherwise the folders are searched in turn. Case is
    ignored, because the files come from Windows.
    """
    refuse_impossible(name)
    given = Path(name.replace("\\", "/"))
    for path in (given, *(folder / given for folder in folders)) if given.name != name else ():
        if path.is_file():
            return path
    beside: dict[str, Path] = {}
    for folder in folders:
        if folder.is_dir():
            for entry in sorted(folder.iterdir()):
                beside.setdefault(entry.name, entry)
    for known, path in beside.items():
        if known == given.name:
            return path
    for known, path in beside.items():
        if known.casefold() == given.name.casefold():
            return path
    raise DataError(
        "named_file_missing",
        "the {kind} {file!r} is not there",
        where=", ".join(str(folder) for folder in folders),
        fix=did_you_mean(given.name, beside, otherwise="put it into the folder of the metadata file"),
        kind=what,
        file=name,
    )


HEAD = ("variable", "stand_in", "stands_for")
# Letters without a Unicode decomposition.
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
    """Replacements of names and codes by ASCII."""

    names: Mapping[str, str] = field(default_factory=dict)  # Replacements of variable and measure names.
    # Replacements of codes by variable; ASCII codes are omitted.
    codes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.names) or any(self.codes.values())

    def __len__(self) -> int:
        return len(self.names) + sum(map(len, self.codes.values()))

    def write(self, path: Path) -> None:
        """Write them as UTF-8 CSV: variable, replacement, original; a name has no variable."""
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
                "not_stand_ins",
                "not a list of stand-ins",
                where=path.name,
                fix="its columns are {head}",
                head=", ".join(HEAD),
            )
        names: dict[str, str] = {}
        codes: dict[str, dict[str, str]] = {}
        for variable, stand_in, own in rows[1:]:
            (codes.setdefault(variable, {}) if variable else names)[own] = stand_in
        return cls(names, codes)

    def reversed(self) -> StandIns:
        """Return the reverse replacements."""
        return StandIns(
            {stand_in: name for name, stand_in in self.names.items()},
            {
                self.names.get(variable, variable): {stand_in: code for code, stand_in in codes.items()}
                for variable, codes in self.codes.items()
            },
        )

    def applied(self, table: Table) -> Table:
        """Return a table with renamed variables, codes and measure; numbers and order are unchanged."""
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
    """Return the replacements that τ-ARGUS needs; empty if everything is ASCII.

    Examples
    --------
    >>> table = Table.from_array([1, 2, 3], names=["région"], codes=[["é", "e", "日本"]])
    >>> found = stand_ins(table)
    >>> found.names, found.codes
    ({'région': 'region'}, {'région': {'é': 'e_2', '日本': 'u65e5u672c'}})
    """
    called = [dimension.name for dimension in table.dimensions]
    names = _stand_ins([*called, table.measure] if table.measure not in called else called)
    codes = {dimension.name: _stand_ins(dimension.codes) for dimension in table.dimensions}
    return StandIns(names, {variable: some for variable, some in codes.items() if some})


def _stand_ins(words: Iterable[str]) -> dict[str, str]:
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
