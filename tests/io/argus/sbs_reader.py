"""A reader of SBS files, and the withheld cells of a safe file in a table, to test the writers with."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hitoku.errors import DataError, TableError
from hitoku.io.argus import ArgusStatus, SafeCells
from hitoku.io.argus.safe_reader import _count, _rows, _value
from hitoku.model import Mask, Table

# What a flag of an SBS file says, as a status; B and C are rules alike.
OF_FLAG = {
    "V": ArgusStatus.SAFE,
    "A": ArgusStatus.FREQUENCY,
    "B": ArgusStatus.RULE,
    "C": ArgusStatus.RULE,
    "F": ArgusStatus.RULE,
    "D": ArgusStatus.SECONDARY,
}


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
            "unknown_sbs_flag",
            "{flag!r} is no flag of an SBS file",
            where=path.name,
            fix="give the number of variables, levels=True with option HL; flags are {flags}",
            flag=strange[0],
            flags=", ".join(OF_FLAG),
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


def withheld_in(cells: SafeCells, table: Table) -> Mask:
    """Find the withheld cells in a table: the pattern that somebody else chose, to be audited.

    Blanks around a code do not count.
    """
    places = {
        tuple(code.strip() for code in table.labels.codes_of(cell)): cell for cell in range(table.n_cells)
    }
    mask = np.zeros(table.n_cells, dtype=bool)
    for codes, hidden in zip(cells.codes, cells.withheld.tolist(), strict=True):
        if hidden:
            cell = places.get(tuple(code.strip() for code in codes))
            if cell is None:
                raise TableError(
                    "withheld_cell_not_in_table",
                    "the safe file withholds a cell that the table does not have",
                    where="cell {codes}",
                    fix="compare it with the table it was made from",
                    codes=", ".join(codes),
                )
            mask[cell] = True
    return mask
