"""The vocabulary: what a table is, what it needs, what was decided, what an outsider sees.

A :class:`Table` is cells tied by linear relations, with codes (:class:`Labels`, :class:`Dimension`,
:class:`Hierarchy`) and contributors. A :class:`Need` says which cells are unsafe and how uncertain they
must stay, a :class:`Protection` what a method decided, a :class:`Release` what an outsider sees,
:class:`Bounds` what an attack proves about each cell, a :class:`Verdict` which attackers fail. All of them
are frozen and hold read-only arrays; nothing here computes a protection. Everything that other packages use
is exported here, but for readers of data frames (:mod:`hitoku.model.frames`) and for what links tables of
the same records (``link``, ``joint``, ``linked_groups``, ``record_sets``).
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
