"""Number formats of text files: decimal comma, thousands separators, full-width digits, missing values.

The style of a column is found from the *shapes* of its entries, their digits replaced by nines: there are few
of them. 1,234.5 and 1.234,5 and 1 234,5 are one number in three styles; a column that two styles read as
different numbers is rejected. Full-width digits and signs, and ▲ before a negative number, are read as their
plain forms.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from hitoku.errors import DataError, join_errors, some
from hitoku.messages import Arguments, Text
from hitoku.model import INT64_DIGITS
from hitoku.tabulation.text_files import BLANKS, FileFormat, TextFile

# Full-width digits and signs, and signs before negative numbers, with their plain forms.
WIDE = (
    "\uff10\uff11\uff12\uff13\uff14\uff15\uff16\uff17\uff18\uff19\uff0e\uff0c\uff0b\uff0d\u2212\u25b2\u25b3"
)
PLAIN = "0123456789.,+----"
NARROW = str.maketrans(WIDE, PLAIN)
SIGNS = {".": "point", ",": "comma", " ": "blank", "'": "apostrophe"}
NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
MAX_SHAPES = 5000


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
        text = _one_blank(shape.translate(NARROW))
        if not _pattern(self.decimal, self.thousands).fullmatch(text):
            return None
        return Decimal(self.plain(text))

    def plain(self, text: str) -> str:
        """Return an entry as programs write it: 1234.5."""
        text = _one_blank(text.translate(NARROW))
        return (text.replace(self.thousands, "") if self.thousands else text).replace(self.decimal, ".")

    def sql(self, column: str) -> str:
        """Return the same in SQL."""
        text = f"trim({narrow_sql(column)}, '{BLANKS}')"
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


def narrow_sql(column: str) -> str:
    """Write in SQL an entry with plain digits; an entry in ASCII has as many bytes as signs, and is plain."""
    narrow = f"translate({column}, '{WIDE}', '{PLAIN}')"
    return f"CASE WHEN strlen({column}) = length({column}) THEN {column} ELSE {narrow} END"


def wide_sql(column: str) -> str:
    """Write in SQL whether an entry has full-width digits or signs."""
    return f"strlen({column}) <> length({column}) AND {column} <> translate({column}, '{WIDE}', '{PLAIN}')"


def present_sql(column: str, na: Sequence[str]) -> str:
    """Write in SQL whether an entry is there: neither blank nor a marker of missing values."""
    listed = ", ".join("'" + text.strip(BLANKS).replace("'", "''") + "'" for text in ("", *na))
    return f"coalesce(trim({column}, '{BLANKS}') NOT IN ({listed}), false)"


def shape_of(text: str) -> str:
    """Replace digits by nines, except for a leading zero.

    Examples
    --------
    >>> shape_of(" 0,125"), shape_of("-1 204.5")
    ('0,999', '-9 999.9')
    """
    text = text.translate(NARROW).strip(BLANKS)
    return re.sub("[1-9]", "9", text[:2]) + re.sub("[0-9]", "9", text[2:])


def shape_sql(column: str) -> str:
    """Return the same in SQL."""
    text = f"trim({narrow_sql(column)}, '{BLANKS}')"
    front = f"translate(left({text}, 2), '12345678', '99999999')"
    return f"{front} || translate(substr({text}, 3), '012345678', '999999999')"


def style_of(
    shapes: Iterable[str], name: str, where: str, given: FileFormat | None = None
) -> NumberStyle | None:
    """Return the style of a column; None if some entry is not a number in any style.

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
    for style in _allowed_styles(given or FileFormat()):
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
    """Return whether all entries are integers of moderate size."""
    digits = [style.plain(shape).lstrip("+-") for shape in shapes if shape]
    return all(text.isdigit() and len(text) <= INT64_DIGITS for text in digits)


def _allowed_styles(given: FileFormat) -> list[NumberStyle]:
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


# Limits on texts quoted and lines named; a column with more kinds of texts, or longer ones, contains names.
MAX_QUOTED, MAX_LINES, MAX_KINDS, LONGEST_MARKER = 5, 5, 20, 12


def text_in_numbers(text: TextFile, names: Iterable[str]) -> DataError | None:
    r"""Return the error for entries of number columns that are not numbers; None if all are.

    It says how many there are, which texts (digits replaced by nines), and on which lines the first ones are.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hitoku.tabulation.text_files import look_at
    >>> file = Path(tempfile.mkdtemp()) / "firms.csv"
    >>> _ = file.write_text("region,sales\nN,3\nN,unknown\nS,unknown\n")
    >>> print(text_in_numbers(look_at(file), ["sales"]))
    column 'sales' contains text instead of numbers in 2 of 3 entries: 'unknown' (2)
      where: firms.csv, lines 3, 4
      fix: if they mean missing values: FileFormat(..., na="unknown")
    """
    problems = [found for name in names if (found := _text_in_column(text, name)) is not None]
    return join_errors(problems) if problems else None


def _text_in_column(text: TextFile, name: str) -> DataError | None:
    place, na = text.header.index(name), {marker.strip(BLANKS) for marker in text.file.na}
    entries: Counter[str] = Counter()
    first: dict[str, list[int]] = {}
    for line, row in text.numbered_rows():
        entry = row[place].strip(BLANKS)
        if entry and entry not in na:
            shape = shape_of(entry)
            entries[shape] += 1
            lines = first.setdefault(shape, [])
            if len(lines) < MAX_LINES:
                lines.append(line)
    style = max(
        _allowed_styles(text.file),
        key=lambda style: sum(n for shape, n in entries.items() if style.reads(shape) is not None),
    )
    bad = Counter({shape: n for shape, n in entries.items() if style.reads(shape) is None})
    if not bad:
        return None
    texts = [shape for shape in bad if not NOT_FINITE.fullmatch(shape)]
    # A few short texts are markers; many or long ones may be names of respondents, and are not quoted.
    kinds = len(bad) <= MAX_KINDS and max(map(len, bad)) <= LONGEST_MARKER
    quoted = some((f"{shape!r} ({n:,})" for shape, n in bad.most_common()), MAX_QUOTED) if kinds else ""
    markers = ",".join(shape for shape in texts if not re.search(r"[0-9,]", shape))
    fix: str = Text("correct these entries, or name another column")
    if kinds and markers:
        fix = Text("if they mean missing values: {arguments}", arguments=Arguments("FileFormat", na=markers))
    elif kinds and bad.total() == entries.total():
        fix = Text("are these codes? name a column of numbers")
    return DataError(
        "text_instead_of_numbers",
        "column {column!r} contains text instead of numbers in {n:,} of {m:,} entries: {quoted}"
        if kinds
        else "column {column!r} contains text instead of numbers in {n:,} of {m:,} entries",
        column=name,
        where="{file}, line {lines}" if bad.total() == 1 else "{file}, lines {lines}",
        fix=fix,
        n=bad.total(),
        m=entries.total(),
        quoted=quoted,
        file=text.path.name,
        lines=some(sorted(line for shape in bad for line in first[shape]), MAX_LINES),
    )
