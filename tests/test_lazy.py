"""Facades: every name of a stub is there, is that of its module, and is loaded when it is first used."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module

import pytest
from tests.test_architecture import SRC

STUBS = [path for path in sorted(SRC.rglob("__init__.pyi")) if path.parent != SRC]


@pytest.mark.parametrize("stub", STUBS, ids=lambda path: path.parent.name)
def test_facade_has_every_name_of_its_stub(stub):
    package = import_module(".".join(["hitoku", *stub.parent.relative_to(SRC).parts]))
    listed = [
        (node.module, alias.name)
        for node in ast.parse(stub.read_text("utf-8")).body
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{package.__name__}.")
        for alias in node.names
    ]
    assert listed
    assert package.__all__ == sorted(name for _, name in listed)
    for module, name in listed:
        inner = f"{module}.{name}"
        offered = import_module(inner) if module == package.__name__ else getattr(import_module(module), name)
        assert getattr(package, name) is offered
        assert name in dir(package)


def test_package_exports_function_named_like_module():
    code = "import hitoku.rules.assess; from hitoku.rules import assess; print(callable(assess))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"]


def test_unknown_facade_name_raises():
    package = import_module("hitoku.tabulation")
    with pytest.raises(AttributeError, match="has no attribute 'tabulated'"):
        _ = package.tabulated


def test_facade_loads_names_lazily():
    told = "print('duckdb' in sys.modules)"
    code = f"import sys, hitoku.tabulation as package; {told}; package.tabulate; {told}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
