"""Facades of packages that load a name when it is first used, as the stub beside the package lists it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def facade(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for a package with an ``__init__.pyi``.

    The stub imports every name from its module, so that type checkers and editors see the same names.
    """
    module = sys.modules[package]
    stub = ast.parse(Path(str(module.__file__)).with_suffix(".pyi").read_text("utf-8"))
    home = {
        alias.name: str(node.module)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=module)
        found = getattr(import_module(home[name]), name)
        setattr(module, name, found)
        return found

    return load, lambda: sorted({*vars(module), *home}), sorted(home)
