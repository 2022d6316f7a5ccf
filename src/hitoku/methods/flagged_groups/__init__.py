"""Flagged groups: small groups of cells with flags, a method that attackers may know.

:class:`FlaggedGroups` chooses cells from public facts and one bit per group, so that tables with the
same flags have the same release; a walk through such tables proves the widths. It raises an error for tables
where no flags work, and such an error depends on the cells.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
