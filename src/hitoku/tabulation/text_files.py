"""Text files and Excel sheets: encoding, separator, sheet and range, given or detected.

Detection depends on the bytes alone. If two answers fit, the file is rejected with the option to give. A
sheet is read as lines of texts, like a text file, so every reader of CSV files reads Excel files too. Number
formats are handled in ``number_styles``.
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
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, cast

from hitoku.errors import DataError, ParameterError, did_you_mean, some
from hitoku.files import split_sheet, write_csv
from hitoku.messages import Text
from hitoku.tabulation.sheets import read_sheet

# Logs how files were read: names of files and signs, no content.
READING = logging.getLogger("hitoku.reading")
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
ENCODINGS = ("utf-8", "utf-16", "cp1252", "latin-1", "shift-jis", "euc-jp")
THOUSANDS = ("", ",", ".", " ", "'")
# Blanks around an entry, the full-width one of Japanese texts included.
BLANKS = " \u00a0\u202f\u2009\u3000\t"
EXCEL = (".xlsx", ".xlsm")
CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz")
# Files called Shift-JIS contain Windows characters, which the standard lacks.
CODECS = {"shift-jis": "cp932", "shift_jis": "cp932", "sjis": "cp932", "euc-jp": "euc_jis_2004"}
LINES_LOOKED_AT = 200
# Kana, or two adjacent Chinese characters, which accents of other languages do not produce by chance.
JAPANESE = re.compile("[\u3041-\u3096\u30a1-\u30fa]|[\u4e00-\u9fff]{2}")
# Three adjacent letters beyond ASCII, or a sign between two letters: not a Western European text.
NOT_WESTERN = re.compile(
    "[^\x00-\x7f\xa0]{3}|[^\\W\\d_][^\\w\\s\x00-\x7f\xb7\u2013\u2014\u2018\u2019\xad][^\\W\\d_]"
    "|[^\\W\\d_][\xb2\xb3\xb9\xbc\xbd\xbe][^\\W\\d_]"
)


@dataclass(frozen=True, slots=True)
class FileFormat:
    r"""Format of a text file; missing parameters are detected from the file.

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
    na
        Entries that stand for a missing number, such as ("x", "-"). In a column of codes they are codes.
    drop_missing
        Columns of numbers: records with a missing number there are left out.
    zero_missing
        Columns of numbers: a missing number there counts as zero.

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
    na: tuple[str, ...] = ()
    drop_missing: tuple[str, ...] = ()
    zero_missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("na", "drop_missing", "zero_missing"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))
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
                argument="decimal",
                sign=self.decimal,
            )


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file or sheet with a known format."""

    path: Path
    """Path of the file."""
    encoding: str
    separator: str
    """Encoding, and sign between columns."""
    header: tuple[str, ...]
    """Names of the columns, without duplicates."""
    file: FileFormat = FileFormat()
    """Format of numbers, where given."""
    lines: tuple[tuple[int, tuple[str, ...]], ...] | None = None
    """Rows of a sheet with their numbers; None for a text file."""
    sheets: tuple[str, ...] = ()
    """All sheets of the workbook; the one that was read comes first."""

    def __str__(self) -> str:
        if self.lines is not None:
            others = some(map(repr, self.sheets[1:]), 3)
            return f"sheet {self.sheets[0]!r}" + (f" (not read: {others})" if others else "")
        sign = SEPARATORS.get(self.separator, repr(self.separator))
        return f"{self.encoding}, {'one column' if len(self.header) == 1 else f'separator {sign}'}"

    @property
    def is_utf8(self) -> bool:
        return self.lines is None and self.encoding.startswith("utf-8")

    def require(self, wanted: Iterable[str]) -> None:
        """Raise if columns are missing; all of them are named, each with the most similar column."""
        require(wanted, self.header, self.path.name, self.sheets)

    def rows(self) -> Iterator[list[str]]:
        """Yield the rows below the names; each has as many entries as there are names."""
        for _, row in self.numbered_rows():
            yield row

    def numbered_rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows below the names with the number of the line on which each ends."""
        if self.lines is not None:
            for number, entries in self.lines:
                yield number, list(entries)
            return
        with open_text(self.path, self.encoding) as lines:
            reader = csv.reader(lines, delimiter=self.separator, strict=True)
            try:
                next(reader)
                for row in reader:
                    if not row:
                        continue
                    if len(row) != len(self.header):
                        raise ragged_line_error(self.path.name, reader.line_num, len(row), len(self.header))
                    yield reader.line_num, row
            except csv.Error:
                # Not "from error": its message may hold a part of the file.
                raise unreadable(self.path.name, reader.line_num) from None

    def copy_as_utf8(self, folder: Path) -> Path:
        """Return the path of the file in UTF-8: its own, or that of a copy in a private folder."""
        if self.is_utf8:
            return self.path
        copy = folder / "records.csv"
        if self.lines is not None:
            write_csv(copy, [self.header, *(entries for _, entries in self.lines)], disarmed=False)
            return copy
        with (
            open_text(self.path, self.encoding) as source,
            copy.open("w", encoding="utf-8", newline="") as file,
        ):
            while block := source.read(1 << 20):
                file.write(block)
        return copy


