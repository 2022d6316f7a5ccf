"""Columns of τ-ARGUS data files: description in metadata, codes and numbers.

Cells with their τ-ARGUS status, and manual marks set before suppression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import numpy as np

from hitoku.errors import DataError, OutputError
from hitoku.io.argus.batch_request import Safety
from hitoku.io.argus.text import quote
from hitoku.model import TOTAL, Floats, Integers, Mask, Need, Protection, Table


class ArgusStatus(IntEnum):
    """Status codes of τ-ARGUS."""

    SAFE = 1
    SAFE_BY_HAND = 2
    RULE = 3
    REQUEST = 4
    FREQUENCY = 5
    ZERO = 6
    BY_HAND = 9
    PROTECTED = 10
    SECONDARY = 11
    SECONDARY_BY_HAND = 12
    EMPTY = 14


UNSAFE = (ArgusStatus.RULE, ArgusStatus.REQUEST, ArgusStatus.FREQUENCY, ArgusStatus.ZERO, ArgusStatus.BY_HAND)
BY_HAND = "given"  # rule name of manually marked cells in a need


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Marks:
    """Manual marks in a table that was read."""

    # unsafe, protected, withheld: masks of cells marked as unsafe, as never to be suppressed, and as
    # suppressed.
    unsafe: Mask
    protected: Mask
    withheld: Mask
    # lower, upper: given protection levels, zero if none; levels of safe cells have no meaning.
    lower: Floats
    upper: Floats


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Judged:
    """Table with its statuses and protection requirements."""

    table: Table  # Table with costs, fixed cells and known bounds.
    need: Need  # Unsafe cells and their levels.
    status: Integers  # Status codes, as in :class:`ArgusStatus`.
    safety: Safety  # Applied rules.
    decimals: int = 0  # Decimals of the values in files.
    # Values for files if those of the table were adjusted to be additive; None: values of the table.
    shown: Floats | None = None

    @property
    def step(self) -> float:
        """Unit of the last decimal, the smallest level."""
        return float(10.0**-self.decimals)

    @property
    def withheld(self) -> Mask:
        """Cells other than unsafe ones that are suppressed before any method runs."""
        return np.isin(self.status, (ArgusStatus.SECONDARY, ArgusStatus.SECONDARY_BY_HAND))

    def after(self, protection: Protection | None) -> Integers:
        """Return the status of every cell after suppression."""
        if protection is None:
            return self.status
        added = protection.withheld & ~self.need.unsafe & ~self.withheld
        by_hand = np.where(
            self.status == ArgusStatus.SAFE_BY_HAND,
            int(ArgusStatus.SECONDARY_BY_HAND),
            int(ArgusStatus.SECONDARY),
        )
        return np.where(added, by_hand, self.status)

    def range_of(self, percent: float) -> Floats:
        """Return a level in percent of every value, at least one unit of the last decimal."""
        return np.maximum(percent / 100 * np.abs(self.table.value), self.step)

    def __repr__(self) -> str:
        return f"Judged({self.table!r}, {self.need!r})"


Layout = Literal["fixed", "free", "table"]
Part = Literal["value", "shadow", "cost", "lower", "upper", "frequency", "largest", "status"]

# Keywords that may follow <NUMERIC> on its line, in a table.
NUMERIC_PARTS: dict[str, Part] = {
    "<SHADOW>": "shadow",
    "<COST>": "cost",
    "<COSTVAR>": "cost",
    "<LOWERPL>": "lower",
    "<UPPERPL>": "upper",
}
COLUMN_PARTS: dict[str, Part] = {"<FREQUENCY>": "frequency", "<MAXSCORE>": "largest", "<STATUS>": "status"}


@dataclass(frozen=True, slots=True)
class Variable:
    """Column of a data file and its role."""

    name: str  # Name; τ-ARGUS ignores case.
    # start, length: first column (from one) and width; microdata with a separator have only a width, tables
    # neither.
    start: int | None = None
    length: int | None = None
    missing: tuple[str, ...] = ()  # At most two codes for missing values.
    recodable: bool = False  # Whether its codes are categories of tables.
    total: str = TOTAL  # Code of the total.
    code_list: str | None = None  # File of labels (``.cdl``).
    # hierarchy_file, lead: file of the hierarchy (``.hrc``), and its indentation character.
    hierarchy_file: str | None = None
    lead: str = "."
    levels: tuple[int, ...] = ()  # Number of digits of each level, instead of a hierarchy file.
    distance: tuple[int, ...] = ()  # Five costs of suppressing a neighbour, by distance.
    # numeric, decimals: whether it is a quantity, and its decimals.
    numeric: bool = False
    decimals: int = 0
    # weight, holding, request: whether it is the weight, whether it is the holding, and codes of the request
    # for protection.
    weight: bool = False
    holding: bool = False
    request: tuple[str, ...] = ()
    part: Part | None = None  # In a table: the number of a cell that it contains.
    # Keywords of the cell key method with their values, as written.
    cell_key: tuple[tuple[str, str], ...] = ()

    @property
    def hierarchical(self) -> bool:
        """Whether its codes form a tree."""
        return self.hierarchy_file is not None or bool(self.levels)

    @property
    def record_key(self) -> bool:
        """Whether it contains the record keys of the cell key method."""
        return any(keyword == "<RECORDKEY>" for keyword, _ in self.cell_key)

    @property
    def is_number(self) -> bool:
        """Whether its column contains only numbers."""
        quantity = (self.numeric and not self.recodable) or self.weight or self.record_key
        return quantity or self.part not in (None, "status")


def variable_lines(variable: Variable, layout: Layout) -> list[str]:
    """Return the lines of a variable in an ``.rda`` file."""
    name = variable.name
    if not name or name.startswith(("<", "//")):
        raise OutputError(
            "name_not_for_rda_file",
            "{name!r} cannot be the name of a variable in an .rda file",
            where="metadata",
            fix="start it with a letter: '<' and '//' mean something else",
            name=name,
        )
    blank = any(sign.isspace() or sign == '"' for sign in name)
    places: tuple[int | None, ...] = {
        "fixed": (variable.start, variable.length),
        "free": (variable.length,),
        "table": (),
    }[layout]
    words = [quote(name, "name") if blank else name, *map(str, places)]
    head = " ".join([*words, *(quote(code, "missing code") for code in variable.missing)])
    return [head, *(" ".join(["   ", *map(str, words)]) for words in _keywords(variable))]


def _keywords(variable: Variable) -> list[list[object]]:
    """Return the applicable keywords with their values."""
    numeric = [keyword for keyword, part in NUMERIC_PARTS.items() if part == variable.part]
    column = [keyword for keyword, part in COLUMN_PARTS.items() if part == variable.part]
    tree, labels = variable.hierarchy_file, variable.code_list
    lines: list[tuple[bool, list[object]]] = [
        (variable.recodable, ["<RECODEABLE>"]),
        (variable.recodable, ["<TOTCODE>", quote(variable.total, "code")]),
        (labels is not None, ["<CODELIST>", quote(labels or "", "file name")]),
        (variable.hierarchical, ["<HIERARCHICAL>"]),
        (bool(variable.levels), ["<HIERLEVELS>", *variable.levels]),
        (tree is not None, ["<HIERCODELIST>", quote(tree or "", "file name")]),
        (tree is not None, ["<HIERLEADSTRING>", quote(variable.lead, "indent")]),
        (bool(variable.distance), ["<DISTANCE>", *variable.distance]),
        (variable.numeric, ["<NUMERIC>", *numeric[:1]]),
        (bool(column), [*column]),
        *((True, _cell_key(keyword, values)) for keyword, values in variable.cell_key),
        (variable.decimals != 0, ["<DECIMALS>", variable.decimals]),
        (variable.weight, ["<WEIGHT>"]),
        (variable.holding, ["<HOLDING>"]),
        (bool(variable.request), ["<REQUEST>", *(quote(code, "request code") for code in variable.request)]),
    ]
    return [words for applies, words in lines if applies]


def _cell_key(keyword: str, values: str) -> list[object]:
    if not values:
        return [keyword]
    return [keyword, quote(values, "file name") if "FILE" in keyword else values]


def split_lines(text: str, separator: str, names: Sequence[str], where: str) -> list[list[str]]:
    """Split every line at the separator into columns of raw entries (see :func:`bare`).

    Blanks around a value are ignored, blanks within double quotes belong to the code. Unlike in CSV files,
    quotes do not hide a separator. Empty lines are skipped.

    Parameters
    ----------
    text
        Content of the file.
    separator
        Separator, one character.
    names
        Names of the columns, in order.
    where
        Name of the file, for messages.
    """
    lines = [line for line in text.splitlines() if line and not line.isspace()]
    if not lines:
        raise DataError(
            "data_empty", "the data are empty", where=where, fix="check that this is the right file"
        )
    n = len(names)
    if any(line.count(separator) != n - 1 for line in lines):
        lines = [_fitting(line, separator, n) for line in lines]
        _refuse_misfits(text, separator, names, where)
    # One flat list cut into columns: a list per line would take twice as long.
    entries = separator.join(lines).split(separator)
    columns = [entries[place::n] for place in range(n)]
    if [bare(column[:1])[0].casefold() for column in columns] == [name.casefold() for name in names]:
        raise DataError(
            "first_line_is_header",
            "the first line holds the names of the columns",
            where="{place}, line 1",
            fix="take it away: the names stand in the metadata",
            place=where,
        )
    return columns


def bare(column: Sequence[str]) -> list[str]:
    """Remove blanks and quotes around entries; equal entries are processed once.

    Examples
    --------
    >>> bare([" a", '" 1"'])
    ['a', ' 1']
    """
    spelt = {entry: _unquote(entry.strip()) for entry in set(column)}
    return [spelt[entry] for entry in column]


def _fitting(line: str, separator: str, n_columns: int) -> str:
    """Remove a separator at the end of a line."""
    ends = line.rstrip() if not separator.isspace() else line
    return ends.removesuffix(separator) if line.count(separator) == n_columns else line


def _refuse_misfits(text: str, separator: str, names: Sequence[str], where: str) -> None:
    for number, line in enumerate(text.splitlines(), 1):
        found = _fitting(line, separator, len(names)).count(separator) + 1
        if line and not line.isspace() and found != len(names):
            raise DataError(
                "line_columns_differ",
                "a line has {n_found} columns, the metadata name {n_named}",
                where="{place}, line {line}",
                fix="the columns are {names}, with {separator!r} between them",
                n_found=found,
                n_named=len(names),
                place=where,
                line=number,
                names=", ".join(names),
                separator=separator,
            )


def _unquote(entry: str) -> str:
    return entry[1:-1] if len(entry) > 1 and entry[0] == entry[-1] == '"' else entry


def parsed_numbers(entries: Sequence[str], column: str, where: str, *, missing: Sequence[str] = ()) -> Floats:
    """Return numbers parsed from texts with decimal point or comma; NaN if blank or missing.

    The decimal sign must be unambiguous: a column does not mix them, and thousands are not grouped.

    Parameters
    ----------
    entries
        Texts to parse.
    column, where
        Names of the column and the file, used in messages.
    missing
        Texts or numbers for missing values.

    Examples
    --------
    >>> parsed_numbers(["12,50", " 3 ", "", "99"], "turnover", "t.tab", missing=["99"]).tolist()
    [12.5, 3.0, nan, nan]
    """
    values = _quickly(entries)
    if values is None:
        values = _patiently(entries, column, where, {code.strip() for code in missing})
    unknown = [float(code) for code in missing if _is_number(code)]
    if unknown:
        values[np.isin(values, unknown)] = np.nan
    if np.isinf(values).any():
        raise _not_a_number(column, where, int(np.argmax(np.isinf(values))))
    return values


def digits(value: float) -> str:
    """Format a number so that it is read back unchanged, with a point and without an exponent.

    Examples
    --------
    >>> digits(1200.0), digits(0.1), digits(1e-7), digits(-0.0)
    ('1200', '0.1', '0.0000001', '0')
    """
    text = repr(value + 0.0)
    return np.format_float_positional(value, trim="-") if "e" in text else text.removesuffix(".0")


def _quickly(entries: Sequence[str]) -> Floats | None:
    """Return numbers if all have a point and nothing else; otherwise None."""
    try:
        return np.array(list(map(float, entries)))
    except ValueError:
        return None  # not passed on: its message contains the entry


def _patiently(entries: Sequence[str], column: str, where: str, missing: set[str]) -> Floats:
    """Parse numbers one by one: some are blank, missing, or have a comma."""
    plain = [entry.strip() for entry in bare(entries)]
    if any("," in entry for entry in plain):
        if any("." in entry for entry in plain if entry not in missing):
            raise DataError(
                "points_and_commas_in_column",
                "column {column!r} holds both points and commas in its numbers",
                where=where,
                fix="use one decimal sign and no sign between thousands",
                column=column,
            )
        plain = [entry.replace(",", ".") for entry in plain]
    values = np.full(len(plain), np.nan)
    for row, entry in enumerate(plain):
        if entry and entry not in missing:
            if not _is_number(entry):
                raise _not_a_number(column, where, row)
            values[row] = float(entry)
    return values


def _not_a_number(column: str, where: str, row: int) -> DataError:
    return DataError(
        "text_instead_of_numbers",
        "column {column!r} contains text instead of numbers",
        where="{place}, first in record {row}",
        fix="check the metadata: is the column where it says, and numeric?",
        column=column,
        place=where,
        row=row + 1,
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
