"""Counted work of a search, and its limit: the same on every computer, unlike seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(slots=True)
class CountedWork:
    """Numbers that the steps of one search have looked at, and how many they may look at.

    A simplex step looks at all entries of its program, a flow at the arcs that it passes.

    Parameters
    ----------
    limit
        No further step is begun once this much is done; infinite for no limit.
    done
        Work so far.

    Examples
    --------
    >>> work = CountedWork(limit=10)
    >>> work.add(7)
    >>> work.left, work.over
    (3, False)
    """

    limit: float = math.inf
    done: float = 0

    def add(self, amount: float) -> None:
        """Count work that was done."""
        self.done += amount

    @property
    def left(self) -> float:
        """Work that may still be done, not below zero."""
        return max(0, self.limit - self.done)

    @property
    def over(self) -> bool:
        """Whether the limit is reached."""
        return self.done >= self.limit
