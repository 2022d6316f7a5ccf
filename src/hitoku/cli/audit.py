"""``hitoku audit``: is this release safe, and if not, why not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hitoku.cli import FOUND
from hitoku.cli.terminal import AsJson, existing, print_json

MOST_FINDINGS = 10


def audit(
    path: Annotated[Path, typer.Argument(help="A release folder, or a JJ file (.jj, .jj.gz).")],
    integer: Annotated[
        bool, typer.Option("--integer", help="Values of the JJ file are counts, and readers know it.")
    ] = False,
    certificate: Annotated[Path | None, typer.Option(help="Write the proof to this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Work out whether every unsafe cell of a release is blurred as far as it must be.

    In a JJ file, cells marked u (unsafe) and m are taken as withheld. Exit code 1: not safe.

    [bold]Examples[/bold]

    hitoku audit demo-release

    hitoku audit table.jj --certificate proof.json.gz
    """
    from hitoku.evidence.audit import audit as examine  # noqa: PLC0415
    from hitoku.io.jj import read_jj, read_jj_pattern  # noqa: PLC0415
    from hitoku.io.release_reader import read_release_folder  # noqa: PLC0415 - a command loads what it needs
    from hitoku.model.protection import Protection  # noqa: PLC0415
    from hitoku.model.release import Release  # noqa: PLC0415

    if existing(path).is_dir():
        table, need, release = read_release_folder(path)
    else:
        table, need = read_jj(path, integer=integer)
        release = Release.of(table, Protection.withhold(table, read_jj_pattern(path), need))
    found = examine(table, need, release)
    proof = found.certificate
    if certificate is not None and proof is not None:
        proof.write(certificate)
    if as_json:
        remarks = [str(finding) for finding in found.findings]
        print_json({"path": str(path), "safe": found.safe, **found.summary, "findings": remarks})
    else:
        counted = found.summary
        typer.echo(f"{'safe' if found.safe else 'NOT safe'}: {path}")
        typer.echo(
            f"  {counted['unsafe']:,} unsafe cells of {counted['cells']:,}, {counted['withheld']:,} withheld"
        )
        for finding in found.findings[:MOST_FINDINGS]:
            typer.echo(f"  {finding}")
        if len(found.findings) > MOST_FINDINGS:
            typer.echo(f"  and {len(found.findings) - MOST_FINDINGS:,} more; --json lists them all")
        if certificate is not None and proof is not None:
            typer.echo(f"  proof: {certificate}")
    if not found.safe:
        raise typer.Exit(FOUND)
