"""Greedy secondary suppression, after suppressFT: one cell at a time."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
