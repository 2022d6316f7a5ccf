"""Made-up records in a file, for what reads records: sessions and tabulation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.files import spill_folder, write_csv


@contextmanager
def records(columns: Mapping[str, Any]) -> Iterator[Path]:
    """Write columns to a CSV file that is gone afterwards.

    Examples
    --------
    >>> with records({"age": ["0-18", "19+"], "income": [0, 30]}) as path:
    ...     print(path.read_text().split())
    ['age,income', '0-18,0', '19+,30']
    """
    with spill_folder() as folder:
        path = folder / "records.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
            write_csv(file, [columns, *rows], disarmed=False)
        yield path
