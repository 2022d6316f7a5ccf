"""Lazy loading of the public names of a package, listed in its stub."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


class _Facade(ModuleType):
    """Package that keeps its public names.

    Importing a module binds it to its package. If the package exports a function of the same name, the
    function is kept.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in self.__all__):
            super().__setattr__(name, value)


def facade(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for a package with an ``__init__.pyi``.

    The stub imports every name from its module, so that type checkers and editors see the same names. A name
    that it imports from the package itself is a module.
    """
    module = sys.modules[package]
    stub = ast.parse(Path(str(module.__file__)).with_suffix(".pyi").read_text("utf-8"))
    home = {
        alias.name: str(node.module)
        for node in stub.body
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{package}.")
        for alias in node.names
    }
    for name in home:  # modules imported before this line
        if isinstance(vars(module).get(name), ModuleType):
            delattr(module, name)

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=module)
        if home[name] == package:
            found: Any = import_module(f"{package}.{name}")
        else:
            found = getattr(import_module(home[name]), name)
        vars(module)[name] = found
        return found

    module.__class__ = _Facade
    return load, lambda: sorted({*vars(module), *home}), sorted(home)
