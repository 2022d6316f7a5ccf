"""Gaussian elimination: no unsafe cell follows from published ones by adding and subtracting.

:class:`Gauss` takes candidates in the order of what is most important to publish and withholds those that
would complete an unsafe cell, modulo a prime and proved in whole numbers. Tests for singletons protect
contributors who know their own cell. It promises exactness only, no widths.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
