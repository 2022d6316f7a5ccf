"""Methods: which cells to withhold, or what to publish instead, so that a need is met."""

from __future__ import annotations

from hitoku.methods.gauss import Gauss
from hitoku.methods.greedy import Greedy
from hitoku.methods.method import Method
from hitoku.methods.optimal import Optimal

METHODS: dict[str, type[Method]] = {
    "greedy": Greedy,
    "gauss": Gauss,
    "optimal": Optimal,
}

__all__ = ["METHODS", "Gauss", "Greedy", "Method", "Optimal"]
