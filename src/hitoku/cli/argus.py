"""``hitoku argus``: run the batches of τ-ARGUS, and hand it releases to check."""

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
    """Run batches of τ-ARGUS with hitoku's methods; write releases as files that τ-ARGUS reads."""


@argus.command(cls=Command)
def run(
    batch: Annotated[Path, typer.Argument(help="A batch file (.arb); the files it names stand beside it.")],
    out: Annotated[Path | None, typer.Option(help="Folder for a release with its evidence, besides.")] = None,
    method: Annotated[
        str | None,
        typer.Option(help="Replaces the method of every <SUPPRESS>: greedy, optimal:time_limit_s=60, ..."),
    ] = None,
    insiders: Annotated[
        str,
        typer.Option(help="Who knows own amounts: none, singletons or contributors."),
    ] = "singletons",
    force: Annotated[bool, typer.Option("--force", help="Write files even if a table is not safe.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over files that are there.")] = False,
    anywhere: Annotated[
        bool, typer.Option("--anywhere", help="The batch may write outside the folder it stands in.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Do what a batch of τ-ARGUS asks for, then attack and audit every table before its files are written.

    What hitoku does not support is refused by name and line before anything runs. Where the verdict refuses a
    table only the logbook is written (exit code 1), unless --force says otherwise. A batch writes below its
    own folder, and over no file, unless --anywhere and --overwrite say so.

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
    release: Annotated[Path, typer.Argument(help="A release folder of hitoku.")],
    out: Annotated[Path, typer.Option(help="Folder to write; must not hold anything yet.")] = Path("argus"),
    as_json: AsJson = False,
) -> None:
    """Write a release as table, metadata, trees, a priori file, batch and JJ file, for τ-ARGUS to check.

    The files hold the values of withheld cells: they are confidential.

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
