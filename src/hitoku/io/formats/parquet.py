"""The columns of SDMX as Parquet."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hitoku.io.formats.format import Format
from hitoku.io.publication import Publication
from hitoku.io.sdmx import nullable, public_columns, refuse_taken, write_arrow


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


FORMAT = Format("parquet", ".parquet", "the same columns as Parquet", write_parquet)
