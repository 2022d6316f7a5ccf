"""What every method is: a few validated parameters and one verb."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from hitoku.model import Need, Protection, Table
from hitoku.rules.rule import Rule

# Called with how much is done and how much there is in all; what is counted is the method's own.
Progress = Callable[[float, float], None]


class Promise(StrEnum):
    """What a method answers for; one that declares nothing answers for every interval of the need."""

    INTERVALS = "intervals"
    EXACT_ONLY = "exact only"  # no unsafe cell can be worked out exactly; intervals may be narrow
    ADJUSTED = "adjusted"  # nothing is withheld; unsafe cells are published with other values, sums hold


@runtime_checkable
class Method(Protocol):
    """A way to protect: it looks at a table and its need, and decides what is published.

    A method may carry four more things, all optional. ``promise``: what it answers for. ``scope``: in words,
    the tables it treats; it refuses others with a ``ScopeError``. ``informed(rules, width)``: the same method
    knowing how unsafe cells are found, for one that resists readers who know it. ``secret``: False for a
    method that attackers may know.
    """

    def protect(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Return a protection under which every unsafe cell is blurred as far as the need asks."""
        ...


def requires_groups(method: Method) -> bool:
    """Return whether a method can be required to keep derivable groups large enough.

    Methods with promises of their own cannot: ``Gauss`` does not promise intervals, ``Adjust`` withholds
    nothing, and ``Blocks`` and ``Randomised`` must not depend on more than they state.

    Examples
    --------
    >>> from hitoku.methods import METHODS
    >>> [name for name, method in METHODS.items() if requires_groups(method())]
    ['auto', 'greedy', 'optimal', 'circulation']
    """
    intervals = getattr(method, "promise", Promise.INTERVALS) is Promise.INTERVALS
    return intervals and not getattr(method, "adds_no_cells", False) and getattr(method, "secret", True)


def informed(method: Method, rules: Sequence[Rule], width: Any) -> Method:
    """Tell a method how unsafe cells are found, if it asks for that.

    Examples
    --------
    >>> from hitoku.methods import Greedy, Randomised
    >>> from hitoku.rules import MinFrequency
    >>> informed(Randomised(), [MinFrequency(5)], 9).width, informed(Greedy(), [MinFrequency(5)], 9)
    (9, Greedy())
    """
    tell = getattr(method, "informed", None)
    told: Method = method if tell is None else tell(rules, width)
    return told
