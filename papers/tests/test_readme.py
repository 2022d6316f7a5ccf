"""The examples of the page run, its links lead somewhere, and its commands exist."""

from __future__ import annotations

import re
from pathlib import Path

from tests.test_docs import broken_links, run

from hitoku_papers.command import reproduce

PAGE = Path(__file__).parents[1] / "README.md"


def test_readme_examples_run_as_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(PAGE.read_text("utf-8"), "papers/README.md")


def test_readme_links_lead_somewhere():
    assert broken_links(PAGE) == []


def test_readme_names_every_command_and_no_other():
    shown = set(re.findall(r"^\$ hitoku reproduce ([a-z0-9-]+)", PAGE.read_text("utf-8"), re.MULTILINE))
    assert shown == {command.name for command in reproduce.registered_commands}
