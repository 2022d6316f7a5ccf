"""Formats with one row per cell: CSV, and the columns and statuses of SDMX as CSV or Parquet.

Statuses are those of the cross-domain code lists CL_OBS_STATUS and CL_CONF_STATUS. What is published says
``Q`` (missing, suppressed) and ``C`` (confidential) of every withheld cell. The list also has ``D`` for
secondary confidentiality, and codes for the reason of the primary one. A reader who is told which cells are
unsafe knows more than the table shows: a cell withheld for too few respondents is small, one withheld only to
protect others is not. So the distinction goes only into a file for a partner who may see everything: a
transmission to another office, with the true values.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hitoku.errors import OutputError
from hitoku.evidence import texts
from hitoku.io.number_texts import write_cells
from hitoku.io.publication import Format, Publication
from hitoku.model import Floats, Labels, Mask

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
            "variable_named_like_sdmx_column",
            "a variable is called {variable!r}, as a column of SDMX is",
            where=path.name,
            fix="rename the variable, or choose another format",
            variable=taken[0],
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


def write_table_csv(path: Path, publication: Publication) -> None:
    """Write what an outsider may see: codes, value (empty where withheld), status.

    Of adjusted values the status says so, of every one alike: which ones were changed is confidential.

    Values are printed as the certificate holds them. The file does not tell unsafe cells from those
    withheld with them: that is confidential. A code that a spreadsheet would run as a formula has a quote
    before it; other formats have it as it is.
    """
    write_rows(path, publication)


def write_rows(path: Path, publication: Publication, *, disarmed: bool = True) -> None:
    """Write one row per cell; with or without a quote before what a spreadsheet would run."""
    release = publication.release
    shown = "adjusted" if publication.adjusted else "published"
    status = np.where(release.withheld, "withheld", shown).tolist()
    write_cells(path, release.labels, {"value": publication.texts, "status": status}, disarmed=disarmed)


CSV = Format("csv", ".csv", "codes, value, status; the proof is about this file", write_table_csv)


def write_csv_plain(path: Path, publication: Publication) -> None:
    """Write what :func:`write_table_csv` does, without quotes before what a spreadsheet would run."""
    write_rows(path, publication, disarmed=False)


CSV_PLAIN = Format("csv-plain", ".plain.csv", "codes as they are, for programs alone", write_csv_plain)


def write_sdmx_csv(path: Path, publication: Publication) -> None:
    """Write what leaves, one row per cell; ``OBS_VALUE`` is empty where withheld."""
    refuse_taken(path, publication.release.labels.names)
    columns = {**public_columns(publication), "OBS_VALUE": publication.texts}
    write_cells(path, publication.release.labels, columns, disarmed=False)


SDMX_CSV = Format("sdmx-csv", ".sdmx.csv", "CSV with the columns and statuses of SDMX", write_sdmx_csv)


def write_parquet(path: Path, publication: Publication) -> None:
    """Write the same as Parquet: codes as dictionaries, values null where withheld, words in the metadata."""
    release = publication.release
    whole = bool(release.integer and np.nanmax(np.abs(publication.value), initial=0.0) < 2.0**53)
    refuse_taken(path, release.labels.names)
    columns = {**public_columns(publication), "OBS_VALUE": nullable(publication.value, whole=whole)}
    words = {
        "title": publication.heading,
        "measure": release.measure,
        "source": publication.source,
        "notes": "\n".join([*publication.remarks, *publication.footnotes]),
    }
    write_arrow(path, release.labels, columns, words)


PARQUET = Format("parquet", ".parquet", "the same columns as Parquet", write_parquet)
