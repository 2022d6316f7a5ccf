"""Bit operations on integers, compiled to single processor instructions."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

from hitoku.kernels.compiled import compiled

# Masks are 64-bit integers of which at most 62 bits are used, so that a mask is never negative.


@intrinsic
def lowest(context: Any, mask: Any) -> Any:  # noqa: ARG001 - as numba calls it
    """Return the position of the lowest bit; the mask must not be zero."""

    def generate(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], target.get_constant(types.boolean, 1))

    return types.int64(types.int64), generate


@intrinsic
def count(context: Any, mask: Any) -> Any:  # noqa: ARG001 - as numba calls it
    """Return the number of bits that are set."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


@compiled
def positions(mask: int) -> list[int]:
    """Return the positions of the bits of a mask, lowest first.

    Examples
    --------
    >>> positions(0b10110)
    [1, 2, 4]
    """
    found = [0 for _ in range(count(mask))]
    for place in range(len(found)):
        found[place] = lowest(mask)
        mask &= mask - 1
    return found


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    positions(5)
