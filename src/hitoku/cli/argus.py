"""``hitoku argus``: run τ-ARGUS batch files and export releases."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from hitoku.cli.terminal import FOUND, AsJson, Command, print_json, progress
from hitoku.files import require_path

argus = typer.Typer(no_args_is_help=True)


@argus.callback()
def files() -> None:
    """Run τ-ARGUS batch files and export releases as τ-ARGUS files."""


@argus.command(cls=Command)
def run(
    batch: Annotated[
        Path, typer.Argument(help="Batch file (.arb). Relative paths in it start at its folder.")
    ],
    out: Annotated[Path | None, typer.Option(help="Folder for a release with its evidence.")] = None,
    method: Annotated[
        str | None,
        typer.Option(help="Method for every <SUPPRESS>: greedy, optimal:time_limit_s=60, ..."),
    ] = None,
    insiders: Annotated[
        str,
        typer.Option(help="Insiders to protect against: none, singletons or contributors."),
    ] = "singletons",
    force: Annotated[bool, typer.Option("--force", help="Write files even if a table is not safe.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Overwrite existing files.")] = False,
    anywhere: Annotated[
        bool, typer.Option("--anywhere", help="Allow writing outside the folder of the batch file.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a τ-ARGUS batch file, and attack and audit every table before its files are written.

    Unsupported commands are rejected with name and line before anything runs. If the verdict on a table is
    negative, only the logbook is written (exit code 1), unless --force is given. Files are written below the
    folder of the batch, and existing files are kept, unless --anywhere and --overwrite are given.

    [bold]Examples[/bold]

    hitoku argus run table.arb

    hitoku argus run table.arb --out release --insiders contributors

    hitoku argus run modular.arb --method greedy
    """
    from rich.console import Console

    from hitoku.cli.summary import show_verdict
    from hitoku.pipeline import BATCH_STEPS, run_batch

    require_path(batch)
    with progress(len(BATCH_STEPS)) as step:
        done = run_batch(
            batch,
            out,
            method=method,
            insiders=insiders,
            force=force,
            anywhere=anywhere,
            overwrite=overwrite,
            report=lambda stage: step(BATCH_STEPS[stage]),
        )
    if as_json:
        print_json(
            {
                "batch": str(batch),
                "safe": done.safe,
                "verdict": done.verdict.as_dict(),
                "tables": [dict(one.outcome.audit.summary) for tables in done.tables for one in tables],
                "files": {str(path): "confidential" if secret else "" for path, secret in done.files.items()},
                "out": None if done.folder is None else str(done.folder),
                "log": list(done.log),
            }
        )
    else:
        for line in done.log:
            typer.echo(line)
        if done.folder is not None:
            typer.echo(f"release with its evidence: {done.folder}")
        show_verdict(Console(), done.verdict)
    if done.verdict.refused:
        raise typer.Exit(FOUND)


@argus.command(cls=Command)
def export(
    release: Annotated[Path, typer.Argument(help="Release folder.")],
    out: Annotated[Path, typer.Option(help="Folder to write. It must be empty or not exist.")] = Path(
        "argus"
    ),
    as_json: AsJson = False,
) -> None:
    """Export a release as τ-ARGUS files: table, metadata, hierarchies, a priori file, batch and JJ file.

    The files are confidential, because they contain the values of suppressed cells.

    [bold]Example[/bold]: hitoku argus export demo-release --out argus
    """
    from hitoku.io.argus import export_release

    done = export_release(require_path(release), out)
    if as_json:
        print_json(asdict(done))
        return
    typer.echo(f"written to {done.folder}, confidential: {', '.join(done.files)}")
    for note in done.notes:
        typer.echo(f"  {note}")
