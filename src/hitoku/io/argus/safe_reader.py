"""Read τ-ARGUS safe files (code and value, pivot table, SBS), and compare them with the true table.

An intermediate file is a table with its metadata: see :mod:`hitoku.io.argus.table_file`.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np

from hitoku.errors import DataError, TableError, some
from hitoku.io.argus.columns import UNSAFE, ArgusStatus
from hitoku.io.argus.safe_files import EMPTY, WITHHELD
from hitoku.io.argus.text import read_text
from hitoku.model import LARGEST_WHOLE, MAX_DECIMALS, Finding, Floats, Integers, Mask, Severity, Table

HIDDEN = (*UNSAFE, ArgusStatus.SECONDARY, ArgusStatus.SECONDARY_BY_HAND)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SafeCells:
    """Cells of a safe file, in its order."""

    names: tuple[str, ...]  # Names of the variables, if the file has a header.
    codes: tuple[tuple[str, ...], ...]  # Codes of every cell.
    value: Floats  # Values; NaN for suppressed and empty cells.
    status: Integers  # τ-ARGUS statuses if the file has them, otherwise 0.
    # withheld, empty: masks of suppressed cells, and of cells without contributors.
    withheld: Mask
    empty: Mask
    frequency: Integers | None = None  # Number of contributors, in an SBS file.

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return f"SafeCells({len(self):_} cells, {int(self.withheld.sum()):_} withheld)"


def read_code_value(path: str | Path, n_variables: int, *, statuses: bool = False) -> SafeCells:
    """Read a file of type 2 or 3: codes, then value, status, or both.

    Parameters
    ----------
    path
        Path of the file, with or without header.
    n_variables
        Number of variables.
    statuses
        Whether the file has statuses instead of values (option SO). Default: False.
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
            "safe_file_line_invalid",
            "lines do not hold {n} codes, a value and perhaps a status",
            where=path.name,
            fix="give the number of variables of this table",
            n=n_variables,
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


def _rows(path: Path, least: int) -> list[list[str]]:
    lines = read_text(path, "safe file").splitlines()
    try:
        # Quotes protect commas and blanks in a code; equal codes are spelt alike.
        rows = [row for row in csv.reader(lines, skipinitialspace=False) if row]
    except csv.Error:
        # Not "from error": its message may contain parts of the file.
        raise DataError(
            "line_not_entries",
            "a line is not a list of entries",
            where=path.name,
            fix="take the file as written",
        ) from None
    fix = "give the number of variables of this table; entries are separated by commas"
    if not rows:
        raise DataError("safe_file_empty", "the safe file is empty", where=path.name, fix=fix)
    if min(map(len, rows)) < least:
        raise DataError(
            "safe_file_line_short",
            "a line has fewer than {least} entries",
            where=path.name,
            fix=fix,
            least=least,
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
        # The text may be a value with another decimal sign, so it is not shown.
        raise DataError(
            "value_not_a_number",
            "a value is not a number",
            where=where,
            fix="write numbers with a decimal point",
        )
    return number


def _count(text: str, what: str, where: str) -> int:
    number = _number(text)
    if number is None or number != int(number) or not 0 <= number < LARGEST_WHOLE:
        raise DataError(
            "entry_not_whole",
            "a {what} is not a whole number",
            where=where,
            fix="give the number of variables of this table",
            what=what,
        )
    return int(number)


def read_suppressed_table(path: str | Path, table: Table) -> tuple[Mask, list[Finding]]:
    """Read the suppressed cells of a safe file, and findings about values that differ from the true table.

    Cells that are not in the file count as suppressed.

    Parameters
    ----------
    path
        Code-value or pivot file, with or without statuses.
    table
        True table.
    """
    cells = read_code_value(path, len(table.labels.names))
    places = {
        tuple(code.strip() for code in table.labels.codes_of(cell)): cell for cell in range(table.n_cells)
    }
    withheld = np.ones(table.n_cells, dtype=np.bool_)
    step = 0.5 * 10.0 ** -_decimals(cells)
    other: list[str] = []
    for codes, value, hidden, empty in zip(
        cells.codes, cells.value.tolist(), cells.withheld.tolist(), cells.empty.tolist(), strict=True
    ):
        cell = places.get(tuple(code.strip() for code in codes))
        if cell is None:
            raise TableError(
                "safe_file_cell_not_in_table",
                "the safe file has a cell that the table does not have",
                where="{Path}, cell {cell}",
                fix="compare it with the table it was made from; totals are written as the table writes them",
                Path=Path(path).name,
                cell=", ".join(codes),
            )
        withheld[cell] = hidden
        shown = 0.0 if empty else value
        if not hidden and abs(shown - float(table.value[cell])) > step * (1 + 1e-6):
            other.append(f"[{table.describe(cell)}]")
    if not other:
        return withheld, []
    reason = f"{len(other)} cell(s) are published with another value than the table has"
    return withheld, [
        Finding(
            severity=Severity.FAIL,
            place=some(other, 3),
            reason=reason,
            advice="give the table that the safe file was made from",
        )
    ]


def _decimals(cells: SafeCells) -> int:
    """Return the number of decimals in the file."""
    shown = cells.value[np.isfinite(cells.value)]
    for decimals in range(MAX_DECIMALS):
        if np.allclose(shown, np.round(shown, decimals), rtol=0, atol=10.0 ** -(MAX_DECIMALS + 3)):
            return decimals
    return MAX_DECIMALS
