"""A pattern drawn at random, so that knowing the method helps an attacker little.

:class:`Randomised` draws a safe pattern from a distribution that depends on public knowledge, and audits the
draw against an attacker who knows how it was drawn.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
