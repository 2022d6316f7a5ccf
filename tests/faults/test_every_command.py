"""Every command is made to fail in the tests beside this one, or there is a word why not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.faults import test_databases, test_faults
from typer.main import get_command

from hitoku.cli import app

# Struck in tests of their own in test_faults.py.
APART = {"ledger init"}
WHY_NOT = {
    "warm-up": "writes nothing but what numba compiles, which is compiled again where it is missing",
    "serve": "runs until it is ended: tests/review/test_faults.py kills the server and its worker",
}


def words_of(command: Any, *before: str) -> Iterator[str]:
    """Give the words of every command below one that has some."""
    if not hasattr(command, "commands"):
        yield " ".join(before)
        return
    if command.invoke_without_command and before:
        yield " ".join(before)
    for name, below in command.commands.items():
        yield from words_of(below, *before, name)


def test_every_command_is_fault_tested_or_excused():
    struck = {*test_faults.COMMANDS, *test_faults.READING, *APART}
    struck |= {*test_databases.DATABASE}
    # Reproductions are a distribution of their own: papers/tests/test_faults.py makes them fail.
    own = {words for words in words_of(get_command(app)) if not words.startswith("reproduce")}
    assert own == struck | set(WHY_NOT)
    assert not struck & set(WHY_NOT)
