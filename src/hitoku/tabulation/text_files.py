"""Text files as offices have them: encoding, separator and how numbers are written, given or found.

Finding out is a function of the bytes alone. Where two answers fit, the file is refused with the way to say
which. A style of numbers is found from the *shapes* of the entries, their digits replaced by nines: there are
few of them. 1,234.5 and 1.234,5 and 1 234,5 are one number in three styles; where two styles give different
numbers, the column is refused.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import islice
from pathlib import Path
from typing import IO, cast

from hitoku.errors import DataError, ParameterError, did_you_mean, some

# How files were read, for those who want to know: names of files and of signs, nothing from inside.
READING = logging.getLogger("hitoku.reading")
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
ENCODINGS = ("utf-8", "utf-16", "cp1252", "latin-1", "shift-jis", "euc-jp")
THOUSANDS = ("", ",", ".", " ", "'")
# What calls itself Shift-JIS has the characters of Windows in it, which the standard lacks.
CODECS = {"shift-jis": "cp932", "shift_jis": "cp932", "sjis": "cp932", "euc-jp": "euc_jis_2004"}
LINES_LOOKED_AT = 200
# Kana, or two Chinese characters side by side: what accents of other languages do not turn into by chance.
JAPANESE = re.compile("[\u3041-\u3096\u30a1-\u30fa]|[\u4e00-\u9fff]{2}")
# Three letters beyond ASCII side by side, or a sign between two letters: no Western European text.
NOT_WESTERN = re.compile(
    "[^\x00-\x7f\xa0]{3}|[^\\W\\d_][^\\w\\s\x00-\x7f\xb7\u2013\u2014\u2018\u2019\xad][^\\W\\d_]"
    "|[^\\W\\d_][\xb2\xb3\xb9\xbc\xbd\xbe][^\\W\\d_]"
)


@dataclass(frozen=True, slots=True)
class FileFormat:
    r"""How a text file is written; what is left out is found in the file.

    Parameters
    ----------
    encoding
        Such as "utf-8", "utf-16", "cp1252", "latin-1", "shift-jis" or "euc-jp"; any that Python knows.
    separator
        Sign between columns: "," or ";" or "\t" or "|", or another single one.
    decimal
        Sign before decimals: "." or ",".
    thousands
        Sign between groups of three digits: "," or "." or " " (also a no-break space) or "'"; "" for none.

    Examples
    --------
    >>> FileFormat(decimal=",").decimal
    ','
    >>> FileFormat(encoding="latin1", decimal=";")
    Traceback (most recent call last):
    hitoku.errors.ParameterError: decimal cannot be ';'
      where: decimal
      fix: use "." or ","
    """

    encoding: str | None = None
    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None

    def __post_init__(self) -> None:
        if self.encoding is not None:
            _codec(self.encoding)
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '"\r\n'):
            raise ParameterError(
                "separator_invalid",
                "separator cannot be {separator!r}",
                where="separator",
                fix=r'use one sign, such as ";" or "," or "\t" for a tab',
                separator=self.separator,
            )
        if self.decimal not in {None, ".", ","}:
            raise ParameterError(
                "decimal_invalid",
                "decimal cannot be {decimal!r}",
                where="decimal",
                fix='use "." or ","',
                decimal=self.decimal,
            )
        if self.thousands is not None and self.thousands not in THOUSANDS:
            raise ParameterError(
                "thousands_invalid",
                "thousands cannot be {thousands!r}",
                where="thousands",
                fix="""use "," or "." or " " or "'", or "" for none""",
                thousands=self.thousands,
            )
        if self.decimal is not None and self.decimal == self.thousands:
            raise ParameterError(
                "decimal_is_thousands",
                "decimal and thousands are both {sign!r}",
                where="decimal, thousands",
                fix="give two",
                sign=self.decimal,
            )


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file whose encoding and separator are known."""

    path: Path
    """The file."""
    encoding: str
    separator: str
    """Given or found."""
    header: tuple[str, ...]
    """Names of its columns, no name twice."""

    def __str__(self) -> str:
        sign = SEPARATORS.get(self.separator, repr(self.separator))
        return f"{self.encoding}, {'one column' if len(self.header) == 1 else f'separator {sign}'}"

    @property
    def is_utf8(self) -> bool:
        return self.encoding.startswith("utf-8")

    def rows(self) -> Iterator[list[str]]:
        """Yield the rows below the names; each has as many entries as there are names."""
        with open_text(self.path, self.encoding) as lines:
            reader = csv.reader(lines, delimiter=self.separator, strict=True)
            try:
                next(reader)
                for row in reader:
                    if not row:
                        continue
                    if len(row) != len(self.header):
                        raise ragged(self.path.name, reader.line_num, len(row), len(self.header))
                    yield row
            except csv.Error:
                # Not "from error": its message may hold a part of the file.
                raise unreadable(self.path.name, reader.line_num) from None

    def copy_as_utf8(self, folder: Path) -> Path:
        """Return the path of the file in UTF-8: its own, or that of a copy in a private folder."""
        if self.is_utf8:
            return self.path
        copy = folder / "records.csv"
        with (
            open_text(self.path, self.encoding) as source,
            copy.open("w", encoding="utf-8", newline="") as file,
        ):
            while block := source.read(1 << 20):
                file.write(block)
        return copy