def look_at(path: Path, given: FileFormat | None = None) -> TextFile:
    r"""Find encoding, separator and names of columns of a text file, or read a sheet.

    A sheet and a range follow the name of a workbook: ``book.xlsx#Sheet1!A3:H40``.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "firms.csv"
    >>> _ = place.write_bytes("région;chiffre\nNîmes;1,5\n".encode("cp1252"))
    >>> print(look_at(place))
    cp1252, separator semicolon
    """
    given = given or FileFormat()
    file, _ = split_sheet(path)
    if file.name.lower().endswith(EXCEL):
        return _look_at_sheet(path, given)
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
    header = next(_parse_lines(head, separator), None) or [""]
    refuse_repeated(header, path.name, 1)
    found = TextFile(path, encoding, separator, tuple(header), given)
    found.require((*given.drop_missing, *given.zero_missing))
    return found


def refuse_repeated(header: Sequence[str], where: str, line: int) -> None:
    """Raise if two columns have the same name."""
    names = [name for name in header if name]
    twice = dict.fromkeys(name for place, name in enumerate(names) if name in names[:place])
    if twice:
        raise DataError(
            "columns_called_alike",
            "two columns are called {name!r}",
            where="{file}, line {line}",
            fix="give every column a name of its own",
            name=next(iter(twice)),
            file=where,
            line=line,
        )


def _look_at_sheet(path: Path, given: FileFormat) -> TextFile:
    """Read a sheet whose first row names the columns; numbers in it have decimal points unless given."""
    sheet = read_sheet(path, given.decimal or ".")
    if not sheet.rows:
        raise DataError(
            "sheet_empty", "the sheet is empty", where=path.name, fix="the first row names the columns"
        )
    (line, header), *rows = sheet.rows
    refuse_repeated(header, path.name, line)
    # Cells of a sheet are numbers or texts; only texts can have another style.
    plain = given if given.decimal is not None else replace(given, decimal=".")
    found = TextFile(path, "utf-8", ",", header, plain, tuple(rows), sheet.sheets)
    found.require((*given.drop_missing, *given.zero_missing))
    return found


def require(wanted: Iterable[str], found: Sequence[str], where: str, sheets: Sequence[str] = ()) -> None:
    """Raise if columns are missing; all of them are named, each with the most similar column."""
    missing = list(dict.fromkeys(column for column in wanted if column not in found))
    if not missing:
        return
    first = missing[0]
    several = [part.strip() for part in str(first).split(",")]
    fix = did_you_mean(first, found)
    if len(several) > 1 and set(several) <= set(found):
        fix = Text("name each column by itself: {columns}", columns=", ".join(map(repr, several)))
    if len(sheets) > 1:
        file = where.partition("#")[0]
        fix = Text(
            "{fix}; this is sheet {sheet!r}, name another one as {example}",
            fix=fix,
            sheet=sheets[0],
            example=f"{file}#{sheets[1]}",
        )
    if len(missing) > 1:
        raise DataError(
            "unknown_columns",
            "no columns {columns}",
            column=first,
            columns=some(map(repr, missing), 8),
            where=where,
            fix=Text("there are: {columns}", columns=some(filter(None, found), 20))
            if len(sheets) < 2
            else fix,
        )
    raise DataError("unknown_column", "no column {column!r}", column=first, where=where, fix=fix)


