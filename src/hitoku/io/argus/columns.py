"""Columns of a τ-ARGUS data file: how metadata describe one, and its codes and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hitoku.errors import DataError, OutputError
from hitoku.io.argus.text import quoted
from hitoku.model import TOTAL, Floats

Layout = Literal["fixed", "free", "table"]
Part = Literal["value", "shadow", "cost", "lower", "upper", "frequency", "largest", "status"]

# What may follow <NUMERIC> on its line, in a table.
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
    """One column of a data file and what it is for.

    Parameters
    ----------
    name
        Its name; upper and lower case are the same to τ-ARGUS.
    start, length
        First column (counted from one) and width; microdata with a separator have a width only, tables
        neither.
    missing
        At most two codes that mean "not known".
    recodable
        It spans tables: its codes are categories.
    total
        Code of its total.
    code_list
        File with labels (``.cdl``).
    hierarchy_file, lead
        File with the tree of codes (``.hrc``) and the sign that indents it there.
    levels
        Instead of a file: how many digits of the code belong to each level.
    distance
        Five prices of withholding a neighbour, by distance.
    numeric, decimals
        It is a quantity, with this many decimals.
    weight, holding, request
        Sampling weight; name of the holding; the codes by which a respondent asks for protection.
    part
        In a table: which number of a cell it holds.
    cell_key
        Keywords of the cell key method and what follows them, as written.
    """

    name: str
    start: int | None = None
    length: int | None = None
    missing: tuple[str, ...] = ()
    recodable: bool = False
    total: str = TOTAL
    code_list: str | None = None
    hierarchy_file: str | None = None
    lead: str = "."
    levels: tuple[int, ...] = ()
    distance: tuple[int, ...] = ()
    numeric: bool = False
    decimals: int = 0
    weight: bool = False
    holding: bool = False
    request: tuple[str, ...] = ()
    part: Part | None = None
    cell_key: tuple[tuple[str, str], ...] = ()

    @property
    def hierarchical(self) -> bool:
        """Whether its codes form a tree."""
        return self.hierarchy_file is not None or bool(self.levels)

    @property
    def record_key(self) -> bool:
        """Whether it holds the record keys of the cell key method."""
        return any(keyword == "<RECORDKEY>" for keyword, _ in self.cell_key)

    @property
    def is_number(self) -> bool:
        """Whether its column holds numbers and nothing else."""
        quantity = (self.numeric and not self.recodable) or self.weight or self.record_key
        return quantity or self.part not in (None, "status")


def written(variable: Variable, layout: Layout) -> list[str]:
    """Lines of one variable in an ``.rda`` file."""
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
    words = [quoted(name, "name") if blank else name, *map(str, places)]
    head = " ".join([*words, *(quoted(code, "missing code") for code in variable.missing)])
    return [head, *(" ".join(["   ", *map(str, words)]) for words in _keywords(variable))]


def _keywords(variable: Variable) -> list[list[object]]:
    """Keywords that apply, each with its values."""
    numeric = [keyword for keyword, part in NUMERIC_PARTS.items() if part == variable.part]
    column = [keyword for keyword, part in COLUMN_PARTS.items() if part == variable.part]
    tree, labels = variable.hierarchy_file, variable.code_list
    lines: list[tuple[bool, list[object]]] = [
        (variable.recodable, ["<RECODEABLE>"]),
        (variable.recodable, ["<TOTCODE>", quoted(variable.total, "code")]),
        (labels is not None, ["<CODELIST>", quoted(labels or "", "file name")]),
        (variable.hierarchical, ["<HIERARCHICAL>"]),
        (bool(variable.levels), ["<HIERLEVELS>", *variable.levels]),
        (tree is not None, ["<HIERCODELIST>", quoted(tree or "", "file name")]),
        (tree is not None, ["<HIERLEADSTRING>", quoted(variable.lead, "indent")]),
        (bool(variable.distance), ["<DISTANCE>", *variable.distance]),
        (variable.numeric, ["<NUMERIC>", *numeric[:1]]),
        (bool(column), [*column]),
        *((True, _cell_key(keyword, values)) for keyword, values in variable.cell_key),
        (variable.decimals != 0, ["<DECIMALS>", variable.decimals]),
        (variable.weight, ["<WEIGHT>"]),
        (variable.holding, ["<HOLDING>"]),
        (bool(variable.request), ["<REQUEST>", *(quoted(code, "request code") for code in variable.request)]),
    ]
    return [words for applies, words in lines if applies]


def _cell_key(keyword: str, values: str) -> list[object]:
    if not values:
        return [keyword]
    return [keyword, quoted(values, "file name") if "FILE" in keyword else values]


def separated(text: str, separator: str, names: Sequence[str], where: str) -> list[list[str]]:
    """Split every line at the separator; one list of entries per column, as they stand (see :func:`bare`).

    Blanks around a value say nothing, blanks within double quotes belong to the code. Quotes do not hide a
    separator, as they do in CSV files. Empty lines are passed over.

    Parameters
    ----------
    text
        The whole file.
    separator
        One sign.
    names
        What the columns are called, in their order.
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
    # One list of all entries, cut into columns: a list per line would take twice the time.
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
    """Take blanks and quotes from around entries; those that are alike are looked at once.

    Examples
    --------
    >>> bare([" a", '" 1"'])
    ['a', ' 1']
    """
    spelt = {entry: _unquoted(entry.strip()) for entry in set(column)}
    return [spelt[entry] for entry in column]


def _fitting(line: str, separator: str, n_columns: int) -> str:
    """Take away a separator at the end of a line."""
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


def _unquoted(entry: str) -> str:
    return entry[1:-1] if len(entry) > 1 and entry[0] == entry[-1] == '"' else entry


def parsed_numbers(entries: Sequence[str], column: str, where: str, *, missing: Sequence[str] = ()) -> Floats:
    """Numbers from texts, with a decimal point or a decimal comma; NaN where blank or missing.

    Which sign it is must be clear: a column does not mix them, and thousands are not grouped.

    Parameters
    ----------
    entries
        The texts.
    column, where
        What they are called and in which file they stand, for messages.
    missing
        Texts, or numbers, that mean "not known".

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
    """Print a number so that it is read back as the same, with a point and without an exponent.

    Examples
    --------
    >>> digits(1200.0), digits(0.1), digits(1e-7), digits(-0.0)
    ('1200', '0.1', '0.0000001', '0')
    """
    text = repr(value + 0.0)
    return np.format_float_positional(value, trim="-") if "e" in text else text.removesuffix(".0")


def _quickly(entries: Sequence[str]) -> Floats | None:
    """Numbers with a point and nothing else; None where some entry is something else."""
    try:
        return np.array(list(map(float, entries)))
    except ValueError:
        return None  # not passed on: its message shows the entry


def _patiently(entries: Sequence[str], column: str, where: str, missing: set[str]) -> Floats:
    """Read numbers one by one: some are blank, missing, or have a comma."""
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