def look_at(path: Path, given: FileFormat | None = None) -> TextFile:
    r"""Find encoding, separator and names of columns of a text file.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "firms.csv"
    >>> _ = place.write_bytes("région;chiffre\nNîmes;1,5\n".encode("cp1252"))
    >>> print(look_at(place))
    cp1252, separator semicolon
    """
    given = given or FileFormat()
    encoding = given.encoding or _find_encoding(path)
    with open_text(path, encoding) as lines:
        head = "".join(islice(lines, LINES_LOOKED_AT))
    if not head.strip():
        raise DataError(
            "file_empty",
            "the file {file!r} is empty",
            where=str(path),
            fix="check that it was written; its first line names the columns",
            file=path.name,
        )
    separator = given.separator or _find_separator(head, path.name)
    header = next(_parsed(head, separator), None) or [""]
    names = [name for name in header if name]
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise DataError(
            "columns_called_alike",
            "two columns are called {name!r}",
            where="{file}, line 1",
            fix="give every column a name of its own",
            name=twice[0],
            file=path.name,
        )
    return TextFile(path, encoding, separator, tuple(header))


@contextmanager
def open_text(path: Path, encoding: str) -> Iterator[IO[str]]:
    """Open a file, compressed or not; bytes that the encoding does not have are an error of ours."""
    codec = "utf-8-sig" if encoding in {"utf-8", "utf-8-sig"} else _codec(encoding)
    try:
        with _open_bytes(path) as raw, io.TextIOWrapper(raw, codec, newline="") as text:
            yield text
    except (UnicodeDecodeError, UnicodeError):
        raise DataError(
            "encoding_wrong",
            "the file is not written in {encoding}",
            where=path.name,
            fix="say its encoding, for example one of {encodings}",
            encoding=encoding,
            encodings=", ".join(ENCODINGS),
        ) from None
    except (OSError, EOFError) as error:
        raise DataError(
            "cannot_read",
            "cannot read {file!r}: {reason}",
            where=str(path),
            fix="check the file",
            file=path.name,
            reason=type(error).__name__,
        ) from None


def ragged(where: str, line: int, n_found: int, n_named: int) -> DataError:
    """Explain a line with too many or too few entries."""
    if n_found > n_named:
        return DataError(
            "line_too_long",
            "a line has more entries than the {n} column(s) that the first line names",
            where="{place}, line {line}",
            fix="put a text with the separator in it, or a number with a comma, into double quotes",
            n=n_named,
            place=where,
            line=line,
        )
    return DataError(
        "line_too_short",
        "a line has {n_found} of the {n_named} entries for the columns that the first line names",
        where="{place}, line {line}",
        fix="complete the line, or say the separator",
        n_found=n_found,
        n_named=n_named,
        place=where,
        line=line,
    )


def unreadable(where: str, line: int) -> DataError:
    """Explain a line that is no CSV."""
    return DataError(
        "line_not_split",
        "a line cannot be split into columns",
        where="{place}, line {line}",
        fix='close every double quote; one inside a text is doubled: "5"" pipes"',
        place=where,
        line=line,
    )


def _open_bytes(path: Path) -> IO[bytes]:
    if path.name.lower().endswith(".gz"):
        return cast("IO[bytes]", gzip.GzipFile(path))
    return path.open("rb")


