"""Parts shared by all commands: exit codes, languages, JSON, notes, progress bar, unexpected arguments."""

from __future__ import annotations

import codecs
import json
import logging
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
from typing import Annotated, Any, Protocol

import typer
from typer.core import TyperCommand

from hitoku.errors import HitokuError, ParameterError, visible
from hitoku.messages import Text

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

# Replacements for characters that the terminal cannot encode. Others are written as escapes.
PLAIN = {"✓": "+", "✗": "x", "·": ".", "×": "x", "–": "-", "…": "...", "τ": "tau"}  # noqa: RUF001


def write_in_any_encoding() -> None:
    """Let standard output and standard error print any text in any encoding.

    An error handler set with ``PYTHONIOENCODING`` is kept.
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
    """Print one line, with control characters escaped."""
    typer.echo(visible(line))


@contextmanager
def notes(name: str) -> Iterator[list[str]]:
    """Collect the messages of a logger inside the block, each message once."""
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
    """Callback that reports the current step."""

    def __call__(self, what: str, *, begins: bool = True) -> None: ...


@contextmanager
def progress(n_steps: int) -> Iterator[ShowStep]:
    """Show a progress bar on standard error if it is a terminal.

    Every call of the returned function advances the bar, unless ``begins=False``, which changes the text
    only.
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


class ExitCode(IntEnum):
    """Exit codes other than zero."""

    FOUND = 1
    """A check or attack found a problem."""
    BAD_INPUT = 2
    OUR_BUG = 70
    """EX_SOFTWARE of sysexits.h."""
    INTERRUPTED = 130


FOUND, BAD_INPUT, OUR_BUG, INTERRUPTED = ExitCode
# Findings that are listed without --json.
MAX_FINDINGS = 10


ENGLISH = "en"
_SPOKEN: ContextVar[str] = ContextVar("language", default=ENGLISH)


def speak(lang: str | None) -> str | None:
    """Set the language of the command. An unknown language is rejected before the work begins."""
    if lang is not None:
        # Imported only if a language is chosen.
        from hitoku.io import speaker

        speaker(lang)
        _SPOKEN.set(lang)
    return lang


def begin(lang: str) -> str:
    """Set the language of a command, independently of earlier commands in this process."""
    _SPOKEN.set(ENGLISH)
    return speak(lang) or ENGLISH


def spoken(lang: str | None = None) -> str:
    """Return the language of a command: its own option, or the one given before the command."""
    return lang or _SPOKEN.get()


def lines(error: HitokuError) -> list[str]:
    """Return the lines of an error message in the language of the command."""
    if spoken() == ENGLISH:
        return str(error).split("\n  ")
    from hitoku.io import error_lines

    return error_lines(error, spoken())


Lang = Annotated[str | None, typer.Option("--lang", help="Language of report.html: en, ja.", callback=speak)]
OfAll = Annotated[
    str,
    typer.Option(
        "--lang", help="Language of reports and errors: en, ja.", envvar="HITOKU_LANG", callback=begin
    ),
]


class Command(TyperCommand):
    """Command with a helpful error for unexpected arguments."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = list(args)
        ctx.allow_extra_args = True
        left_over = super().parse_args(ctx, args)
        if left_over and not ctx.resilient_parsing:
            raise _no_place(given, left_over, self.params, ctx.command_path)
        return left_over


def _no_place(given: Sequence[str], left_over: Sequence[str], params: Any, command: str) -> ParameterError:
    given = [part for word in given for part in (word.split("=", 1) if word.startswith("--") else [word])]
    options = {name: param for param in params for name in param.opts if name.startswith("-")}
    n_arguments = sum(1 for param in params if param.param_type_name == "argument")
    places = [place for place, word in enumerate(given) if _takes_a_word(word, options)]
    # Several values are most likely meant for an option that can be repeated.
    for place in sorted(places, key=lambda place: not options[given[place]].multiple):
        word = given[place]
        run = _words(given[place + 1 :])
        # Positional arguments may follow the value of an option, unless they stand elsewhere.
        outside = n_arguments - _n_arguments([*given[:place], *given[place + 1 + len(run) :]], options)
        own = run[: len(run) - max(outside, 0)]
        if len(own) > 1:
            return _several(word, own, repeated=options[word].multiple)
    return ParameterError(
        "superfluous_argument",
        "unexpected argument: {argument}",
        where=shlex.join(given),
        fix="see {command} --help",
        command=command,
        argument=shlex.join(left_over),
    )


def _takes_a_word(word: str, options: dict[str, Any]) -> bool:
    return word in options and not getattr(options[word], "is_flag", False)


def _words(given: Sequence[str]) -> list[str]:
    """Return the arguments before the next option."""
    end = next((place for place, word in enumerate(given) if word.startswith("-")), len(given))
    return list(given[:end])


def _n_arguments(given: Sequence[str], options: dict[str, Any]) -> int:
    """Count the arguments that are neither options nor values of options."""
    n, taken = 0, False
    for word in given:
        if taken:
            taken = False
        elif word.startswith("-"):
            taken = _takes_a_word(word, options)
        else:
            n += 1
    return n


def _several(option: str, words: Sequence[str], *, repeated: bool) -> ParameterError:
    each = " ".join(f"{option} {shlex.quote(word)}" for word in words)
    whole = f"{option} {shlex.quote(' '.join(words))}"
    return ParameterError(
        "option_takes_one_word",
        "{option} takes one value, got {n}",
        where="{option} {words}",
        fix=Text("repeat the option: {each}", each=each)
        if repeated
        else Text("quote a value that contains spaces: {whole}", whole=whole),
        option=option,
        n=len(words),
        words=shlex.join(words),
    )
