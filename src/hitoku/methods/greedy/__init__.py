"""Greedy secondary suppression, after suppressFT: one cell at a time.

:class:`Greedy` withholds the cheapest partner where a relation would give a cell away, until an incremental
audit finds every unsafe cell far enough from its value; then cells that are not needed are published again.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
