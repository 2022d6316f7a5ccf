"""Deviations of a cross table along hypercubes, found without linear programs.

Differences cancel in whole steps, so a hypercube that fits is exact. Callers hold the true table.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
