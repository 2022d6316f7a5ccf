"""What every primary rule is: a few validated parameters and one verb."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Protocol, runtime_checkable

from hitoku.errors import RuleError
from hitoku.model import Need, Table
from hitoku.parameters import check_parameters, real

# "holding" takes holdings where they are known and units elsewhere; "unit" takes units.
Level = Literal["holding", "unit"]
# A protection range in percent of the cell value; above 100 is allowed.
Range = Annotated[
    float, real("(0, inf)", "give percent of the cell value, such as 20; None leaves the range to assess")
]


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


def check_rule(rule: Any) -> None:
    """Check the parameters of a new rule against their types."""
    check_parameters(rule, f"rule {rule.name}", RuleError)
