"""Blocks: suppress whole rectangles of a table, by a rule that attackers may know.

:class:`Blocks` splits a table by public facts alone, so that the pattern reveals nothing beyond them; a
theorem proves that an attacker who knows the method is left with intervals of the required width. There are
variants for counts, magnitudes, levels, structural zeros and sections of larger tables; ``treated`` returns
the variant for a need.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