def _codec(name: str) -> str:
    wanted = CODECS.get(name.lower(), name)
    try:
        if not codecs.lookup(wanted)._is_text_encoding:  # noqa: SLF001 - "hex" is none
            raise LookupError  # noqa: TRY301
    except (LookupError, ValueError):
        raise ParameterError(
            "unknown_encoding",
            "no encoding {encoding!r}",
            where="encoding",
            fix=did_you_mean(name, ENCODINGS),
            encoding=name,
        ) from None
    return wanted


def _find_encoding(path: Path) -> str:
    with _open_checked(path) as file:
        head = file.read(4096)
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in head:
        # Letters of ASCII have one byte of zero: the second if the lower one comes first.
        return "utf-16-le" if head[1::2].count(0) > head[::2].count(0) else "utf-16-be"
    if _decodes(path, "utf-8"):
        return "utf-8"
    fits = [name for name in ("euc-jp", "shift-jis") if _decodes(path, name, needed=JAPANESE)]
    fits += ["cp1252"] if _decodes(path, "cp1252", forbidden=NOT_WESTERN) else []
    if len(fits) == 1:
        return fits[0]
    what = f"fits more than one encoding: {' and '.join(fits)}" if fits else "is in no encoding that is known"
    raise DataError(
        "encoding_unknown",
        "the file is not UTF-8 and {hint}",
        where=path.name,
        fix="say its encoding, for example one of {encodings}",
        hint=what,
        encodings=", ".join(ENCODINGS),
    )


@contextmanager
def _open_checked(path: Path) -> Iterator[IO[bytes]]:
    try:
        with _open_bytes(path) as file:
            yield file
    except (OSError, EOFError) as error:
        raise DataError(
            "cannot_read",
            "cannot read {file!r}: {reason}",
            where=str(path),
            fix="check the file",
            file=path.name,
            reason=type(error).__name__,
        ) from None


def _decodes(
    path: Path,
    encoding: str,
    *,
    needed: re.Pattern[str] | None = None,
    forbidden: re.Pattern[str] | None = None,
) -> bool:
    """Tell whether every byte has a meaning, some text looks as it should, and none as it should not."""
    seen = needed is None
    with _open_checked(path) as raw, io.TextIOWrapper(raw, _codec(encoding), newline="") as text:
        try:
            # Lines for patterns, blocks where every byte has only to be decoded.
            for part in text if needed or forbidden else iter(lambda: text.read(1 << 20), ""):
                seen = seen or bool(needed and needed.search(part))
                if forbidden and not part.isascii() and forbidden.search(part):
                    return False
        except UnicodeDecodeError:
            return False
    return seen


def _find_separator(head: str, where: str) -> str:
    """Take the sign that splits every line alike; where none does, the one in the line of names."""
    counted = {sign: _counts(head, sign) for sign in SEPARATORS}
    named = [sign for sign, counts in counted.items() if counts[0] > 1]
    even = [sign for sign in named if len(set(counted[sign])) == 1]
    fits = even or named
    if len(fits) > 1:
        raise DataError(
            "separator_ambiguous",
            "more than one separator fits: {separators}",
            where=where,
            fix="say the separator",
            separators=some(SEPARATORS[sign] for sign in fits),
        )
    return fits[0] if fits else ","


def _counts(head: str, sign: str) -> list[int]:
    rows = [len(row) for row in _parsed(head, sign) if row]
    # The last line may be cut inside a text in quotes.
    return rows[:-1] if head.count("\n") >= LINES_LOOKED_AT and len(rows) > 1 else rows or [0]


def _parsed(head: str, sign: str) -> Iterator[Sequence[str]]:
    try:
        yield from csv.reader(io.StringIO(head, newline=""), delimiter=sign)
    except csv.Error:
        return


BLANKS = " \u00a0\u202f\u2009\t"
SIGNS = {".": "point", ",": "comma", " ": "blank", "'": "apostrophe"}
NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
MOST_SHAPES = 5000
# Digits of a whole number that surely fits into 64 bits.
MOST_DIGITS = 18


