"""CSV: one row per cell with its codes, its value and its status; the proof is about this file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hitoku.io.cell_rows import write_cells
from hitoku.io.formats.format import Format
from hitoku.io.publication import Publication


def write_csv(path: Path, publication: Publication) -> None:
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


FORMAT = Format("csv", ".csv", "codes, value, status; the proof is about this file", write_csv)
