"""Deviations of a cross table along hypercubes, found without linear programs.

Deviations along a hypercube cancel in integer steps, so a hypercube within all slacks is exact. Callers hold
the true table.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
