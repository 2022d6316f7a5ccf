"""The attack on controlled tabular adjustment: what an outsider estimates who knows how it was done.

:class:`Adjustment` solves the attacker's problem of Castro (2012), sections 3 and 5. A :class:`Scenario` says
which facts about the adjustment the attacker may use, :class:`AttackerKnowledge` holds them, and draws
scatter guesses of what the attacker does not know around the published values.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
