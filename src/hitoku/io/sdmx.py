"""Cells with the columns of SDMX: codes, ``OBS_VALUE``, ``OBS_STATUS``, ``CONF_STATUS``; as CSV or Parquet.

Statuses are those of the cross-domain code lists CL_OBS_STATUS and CL_CONF_STATUS. What leaves says ``Q``
(missing, suppressed) and ``C`` (confidential) of every withheld cell. The list also has ``D`` for secondary
confidentiality, and codes for the reason of the primary one. A reader who is told which cells are unsafe
knows more than the table shows: a cell withheld for too few respondents is small, one withheld only to
protect others is not. So the distinction goes only into a file for somebody who may see everything: a
transmission to a partner office, with the true values.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hitoku.errors import OutputError
from hitoku.evidence.grid import texts
from hitoku.io.cell_rows import write_cells
from hitoku.io.publication import Publication
from hitoku.model.arrays import Floats, Mask
from hitoku.model.labels import Labels

if TYPE_CHECKING:
    import pyarrow as pa

# CL_OBS_STATUS. Adjusted values have no code of their own; they are not "normal", and were computed.
NORMAL, ESTIMATED, SUPPRESSED = "A", "E", "Q"
# CL_CONF_STATUS.
FREE, CONFIDENTIAL, SECONDARY = "F", "C", "D"

COLUMNS = ("OBS_VALUE", "OBS_STATUS", "CONF_STATUS")
# An attribute of the whole data set; SDMX-CSV repeats these in every row.
COMMENT = "COMMENT_DSET"


def write_transmission(
    path: Path, labels: Labels, value: Floats, withheld: Mask, secondary: Mask, *, parquet: bool = False
) -> None:
    """Write every true value and what is confidential: for a partner who may see it, never for readers.

    Parameters
    ----------
    path
        File to write.
    labels
        Codes of the cells.
    value
        True values.
    withheld, secondary
        Cells that are not published, and those of them that are not unsafe themselves.
    parquet
        Write Parquet instead of CSV.
    """
    refuse_taken(path, labels.names)
    status = np.where(secondary, SECONDARY, np.where(withheld, CONFIDENTIAL, FREE))
    columns = {
        "OBS_VALUE": texts(value),
        "OBS_STATUS": [NORMAL] * len(value),
        "CONF_STATUS": status.tolist(),
        COMMENT: ["CONFIDENTIAL, not for publication"] * len(value),
    }
    if parquet:
        columns["OBS_VALUE"] = nullable(np.array([float(text) for text in texts(value)]), whole=False)
        write_arrow(path, labels, columns, {"notes": "CONFIDENTIAL, not for publication"})
    else:
        write_cells(path, labels, columns, disarmed=False)


def public_columns(publication: Publication) -> dict[str, Any]:
    """Return the columns of what leaves; the values come later."""
    withheld = publication.release.withheld
    shown = ESTIMATED if publication.adjusted else NORMAL
    columns: dict[str, Any] = {
        "OBS_VALUE": None,
        "OBS_STATUS": np.where(withheld, SUPPRESSED, shown).tolist(),
        "CONF_STATUS": np.where(withheld, CONFIDENTIAL, FREE).tolist(),
    }
    said = [publication.warning] if publication.warning else []
    if publication.adjusted:
        said.append(publication.remarks[-1])
    if said:
        columns[COMMENT] = [". ".join(said)] * len(withheld)
    return columns


def refuse_taken(path: Path, names: Sequence[str]) -> None:
    """Raise when a variable has the name of a column."""
    taken = [name for name in names if name in {*COLUMNS, COMMENT}]
    if taken:
        raise OutputError(
            f"a variable is called {taken[0]!r}, as a column of SDMX is",
            where=path.name,
            fix="rename the variable, or choose another format",
        )


def nullable(value: Floats, *, whole: bool) -> pa.Array:
    """Return numbers with null where they are withheld."""
    import pyarrow as pa  # noqa: PLC0415 - loaded when a file is written

    hidden = np.isnan(value)
    # Nothing but zeros under the mask: a null has a place in the buffer.
    known = np.where(hidden, 0.0, value)
    return pa.array(known.astype(np.int64) if whole else known, mask=hidden)


def write_arrow(path: Path, labels: Labels, columns: dict[str, Any], words: dict[str, str]) -> None:
    """Write cells as Parquet: codes as dictionaries, words in the metadata."""
    import pyarrow as pa  # noqa: PLC0415 - loaded when a file is written
    from pyarrow import parquet  # noqa: PLC0415

    arrays: dict[str, Any] = {
        name: pa.DictionaryArray.from_arrays(pa.array(labels.column(v)), pa.array(codes, pa.string()))
        for v, (name, codes) in enumerate(zip(labels.names, labels.codes, strict=True))
    }
    for name, column in columns.items():
        arrays[name] = column if isinstance(column, pa.Array) else pa.array(column).dictionary_encode()
    kept = {name: text for name, text in words.items() if text}
    parquet.write_table(pa.table(arrays).replace_schema_metadata(kept), path, compression="zstd")
