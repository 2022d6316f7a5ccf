"""The language of pages and errors: said for all commands, for one, or by the environment."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Annotated

import typer

from hitoku.errors import HitokuError

ENGLISH = "en"
_SPOKEN: ContextVar[str] = ContextVar("language", default=ENGLISH)


def speak(lang: str | None) -> str | None:
    """Remember the language that an option names; one that we do not have is refused before the work."""
    if lang is not None:
        # Loaded where somebody asks for a language.
        from hitoku.io.language import speaker

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
    from hitoku.io.language import told

    return told(error, spoken())


Lang = Annotated[str | None, typer.Option("--lang", help="Language of report.html: en, ja.", callback=speak)]
OfAll = Annotated[
    str,
    typer.Option(
        "--lang", help="Language of reports and errors: en, ja.", envvar="HITOKU_LANG", callback=begin
    ),
]
