"""``hitoku risk``: how close a release comes to each record, for the checker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hitoku.cli.terminal import AsJson, print_json


def risk(
    release: Annotated[Path, typer.Argument(help="A release folder, with public/ and checker/.")],
    data: Annotated[Path, typer.Option(help="The records from which it was made.")],
    out: Annotated[
        Path | None,
        typer.Option(help="CSV file to write, one line per contributor: confidential; must not exist."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say how close a release comes to each of the records behind it.

    For amounts: how far above the truth the best estimate lies, in percent, for an outsider and for the
    other contributor with most in the cell. For counts: the smallest group that everybody can count with the
    record in it, and the codes that everybody can tell. The terminal shows numbers of records; the file names
    them and is for the checker alone.

    [bold]Examples[/bold]

    hitoku risk release --data firms.csv

    hitoku risk release --data firms.csv --out release/checker/records.csv
    """
    # A command loads what it needs.
    from hitoku.files import require_path
    from hitoku.pipeline import record_risk_of_folder, write_record_risk

    found = record_risk_of_folder(require_path(release), require_path(data))
    if out is not None:
        write_record_risk(out, found)
    if as_json:
        print_json({"path": str(release), "out": None if out is None else str(out), **found.summary})
        return
    for name, number in found.summary.items():
        typer.echo(f"{name.replace('_', ' ')}: {number:,}")
    if out is not None:
        typer.echo(f"written to {out} (CONFIDENTIAL: names contributors)")
