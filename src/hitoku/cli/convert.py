"""``hitoku convert``: a release in a format that it was not written in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hitoku.cli.terminal import AsJson, print_json


def convert(
    release: Annotated[Path, typer.Argument(help="A release folder, with public/ and checker/.")],
    to: Annotated[
        str, typer.Option(help="Format: csv, html, xlsx, sdmx-csv, parquet, json-stat or csv-plain.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="File to write; must not exist. Default: table, in this folder.")
    ] = None,
    table: Annotated[str, typer.Option(help="Which of several linked tables.")] = "table",
    confidential: Annotated[
        bool,
        typer.Option("--confidential", help="True values with C and D flags, for who may see them."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write what a release shows in another format.

    The file holds what public/table.csv shows and nothing else; a public file that was changed since the
    release is refused, for nobody has audited it. With --confidential (sdmx-csv, parquet) it holds every
    true value instead, and CONF_STATUS tells unsafe cells (C) from those withheld to protect them (D): for a
    partner office, never for readers.

    [bold]Examples[/bold]

    hitoku convert demo-release --to xlsx

    hitoku convert release --to json-stat --table by_region --out by_region.json

    hitoku convert release --to sdmx-csv --confidential --out transmission.csv
    """
    # A command loads what it needs.
    from hitoku.files import require_path
    from hitoku.io.release import convert as write

    file = write(require_path(release), to, out, table=table, confidential=confidential)
    if as_json:
        print_json({"confidential": confidential, "file": str(file), "format": to})
    else:
        warned = " (CONFIDENTIAL: true values)" if confidential else ""
        typer.echo(f"written to {file}{warned}")