@dataclass(frozen=True, slots=True)
class NumberStyle:
    """Sign before decimals, and sign between groups of three digits ("" for none)."""

    decimal: str = "."
    thousands: str = ""

    def __str__(self) -> str:
        grouped = f", thousands {SIGNS[self.thousands]}" if self.thousands else ""
        return f"decimal {SIGNS[self.decimal]}{grouped}"

    def reads(self, shape: str) -> Decimal | None:
        """Return the number that a shape stands for, or None."""
        text = _one_blank(shape)
        if not _pattern(self.decimal, self.thousands).fullmatch(text):
            return None
        return Decimal(self.plain(text))

    def plain(self, text: str) -> str:
        """Write an entry as programs do: 1234.5."""
        text = _one_blank(text)
        return (text.replace(self.thousands, "") if self.thousands else text).replace(self.decimal, ".")

    def sql(self, column: str) -> str:
        """Write the same in SQL."""
        text = f"trim({column}, '{BLANKS}')"
        for sign in BLANKS if self.thousands == " " else self.thousands:
            text = f"replace({text}, '{sign * 2 if sign == chr(39) else sign}', '')"
        text = text if self.decimal == "." else f"replace({text}, '{self.decimal}', '.')"
        return f"nullif({text}, '')"


STYLES = tuple(
    NumberStyle(decimal, thousands)
    for thousands in ("", ",", ".", " ", "'")
    for decimal in (".", ",")
    if decimal != thousands
)


def shape_of(text: str) -> str:
    """Replace digits by nines, but for a zero at the front.

    Examples
    --------
    >>> shape_of(" 0,125"), shape_of("-1 204.5")
    ('0,999', '-9 999.9')
    """
    text = text.strip(BLANKS)
    return re.sub("[1-9]", "9", text[:2]) + re.sub("[0-9]", "9", text[2:])


def shape_sql(column: str) -> str:
    """Write the same in SQL."""
    text = f"trim({column}, '{BLANKS}')"
    front = f"translate(left({text}, 2), '12345678', '99999999')"
    return f"{front} || translate(substr({text}, 3), '012345678', '999999999')"


def style_of(
    shapes: Iterable[str], name: str, where: str, given: FileFormat | None = None
) -> NumberStyle | None:
    """Find the style of a column; None where some entry is no number in any.

    Examples
    --------
    >>> print(style_of(["9.999,99", "99"], "turnover", "firms.csv"))
    decimal comma, thousands point
    >>> style_of(["9.999", "99"], "turnover", "firms.csv")
    Traceback (most recent call last):
    hitoku.errors.DataError: the numbers of column 'turnover' can be read in two ways: ...
    """
    listed = [shape for shape in dict.fromkeys(shapes) if shape and not NOT_FINITE.fullmatch(shape)]
    found: dict[tuple[Decimal, ...], NumberStyle] = {}
    for style in _allowed(given or FileFormat()):
        read = [style.reads(shape) for shape in listed]
        numbers = tuple(number for number in read if number is not None)
        if len(numbers) == len(listed):
            # Styles that give the same numbers are one; the plainest stands first.
            found.setdefault(numbers, style)
    if len(found) > 1:
        first, second = list(found.values())[:2]
        raise DataError(
            "number_style_ambiguous",
            "the numbers of column {column!r} can be read in two ways: {first}, or {second}",
            column=name,
            where=where,
            fix='say which sign stands before decimals: decimal "." or decimal ","',
            first=first,
            second=second,
        )
    return next(iter(found.values()), None)


def whole(shapes: Iterable[str], style: NumberStyle) -> bool:
    """Tell whether all entries are whole numbers of moderate size."""
    digits = [style.plain(shape).lstrip("+-") for shape in shapes if shape]
    return all(text.isdigit() and len(text) <= MOST_DIGITS for text in digits)


def _allowed(given: FileFormat) -> list[NumberStyle]:
    return [
        style
        for style in STYLES
        if given.decimal in {None, style.decimal} and given.thousands in {None, style.thousands}
    ]


def _one_blank(text: str) -> str:
    return re.sub(f"[{BLANKS}]", " ", text.strip(BLANKS))


@cache
def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    point, group = re.escape(decimal), re.escape(thousands)
    whole_part = rf"(?:[1-9]\d{{0,2}}(?:{group}\d{{3}})+|\d+)" if thousands else r"\d+"
    exponent = r"(?:[eE][+-]?\d+)?"
    return re.compile(rf"[+-]?(?:{whole_part}(?:{point}\d*)?|{point}\d+){exponent}")
