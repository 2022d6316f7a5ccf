"""CSV with codes as they are, for programs: a spreadsheet may run some of them as formulas."""

from __future__ import annotations

from pathlib import Path

from hitoku.io.formats.csv import write_rows
from hitoku.io.formats.format import Format
from hitoku.io.publication import Publication


def write_csv_plain(path: Path, publication: Publication) -> None:
    """Write what :func:`write_csv` does, without quotes before what a spreadsheet would run."""
    write_rows(path, publication, disarmed=False)


FORMAT = Format("csv-plain", ".plain.csv", "codes as they are, for programs alone", write_csv_plain)
