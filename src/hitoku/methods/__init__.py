"""Methods: choose the cells to suppress, or the values to publish instead, so that a need is met.

A :class:`Method` has a few validated parameters and ``protect(table, need)``; ``traits_of`` returns what it
promises and which options it accepts. ``METHODS`` lists the methods by name; a new method is a line there.
:class:`Auto` chooses among the others. :class:`Greedy`, :class:`Optimal`, :class:`Circulation` and
:class:`Gauss` suppress cells, :class:`Adjust` publishes other values. :class:`Randomised`, :class:`Blocks`
and :class:`FlaggedGroups` stay safe if the attacker knows the method. Work common to all methods (costs,
cells to keep, groups, integers, contributors) is done by shared modules of this package.
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
