"""The vocabulary: tables, needs, protections and releases.

A :class:`Table` is cells connected by linear relations, with codes (:class:`Labels`, :class:`Dimension`,
:class:`Hierarchy`) and contributors. A :class:`Need` states which cells are unsafe and how uncertain they
must stay, a :class:`Protection` is the decision of a method, a :class:`Release` the view of an outsider,
:class:`Bounds` what an attack proves about each cell, and a :class:`Verdict` the result for each attacker.
Tables of the same records are linked by codes or by records into one. All of them are frozen and hold
read-only arrays; nothing here computes a protection. Tolerances are defined here, each once.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
