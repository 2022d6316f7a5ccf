"""What every method is: a few validated parameters and one verb."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol, runtime_checkable

from hitoku.model.need import Need
from hitoku.model.protection import Protection
from hitoku.model.table import Table

# Called with how much is done and how much there is in all; what is counted is the method's own.
Progress = Callable[[float, float], None]


class Promise(StrEnum):
    """What a method answers for; one that declares nothing answers for every interval of the need."""

    INTERVALS = "intervals"
    EXACT_ONLY = "exact only"  # no unsafe cell can be worked out exactly; intervals may be narrow


@runtime_checkable
class Method(Protocol):
    """A way to protect: it looks at a table and its need, and decides what is published."""

    def protect(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Return a protection under which every unsafe cell is blurred as far as the need asks."""
        ...
