"""Formats with one row per cell: CSV, and SDMX columns and statuses as CSV or Parquet.

Statuses are those of the cross-domain code lists CL_OBS_STATUS and CL_CONF_STATUS. Published files have ``Q``
(missing, suppressed) and ``C`` (confidential) for every suppressed cell. The list also has ``D`` for
secondary confidentiality, and codes for the reason of primary confidentiality. Publishing which cells are
unsafe would reveal more than the table: a cell with too few respondents is small, a secondary one is not.
This distinction is therefore only written to files with true values for an authorised partner.
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

# CL_OBS_STATUS. Adjusted values have no code of their own; "estimated" is the closest.
NORMAL, ESTIMATED, SUPPRESSED = "A", "E", "Q"
# CL_CONF_STATUS.
FREE, CONFIDENTIAL, SECONDARY = "F", "C", "D"

COLUMNS = ("OBS_VALUE", "OBS_STATUS", "CONF_STATUS")
# Attribute of the data set, which SDMX-CSV repeats in every row.
COMMENT = "COMMENT_DSET"


def write_transmission(
    path: Path, labels: Labels, value: Floats, withheld: Mask, secondary: Mask, *, parquet: bool = False
) -> None:
    """Write every true value with its confidentiality status, for an authorised partner only.

    Parameters
    ----------
    path
        File to write.
    labels
        Labels of the cells.
    value
        True values.
    withheld, secondary
        Masks of suppressed cells, and of secondary suppressions.
    parquet
        Whether to write Parquet instead of CSV. Default: False.
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
    """Return the public columns except the values."""
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
    """Raise an error if a variable has the name of a column."""
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
    """Return numbers with null where suppressed."""
    import pyarrow as pa  # noqa: PLC0415 - loaded when a file is written

    hidden = np.isnan(value)
    # Zeros under the mask: null entries are still stored in the buffer.
    known = np.where(hidden, 0.0, value)
    return pa.array(known.astype(np.int64) if whole else known, mask=hidden)


def write_arrow(path: Path, labels: Labels, columns: dict[str, Any], words: dict[str, str]) -> None:
    """Write cells as Parquet, with codes as dictionaries and texts in the metadata."""
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
    """Write codes, value (empty where suppressed) and status.

    For adjusted tables every value has status "adjusted", because it is confidential which ones changed.
    Values are written as in the certificate. Primary and secondary suppressions are not distinguished,
    because that is confidential. Codes that a spreadsheet would run as formulas are quoted; other formats
    contain them unchanged.
    """
    write_rows(path, publication)


def write_rows(path: Path, publication: Publication, *, disarmed: bool = True) -> None:
    """Write one row per cell, optionally quoting spreadsheet formulas."""
    release = publication.release
    shown = "adjusted" if publication.adjusted else "published"
    status = np.where(release.withheld, "withheld", shown).tolist()
    write_cells(path, release.labels, {"value": publication.texts, "status": status}, disarmed=disarmed)


CSV = Format("csv", ".csv", "codes, value, status; the proof is about this file", write_table_csv)


def write_csv_plain(path: Path, publication: Publication) -> None:
    """Write the same as :func:`write_table_csv` without quoting spreadsheet formulas."""
    write_rows(path, publication, disarmed=False)


CSV_PLAIN = Format("csv-plain", ".plain.csv", "codes as they are, for programs alone", write_csv_plain)


def write_sdmx_csv(path: Path, publication: Publication) -> None:
    """Write the published table with one row per cell; ``OBS_VALUE`` is empty for suppressed cells."""
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
