"""Several tables of the same records, linked so that they can be protected together.

:func:`link` makes several tables and finds the cells that they share (``linked``). An attacker can add and
subtract sets of records, not only cells of a table, so ``atoms`` divides the records into classes that no
published cell distinguishes. Rules are then checked for every set of records that can be derived.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
