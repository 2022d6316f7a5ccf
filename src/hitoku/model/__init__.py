"""The vocabulary: what a table is, what it needs, what was decided, what an outsider sees.

A :class:`Table` is cells tied by linear relations, with codes (:class:`Labels`, :class:`Dimension`,
:class:`Hierarchy`) and contributors. A :class:`Need` says which cells are unsafe and how uncertain they must
stay, a :class:`Protection` what a method decided, a :class:`Release` what an outsider sees, :class:`Bounds`
what an attack proves about each cell, a :class:`Verdict` which attackers fail. Tables of the same records are
linked by codes or by records into one. All of them are frozen and hold read-only arrays; nothing here
computes a protection. Tolerances are here, each named once.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
