"""Statistical disclosure control of tables: protect, attack, and prove.

Names are loaded when they are first used (SPEC 1 of Scientific Python), as ``__init__.pyi`` lists them:
``import hitoku`` costs nothing that is not used.
"""

from importlib import import_module
from typing import Any

from hitoku.lazy import facade

_load, __dir__, __all__ = facade(__name__)


def __getattr__(name: str) -> Any:
    """Load a public name, or a package."""
    module = f"hitoku.{name}"
    try:
        if name not in __all__ and not name.startswith("_"):
            return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
    return _load(name)
