"""Protocol of primary rules: validated parameters and ``assess``."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Protocol, runtime_checkable

from hitoku.errors import RuleError
from hitoku.model import Need, Table
from hitoku.parameters import check_parameters, real

# "holding" uses holdings where they are known and units elsewhere; "unit" uses units.
Level = Literal["holding", "unit"]
# A protection range in percent of the cell value; above 100 is allowed.
Range = Annotated[
    float, real("(0, inf)", "give percent of the cell value, such as 20; None leaves the range to assess")
]


@runtime_checkable
class Rule(Protocol):
    """A primary rule: for a table, it determines the unsafe cells and their protection levels.

    A rule may have three optional attributes. ``name``: its name in reports, default its class
    name. ``yields_to_width``: if true, its levels are a suggestion, and a ``width`` passed to
    :func:`hitoku.rules.assess` replaces them; otherwise both apply. ``n`` and ``counted(table)``: the rule
    requires n units, and this is the number in each cell; then no group that can be derived from published
    cells may have fewer, either (:mod:`hitoku.rules.group_size`).
    """

    def assess(self, table: Table) -> Need:
        """Return the cells that this rule flags, and their levels."""
        ...


def check_rule(rule: Any) -> None:
    """Check the parameters of a new rule against their types."""
    check_parameters(rule, f"rule {rule.name}", RuleError)
