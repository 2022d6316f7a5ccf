"""One way to compile a kernel: kept on disk where that is possible, compiled anew where it is not."""

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


# Part of the names of cached files. numba compiles a kernel again when its own file has changed, not when a
# kernel that it calls has; a stale one reads arguments that are not there.
SOURCES = _digest(Path(__file__).parent)


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function of arrays on first use.

    Kernels touch arrays only, so other threads may run meanwhile. The result is cached beside the file or
    in the user's cache folder. In a read-only installation with neither, numba refuses at import; then
    nothing is cached and every process compiles for itself.
    """
    return _cached(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Write a function out where a kernel calls it: for what is called in one place, or is a line long.

    A function of its own is compiled once for itself and optimised again within every kernel above it, which
    takes most of the time that compiling takes. Python may call it all the same.
    """
    return _cached(function, inline="always")


def _cached(function: Callable[..., Any], **options: Any) -> Any:
    # Nobody passes kernels on as functions: the entry made for that is a twentieth of what compiling takes.
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
