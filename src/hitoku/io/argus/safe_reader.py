"""Safe files of τ-ARGUS read back: code and value, pivot table, SBS.

An intermediate file is a table with its metadata: see :mod:`hitoku.io.argus.table_file`.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np

from hitoku.errors import DataError, TableError
from hitoku.io.argus.judged import UNSAFE, ArgusStatus
from hitoku.io.argus.safe_file import EMPTY, WITHHELD
from hitoku.io.argus.text import read_text
from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.model.table import Table

HIDDEN = (*UNSAFE, ArgusStatus.SECONDARY, ArgusStatus.SECONDARY_BY_HAND)
# Whole numbers below this one are told apart by doubles.
MOST = 2**53
# What a flag of an SBS file says, as a status; B and C are rules alike.
OF_FLAG = {
    "V": ArgusStatus.SAFE,
    "A": ArgusStatus.FREQUENCY,
    "B": ArgusStatus.RULE,
    "C": ArgusStatus.RULE,
    "F": ArgusStatus.RULE,
    "D": ArgusStatus.SECONDARY,
}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SafeCells:
    """Cells as a safe file shows them, in its order.

    Parameters
    ----------
    names
        The variables, where the file has a header.
    codes
        Codes of every cell.
    value
        Values; NaN where a cell is hidden or empty.
    status
        Statuses of τ-ARGUS, where the file has them; 0 elsewhere.
    withheld, empty
        Cells that are not published; cells in which nobody is.
    frequency
        Contributors, in an SBS file.
    """

    names: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...]
    value: Floats
    status: Integers
    withheld: Mask
    empty: Mask
    frequency: Integers | None = None

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return f"SafeCells({len(self):_} cells, {int(self.withheld.sum()):_} withheld)"

    def withheld_in(self, table: Table) -> Mask:
        """Find the withheld cells in a table: the pattern that somebody else chose, to be audited.

        Blanks around a code do not count.
        """
        places = {
            tuple(code.strip() for code in table.labels.codes_of(cell)): cell for cell in range(table.n_cells)
        }
        mask = np.zeros(table.n_cells, dtype=bool)
        for codes, hidden in zip(self.codes, self.withheld.tolist(), strict=True):
            if hidden:
                cell = places.get(tuple(code.strip() for code in codes))
                if cell is None:
                    raise TableError(
                        "the safe file withholds a cell that the table does not have",
                        where=f"cell {', '.join(codes)}",
                        fix="compare it with the table it was made from",
                    )
                mask[cell] = True
        return mask


def read_code_value(path: str | Path, n_variables: int, *, statuses: bool = False) -> SafeCells:
    """Read a file of type 2 or 3: codes, then value, status, or both.

    Parameters
    ----------
    path
        The file, with a header or without.
    n_variables
        How many codes a cell has.
    statuses
        Statuses stand in the place of values (option SO), which are not known then.
    """
    path = Path(path)
    rows = _rows(path, n_variables + 1)
    names: tuple[str, ...] = ()
    last = rows[0][n_variables]
    if last not in {WITHHELD, EMPTY} and _number(last) is None:
        names, rows = tuple(rows[0][:n_variables]), rows[1:]
    if statuses:
        rows = [[*row[:n_variables], WITHHELD, *row[n_variables:]] for row in rows]
    widths = {len(row) for row in rows}
    if len(widths) != 1 or widths.pop() > n_variables + 2:
        raise DataError(
            f"lines do not hold {n_variables} codes, a value and perhaps a status",
            where=path.name,
            fix="give the number of variables of this table",
        )
    shown = [row[n_variables] for row in rows]
    stated = [row[-1] for row in rows] if len(rows[0]) == n_variables + 2 else ["0"] * len(rows)
    status = np.array([_count(text, "status", path.name) for text in stated], dtype=np.int64)
    value = np.array([_value(text, path.name) for text in shown])
    empty = np.array([text == EMPTY for text in shown]) | (status == ArgusStatus.EMPTY)
    hidden = np.array([text == WITHHELD for text in shown]) & (not statuses)
    withheld = hidden | np.isin(status, HIDDEN)
    return SafeCells(
        names=names,
        codes=tuple(tuple(row[:n_variables]) for row in rows),
        value=value,
        status=status,
        withheld=withheld,
        empty=empty,
    )


def read_sbs(path: str | Path, n_variables: int, *, levels: bool = False) -> SafeCells:
    """Read a file of type 4: codes, value, contributors, flag, and the dominance that only some cells have.

    Parameters
    ----------
    path
        The file.
    n_variables
        How many codes a cell has.
    levels
        The level of every code stands after it (option HL).
    """
    path = Path(path)
    step = 2 if levels else 1
    rows = _rows(path, n_variables * step + 3)
    end = n_variables * step
    flags = [row[end + 2].strip() for row in rows]
    strange = [flag for flag in flags if flag not in OF_FLAG]
    if strange:
        raise DataError(
            f"{strange[0]!r} is no flag of an SBS file",
            where=path.name,
            fix=f"give the number of variables, levels=True with option HL; flags are {', '.join(OF_FLAG)}",
        )
    status = np.array([int(OF_FLAG[flag]) for flag in flags])
    return SafeCells(
        names=(),
        codes=tuple(tuple(row[:end:step]) for row in rows),
        value=np.array([_value(row[end], path.name) for row in rows]),
        status=status,
        withheld=status != ArgusStatus.SAFE,
        empty=np.zeros(len(rows), dtype=bool),
        frequency=np.array([_count(row[end + 1], "number of contributors", path.name) for row in rows]),
    )


def _rows(path: Path, least: int) -> list[list[str]]:
    lines = read_text(path, "safe file").splitlines()
    try:
        # Quotes keep commas and blanks of a code together; the same code is spelt the same.
        rows = [row for row in csv.reader(lines, skipinitialspace=False) if row]
    except csv.Error:
        # Not "from error": its message may hold a part of the file.
        raise DataError(
            "a line is no list of entries", where=path.name, fix="take the file as written"
        ) from None
    if not rows or min(map(len, rows)) < least:
        raise DataError(
            f"a line has fewer than {least} entries" if rows else "the safe file is empty",
            where=path.name,
            fix="give the number of variables of this table; entries are separated by commas",
        )
    return rows


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _value(text: str, where: str) -> float:
    if text.strip() in {WITHHELD, EMPTY}:
        return float("nan")
    number = _number(text)
    if number is None:
        # The text may be a value with another decimal sign: it is not shown.
        raise DataError("a value is not a number", where=where, fix="write numbers with a decimal point")
    return number


def _count(text: str, what: str, where: str) -> int:
    number = _number(text)
    if number is None or number != int(number) or not 0 <= number < MOST:
        raise DataError(
            f"a {what} is not a whole number", where=where, fix="give the number of variables of this table"
        )
    return int(number)
