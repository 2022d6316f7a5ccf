"""``hitoku risk``: report how closely each record can be inferred from a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hitoku.cli.terminal import AsJson, print_json


def risk(
    release: Annotated[Path, typer.Argument(help="Release folder.")],
    data: Annotated[Path, typer.Option(help="Records from which the release was made.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="CSV file to write, with one line per contributor. Confidential. It must not exist."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Report how closely each record can be inferred from a release.

    For sums: the distance of the best upper estimate from the contribution, in percent, for an outsider and
    for the largest other contributor of the cell. For counts: the size of the smallest known group that
    contains the record, and the variables whose code can be inferred. The terminal shows numbers of records
    only. The file identifies contributors and is confidential.

    [bold]Examples[/bold]

    hitoku risk release --data firms.csv

    hitoku risk release --data firms.csv --out release/checker/records.csv
    """
    # Deferred imports keep --help fast.
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
