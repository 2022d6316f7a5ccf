"""What commands share on the terminal: characters it lacks, JSON, notes, a progress bar."""

from __future__ import annotations

import codecs
import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Protocol

import typer

from hitoku.errors import visible

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]

# Written instead of signs that the encoding of a terminal lacks; any other character becomes its escape.
PLAIN = {"✓": "+", "✗": "x", "·": ".", "×": "x", "–": "-", "…": "...", "τ": "tau"}  # noqa: RUF001


def write_in_any_encoding() -> None:
    """Let standard output and standard error print every text, whatever their encoding.

    An ``errors`` that the user chose with ``PYTHONIOENCODING`` is kept.
    """
    codecs.register_error("hitoku.plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if getattr(stream, "errors", None) in {"strict", "surrogateescape"}:
            stream.reconfigure(errors="hitoku.plain")  # type: ignore[union-attr]


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that cannot be encoded by their plain form, or by a backslash escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(PLAIN.get(x, x.encode("ascii", "backslashreplace").decode()) for x in lacking), error.end


def print_json(facts: Mapping[str, Any]) -> None:
    """Print one object on one line."""
    typer.echo(json.dumps(facts, sort_keys=True, default=str))


def echo(line: str) -> None:
    """Print one line; control characters in names that came from anybody are written out."""
    typer.echo(visible(line))


@contextmanager
def notes(name: str) -> Iterator[list[str]]:
    """Gather what a logger says while the block runs, each message once."""
    logger, said = logging.getLogger(name), dict[str, None]()

    class Gather(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said[record.getMessage()] = None
            listed[:] = said

    listed: list[str] = []
    handler, level = Gather(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield listed
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


class ShowStep(Protocol):
    """Says what is being done."""

    def __call__(self, what: str, *, begins: bool = True) -> None: ...


@contextmanager
def progress(n_steps: int) -> Iterator[ShowStep]:
    """Show a bar that moves on with every named step; nothing where standard error is no terminal.

    A step that does not begin anything new (``begins=False``) changes the words and not the bar.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("", total=n_steps)
        begun = 0

        def step(what: str, *, begins: bool = True) -> None:
            nonlocal begun
            begun += begins
            bar.update(task, description=what, completed=begun - 1)

        yield step
