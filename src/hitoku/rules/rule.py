"""What every primary rule is: a few validated parameters and one verb."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from hitoku.model import Need, Table


@runtime_checkable
class Rule(Protocol):
    """A primary rule: it looks at a table and says which cells are unsafe, and how far to blur them.

    A rule may carry three more things, all optional. ``name``: what reports call it, else its class
    name. ``yields_to_width``: where it is true, its levels are a suggestion, and a ``width`` given to
    :func:`hitoku.rules.assess` takes their place; otherwise both hold. ``n`` and ``counted(table)``: the rule
    requires n units, and this is how many each cell has; then no group that can be derived from published
    cells may have fewer, either (:mod:`hitoku.rules.group_size`).
    """

    def assess(self, table: Table) -> Need:
        """Return the cells this rule hits and the levels it asks for."""
        ...