@contextmanager
def open_text(path: Path, encoding: str) -> Iterator[IO[str]]:
    """Open a file, compressed or not; raise for bytes that are invalid in the encoding."""
    codec = "utf-8-sig" if encoding in {"utf-8", "utf-8-sig"} else _codec(encoding)
    try:
        with _open_checked(path) as raw, io.TextIOWrapper(raw, codec, newline="") as text:
            yield text
    except (UnicodeDecodeError, UnicodeError):
        raise _wrong_encoding(path, encoding) from None


def _wrong_encoding(path: Path, encoding: str) -> DataError:
    """Make the error for bytes that are invalid in an encoding, with the encoding that fits."""
    try:
        fitting = _find_encoding(path)
    except DataError:
        fitting = ""
    return DataError(
        "encoding_wrong",
        "the file is not written in {encoding}",
        where=path.name,
        fix="it looks like {fitting}: leave the encoding out, or give that one"
        if fitting
        else "say its encoding, for example one of {encodings}",
        encoding=encoding,
        fitting=fitting,
        encodings=", ".join(ENCODINGS),
    )


def is_text_file(path: str | Path) -> bool:
    """Return whether the name of a file is that of a text file or workbook, with or without a sheet."""
    return split_sheet(path)[0].name.lower().endswith((*CSV, *EXCEL))


def ragged_line_error(where: str, line: int, n_found: int, n_named: int) -> DataError:
    """Make the error for a line with too many or too few entries."""
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
    """Make the error for a line that is not valid CSV."""
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
        # ASCII letters have one zero byte: the second if the lower one comes first.
        return "utf-16-le" if head[1::2].count(0) > head[::2].count(0) else "utf-16-be"
    if _decodes(path, "utf-8"):
        return "utf-8"
    fits = [name for name in ("euc-jp", "shift-jis") if _decodes(path, name, needed=JAPANESE)]
    fits += ["cp1252"] if _decodes(path, "cp1252", forbidden=NOT_WESTERN) else []
    if len(fits) == 1:
        return fits[0]
    raise DataError(
        "encoding_unknown",
        "the file is not UTF-8 and fits more than one encoding: {fitting}"
        if fits
        else "the file is not UTF-8, and in no encoding that is known",
        where=path.name,
        fix="say its encoding, for example one of {encodings}",
        fitting=some(fits),
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
    """Return whether all bytes are valid, required text occurs, and forbidden text does not."""
    seen = needed is None
    with _open_checked(path) as raw, io.TextIOWrapper(raw, _codec(encoding), newline="") as text:
        try:
            # Lines for patterns, blocks if every byte must only be decoded.
            for part in text if needed or forbidden else iter(lambda: text.read(1 << 20), ""):
                seen = seen or bool(needed and needed.search(part))
                if forbidden and not part.isascii() and forbidden.search(part):
                    return False
        except UnicodeDecodeError:
            return False
    return seen


def _find_separator(head: str, where: str) -> str:
    """Return the sign that splits every line alike; otherwise the one in the header."""
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
    rows = [len(row) for row in _parse_lines(head, sign) if row]
    # The last line may end inside a quoted text.
    return rows[:-1] if head.count("\n") >= LINES_LOOKED_AT and len(rows) > 1 else rows or [0]


def _parse_lines(head: str, sign: str) -> Iterator[Sequence[str]]:
    try:
        yield from csv.reader(io.StringIO(head, newline=""), delimiter=sign)
    except csv.Error:
        return
