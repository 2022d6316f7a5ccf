"""The threat model and the security page name tests, and every one of them is there."""

from __future__ import annotations

import ast
import re

import pytest
from tests.test_architecture import ROOT

PAGE = (ROOT / "docs" / "explanation" / "threat-model.md").read_text("utf-8")
SECURITY = (ROOT / "SECURITY.md").read_text("utf-8")
NAMED = re.compile(r"`(?P<file>tests/[\w/.]+\.py)::(?P<name>\w+)`")


def functions(file: str) -> set[str]:
    path = ROOT / file
    tree = ast.parse(path.read_text("utf-8")) if path.exists() else ast.Module([], [])
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def rows(page: str) -> list[str]:
    """List the rows of tables whose last column says which test shows it."""
    found, inside = [], False
    for line in page.splitlines():
        if line.startswith("|") and line.rstrip("| ").endswith("shown by"):
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("|--"):
            found.append(line)
    return found


@pytest.mark.parametrize(("page", "least"), [(PAGE, 60), (SECURITY, 5)], ids=["threat model", "security"])
def test_tests_named_on_pages_exist(page, least):
    named = [(found["file"], found["name"]) for found in NAMED.finditer(page)]
    assert len(named) > least
    assert [f"{file}::{name}" for file, name in named if name not in functions(file)] == []


@pytest.mark.parametrize(("page", "least"), [(PAGE, 40), (SECURITY, 5)], ids=["threat model", "security"])
def test_every_row_names_a_test(page, least):
    assert len(rows(page)) > least
    assert [row for row in rows(page) if not NAMED.search(row.rstrip("| ").rsplit(" | ", 1)[-1])] == []


def test_every_attacker_section_states_its_limits():
    parts = [part for part in PAGE.split("\n## ")[1:] if "| shown by |" in part]
    assert len(parts) >= 8
    assert [part.splitlines()[0] for part in parts if "\nNot defended: " not in part] == []
