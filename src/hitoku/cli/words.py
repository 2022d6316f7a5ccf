"""Words of a command line that nothing takes, and what was probably meant."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand

from hitoku.errors import ParameterError
from hitoku.messages import Text


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
