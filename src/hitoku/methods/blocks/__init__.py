"""Blocks: whole rectangles of a table are withheld, by a rule that a reader may know.

:class:`Blocks` halves a table by public facts alone, so that the pattern reveals nothing beyond it; a theorem
proves that what an attacker who knows the method can infer is as wide as required. There are forms for
counts,
magnitudes, levels, structural zeros and sections of larger tables; ``treated`` says which one a need takes.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
