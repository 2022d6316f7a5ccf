"""Parts that commands share: exit codes, languages, JSON, notes, a progress bar, superfluous arguments."""

from __future__ import annotations

import codecs
import json
import logging
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, Any, Protocol

import typer
from typer.core import TyperCommand

from hitoku.errors import HitokuError, ParameterError, visible
from hitoku.messages import Text

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


FOUND = 1  # the audit, attack or check found something
BAD_INPUT = 2
OUR_BUG = 70  # EX_SOFTWARE of sysexits.h: must not be taken for a finding


ENGLISH = "en"
_SPOKEN: ContextVar[str] = ContextVar("language", default=ENGLISH)


def speak(lang: str | None) -> str | None:
    """Remember the language that an option names; one that we do not have is refused before the work."""
    if lang is not None:
        # Loaded where somebody asks for a language.
        from hitoku.io import speaker

        speaker(lang)
        _SPOKEN.set(lang)
    return lang


def begin(lang: str) -> str:
    """Begin a command in a language, whatever the last one in this process was in."""
    _SPOKEN.set(ENGLISH)
    return speak(lang) or ENGLISH


def spoken(lang: str | None = None) -> str:
    """Return the language of a command: its own, or the one said before it."""
    return lang or _SPOKEN.get()


def lines(error: HitokuError) -> list[str]:
    """Return what is wrong, where, and how to fix it, in the language that was asked for."""
    if spoken() == ENGLISH:
        return str(error).split("\n  ")
    from hitoku.io import told

    return told(error, spoken())


Lang = Annotated[str | None, typer.Option("--lang", help="Language of report.html: en, ja.", callback=speak)]
OfAll = Annotated[
    str,
    typer.Option(
        "--lang", help="Language of reports and errors: en, ja.", envvar="HITOKU_LANG", callback=begin
    ),
]


class Command(TyperCommand):
    """A command that says in our words which word it has no place for, instead of in those of the parser."""

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
    # Whoever names several things meant so with an option that can be repeated.
    for place in sorted(places, key=lambda place: not options[given[place]].multiple):
        word = given[place]
        run = _words(given[place + 1 :])
        # Arguments may stand behind an option's word: those of them that stand nowhere else.
        outside = n_arguments - _n_arguments([*given[:place], *given[place + 1 + len(run) :]], options)
        own = run[: len(run) - max(outside, 0)]
        if len(own) > 1:
            return _several(word, own, repeated=options[word].multiple)
    return ParameterError(
        "superfluous_argument",
        "{command} has no place for {argument}",
        where=shlex.join(given),
        fix="see {command} --help",
        command=command,
        argument=shlex.join(left_over),
    )


def _takes_a_word(word: str, options: dict[str, Any]) -> bool:
    return word in options and not getattr(options[word], "is_flag", False)


def _words(given: Sequence[str]) -> list[str]:
    """Return the words before the next option."""
    end = next((place for place, word in enumerate(given) if word.startswith("-")), len(given))
    return list(given[:end])


def _n_arguments(given: Sequence[str], options: dict[str, Any]) -> int:
    """Count the words that are neither options nor an option's word."""
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
        "{option} takes one word, not {n}",
        where="{option} {words}",
        fix=Text("repeat it: {each}", each=each)
        if repeated
        else Text("a text with blanks needs quotation marks: {whole}", whole=whole),
        option=option,
        n=len(words),
        words=shlex.join(words),
    )
