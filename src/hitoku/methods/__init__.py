"""Methods: which cells to withhold, or what to publish instead, so that a need is met.

A :class:`Method` is a few validated parameters and one verb, ``protect(table, need)``; ``traits_of`` says
what it promises and what it may be given. ``METHODS`` lists them by name; a new method is a line there.
:class:`Auto` chooses among the others, :class:`Greedy`, :class:`Optimal`, :class:`Circulation` and
:class:`Gauss` withhold cells, :class:`Adjust` publishes other values, :class:`Randomised`, :class:`Blocks`
and :class:`FlaggedGroups` may be known to the reader. What is the same for all of them (costs, cells to keep,
groups, whole numbers, contributors) is done around a method by shared modules of this package.
"""

from __future__ import annotations

from hitoku.lazy import facade
from hitoku.methods.adjust import Adjust
from hitoku.methods.auto import Auto
from hitoku.methods.blocks import Blocks
from hitoku.methods.circulation import Circulation
from hitoku.methods.flagged_groups import FlaggedGroups
from hitoku.methods.gauss import Gauss
from hitoku.methods.greedy import Greedy
from hitoku.methods.method import Method
from hitoku.methods.optimal import Optimal
from hitoku.methods.randomised import Randomised

__getattr__, __dir__, __all__ = facade(__name__)

METHODS: dict[str, type[Method]] = {
    "auto": Auto,
    "greedy": Greedy,
    "gauss": Gauss,
    "optimal": Optimal,
    "circulation": Circulation,
    "adjust": Adjust,
    "randomised": Randomised,
    "blocks": Blocks,
    "flagged_groups": FlaggedGroups,
}
