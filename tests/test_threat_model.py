"""The threat model names tests, and every one of them is there."""

from __future__ import annotations

import ast
import re

from tests.test_architecture import ROOT

PAGE = (ROOT / "docs" / "explanation" / "threat-model.md").read_text("utf-8")
NAMED = re.compile(r"`(?P<file>tests/[\w/.]+\.py)::(?P<name>\w+)`")


def functions(file: str) -> set[str]:
    path = ROOT / file
    tree = ast.parse(path.read_text("utf-8")) if path.exists() else ast.Module([], [])
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_test_that_the_page_names_is_there():
    named = [(found["file"], found["name"]) for found in NAMED.finditer(PAGE)]
    assert len(named) > 20
    assert [f"{file}::{name}" for file, name in named if name not in functions(file)] == []


def test_every_row_of_every_attacker_names_a_test():
    rows = [line for line in PAGE.splitlines() if line.startswith("| to ")]
    assert len(rows) > 15
    assert [row for row in rows if not NAMED.search(row)] == []
