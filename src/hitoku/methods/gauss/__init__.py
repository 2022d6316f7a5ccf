"""Gaussian elimination: no unsafe cell follows from published ones by addition and subtraction.

:class:`Gauss` processes candidates by importance and suppresses those that would complete an unsafe cell,
modulo a prime and proved in integers. Singleton tests protect against contributors who know their own cell.
It guarantees only that no cell can be derived exactly, not a width.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
