"""``hitoku convert``: convert a published table to another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hitoku.cli.terminal import AsJson, print_json


def convert(
    release: Annotated[Path, typer.Argument(help="Release folder.")],
    to: Annotated[
        str, typer.Option(help="Format: csv, html, xlsx, sdmx-csv, parquet, json-stat or csv-plain.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="File to write. It must not exist. Default: table in the current folder."),
    ] = None,
    table: Annotated[str, typer.Option(help="Name of the table, if there are several.")] = "table",
    confidential: Annotated[
        bool,
        typer.Option("--confidential", help="Write true values with C and D flags. Confidential."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Convert a published table to another format.

    The file contains exactly what public/table.csv contains. A public file that was changed after the release
    is rejected, because it was not audited. With --confidential (sdmx-csv, parquet) the file contains all
    true values, and CONF_STATUS distinguishes primary (C) from secondary suppressions (D). Such a file is
    meant for a partner office and must not be published.

    [bold]Examples[/bold]

    hitoku convert demo-release --to xlsx

    hitoku convert release --to json-stat --table by_region --out by_region.json

    hitoku convert release --to sdmx-csv --confidential --out transmission.csv
    """
    # Deferred imports keep --help fast.
    from hitoku.files import require_path
    from hitoku.io.release import convert as write

    file = write(require_path(release), to, out, table=table, confidential=confidential)
    if as_json:
        print_json({"confidential": confidential, "file": str(file), "format": to})
    else:
        warned = " (CONFIDENTIAL: true values)" if confidential else ""
        typer.echo(f"written to {file}{warned}")
