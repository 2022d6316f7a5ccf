"""The attack on controlled tabular adjustment: estimates by an attacker who knows the method.

:class:`Adjustment` solves the attacker's problem of Castro (2012), sections 3 and 5. A :class:`Scenario`
states which facts about the adjustment the attacker may use, and :class:`AttackerKnowledge` holds them.
Unknown facts are drawn at random around the published values.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
