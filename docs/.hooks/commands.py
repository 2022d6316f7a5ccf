"""Insert the arguments and options of every command into reference/cli.md when the site is built.

They are read from the program itself, so they cannot say anything else than ``hitoku <command> --help``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

PAGE = "reference/cli.md"
HEADING = re.compile(r"^## hitoku (?P<name>[a-z-]+)$", re.MULTILINE)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Add a table of parameters to each section of the page."""
    return with_help(markdown) if page.file.src_uri == PAGE else markdown


def with_help(markdown: str) -> str:
    """Return the page with a table at the end of every ``## hitoku <command>``."""
    known = dict(commands())
    starts = [*HEADING.finditer(markdown)]
    ends = [match.start() for match in starts[1:]] + [len(markdown)]
    parts = [markdown[: starts[0].start()] if starts else markdown]
    for match, end in zip(starts, ends, strict=True):
        parts.append(markdown[match.start() : end].rstrip() + "\n\n" + help_of(known[match["name"]]) + "\n")
    return "".join(parts)


def commands() -> Iterator[tuple[str, Any]]:
    """Return every command of the program with its name."""
    import typer

    from hitoku.cli import app

    yield from typer.main.get_command(app).commands.items()


def help_of(command: Any) -> str:
    """Return the parameters of a command, or of each command of a group."""
    inner = getattr(command, "commands", None)
    if inner is None:
        return parameters_of(command)
    return "\n".join(
        f"### hitoku {command.name} {name}\n\n{first_paragraph(part.help)}\n\n{parameters_of(part)}"
        for name, part in inner.items()
    )


def first_paragraph(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())


def parameters_of(command: Any) -> str:
    """Return a table with one row per argument and option; the first sentence of its help."""
    rows = [row(parameter) for parameter in command.params]
    if not rows:
        return ""
    return "\n".join(["| argument or option | meaning | default |", "|---|---|---|", *rows]) + "\n"


def row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = f"`{parameter.name.upper()}`"
    else:
        name = ", ".join(f"`{word}`" for word in [*parameter.opts, *parameter.secondary_opts])
    meaning = " ".join((getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
    return f"| {name} | {meaning} | {default_of(parameter)} |"


def default_of(parameter: Any) -> str:
    if parameter.required:
        return "required"
    default = parameter.default
    if default is None or default is False or (isinstance(default, (list, tuple)) and not default):
        return ""
    words = default if isinstance(default, (list, tuple)) else [default]
    return ", ".join(f"`{word}`" for word in words)
