"""A table that somebody suppressed by hand: one row per cell, with its true value and a mark.

The first row names the columns. A cell is withheld where its mark says so; the words are those people use.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hitoku.errors import DataError, some
from hitoku.model.arrays import Mask
from hitoku.model.frames import opened, texts
from hitoku.model.table import Table

WITHHELD = {"withheld", "primary", "secondary", "true", "yes", "1", "x", "c", "u", "m"}
PUBLISHED = {"", "published", "false", "no", "0", "s", "z", "v", "nan", "."}


def read_marked_cells(
    path: str | Path, by: Sequence[str], value: str, mark: str, *, frequency: str | None = None
) -> tuple[Table, Mask]:
    """Read the table and the cells that are marked as withheld.

    Parameters
    ----------
    path
        A CSV file, one row per cell, with or without totals.
    by, value, frequency
        Columns with the codes, the true values, and the number of respondents.
    mark
        Column that tells what is withheld: "withheld", "x", "c", "u", "m", "1", ...; empty, "published",
        "s", "0", ... where it is not.
    """
    import pandas as pd  # noqa: PLC0415 - loaded when a file is read

    codes = dict.fromkeys([*by, mark], str)
    try:
        frame = pd.read_csv(path, dtype=codes, keep_default_na=False, na_values={value: [""]})
    except (OSError, ValueError, pd.errors.ParserError) as error:
        # Not "from error": its message may hold a line of the file.
        raise DataError(
            f"cannot read {Path(path).name!r} as CSV: {type(error).__name__}",
            where=str(path),
            fix="give a UTF-8 file with a header, commas between columns",
        ) from None
    table = Table.from_frame(frame, list(by), value, frequency=frequency)
    wrapped = opened(frame)
    words = np.char.lower(np.char.strip(texts(wrapped, mark)))
    strange = sorted(set(words.tolist()) - WITHHELD - PUBLISHED)
    if strange:
        raise DataError(
            f"column {mark!r} has {len(strange)} mark(s) that are not understood",
            where=f"{Path(path).name}, marks {some(repr(word) for word in strange)}",
            fix="write 'withheld' or leave the mark empty",
        )
    places = [texts(wrapped, name) for name in by]
    cell_of = {table.labels.codes_of(cell): cell for cell in range(table.n_cells)}
    withheld = np.zeros(table.n_cells, dtype=bool)
    for row in np.flatnonzero(np.isin(words, list(WITHHELD))):
        withheld[cell_of[tuple(str(column[row]) for column in places)]] = True
    return table, withheld
