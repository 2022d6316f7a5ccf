"""Greedy secondary suppression, after suppressFT: one cell at a time.

:class:`Greedy` suppresses the cheapest partner if a relation would disclose a cell, until an incremental
audit finds every unsafe cell protected; then cells that are not needed are published again.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
