"""Circulation, for large tables: a pattern built from its own witnesses.

:class:`Circulation` looks for cheap changes of the table that keep every sum and move an unsafe cell far
enough: boxes and hypercubes first, then flows and linear programs over a neighbourhood that grows. Cells that
a change moves are withheld, and changes shared by many cells are found in batches. Parts of the pattern are
then searched again by branch and cut.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
