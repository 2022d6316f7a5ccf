"""A table that τ-ARGUS has suppressed, held against the true one: what its safe file shows, and what not."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hitoku.errors import TableError, some
from hitoku.io.argus.safe_reader import SafeCells, read_code_value
from hitoku.model.arrays import Mask
from hitoku.model.table import Table
from hitoku.model.verdict import Finding, Severity

MOST_DECIMALS = 6
NAMED = 3


def read_suppressed_table(path: str | Path, table: Table) -> tuple[Mask, list[Finding]]:
    """Read a safe file with codes and values: what it withholds, and what it shows with another value.

    A cell that the file does not have is not published.

    Parameters
    ----------
    path
        A code-value or pivot file, with statuses or without.
    table
        The true table.
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
                "the safe file has a cell that the table does not have",
                where=f"{Path(path).name}, cell {', '.join(codes)}",
                fix="compare it with the table it was made from; totals are written as the table writes them",
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
            place=some(other, NAMED),
            reason=reason,
            advice="give the table that the safe file was made from",
        )
    ]


def _decimals(cells: SafeCells) -> int:
    """Count the decimals that the file shows."""
    shown = cells.value[np.isfinite(cells.value)]
    for decimals in range(MOST_DECIMALS):
        if np.allclose(shown, np.round(shown, decimals), rtol=0, atol=10.0 ** -(MOST_DECIMALS + 3)):
            return decimals
    return MOST_DECIMALS
