"""Flagged groups: small groups of cells with flags, a method that a reader may know.

:class:`FlaggedGroups` withholds what follows from public facts and one bit per group, so that tables with the
same flags have the same release; a walk through such tables proves the widths. It refuses tables where no
flags serve, and these refusals depend on the cells.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
