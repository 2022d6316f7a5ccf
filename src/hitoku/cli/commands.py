"""List of commands. Each is defined in the module of its name."""

from __future__ import annotations

from importlib import metadata
from typing import Annotated

import typer

from hitoku.cli.argus import argus
from hitoku.cli.attack import attack
from hitoku.cli.audit import audit
from hitoku.cli.check import check
from hitoku.cli.convert import convert
from hitoku.cli.demo import demo
from hitoku.cli.init import init
from hitoku.cli.ledger import ledger
from hitoku.cli.protect import protect
from hitoku.cli.risk import risk
from hitoku.cli.terminal import ENGLISH, Command, OfAll
from hitoku.cli.verify import verify
from hitoku.cli.warm_up import warm_up
from hitoku.errors import ParameterError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    # A traceback with local variables would show confidential values.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"hitoku {metadata.version('hitoku')}")
        raise typer.Exit


@app.callback()
def hitoku(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True),
    ] = False,
    lang: OfAll = ENGLISH,
) -> None:
    """Statistical disclosure control for tables.

    Exit codes: 0 success, 1 a check or attack found a problem, 2 invalid input.
    """


def add_commands(app: typer.Typer, found: metadata.EntryPoints) -> None:
    """Add the commands of other packages and a placeholder for ``reproduce`` if it is not installed."""
    for entry in found:
        app.add_typer(entry.load(), name=entry.name)
    if "reproduce" not in found.names:
        app.command("reproduce", context_settings={"ignore_unknown_options": True})(papers_are_missing)


def papers_are_missing(
    words: Annotated[list[str] | None, typer.Argument(help="Paper and its options.")] = None,  # noqa: ARG001 - accepted, not read
) -> None:
    """Reproduce published results and compare the numbers. Requires the package hitoku-papers."""
    raise ParameterError(
        "papers_not_installed",
        "the package hitoku-papers is not installed",
        where="hitoku reproduce",
        fix="in a checkout of hitoku: python -m pip install ./papers",
    )


app.command(cls=Command)(demo)
app.command(cls=Command)(init)
app.command(cls=Command)(protect)
app.command(cls=Command)(audit)
app.command(cls=Command)(attack)
app.command(cls=Command)(risk)
app.command(cls=Command)(verify)
app.command(cls=Command)(check)
app.command(cls=Command)(convert)
app.add_typer(ledger, name="ledger")
app.add_typer(argus, name="argus")
app.command("warm-up", cls=Command)(warm_up)
add_commands(app, metadata.entry_points(group="hitoku.commands"))
