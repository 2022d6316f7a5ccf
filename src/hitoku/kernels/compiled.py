"""Compile kernels, and cache them on disk where possible."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from numba import njit


def _digest(folder: Path) -> str:
    """Return a hash of all kernels in a folder."""
    found = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


# Part of the names of cached files. Numba recompiles a kernel if its own file has changed, but not if a
# kernel that it calls has; a stale kernel would read arguments that do not exist.
SOURCES = _digest(Path(__file__).parent)


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function of arrays on first use.

    Kernels access arrays only, so they release the GIL. The result is cached beside the file or in the user's
    cache folder. In a read-only installation with neither, Numba raises at import; then nothing is cached and
    every process compiles for itself.
    """
    return _compile_cached(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Inline a function that is short or called in one place.

    A separate function is compiled on its own and optimised again within every kernel that calls it, which
    takes most of the compile time. Inlined functions can still be called from Python.
    """
    return _compile_cached(function, inline="always")


def _compile_cached(function: Callable[..., Any], **options: Any) -> Any:
    # Kernels are not passed as C callbacks; the wrapper for that is a twentieth of the compile time.
    compiler = partial(njit, nogil=True, no_cfunc_wrapper=True, **options)
    name = function.__qualname__
    function.__qualname__ = f"{name}-{SOURCES}"
    try:
        made = compiler(cache=True)(function)
    except RuntimeError:
        made = compiler()(function)
    finally:
        function.__qualname__ = name
    made.__qualname__ = name
    return made
