"""What each column of a data file may be for, guessed from names and counts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from hitoku.tabulation.columns import Column

# More codes than this, or fewer records per code, are names of respondents rather than groups of them.
MOST_CODES = 500
MOST_NUMBER_CODES = 30
RECORDS_PER_CODE = 10
# In a small file, fewer records per code will do.
FEW_CODES = 20


def _named(*words: str) -> re.Pattern[str]:
    """Match a column name that has one of these words in it."""
    return re.compile(rf"(^|[^a-z])({'|'.join(words)})s?([^a-z]|$)", re.IGNORECASE)


LIKE_UNIT = _named(
    "id", "ident", "nr", "no", "key", "unit", "person", "firm", "enterprise", "respondent", "index"
)
LIKE_HOLDING = _named("holding", "owner", "enterprise_?group", "parent", "trust")
LIKE_WEIGHT = _named("weight", "wgt", "grossing")
LIKE_CODE = _named(
    "code", "class", "region", "county", "sector", "nace", "isic", "nuts", "zip", "year", "month"
)
LIKE_COUNT = _named(
    *("n", "nb", "obs", "freq", "frequency", "count", "number", "ant", "persons", "respondents"),
    *("anzahl", "betriebe", "unternehmen", "personen", "fälle", "nombre", "effectif", "aantal"),
    *("件数", "度数", "人数", "事業所数", "企業数", "世帯数"),
)
LIKE_MARK = _named("status", "mark", "marked", "flag", "secret", "suppressed", "withheld")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """What each column of a file may be for.

    Parameters
    ----------
    codes
        Columns with codes.
    quantities
        Columns with numbers to add up, none with gaps; the likeliest first.
    unit, holding, weight, mark
        Columns that name respondents and owners, hold weights, or mark cells.
    others
        Further columns with numbers.
    """

    codes: tuple[Column, ...]
    quantities: tuple[Column, ...]
    unit: str | None = None
    holding: str | None = None
    weight: str | None = None
    mark: str | None = None
    others: tuple[str, ...] = ()

    @property
    def value(self) -> Column | None:
        return self.quantities[0] if self.quantities else None


def guessed(n_records: int, columns: Iterable[Column]) -> Guess:
    """Guess which columns hold codes, a quantity, and names of respondents.

    Examples
    --------
    >>> columns = [
    ...     Column("firm", "text", 900, 0, negative=False),
    ...     Column("region", "text", 8, 0, negative=False),
    ...     Column("turnover", "number", 870, 0, negative=False),
    ... ]
    >>> guess = guessed(900, columns)
    >>> guess.unit, [column.name for column in guess.codes], guess.value.name
    ('firm', ['region'], 'turnover')
    """
    codes: list[Column] = []
    quantities: list[Column] = []
    roles: dict[str, str] = {}
    for column in columns:
        role = _role(column, n_records)
        if role in {"unit", "holding", "weight", "mark"}:
            roles.setdefault(role, column.name)
        elif role == "codes":
            codes.append(column)
        elif role == "quantity":
            quantities.append(column)
    # A quantity has many different values; one with gaps could not be added up.
    whole = [column for column in quantities if not column.n_missing]
    whole.sort(key=lambda column: (column.n_distinct, column.kind == "number"), reverse=True)
    others = tuple(column.name for column in quantities if column not in whole[:1])
    return Guess(codes=tuple(codes), quantities=tuple(whole), others=others, **roles)


def _role(column: Column, n_records: int) -> str:
    numeric, name = column.kind in {"whole", "number"}, column.name
    if LIKE_HOLDING.search(name) and column.kind in {"text", "whole"}:
        return "holding"
    if column.n_distinct == n_records > 2 and (column.kind == "text" or _names(column)):
        return "unit"
    if numeric and LIKE_WEIGHT.search(name):
        return "weight" if not column.n_missing and not column.negative else ""
    if LIKE_MARK.search(name) and column.n_distinct <= 3:
        return "mark"
    if _are_codes(column, n_records):
        return "codes"
    return "quantity" if numeric and not _names(column) and not _coded(column) else ""


def _names(column: Column) -> bool:
    return column.kind == "whole" and bool(LIKE_UNIT.search(column.name))


def _coded(column: Column) -> bool:
    return column.kind == "whole" and bool(LIKE_CODE.search(column.name))


def _are_codes(column: Column, n_records: int) -> bool:
    if column.total:
        return True
    if column.kind == "text" or _coded(column):
        most = max(n_records // RECORDS_PER_CODE, min(n_records // 2, FEW_CODES), 2)
        return 2 <= column.n_distinct <= min(MOST_CODES, most)
    return column.kind == "whole" and 2 <= column.n_distinct <= min(
        MOST_NUMBER_CODES, n_records // RECORDS_PER_CODE
    )


def finest(codes: Iterable[Column], nests: set[tuple[str, str]]) -> list[Column]:
    """Leave out columns that another one tells; of two that tell each other the first stays."""
    left: list[Column] = []
    listed = list(codes)
    for place, column in enumerate(listed):
        told = [
            other
            for rank, other in enumerate(listed)
            if (other.name, column.name) in nests and ((column.name, other.name) not in nests or rank < place)
        ]
        if not told:
            left.append(column)
    return left


def count_of(guess: Guess) -> Column | None:
    """Find the column that counts respondents, in a file with one row per cell."""
    counts = [column for column in guess.quantities if column.kind == "whole" and not column.negative]
    named = [column for column in counts if LIKE_COUNT.search(column.name)]
    alone = counts if len(guess.quantities) == 1 else []
    return next(iter([*named, *alone]), None)


def are_cells(n_records: int, n_combinations: int, codes: Iterable[Column]) -> bool:
    """Tell whether a file has one row per cell: no combination twice, and totals or most of them there."""
    listed = list(codes)
    full = 2 * n_records >= prod(column.n_distinct for column in listed)
    return n_combinations == n_records and (full or any(column.total for column in listed))
