"""Numbers as people write them: 1,234.5 and 1.234,5 and 1 234,5 are one number in three styles.

A style is found from the *shapes* of the entries, their digits replaced by nines: there are few of them.
Where two styles give different numbers, the column is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from hitoku.errors import DataError
from hitoku.tabulation.file_format import FileFormat

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
            f"the numbers of column {name!r} can be read in two ways: {first}, or {second}",
            column=name,
            where=where,
            fix='say which sign stands before decimals: decimal "." or decimal ","',
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
