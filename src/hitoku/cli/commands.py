"""The list of commands; each stands in the file of its name."""

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
from hitoku.cli.language import ENGLISH, OfAll
from hitoku.cli.ledger import ledger
from hitoku.cli.protect import protect
from hitoku.cli.reproduce import reproduce
from hitoku.cli.risk import risk
from hitoku.cli.verify import verify
from hitoku.cli.warm_up import warm_up
from hitoku.cli.words import Command

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
        typer.Option("--version", help="Show the version and leave.", callback=_show_version, is_eager=True),
    ] = False,
    lang: OfAll = ENGLISH,
) -> None:
    """Protect statistical tables, attack them, prove them safe.

    Exit codes: 0 fine; 1 the audit, attack or check found something; 2 bad input.
    """


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
app.add_typer(reproduce, name="reproduce")
app.command("warm-up", cls=Command)(warm_up)
# Commands of packages beside this one, such as the review application; they name themselves.
for _found in metadata.entry_points(group="hitoku.commands"):
    app.add_typer(_found.load(), name=_found.name)
