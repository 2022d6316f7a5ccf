"""CSV with the columns and statuses of SDMX."""

from __future__ import annotations

from pathlib import Path

from hitoku.io.cell_rows import write_cells
from hitoku.io.formats.format import Format
from hitoku.io.publication import Publication
from hitoku.io.sdmx import public_columns, refuse_taken


def write_sdmx_csv(path: Path, publication: Publication) -> None:
    """Write what leaves, one row per cell; ``OBS_VALUE`` is empty where withheld."""
    refuse_taken(path, publication.release.labels.names)
    columns = {**public_columns(publication), "OBS_VALUE": publication.texts}
    write_cells(path, publication.release.labels, columns, disarmed=False)


FORMAT = Format("sdmx-csv", ".sdmx.csv", "CSV with the columns and statuses of SDMX", write_sdmx_csv)
