"""The steps of a method that decides cell by cell, one row each, for the checker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.files import write_csv
from hitoku.io.cell_rows import printed
from hitoku.model.protection import Protection
from hitoku.model.table import Table

COLUMNS = ("step", "cell", "reason", "protects", "low_before", "high_before", "low_after", "high_after")


def write_steps(path: Path, table: Table, protection: Protection) -> None:
    """Write what was withheld when, why, and for whom; intervals where the method recorded them."""
    rows: list[Sequence[Any]] = [COLUMNS]
    for number, step in enumerate(protection.steps, 1):
        ends = printed(np.array([*step.before, *step.after]), integer=table.integer)
        whom = table.describe(step.protects) if step.protects >= 0 else ""
        rows.append([number, table.describe(step.cell), step.reason, whom, *ends])
    with path.open("w", newline="", encoding="utf-8") as file:
        write_csv(file, rows)
