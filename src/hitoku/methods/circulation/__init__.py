"""Circulation, for large tables: a pattern built from its own witnesses.

:class:`Circulation` looks for cheap deviations that keep every relation and move an unsafe cell far
enough: hypercubes first, then flows and linear programs over a growing neighbourhood. Cells that a deviation
moves are suppressed, and deviations shared by many cells are found in batches. Parts of the pattern are
then searched again by branch and cut.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
