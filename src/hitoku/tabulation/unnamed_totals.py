"""Rows of totals among records: a word for totals that holds as much as all other codes together."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from hitoku.errors import DataError
from hitoku.model.arrays import Floats, Integers
from hitoku.model.dimension import Dimension
from hitoku.model.tolerance import ADDITIVITY
from hitoku.tabulation.columns import WORDS_FOR_TOTALS
from hitoku.tabulation.file_format import READING


def refuse_unnamed_totals(
    dimensions: Sequence[Dimension],
    value: Floats | None,
    records: Integers,
    *,
    listed: Collection[str],
    where: str,
) -> None:
    """Raise when the rows of a code add all others up; where they do not, say what the code is called like.

    Parameters
    ----------
    dimensions
        Of the table.
    value, records
        The sum of every cell, None where records are only counted; and its records.
    listed
        Variables whose codes somebody listed: what stands there is a code.
    where
        What to call the data in a message.
    """
    shape = tuple(len(dimension) for dimension in dimensions)
    for axis, dimension in enumerate(dimensions):
        words = [code for code in dimension.leaves if code.casefold() in WORDS_FOR_TOTALS]
        if dimension.name in listed or len(dimension.leaves) < 2:
            continue
        # Everything else at its total, which comes last.
        line = tuple(slice(None) if place == axis else -1 for place in range(len(shape)))
        for code in words:
            place = dimension.position[code]
            n_records = int(np.reshape(records, shape)[line][place])
            told = f"column {dimension.name!r} has {code!r} in {n_records:,} record(s)"
            if value is not None:
                sums = np.reshape(value, shape)[line]
                others = sums[-1] - sums[place]
                if sums[place] and abs(sums[place] - others) <= ADDITIVITY * abs(others):
                    raise DataError(
                        f"{told}, the sum of all other codes: these rows are totals",
                        where=where,
                        fix="leave rows with totals out; a table that has its totals is given as cells, "
                        "not as records; if it is a code like others, list all codes in a hierarchy",
                    )
            READING.warning("%s: %s, a word for totals; it was taken for a code like others", where, told)
