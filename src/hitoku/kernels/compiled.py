"""One way to compile a kernel: kept on disk where that is possible, compiled anew where it is not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import njit


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
    try:
        return compiler(cache=True)(function)
    except RuntimeError:
        return compiler()(function)
